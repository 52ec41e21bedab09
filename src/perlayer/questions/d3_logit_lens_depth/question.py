"""At which depth does the output take shape, and is it where contributions drop?"""

from __future__ import annotations

import duckdb

from perlayer.questions.depth_use import NOISE, UNDISSECTED, Finding, baseline, beside, dissected
from perlayer.questions.question import Question, sql
from perlayer.questions.wording import claims_fared, noise_of


def verdict(connection: duckdb.DuckDBPyConnection) -> str:
    """From which layer on the logit lens is near the output, beside the layer at which contributions fall most."""
    if not dissected(connection):
        return UNDISSECTED
    kl, overlap, drop = (baseline(connection, f"{name}_layer") for name in ("kl", "overlap", "drop"))
    sentences = ["The baseline has not been dissected yet."]
    if kl is not None and overlap is not None:
        sentences = [
            "In the baseline, the first layer at whose input the logit lens is less than half as far from the output "
            f"as at its farthest is {_average(kl)}, and the first whose input shares more than a fifth of the five "
            f"likeliest tokens with it {_average(overlap)}."
        ]
    if drop is not None:
        sentences.append(f"The layer at which what layers add falls most is {_average(drop)}.")
    elif baseline(connection, "drop_share") is not None:
        sentences.append("What layers add falls at no layer.")
    layer = "{:.3g}".format
    sentences += beside(connection, "kl_layer", "the layer from which the lens is less than half as far is", layer)
    return " ".join([*sentences, claims_fared(connection, "D3")])


def _average(layer: Finding) -> str:
    """A layer, which over several seeds may be one that does not exist."""
    over = f" on average over {layer.seeds} seeds" if layer.seeds > 1 else ""
    return f"{layer.mean:.3g}{over} ({noise_of(layer.noise)})"


QUESTION = Question(
    key="D3",
    title="At which depth does the output take shape, and is it where contributions drop?",
    background=(
        "The model's own norm and head read the residual after every layer (logit lens). KL(lens || final output) says "
        "how far that is from the output, the overlap which share of the five likeliest tokens is the same. Two layers "
        "sum that up: the first whose input has a KL below half of the greatest, and the first whose input has an "
        "overlap above 0.2. They are at about the same depth as the drop of contributions when there is one and they "
        "are less than a sixth of the depth away from the layer at which contributions fall most. The claims are about "
        "the baseline; models whose layers were trained to be read by that head are near the output early by training. "
        f"{NOISE}"
    ),
    runs=sql("depth_runs"),
    numbers=sql("d3_numbers"),
    numbers_title="The layer from which the output is near, beside that of the drop",
    testing=sql("depth_testing"),
    claims=sql("d3_claims"),
    figures=("depth_profile",),
    verdict=verdict,
)
