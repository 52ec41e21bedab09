"""What does each layer add to the residual stream?"""

from __future__ import annotations

import duckdb

from perlayer.questions.depth_use import NO_HALVES, NOISE, UNDISSECTED, baseline, beside, dissected
from perlayer.questions.question import Question, sql
from perlayer.questions.wording import claims_fared, noise_of, percent


def verdict(connection: duckdb.DuckDBPyConnection) -> str:
    """How much less the second half adds, where what layers add falls most, and what supervision does to both."""
    if not dissected(connection):
        return UNDISSECTED
    sentences = [*_halves(connection), *_fall(connection), *_cosines(connection)]
    sentences += beside(connection, "layer_ratio", "what layers of the second half add over those of the first is")
    return " ".join([*sentences, claims_fared(connection, "D1")])


def _halves(connection: duckdb.DuckDBPyConnection) -> list[str]:
    layers, attention, mlp = (baseline(connection, f"{part}_ratio") for part in ("layer", "attention", "mlp"))
    if layers is None:
        return [NO_HALVES]
    parts = [f"{name} {part.mean:.3f}" for name, part in (("attention", attention), ("MLP", mlp)) if part]
    return [
        f"In the baseline a layer of the second half adds {layers.mean:.3f} of what one of the first half adds, "
        f"relative to the residual ({noise_of(layers.noise)}); {', '.join(parts)}."
    ]


def _fall(connection: duckdb.DuckDBPyConnection) -> list[str]:
    row = connection.execute(
        """SELECT drop_share, drop_layer, drops.layers FROM contribution_drops AS drops
        JOIN dissected_runs USING (run)
        WHERE sublayer IS NULL AND full_depth AND label = 'baseline' AND run = lead AND drop_share IS NOT NULL"""
    ).fetchone()
    if row is None:
        return []
    share, layer, layers = row
    if layer is None:
        return ["From one layer to the next it falls nowhere."]
    everywhere = baseline(connection, "drop_share")
    over_seeds = "" if everywhere is None else f"; over seeds the greatest is {percent(everywhere.mean)} on average"
    return [
        f"From one layer to the next it falls most at layer {layer} of {layers} in the run of the lowest seed, by "
        f"{percent(share)}{over_seeds}."
    ]


def _cosines(connection: duckdb.DuckDBPyConnection) -> list[str]:
    before, after = (baseline(connection, f"cosine_{side}_middle") for side in ("before", "after"))
    if before is None or after is None:
        return []
    noise = None if before.noise is None else max(before.noise, after.noise)
    return [
        f"The cosine of what layers add with the residual is {before.mean:+.3f} before the middle and "
        f"{after.mean:+.3f} after it ({noise_of(noise)})."
    ]


QUESTION = Question(
    key="D1",
    title="What does each layer add to the residual stream?",
    background=(
        "On held-out text, the length of what a layer, its attention or its MLP adds to the residual stream is divided "
        "by the length of what it is added to, for every token, then averaged; the cosine between the two says whether "
        "it amplifies (above 0) or erases. Halves leave out layer 1, which builds the residual on a short embedding; "
        "a fall from layer l - 1 to l is at (l - 1) / L of the depth L, "
        "and near the middle if that is less than a sixth from a half; before and after the middle are the second and "
        f"the third quarter of the depth. The claims are about the baseline. {NOISE}"
    ),
    runs=sql("depth_runs"),
    numbers=sql("d1_numbers"),
    numbers_title="What the second half of the layers adds over the first, and where it falls",
    signed=("cosine_before", "cosine_after"),
    testing=sql("depth_testing"),
    claims=sql("d1_claims"),
    figures=("contributions",),
    verdict=verdict,
)
