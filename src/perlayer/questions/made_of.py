"""What the questions about what layers are made of share."""

from __future__ import annotations

import math
from functools import partial

from perlayer.questions import depth_use
from perlayer.questions.depth_use import NOISE

VIEW = "anatomy_findings"
UNTAKEN = "No finished model of the recipe's depth has been taken apart yet."
ABOUT_BASELINE = f"The claims are about the baseline. {NOISE}"

findings = partial(depth_use.findings, view=VIEW)
baseline = partial(depth_use.baseline, view=VIEW)
beside = partial(depth_use.beside, view=VIEW)


def in_percent(nats: float) -> str:
    """A change of log-perplexity as that of perplexity; percents beyond a million as a power of ten."""
    percent = 100 * math.expm1(nats)
    if abs(percent) < 1000:
        return f"{percent:+.3g} %"
    return f"{percent:+,.0f} %" if abs(percent) < 1e6 else f"{percent:+.2e} %"
