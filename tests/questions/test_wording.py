"""Words that the page has for what was measured and judged."""

import pytest

from perlayer.comparison import Contrast
from perlayer.questions import wording


def contrast(estimate, low, high, part="layer 1"):
    return Contrast("Q0", "claim", part, "above", 0.0, 0.02, estimate, 0.01, 8.0, low, high, 3, "text", "yes", False)


@pytest.mark.parametrize(
    "unit, values, words",
    [
        ("nats", (0.01234, -0.0004, 0.5), "+0.012 [+0.000, +0.500]"),
        ("log ratio", (0.0, -0.6931472, 0.6931472), "+0 % [-50 %, +100 %]"),  # a half and twice as much
        ("share", (0.125, 0.1, 0.15), "+12.5 % [+10.0 %, +15.0 %]"),
        ("layers", (1.0, 0.5, 1.5), "+1.0 layers [+0.5 layers, +1.5 layers]"),
        ("nats", (1.0, None, None), "+1.000 (no interval)"),
        ("nats", (0.0, 0.0, 0.0), "+0.000"),
    ],
)
def test_an_estimate_is_written_with_its_interval(unit, values, words):
    assert wording.interval(contrast(*values), unit) == words


def test_few_parts_are_written_out_and_of_many_the_ends():
    parts = [contrast(k / 10, k / 10 - 0.01, k / 10 + 0.01, f"layer {k}") for k in (3, 1, 2, 4)]
    assert wording.measured(parts[:1], "nats") == "+0.300 [+0.290, +0.310]"
    assert wording.measured(parts[:2], "nats") == "layer 3 +0.300 [+0.290, +0.310]; layer 1 +0.100 [+0.090, +0.110]"
    said = "+0.100 [+0.090, +0.110] (layer 1) to +0.400 [+0.390, +0.410] (layer 4), 4 parts"
    assert wording.measured(parts, "nats") == said
    assert wording.measured([contrast(None, None, None)], "nats") is None


def test_a_list_is_one_sentence():
    assert [wording.listed(parts) for parts in (["a"], ["a", "b"], ["a", "b", "c"])] == ["a", "a and b", "a, b and c"]
