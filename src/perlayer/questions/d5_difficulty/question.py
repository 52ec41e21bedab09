"""Do harder problems use deeper layers?"""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter

import duckdb

from perlayer.questions.depth_use import NOISE, UNDISSECTED, baseline, beside, dissected, findings
from perlayer.questions.question import Question, sql
from perlayer.questions.wording import beyond, claims_fared, listed, noise_of, percent, signed

UNSCORED = "No model of the recipe's depth has a depth score, which takes three layers."


def verdict(connection: duckdb.DuckDBPyConnection) -> str:
    """How the depth score goes with difficulty, and the depth scores on held-out text."""
    sentences = _growths(connection)
    if not sentences:
        if not dissected(connection):
            return UNDISSECTED
        scored = findings(connection, "depth_score")
        sentences = ["No problems of known difficulty have been read yet." if scored else UNSCORED]
    score, output = (baseline(connection, name) for name in ("depth_score", "output_depth_score"))
    if score is not None and output is not None:
        sentences.append(
            f"On held-out text the depth score of the baseline is {score.mean:.2f} layers ({noise_of(score.noise)}), "
            f"by predictions {output.mean:.2f} ({noise_of(output.noise)})."
        )
    sentences += beside(connection, "output_depth_score", "that by predictions is", "{:.2f}".format)
    return " ".join([*sentences, claims_fared(connection, "D5")])


def _growths(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """A sentence for each set of prompts that the baseline or a published model has read, or other setups have."""
    rows = connection.execute(
        """SELECT label, prompts, easiest, hardest, answered, growth, noise, output_growth, output_noise
        FROM growth_findings
        WHERE setup = 'published' OR full_depth AND residual = 'sandwich' AND setup = 'baseline'
        ORDER BY place, prompts"""
    ).fetchall()
    sentences = []
    for label, prompts, easiest, hardest, answered, growth, noise, output_growth, output_noise in rows:
        name = "the baseline" if label == "baseline" else label
        sentences.append(
            f"From {easiest} to {hardest} ({prompts}, of which {name} answers {percent(answered)}) the depth score of "
            f"{name} changes by {signed(growth, 2)} layers ({noise_of(noise)}), by predictions "
            f"{signed(output_growth, 2)} ({noise_of(output_noise)})."
        )
    return sentences + _elsewhere(connection)


def _elsewhere(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """In which other setups and designs the depth score changes by more than noise, a sentence a set of prompts."""
    rows = connection.execute(
        """SELECT prompts, label, growth, noise FROM growth_findings
        WHERE setup <> 'published' AND full_depth AND NOT (residual = 'sandwich' AND setup = 'baseline')
            AND noise IS NOT NULL
        ORDER BY prompts, place"""
    ).fetchall()
    sentences = []
    for prompts, known in groupby(rows, key=itemgetter(0)):
        known = list(known)
        moved = [f"{label} ({signed(growth, 2)})" for _, label, growth, noise in known if beyond(growth, noise)]
        others = f"{len(known)} other {'setup or design' if len(known) == 1 else 'setups and designs'}"
        where = f"{listed(moved)}, of {others}" if moved else f"none of {others}"
        sentences.append(f"On {prompts} the depth score changes by more than noise in {where} whose noise is known.")
    return sentences


QUESTION = Question(
    key="D5",
    title="Do harder problems use deeper layers?",
    background=(
        "The depth score is the mean layer, weighted by what skipping it changes at future tokens: in the "
        "contributions of later layers, or in predictions. On problems of growing difficulty it would grow if harder "
        "ones were solved in deeper layers. Problems come in groups of one difficulty: sums of more and more operands, "
        "and, where params.yaml names their files, levels of MATH and hops of MQuAKE; what is skipped stands before "
        "a split of the answer, and what is looked at are the answer's tokens from there on and predictions made at "
        "them: never of its first token, and where that is its only one, of what would follow it. A line through the "
        "groups says by how much the score grows, flat is less than a twentieth of the depth. Models that cannot solve "
        "a problem have a depth score on it all the same, which says less. On held-out text the score says which "
        "layers the future of a text rests on; one layer of six that alone mattered would give its own number. "
        f"Effective depths mark the layers at which the model turns to predicting. {NOISE} To growth the error over "
        "problems is added, which alone counts for a published model."
    ),
    runs=sql("depth_runs"),
    numbers=sql("d5_numbers"),
    numbers_title="Depth scores on held-out text, and what they grow by with difficulty",
    signed=("growth", "output_growth"),
    testing=sql("depth_testing"),
    claims=sql("d5_claims"),
    figures=("depth_by_group", "depth_scores"),
    verdict=verdict,
)
