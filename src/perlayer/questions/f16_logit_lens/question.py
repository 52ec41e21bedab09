"""What do lenses read in a finished model, beside the readouts that were trained with it?"""

from __future__ import annotations

import duckdb

from perlayer.questions.question import Question, sql
from perlayer.questions.wording import claims_fared, layers, listed, percent

# Of each setup the run of the lowest seed that a lens has read. Probes leave the backbone as it is, so the lenses of a
# run with probes are those of the baseline of its seed.
LEADS = """
    SELECT CASE WHEN setup = 'probes' THEN 'baseline' ELSE setup END AS setup, run FROM setups
    WHERE residual = 'sandwich' AND run IN (SELECT run FROM lenses)
    QUALIFY row_number() OVER (
        PARTITION BY CASE WHEN setups.setup = 'probes' THEN 'baseline' ELSE setups.setup END
        ORDER BY seed, ema, run NOT IN (SELECT run FROM lenses WHERE readout = 'tuned_lens'), setups.setup, run
    ) = 1
"""


def verdict(connection: duckdb.DuckDBPyConnection) -> str:
    """Where the baseline forms its prediction, how far lenses are from trained readouts, what the tuned lens gains."""
    sentences = [*_baseline(connection), *_beside(connection), *_divergences(connection)]
    if not sentences:
        return "No finished model has been read by a lens yet."
    return " ".join([*sentences, *_farther(connection), claims_fared(connection, "F16")])


def _baseline(connection: duckdb.DuckDBPyConnection) -> list[str]:
    run, losses = _lens_of_baseline(connection)
    depth = len(losses)
    if depth < 2:
        return []
    text = f"The logit lens reads {run} at {losses[0]:.3f} nats after layer 1 and {losses[-1]:.3f} after layer {depth}"
    fall = losses[0] - losses[-1]
    if depth > 3 and fall > 0:
        text += f"; the last two layers bring {percent((losses[-3] - losses[-1]) / fall)} of that fall"
    rises = [layer for layer in range(2, depth + 1) if losses[layer - 1] > losses[layer - 2]]
    if rises:
        text += f", and it rises at {layers(rises)}"
    return [text + "."]


def _lens_of_baseline(connection: duckdb.DuckDBPyConnection) -> tuple[str, list[float]]:
    """The plain run of the lowest seed, and the loss of its logit lens after each layer."""
    rows = connection.execute(
        f"""SELECT run, loss FROM lenses JOIN ({LEADS}) USING (run)
        WHERE setup = 'baseline' AND readout = 'logit_lens' AND layer > 0 ORDER BY layer"""
    ).fetchall()
    return (rows[0][0] if rows else ""), [loss for _, loss in rows]


def _beside(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """The same losses beside readouts that were trained to read each layer."""
    _, losses = _lens_of_baseline(connection)
    parts = []
    for setup, words in (
        ("probes", "the probes of the same layers"),
        ("separate", "the separate heads of the run whose layers were trained to be read"),
    ):
        rows = connection.execute(
            """SELECT layer, loss FROM held_out JOIN setups USING (run)
            WHERE residual = 'sandwich' AND setup = ? AND run = lead AND layer < layers ORDER BY layer""",
            [setup],
        ).fetchall()
        above = [losses[layer - 1] - loss for layer, loss in rows if layer <= len(losses)]
        if above:
            parts.append(f"{min(above):.3f} to {max(above):.3f} nats above {words}")
    return [f"Below the last layer that is {listed(parts)}."] if parts else []


def _divergences(connection: duckdb.DuckDBPyConnection) -> list[str]:
    rows = connection.execute(
        f"""WITH shown AS (
            SELECT run, array_position(['baseline', 'separate', 'shared', 'shared_stop_gradient'], setup) AS place
            FROM ({LEADS})
            UNION ALL SELECT DISTINCT run, 100 FROM lenses WHERE size = 'published'
        ),
        read AS (
            SELECT run, place, layer, readout, kl_final_lens, max(layer) OVER (PARTITION BY run) AS last
            FROM lenses JOIN shown USING (run)
        )
        SELECT run, avg(kl_final_lens) FILTER (readout = 'logit_lens') AS logit,
            avg(kl_final_lens) FILTER (readout = 'tuned_lens') AS tuned
        FROM read WHERE layer BETWEEN 1 AND last - 1 GROUP BY run, place ORDER BY place, run"""
    ).fetchall()
    tuned = [f"from {logit:.3f} to {lens:.3f} in {run}" for run, logit, lens in rows if None not in (logit, lens)]
    alone = [f"{logit:.3f} in {run}" for run, logit, lens in rows if lens is None and logit is not None]
    sentences = []
    if tuned:
        sentences.append(
            "The tuned lens brings the mean divergence from the final output below the last layer, KL(final || lens), "
            f"{listed(tuned)}."
        )
    if alone:
        sentences.append(
            f"For the logit lens alone {'it' if tuned else 'KL(final || lens) below the last layer'} is "
            f"{listed(alone)}."
        )
    return sentences


def _farther(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Where the tuned lens is worse than the logit lens that it started from, on held-out text."""
    rows = connection.execute(
        """SELECT run, layer, tuned.kl_final_lens - logit.kl_final_lens AS worse
        FROM (SELECT * FROM lenses WHERE readout = 'tuned_lens') AS tuned
        JOIN (SELECT *, max(layer) OVER (PARTITION BY run) AS last FROM lenses WHERE readout = 'logit_lens') AS logit
            USING (run, layer)
        WHERE layer < last AND worse > 0 ORDER BY run, layer"""
    ).fetchall()
    if not rows:
        return []
    places = [f"layer {layer} of {run} (by {worse:.3f})" for run, layer, worse in rows]
    return [f"On held-out text the tuned lens lies farther away than the logit lens at {listed(places)}."]


QUESTION = Question(
    key="F16",
    title="What do lenses read in a finished model, beside the readouts trained with it?",
    background=(
        "A logit lens reads the residual stream after a layer with the final norm and head. A tuned lens trains an "
        "affine map for every layer first, towards the final output. Neither changes the model, and both are read on "
        "held-out text, beside the readouts that the model was trained with and those retrained on its frozen layers."
    ),
    runs=sql("f16_runs"),
    numbers=sql("f16_numbers"),
    numbers_title="Held-out loss by layer and readout",
    claims=sql("f16_claims"),
    figures=("lenses", "lens_agreement"),
    verdict=verdict,
    published=sql("f16_published"),
    published_title="Chai 2026, Quantifying the Per-layer Contribution of LLMs, 130m, Paloma macro loss",
)
