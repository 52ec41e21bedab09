"""What the questions about what layers are made of share."""

from __future__ import annotations

import math
from functools import partial

import duckdb

from perlayer.questions import depth_use
from perlayer.questions.depth_use import NOISE

VIEW = "anatomy_findings"
UNTAKEN = "No finished model of the recipe's depth has been taken apart yet."
ABOUT_BASELINE = f"The claims are about the baseline. {NOISE}"

findings = partial(depth_use.findings, view=VIEW)
baseline = partial(depth_use.baseline, view=VIEW)
beside = partial(depth_use.beside, view=VIEW)


def unmeasured(connection: duckdb.DuckDBPyConnection, layers: int) -> str:
    """Why a number that takes so many layers is not there: no model has been taken apart, or they have fewer."""
    (taken,) = connection.execute("SELECT count(*) FROM anatomy_runs WHERE full_depth").fetchone()
    if not taken:
        return UNTAKEN
    return f"The finished models of the recipe's depth have fewer than the {layers} layers that it takes."


def in_percent(nats: float) -> str:
    """A change of log-perplexity as that of perplexity; percents beyond a million as a power of ten."""
    percent = 100 * math.expm1(nats)
    if abs(percent) < 1000:
        return f"{percent:+.3g} %"
    return f"{percent:+,.0f} %" if abs(percent) < 1e6 else f"{percent:+.2e} %"
