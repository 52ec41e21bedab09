"""Held-out loss of every layer of every finished model, by what reads it."""

from perlayer.report.figures import style

TITLE = "Every finished model, by what reads its layers"
CAPTION = (
    "One panel a run or published model: the held-out loss of its logit lens and tuned lens, of the readout it was "
    "trained with, and of that readout retrained on the frozen layers (hollow). Layer 0 is the embedding. All panels "
    "share the logarithmic loss axis, which ends where the runs do: what a published model has beyond stands at its "
    "upper edge, with its value. It has a vocabulary of its own, so compare the shapes alone."
)
EMPTY = "No finished model has been read yet."
COLUMNS = 4
UNREAD = "SELECT run FROM recipe_runs WHERE run NOT IN (SELECT run FROM lenses) ORDER BY run"


def data(connection: style.Connection) -> style.Table:
    """One row a model and layer: the loss of each of its readouts."""
    sql = f"""WITH models AS (
            SELECT run, size, max(layer) AS depth FROM by_readout
            WHERE run IN (SELECT run FROM lenses UNION SELECT run FROM retraining) GROUP BY run, size
        )
        SELECT models.run, models.size, layer, {", ".join(style.READINGS)}
        FROM models JOIN by_readout USING (run, size) LEFT JOIN recipe_runs AS runs ON runs.run = models.run
        -- First what the setups are, then other designs and algorithms, other depths and other seeds.
        ORDER BY models.size = 'published', models.run NOT IN (SELECT run FROM groups), NOT full_depth,
            residual <> 'sandwich', residual, NOT standard, depth,
            array_position(['none', 'probes', 'separate', 'shared', 'shared_stop_gradient'], readouts),
            ema, seed, models.run, layer"""
    return connection.execute(sql).df()


def draw(table: style.Table, connection: style.Connection) -> style.Figure:
    models = table["run"].nunique()
    columns = min(COLUMNS, models)
    figure = style.new_figure(max(2.6 * columns, 7.4), max(2.3 * -(-models // columns) + 0.7, 3.6))
    grid = style.small_multiples(figure, table, "run", columns)
    for _, axes, mine in grid:
        for reading in style.READINGS:  # the markers of deep models would touch
            style.draw_line(axes, mine, "layer", reading, **_look(reading, small=len(mine) > 13))
        style.layer_ticks(axes, mine["layer"], ticks=7)
        style.outer_labels(axes, "", "Held-out loss\n(nats per token)")
    losses = table.set_index("size")[list(style.READINGS)].stack()
    trained = losses[losses.index.get_level_values("size") != "published"]
    # Layer 0 of a published model may lie at a hundred nats, and would flatten all others.
    top = 1.04 * (trained if len(trained) else losses).max()
    style.log_scale(grid[0][1], (1, 1.5, 2, 3, 4, 5, 6, 8))
    grid[0][1].set_ylim(losses.min() / 1.04, top)
    for _, axes, mine in grid:
        _mark_beyond(axes, mine, top)
    looks = {label: _look(reading) for reading, (label, *_) in style.READINGS.items() if table[reading].notna().any()}
    style.legend(figure, looks)
    return style.noted(figure, style.absent(connection, UNREAD, "Not read by a lens yet"))


def _mark_beyond(axes: style.Axes, table: style.Table, top: float) -> None:
    """An arrow at the upper edge for each layer that lies beyond it, and the greatest value."""
    beyond = table.set_index("layer")[list(style.READINGS)].stack()
    beyond = beyond[beyond > top]
    for layer, reading in beyond.index:
        axes.plot(layer, top, marker="^", color=style.READINGS[reading][1], markersize=6, clip_on=False, zorder=5)
    if len(beyond):
        words = {"va": "top", "fontsize": "small", "path_effects": style.halo()}
        style.write(axes, f"{beyond.max():.0f} nats", (beyond.idxmax()[0], top), (7, -3), **words)


def _look(reading: str, small: bool = False) -> dict[str, object]:
    """How a line is drawn. Retrained readouts mostly lie where those of training do: hollow, so that both are seen."""
    _, colour, marker, dashes = style.READINGS[reading]
    if reading == "retrained":
        hollow = {"markerfacecolor": "none", "markeredgecolor": colour, "markeredgewidth": 1.1}
        return style.marked(colour, marker, 5 if small else 8, 0.9, dashes) | hollow
    return style.marked(colour, marker, 2 if small else 4, dashes=dashes)
