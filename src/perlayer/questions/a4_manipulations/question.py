"""Which manipulations of weights does a model survive?"""

from __future__ import annotations

import duckdb

from perlayer.questions.made_of import ABOUT_BASELINE, baseline, beside, in_percent
from perlayer.questions.question import Question, sql
from perlayer.questions.wording import beyond, claims_fared, layers, listed, noise_of

UNMANIPULATED = "No layer of a finished model of the recipe's depth has been manipulated yet."


def verdict(connection: duckdb.DuckDBPyConnection) -> str:
    """What each manipulation does at full strength and at a tenth, on which layers."""
    rows = connection.execute(
        """SELECT kind, avg(in_nats(degradation)) FILTER (abs(strength - 0.1) < 1e-9) AS tenth,
            avg(in_nats(degradation)) FILTER (strength = 1) AS whole
        FROM manipulations JOIN anatomy_runs USING (run)
        WHERE residual = 'sandwich' AND setup = 'baseline' AND full_depth
        GROUP BY kind ORDER BY whole, kind"""
    ).fetchall()
    if not rows:
        return UNMANIPULATED
    (manipulated,) = connection.execute(
        """SELECT list(DISTINCT layer ORDER BY layer) FROM manipulations JOIN anatomy_runs USING (run)
        WHERE residual = 'sandwich' AND setup = 'baseline' AND full_depth"""
    ).fetchone()
    sentences = [f"In the baseline {layers(manipulated)} {'is' if len(manipulated) == 1 else 'are'} manipulated."]
    for place, words in ((2, "On average over seeds, all the way"), (1, "A tenth of the way")):
        parts = [f"{in_percent(row[place])} by {NAMES.get(row[0], row[0])}" for row in rows if row[place] is not None]
        if parts:
            sentences.append(f"{words} perplexity changes by {listed(parts)}.")
    sentences += _equal(connection)
    sentences += beside(connection, "scaled", "what scaling by 0.9 changes in log-perplexity is", "{:+.4f}".format)
    return " ".join([*sentences, claims_fared(connection, "A4")])


def _equal(connection: duckdb.DuckDBPyConnection) -> list[str]:
    lead, whole = (baseline(connection, name) for name in ("scale_lead_at_equal_strength", "scale_lead"))
    if lead is None:
        return []
    text = (
        f"At that equal strength the mildest other kind lies {lead.mean:+.4f} nats from scaling "
        f"({noise_of(lead.noise, 4)})"
    )
    if not beyond(lead.mean, lead.noise):
        return [f"{text}, which does not set scaling apart."]
    if lead.mean > 0:
        return [f"{text}: scaling is the mildest even so."]
    if whole is not None and whole.mean > 0 and beyond(whole.mean, whole.noise):
        return [f"{text}: what sets scaling by 0.9 apart is how little it changes, not how."]
    return [f"{text}: scaling is not the mildest."]


NAMES = {
    "scale": "scaling towards zero",
    "noise": "noise",
    "neighbour_interpolation": "going to the mean of the neighbours",
    "neighbour_copy": "going to a neighbour",
    "predicted": "going to what neighbours predict",
    "random": "going to random weights",
}

QUESTION = Question(
    key="A4",
    title="Which manipulations of weights does a model survive?",
    background=(
        "The weights of the least important layers (A2) go part of the way to others: to zero, so that a tenth is "
        "scaling by 0.9, to themselves plus noise, to the mean of the neighbours, to a copy of a neighbour, to what "
        "neighbours predict (A1), and to "
        "random weights, the floor. The source compares scaling by 0.9 with four others that it does not name; those "
        "and their strengths are ours, and at a tenth of the way all are alike in strength. Perplexity is that of "
        f"held-out text. {ABOUT_BASELINE}"
    ),
    runs=sql("anatomy_runs"),
    numbers=sql("a4_numbers"),
    numbers_title="By how many percent perplexity rises with manipulated weights",
    signed=("a_tenth", "half", "all_the_way", "low", "high"),
    testing=sql("anatomy_testing"),
    claims=sql("a4_claims"),
    figures=("manipulations",),
    verdict=verdict,
)
