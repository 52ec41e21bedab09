"""The handful of numbers that `dvc metrics` shows and compares."""

from __future__ import annotations

import duckdb

# Runs of the recipe's own design and depth that only their readouts set apart, so that the readouts name them.
SETUPS = """(
    SELECT run, readouts, layers FROM groups
    WHERE member = run AND residual = 'sandwich' AND full_depth AND algorithms = '{}' AND readouts <> 'none'
)"""


def headline(connection: duckdb.DuckDBPyConnection) -> dict[str, dict[str, float]]:
    """What the runs that are present say in short, in nats per token, rounded to six digits.

    `baseline`: final training loss and noise floor (spread) of the last layer. `early_layers`: mean gap of the first
    half of the layers to ordinary models of their depth. `last_layer`: what each setup costs the last layer against
    the baseline of the same seed, with its standard error over seeds. What no run can tell is left out.
    """
    numbers: dict[str, dict[str, float]] = {"baseline": {}, "early_layers": {}, "last_layer": {}}
    row = connection.execute(
        "SELECT loss FROM ordinary JOIN runs USING (run) WHERE runs.residual = 'sandwich' AND full_depth"
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
    for readouts, difference, error in connection.execute(
        f"""SELECT readouts, difference, standard_error FROM paired JOIN {SETUPS} USING (run)
        WHERE layer = layers AND readouts <> 'probes' ORDER BY ALL"""
    ).fetchall():
        numbers["last_layer"][readouts] = difference
        if error is not None:
            numbers["last_layer"][f"{readouts}_standard_error"] = error
    return {part: {key: round(value, 6) for key, value in values.items()} for part, values in numbers.items() if values}
