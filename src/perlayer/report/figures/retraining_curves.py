"""Held-out loss of every layer along the retraining of its readout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from perlayer.report.figures import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

TITLE = "Held-out loss along the retraining of the readouts"
CAPTION = (
    "One column a setup, one colour a layer. Top: the held-out loss of every readout while it is retrained on layers "
    "that no longer change, from what training left, at 0 tokens, to the end. Bottom: the same minus that of the "
    "start; the two columns share both axes."
)


def data(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """One row a step: step, tokens, and SETUP_K, the held-out loss of layer K."""
    import pandas as pd

    curves = _curves(connection)
    if curves.empty:
        return pd.DataFrame(columns=["step", "tokens"])
    parts = [curves[["step", "tokens"]].drop_duplicates("step").set_index("step").sort_index()]
    for setup in style.TRAINED:
        part = curves[curves["setup"] == setup].pivot_table(index="step", columns="layer", values="loss")
        part.columns = [f"{setup}_{layer}" for layer in part.columns]
        parts.append(part)
    return pd.concat(parts, axis=1).rename_axis("step").reset_index()


def _curves(connection: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """Of each setup the retrained run of the lowest seed."""
    return connection.execute(
        """WITH chosen AS (
            SELECT setup, run FROM setups
            WHERE residual = 'sandwich' AND setup <> 'baseline' AND run IN (SELECT run FROM retraining)
            QUALIFY row_number() OVER (PARTITION BY setup ORDER BY seed, ema, run) = 1
        )
        SELECT setup, layer, step, tokens, value AS loss,
            value - first(value) OVER (PARTITION BY setup, layer ORDER BY step) AS change
        FROM layer_metrics JOIN chosen USING (run)
        WHERE readout = 'retrained' AND metric = 'loss' AND split = 'val' AND ahead = 1 AND other_layer IS NULL
        ORDER BY setup, layer, step"""
    ).df()


def draw(connection: duckdb.DuckDBPyConnection) -> Figure:
    """The figure of what is present."""
    import seaborn

    curves = _curves(connection)
    setups = [setup for setup in style.TRAINED if setup in set(curves["setup"])]
    if not setups:
        return style.empty_figure("No readouts have been retrained yet.")
    layers = sorted(curves["layer"].unique())
    palette = style.layer_colours(layers)
    figure = style.new_figure(max(5.2 * len(setups), 6.5), 6.6)
    grid = figure.subplots(2, len(setups), sharex=True, sharey="row", squeeze=False, height_ratios=[1.35, 1])
    rows = {
        "loss": "Held-out loss (nats per token)",
        "change": "Change (nats per token)",
    }
    for panels, (column, meaning) in zip(grid, rows.items()):
        for axes, setup in zip(panels, setups):
            if column == "change":
                axes.axhline(0, color="#222222", linewidth=0.8)
            seaborn.lineplot(
                curves[curves["setup"] == setup], x="tokens", y=column, hue="layer", palette=palette, estimator=None,
                linewidth=1.6, marker="o", markersize=4, markeredgewidth=0, legend=False, ax=axes,
            )  # fmt: skip
            if column == "loss":
                axes.set_title(style.SETUPS[setup][0].capitalize())
            style.token_ticks(axes)
            axes.set(xlabel="Tokens of the retraining", ylabel=meaning)
            axes.label_outer()
    style.add_note(figure, style.not_retrained(connection))
    for panels, column in zip(grid, rows):
        for axes, setup in zip(panels, setups):
            ends = curves[curves["setup"] == setup].groupby("layer").last()
            named = [
                (end["tokens"], end[column], f"layer {layer}" if layer == layers[0] else str(layer), palette[layer])
                for layer, end in ends.iterrows()
                if style.named_layer(layer, layers)
            ]
            style.label_lines(axes, named)
    return figure
