"""Perplexity of held-out text by document, what changes of a model do to it, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from perlayer.anatomy.changes import WeightChange, changed_run
from perlayer.depth.interventions import Intervention, run
from perlayer.errors import UserError
from perlayer.intervals import Interval, over_documents
from perlayer.losses.linear_cross_entropy import linear_cross_entropy
from perlayer.model.decoder import Decoder
from perlayer.model.documents import document_ids

SEED = 0  # of the draws of documents, the same for every model
OUTSIDE = 0.05  # of the resamples, half of them below an interval and half above


@dataclass(frozen=True, eq=False)
class HeldOutText:
    """Held-out sequences that follow each other, and to which document each target belongs."""

    rows: Tensor  # int64 (sequences, length + 1), each beginning with the last token of the one before
    documents: Tensor  # int64 (sequences, length), from 0; a document may go on from sequence to sequence
    targets: Tensor  # float64 (documents,), how many each document has

    @classmethod
    def of(cls, rows: Tensor, eos_id: int, bos_is_eos: bool = False) -> HeldOutText:
        """Find the documents, as `document_ids` does.

        Raises:
            UserError: there are fewer than two, which have no interval.
        """
        targets = rows[:, 1:]
        documents = document_ids(targets.reshape(1, -1), eos_id, bos_is_eos).long().view(targets.shape)
        text = cls(rows, documents, torch.bincount(documents.flatten()).double())
        if len(text.targets) < 2:
            raise UserError(
                "held-out text: expected at least 2 documents, for an interval, found 1 in "
                f"{len(rows)} sequences; take more of them"
            )
        return text

    def first(self, sequences: int) -> HeldOutText:
        """The first of the sequences alone."""
        documents = self.documents[:sequences]
        return HeldOutText(self.rows[:sequences], documents, torch.bincount(documents.flatten()).double())

    def batches(self, tokens_at_once: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Rows and documents of at most so many targets together, one sequence at least."""
        size = max(1, tokens_at_once // self.documents.shape[1])
        return zip(self.rows.split(size), self.documents.split(size))


def nats_by_document(
    decoder: Decoder, text: HeldOutText, changes: Sequence[Intervention | WeightChange], tokens_at_once: int
) -> Tensor:
    """Summed next-token losses of each document, of the model as it is and after each change.

    Returns:
        float64 (1 + changes, documents) on the CPU, in nats; the first row is of the model as it is.
    """
    device = decoder.lm_head.weight.device
    nats = torch.zeros(1 + len(changes), len(text.targets), dtype=torch.float64)
    with torch.inference_mode():
        for rows, documents in text.batches(tokens_at_once):
            rows = rows.to(device)
            untouched = run(decoder, rows[:, :-1])
            for number, change in enumerate([None, *changes]):
                trace = untouched if change is None else changed_run(decoder, untouched, change)
                hidden = decoder.model.norm(trace.tap)
                losses = linear_cross_entropy(hidden, decoder.lm_head.weight, rows[:, 1:], reduction="none")
                nats[number].index_add_(0, documents.flatten(), losses.flatten().double().cpu())
    return nats


def log_perplexity(nats: Tensor, targets: Tensor) -> float:
    """Nats a target over all documents, from both by document."""
    return (nats.sum() / targets.sum()).item()


def draw_documents(documents: int, resamples: int) -> Tensor:
    """How often each document is in each resample, which draws as many as there are, with replacement.

    Returns:
        float64 (resamples, documents).
    """
    generator = np.random.Generator(np.random.PCG64(SEED))
    return torch.from_numpy(generator.multinomial(documents, np.full(documents, 1 / documents), resamples)).double()


def degradation(before: Tensor, after: Tensor, targets: Tensor, draws: Tensor) -> Interval:
    """100 (perplexity after / before - 1), where both are over the same documents, with its 95 % interval over these.

    The ends are quantiles, over resamples, of the change of log-perplexity, brought to percent.

    Args:
        before: nats of each document, float64 (documents,); `after` alike.
        targets: of each document, float64 (documents,).
        draws: as `draw_documents`.
    """
    difference = after - before
    resampled = (draws @ difference) / (draws @ targets)
    ends = np.quantile(resampled.numpy(), [OUTSIDE / 2, 1 - OUTSIDE / 2])
    return Interval(*(percent(change) for change in (log_perplexity(difference, targets), *ends)))


def over_text(
    statistic: Callable[[np.ndarray], np.ndarray], nats: Tensor, targets: Tensor, confidence: float
) -> Interval:
    """A number that several changes of a model come to together, with its bootstrap interval over documents.

    Args:
        statistic: from the changes of log-perplexity in each resample, nats, float64 (resamples, changes), to the
            number in each, (resamples,).
        nats: as `nats_by_document`.
        targets: of each document, float64 (documents,).
        confidence: of the interval.
    """
    differences, every = (nats[1:] - nats[0]).T.numpy(), targets.numpy()
    return over_documents(
        lambda counts: statistic(counts @ differences / (counts @ every)[:, None]), len(every), confidence
    )


def percent(log_change: float) -> float:
    """By how many percent perplexity rises where its logarithm rises by `log_change` nats."""
    return 100 * float(np.expm1(log_change))
