"""Perplexity by document against distributions written out, and its intervals against resampling in a loop."""

import numpy as np
import pytest
import torch
from by_hand import EOS
from edited import KINDS, LENGTH, SEQUENCES, beside, documents_by_hand, nats_by_hand, some_rows, some_text

from perlayer.anatomy.perplexity import HeldOutText, degradation, draw_documents, log_perplexity, nats_by_document
from perlayer.errors import UserError


def test_a_document_goes_on_from_sequence_to_sequence_and_ends_with_eos():
    text = some_text()
    assert text.documents.tolist() == documents_by_hand()
    # tokens 1 and 2, 3 to 16, 17, 18 to 30, and what is left of 4 x 11
    assert text.targets.tolist() == [2, 14, 1, 13, 14]
    first = text.first(2)
    assert first.rows.tolist() == some_rows()[:2].tolist() and first.targets.tolist() == [2, 14, 1, 5]


def test_a_token_that_is_bos_and_eos_makes_no_document_of_its_own():
    own = torch.tensor([[2, 5, 6, EOS, 2], [2, 7, EOS, 2, 8], [8, 5, EOS, 2, 5]])  # 2 begins each document
    one = torch.where(own == 2, EOS, own)
    expected = HeldOutText.of(own, EOS)
    assert expected.targets.tolist() == [3, 3, 4, 2]
    found = HeldOutText.of(one, EOS, bos_is_eos=True)
    assert torch.equal(found.documents, expected.documents) and torch.equal(found.targets, expected.targets)


def test_one_document_has_no_interval():
    with pytest.raises(UserError, match="expected at least 2 documents, for an interval, found 1 in 1 sequences"):
        HeldOutText.of(torch.full((1, LENGTH + 1), 5), EOS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tokens_at_once", [1, 3 * LENGTH, 1000])
def test_nats_are_those_of_the_distributions(kind, tokens_at_once):
    decoder, by_hand, close = beside(kind)
    (found,) = nats_by_document(decoder, some_text(), [], tokens_at_once)
    expected = nats_by_hand([one.run()[2] for one in by_hand])
    assert found.tolist() == pytest.approx(expected, rel=close)
    assert log_perplexity(found, some_text().targets) == pytest.approx(sum(expected) / (SEQUENCES * LENGTH), rel=close)


def made_up_documents(count):
    """Nats before and after, and targets, of documents of many lengths."""
    draw = np.random.default_rng(0)
    targets = draw.integers(1, 60, count).astype(float)
    before = targets * draw.normal(3, 0.3, count)
    return before, before + targets * draw.normal(0.2, 0.4, count), targets


def test_an_interval_holds_95_of_100_resamples_of_documents():
    before, after, targets = made_up_documents(30)
    draws = draw_documents(30, 400)
    assert draws.shape == (400, 30) and (draws.sum(1) == 30).all() and torch.equal(draws, draw_documents(30, 400))
    changes = []
    for counts in draws.long().tolist():
        drawn = np.repeat(np.arange(30), counts)
        of_each = [np.exp(nats[drawn].sum() / targets[drawn].sum()) for nats in (before, after)]
        changes.append(100 * (of_each[1] / of_each[0] - 1))
    found = degradation(*map(torch.from_numpy, (before, after, targets)), draws)
    assert found.value == pytest.approx(100 * (np.exp((after - before).sum() / targets.sum()) - 1))
    # in percent and in nats, a quantile lies between the same two resamples, near neighbours here
    assert (found.low, found.high) == pytest.approx(
        (np.percentile(changes, 2.5), np.percentile(changes, 97.5)), rel=0.01
    )
    assert found.low < found.value < found.high


def test_an_interval_is_as_wide_as_that_of_a_ratio_of_means():
    """Cochran's standard error of a ratio of sums over independent documents, in nats."""
    before, after, targets = made_up_documents(400)
    found = degradation(*map(torch.from_numpy, (before, after, targets)), draw_documents(400, 2000))
    ratio = (after - before).sum() / targets.sum()
    error = np.sqrt(((after - before - ratio * targets) ** 2).sum()) / targets.sum()
    width = np.log1p(found.high / 100) - np.log1p(found.low / 100)
    assert width == pytest.approx(2 * 1.96 * error, rel=0.1)


def test_no_change_is_zero_with_no_interval():
    before, _, targets = map(torch.from_numpy, made_up_documents(5))
    found = degradation(before, before, targets, draw_documents(5, 40))
    assert found == (0, 0, 0)
