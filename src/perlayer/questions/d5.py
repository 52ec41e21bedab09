"""Do harder problems use deeper layers?"""

from __future__ import annotations

import duckdb

from perlayer.questions.depth_use import NOISE, UNDISSECTED, baseline, beside, findings
from perlayer.questions.question import Question, sql
from perlayer.questions.wording import beyond, claims_fared, listed, noise_of, percent, signed


def verdict(connection: duckdb.DuckDBPyConnection) -> str:
    """How the depth score goes with difficulty, and the depth scores on held-out text."""
    sentences = _growths(connection)
    if not sentences:
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


def _growths(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """A sentence for each set of prompts that the baseline or a published model has read, and one for other setups."""
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
    """In which other setups and designs the depth score changes by more than noise."""
    rows = connection.execute(
        """SELECT label, growth, noise FROM growth_findings
        WHERE setup <> 'published' AND full_depth AND NOT (residual = 'sandwich' AND setup = 'baseline')
        ORDER BY place, prompts"""
    ).fetchall()
    known = [row for row in rows if row[2] is not None]
    if not known:
        return []
    moved = [f"{label} ({signed(growth, 2)})" for label, growth, noise in known if beyond(growth, noise)]
    if not moved:
        return ["In no other setup or design does it change by more than noise."]
    return [f"Of {len(known)} other setups and designs it changes by more than noise in {listed(moved)}."]


QUESTION = Question(
    key="D5",
    title="Do harder problems use deeper layers?",
    background=(
        "The depth score is the mean layer, weighted by what skipping it changes at future tokens: in the "
        "contributions of later layers, or in predictions. On problems of growing difficulty it would grow if harder "
        "ones were solved in deeper layers. Problems come in groups of one difficulty: sums of more and more digits, "
        "and, where params.yaml names their files, levels of MATH and hops of MQuAKE; what is skipped stands before "
        "the answer, and what is looked at in it. A line through the groups says by how much the score grows, flat is "
        "less than a twentieth of the depth. Models that cannot solve a problem have a depth score on it all the same, "
        "which says less. On held-out text the score says which layers the future of a text rests on; one layer of six "
        "that alone mattered would give its own number. Effective depths mark the layers at which the model turns to "
        f"predicting. {NOISE} To growth the error over problems is added, which alone counts for a published model."
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
