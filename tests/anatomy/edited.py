"""Held-out losses of models that are edited by hand: their weights in a dictionary, their sublayers by a function."""

import copy
import math

import torch
from by_hand import EOS, Plain, beside_itself

from perlayer.anatomy.perplexity import HeldOutText
from perlayer.anatomy.settings import AnatomySettings

LENGTH, LAYERS, SEQUENCES = 11, 3, 4
ENDS = (2, 16, 17, 30)  # of documents, in the stream of tokens: a document goes on from sequence to sequence
KINDS = ("pre_ln", "sandwich", "Llama", "Qwen3")


def settings(**changes):
    usual = dict(
        sequences=SEQUENCES,
        tokens_at_once=3 * LENGTH,  # three of four sequences together
        resamples=50,
        entries=150,
        manipulated_layers=1,
        strengths=[0.1, 0.7, 1.0],
        noise=0.5,
        recovery_steps=5,
        recovery_batch=2,
        recovery_learning_rate=0.01,
        recovery_within=0.05,
        recovery_every=2,
        recovery_sequences=2,
    )
    return AnatomySettings(**{**usual, **changes})


def some_rows():
    """(SEQUENCES, LENGTH + 1) of one stream, each beginning with the last token of the one before."""
    stream = torch.randint(2, 30, (SEQUENCES * LENGTH + 1,), generator=torch.Generator().manual_seed(2))
    stream[list(ENDS)] = EOS
    return torch.stack([stream[start : start + LENGTH + 1] for start in range(0, SEQUENCES * LENGTH, LENGTH)])


def some_text():
    return HeldOutText.of(some_rows(), EOS)


def documents_by_hand():
    """The document of each target, a list a sequence: the stream from token 1 on, parted behind each EOS."""
    return [
        [sum(end < place for end in ENDS) for place in range(start + 1, start + LENGTH + 1)]
        for start in range(0, SEQUENCES * LENGTH, LENGTH)
    ]


def beside(kind):
    """A decoder, the model that is edited by hand for each of its sequences, and how close the two are."""
    return beside_itself(kind, LAYERS, some_rows()[:, :-1])


def weights_of(one):
    return one.weights if isinstance(one, Plain) else one.model.state_dict()


def with_weights(one, changed):
    """The same model with other weights, by their full names."""
    other = copy.copy(one)
    if isinstance(one, Plain):
        other.weights = {**one.weights, **changed}
    else:
        other.model = copy.deepcopy(one.model)
        other.model.load_state_dict({**one.model.state_dict(), **changed})
    return other


def with_outputs(one, replaced):
    """The next-token distributions when attention and MLP give `replaced(layer, kind, output)`, before any norm."""
    if not isinstance(one, Plain):
        return one.run(replaced)[2]
    other = copy.copy(one)
    for kind in ("attention", "mlp"):
        usual = getattr(one, kind)
        setattr(other, kind, lambda layer, x, kind=kind, usual=usual: replaced(layer, kind, usual(layer, x)))
    return other.run()[2]


def nats_by_hand(distributions):
    """Summed -log p of each document's targets, from (length, vocabulary) probabilities of each sequence."""
    sums = [0.0] * (1 + max(map(max, documents_by_hand())))
    for probabilities, row, documents in zip(distributions, some_rows(), documents_by_hand()):
        for p, target, document in zip(probabilities, row[1:], documents):
            sums[document] -= p[target].log().item()
    return sums


def percent_by_hand(before, after):
    """100 (perplexity after / before - 1), from nats by document."""
    targets = SEQUENCES * LENGTH
    return 100 * (math.exp(sum(after) / targets) / math.exp(sum(before) / targets) - 1)


def degradations(rows, *columns):
    """By how many percent perplexity rises, by what columns say of each row; each is there once."""
    found = {tuple(getattr(row, column) for column in columns): row.degradation for row in rows}
    assert len(found) == len(rows)
    return found
