"""The handful of numbers that `dvc metrics` shows and compares."""

from __future__ import annotations

import duckdb

# Runs of the recipe's own design and depth that only their readouts set apart, so that the readouts name them.
SETUPS = """(
    SELECT run, setup AS readouts, layers FROM setups
    WHERE run = representative AND residual = 'sandwich' AND setup <> 'baseline'
)"""

HEADS_OR_FEATURES = """
SELECT avg(probes_change) AS probes_change, avg(separate_change) AS separate_change,
    CASE WHEN avg(probes_before - separate_before) > 0
        THEN 1 - avg(probes_after - separate_after) / avg(probes_before - separate_before) END AS gap_closed
FROM retrained_gap
WHERE layer < (SELECT max(layer) FROM retrained_gap)
"""
# Probes leave the backbone as it is, so a run with probes stands for the baseline where only it has been read.
LENSES = """
WITH read AS (
    SELECT readout, kl_final_lens, layer, layers,
        rank() OVER (PARTITION BY readout ORDER BY seed, ema, setup, run) AS place
    FROM lenses JOIN setups USING (run)
    WHERE residual = 'sandwich' AND setup IN ('baseline', 'probes') AND layer > 0
)
SELECT avg(kl_final_lens) FILTER (readout = 'logit_lens') AS logit_lens_kl,
    avg(kl_final_lens) FILTER (readout = 'tuned_lens') AS tuned_lens_kl
FROM read
WHERE place = 1 AND layer < layers
"""
# Of every supervision of the layers, and of separate heads at every depth, what the last layer pays.
SUPERVISION = """
SELECT CASE WHEN full_depth THEN run ELSE format('separate_{}_layers', layers) END AS name, cost
FROM supervision
WHERE residual = 'sandwich' AND cost IS NOT NULL
    AND (full_depth AND NOT standard OR NOT full_depth AND standard AND readouts = 'separate')
ORDER BY full_depth DESC, layers, run
"""
GRADIENTS = """
SELECT run, avg(summed_cosine) AS cosine
FROM gradient_cosines JOIN setups USING (run)
WHERE residual = 'sandwich' AND backbone_layer IS NULL AND summed_cosine IS NOT NULL
GROUP BY run ORDER BY run
"""


def headline(connection: duckdb.DuckDBPyConnection) -> dict[str, dict[str, float]]:
    """What the runs that are present say in short, in nats per token, rounded to six digits.

    `baseline`: final training loss and noise floor (spread) of the last layer. `early_layers`: mean gap of the first
    half of the layers to depth-matched baselines. `last_layer`: what each setup costs the last layer against
    the baseline, means over seeds. `heads_or_features`, below the last layer: by how much retraining changes probes and
    separate heads on average, and what share of the gap between them it closes.
    `lenses`, below the last layer: how far lenses on the baseline lie from its output, mean KL(final output || lens).
    `supervision`: what every other supervision of the layers costs the last one, and separate heads at other depths;
    by held-out loss where layers are dropped in training.
    `gradients`: mean cosine over training of the layer losses' summed gradient with that of the final loss.
    What no run can tell is left out.
    """
    parts = ("baseline", "early_layers", "last_layer", "heads_or_features", "lenses", "supervision", "gradients")
    numbers: dict[str, dict[str, float]] = {part: {} for part in parts}
    row = connection.execute(
        "SELECT loss FROM depth_matched JOIN recipe_runs AS runs USING (run) "
        "WHERE runs.residual = 'sandwich' AND full_depth"
    ).fetchone()
    if row:
        numbers["baseline"]["final_loss"] = row[0]
    row = connection.execute(
        "SELECT spread FROM noise_floor WHERE residual = 'sandwich' AND readout = 'head'"
    ).fetchone()
    if row:
        numbers["baseline"]["noise_floor"] = row[0]
    for readouts, gap in connection.execute(
        f"""SELECT readouts, avg(gap) FROM gap JOIN {SETUPS} USING (run)
        WHERE layer <= layers / 2 GROUP BY ALL ORDER BY ALL"""
    ).fetchall():
        numbers["early_layers"][readouts] = gap
    numbers["last_layer"] = dict(
        connection.execute(
            f"SELECT readouts, cost FROM costs JOIN {SETUPS} USING (run) WHERE cost IS NOT NULL ORDER BY ALL"
        ).fetchall()
    )
    numbers["heads_or_features"] = _present(connection.execute(HEADS_OR_FEATURES))
    numbers["lenses"] = _present(connection.execute(LENSES))
    numbers["supervision"] = dict(connection.execute(SUPERVISION).fetchall())
    numbers["gradients"] = dict(connection.execute(GRADIENTS).fetchall())
    return {part: {key: round(value, 6) for key, value in values.items()} for part, values in numbers.items() if values}


def _present(result: duckdb.DuckDBPyConnection) -> dict[str, float]:
    """The only row of a result by column, without nulls."""
    names = [column[0] for column in result.description]
    return {name: value for name, value in zip(names, result.fetchone()) if value is not None}
