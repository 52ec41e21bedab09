"""At which depth does the output take shape, and is it where contributions drop?"""

from __future__ import annotations

import duckdb

from perlayer.questions.depth_use import NOISE, UNDISSECTED, baseline, beside, findings
from perlayer.questions.question import Question, sql
from perlayer.questions.wording import claims_fared, noise_of


def verdict(connection: duckdb.DuckDBPyConnection) -> str:
    """From which layer on the logit lens is near the output, beside the layer at which contributions fall most."""
    if not findings(connection, "kl_layer"):
        return UNDISSECTED
    kl, overlap, drop = (baseline(connection, f"{name}_layer") for name in ("kl", "overlap", "drop"))
    sentences = ["The baseline has not been dissected yet."]
    if kl is not None and overlap is not None:
        sentences = [
            f"In the baseline the input of layer {kl.mean:.3g} is the first from which the logit lens is less than "
            f"half as far from the output as at its farthest ({noise_of(kl.noise)}), and that of layer "
            f"{overlap.mean:.3g} the first that shares more than a fifth of the five likeliest tokens with it "
            f"({noise_of(overlap.noise)})."
        ]
    if drop is not None:
        sentences.append(f"What layers add falls most at layer {drop.mean:.3g} ({noise_of(drop.noise)}).")
    layer = "{:.3g}".format
    sentences += beside(connection, "kl_layer", "the layer from which the lens is less than half as far is", layer)
    return " ".join([*sentences, claims_fared(connection, "D3")])


QUESTION = Question(
    key="D3",
    title="At which depth does the output take shape, and is it where contributions drop?",
    background=(
        "The model's own norm and head read the residual after every layer (logit lens). KL(lens || final output) says "
        "how far that is from the output, the overlap which share of the five likeliest tokens is the same. Two layers "
        "sum that up: the first whose input has a KL below half of the greatest, and the first whose input has an "
        "overlap above 0.2. They are at about the same depth as the drop of contributions when they are less than a "
        "sixth of the depth away from the layer at which contributions fall most. The claims are about the baseline; "
        f"models whose layers were trained to be read by that head are near the output early by training. {NOISE}"
    ),
    runs=sql("depth_runs"),
    numbers=sql("d3_numbers"),
    numbers_title="The layer from which the output is near, beside that of the drop",
    testing=sql("depth_testing"),
    claims=sql("d3_claims"),
    figures=("depth_profile",),
    verdict=verdict,
)
