"""How much does each layer contribute, read passively and trained actively?"""

from __future__ import annotations

import duckdb

from perlayer.questions.question import Question, sql
from perlayer.questions.wording import claims_fared, listed, signed

NAMES = {
    "separate": "separate heads",
    "shared": "a shared head",
    "shared_stop_gradient": "a shared head with stop-gradient",
}


def verdict(connection: duckdb.DuckDBPyConnection) -> str:
    """What the numbers say: the probes, the separate heads, the cost of the last layer, and how the claims fare."""
    sentences = [*_probes(connection), *_separate(connection), *_costs(connection)]
    if not sentences:
        return "None of the runs that answer it is here yet."
    return " ".join([*sentences, claims_fared(connection, "Q1")])


def _gaps(connection: duckdb.DuckDBPyConnection, readouts: str) -> dict[int, float]:
    """Gap to an ordinary model of the same depth by layer, for the setup's run of the lowest seed."""
    rows = connection.execute(
        """SELECT layer, gap FROM gap JOIN recipe_runs AS runs USING (run)
        WHERE residual = 'sandwich' AND full_depth AND standard AND readouts = ?
            AND run IN (SELECT run FROM groups) ORDER BY layer""",
        [readouts],
    ).fetchall()
    return dict(rows)


def _probes(connection: duckdb.DuckDBPyConnection) -> list[str]:
    gaps = _gaps(connection, "probes")
    if not gaps:
        return []
    layers = sorted({min(gaps), max(gaps) - 1, max(gaps)} & set(gaps))
    parts = [f"layer {layer} ends {_beside(gaps[layer])} an ordinary model of its depth" for layer in layers[:1]]
    parts += [f"layer {layer} ends {_beside(gaps[layer])} one" for layer in layers[1:]]
    return [f"Read passively by probes, {listed(parts)}."]


def _separate(connection: duckdb.DuckDBPyConnection) -> list[str]:
    gaps = _gaps(connection, "separate")
    if not gaps:
        return []
    above = sum(gap > 0 for gap in gaps.values())
    lowest = min(gaps, key=lambda layer: gaps[layer])
    return [
        f"Trained actively with separate heads, {above} of {len(gaps)} layers end above an ordinary model of their "
        f"depth, at most by {signed(max(gaps.values()))} nats, closest at layer {lowest} ({signed(gaps[lowest])})."
    ]


def _costs(connection: duckdb.DuckDBPyConnection) -> list[str]:
    rows = connection.execute(
        """SELECT readouts, difference, standard_error, seeds FROM paired JOIN recipe_runs AS runs USING (run)
        WHERE residual = 'sandwich' AND full_depth AND standard AND layer = layers
            AND readouts IN ('separate', 'shared', 'shared_stop_gradient') ORDER BY readouts"""
    ).fetchall()
    if not rows:
        return []
    costs = [
        f"{signed(difference)} nats with {NAMES[readouts]} ("
        + ("one seed" if error is None else f"standard error {error:.3f} over {seeds} seeds")
        + ")"
        for readouts, difference, error, seeds in rows
    ]
    text = "Against the baseline of the same seed the last layer ends at " + listed(costs)
    floor = connection.execute(
        "SELECT spread, runs FROM noise_floor WHERE residual = 'sandwich' AND readout = 'head'"
    ).fetchone()
    known = f"{floor[1]} plain runs end {floor[0]:.3f} nats apart" if floor else "the noise is not known: no seeds"
    return [f"{text}; {known}."]


def _beside(gap: float) -> str:
    if round(gap, 3) == 0:
        return "level with"
    return f"{abs(gap):.3f} nats {'above' if gap > 0 else 'below'}"


QUESTION = Question(
    key="Q1",
    title="How much does each layer contribute, read passively and trained actively?",
    background=(
        "A layer is judged by its final training loss, the mean over the last 50 steps of the next-token loss read "
        "after it. Probes read a plain model without touching it; separate and shared heads train every layer to "
        "predict. The measure is an ordinary model with as many layers, trained in the same way on the same batches."
    ),
    runs=sql("q1_setups"),
    numbers=sql("q1_numbers"),
    numbers_title="Final training loss by layer",
    published=sql("q1_published"),
    published_title="Chai 2026, Quantifying the Per-layer Contribution of LLMs, 130m",
    claims=sql("q1_claims"),
    figures=("final_loss_by_layer", "layer_curves", "last_layer_curves", "noise_floor"),
    verdict=verdict,
)
