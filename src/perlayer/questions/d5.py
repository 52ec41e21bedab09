"""Do harder problems use deeper layers?"""

from __future__ import annotations

import duckdb

from perlayer.questions.depth_use import NOISE, UNDISSECTED, baseline, beside, findings
from perlayer.questions.question import Question, sql
from perlayer.questions.wording import claims_fared, noise_of


def verdict(connection: duckdb.DuckDBPyConnection) -> str:
    """The depth scores on held-out text; that no problems of known difficulty have been read yet."""
    if not findings(connection, "depth_score"):
        return UNDISSECTED
    sentences = ["No problems of known difficulty have been read yet."]
    score, output = (baseline(connection, name) for name in ("depth_score", "output_depth_score"))
    if score is not None and output is not None:
        sentences.append(
            f"On held-out text the depth score of the baseline is {score.mean:.2f} layers ({noise_of(score.noise)}), "
            f"by predictions {output.mean:.2f} ({noise_of(output.noise)})."
        )
    sentences += beside(connection, "output_depth_score", "that by predictions is", "{:.2f}".format)
    return " ".join([*sentences, claims_fared(connection, "D5")])


QUESTION = Question(
    key="D5",
    title="Do harder problems use deeper layers?",
    background=(
        "The depth score is the mean layer, weighted by what skipping it changes at future tokens: in the "
        "contributions of later layers, or in predictions. On problems of growing difficulty it would grow if harder "
        "ones were solved in deeper layers. On held-out text it says which layers the future of a text rests on; one "
        "layer of six that alone mattered would give its own number. Effective depths mark the layers at which the "
        f"model turns to predicting. {NOISE}"
    ),
    runs=sql("depth_runs"),
    numbers=sql("d5_numbers"),
    numbers_title="Depth scores on held-out text",
    testing=sql("depth_testing"),
    claims=sql("d5_claims"),
    figures=("depth_scores",),
    verdict=verdict,
)
