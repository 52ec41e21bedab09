"""How well the layers of one model are a linear map of those of another, for all pairs of layers.

Csordas, Manning, Potts 2025, figure 8 (arXiv 2505.13898), who train their maps by gradient descent; here they are ridge
regressions, which need one pass over the text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from perlayer.depth.interventions import first_of_text, run
from perlayer.depth.measures import norm, relative_norm
from perlayer.depth.ridge import Moments, Ridge
from perlayer.depth.tables import LinearMap
from perlayer.model.decoder import Decoder

PENALTIES = tuple(10.0**power for power in range(-6, 2))
KINDS = {"residual": 0, "contribution": 1}  # what is mapped, and its first layer


@dataclass(frozen=True, eq=False)
class MappedText:
    """What maps are fitted on, chosen by and measured on: integers (sequences, length) each."""

    fit: Tensor
    choose: Tensor
    measure: Tensor


def measure_linear_maps(
    pair: str, source: Decoder, target: Decoder, text: MappedText, sequences_at_once: int
) -> list[LinearMap]:
    """Map residuals after each layer of one model to those of another, and contributions of layers to contributions.

    `layer` is that of the model which is predicted, `source_layer` that of the model from which it is. Every pair has a
    map with a bias of its own, fitted to `text.fit`, by the penalty with the least error on `text.choose`.

    - `error`: |y - y'| / |y| of a token, mean over the tokens of `text.measure`; `mean_error`: the same where the mean
      over `text.fit` is all that is predicted.
    - `unexplained`: the squared error of the map over that of the mean.
    - `penalty`: as `Ridge` has it.
    - `from_diagonal`: how far the relative depths of both layers are apart; `best`: whether no other source layer does
      better, embeddings aside.

    The first token of a text is left out, as in the source. Moments are held of all pairs at once: float64, about
    layers x hidden x layers x hidden numbers.
    """
    with torch.inference_mode():
        moments = {kind: [Moments() for _ in range(first, source.config.layers + 1)] for kind, first in KINDS.items()}
        for found, expected in _vectors(source, target, text.fit, sequences_at_once):
            for kind in KINDS:
                for inputs, each in zip(found[kind], moments[kind]):
                    each.add(inputs, expected[kind].flatten(1))
        maps = {kind: [Ridge(each) for each in moments[kind]] for kind in KINDS}
        choosing, _ = _errors(maps, source, target, text.choose, sequences_at_once)
        measured, count = _errors(maps, source, target, text.measure, sequences_at_once)
    depths = {"layers": target.config.layers, "source_layers": source.config.layers}
    return [
        row
        for kind, errors in measured.items()
        for row in _rows(pair, kind, depths, errors, count, choosing[kind].relative.argmin(1))
    ]


@dataclass(frozen=True, eq=False)
class Errors:
    """Of maps from layers to layers under each penalty, (layers from, penalties, layers to), and of the mean."""

    relative: Tensor  # sums over tokens
    squared: Tensor
    mean_relative: Tensor  # (layers to,)
    mean_squared: Tensor

    def __add__(self, other: Errors) -> Errors:
        return Errors(
            self.relative + other.relative,
            self.squared + other.squared,
            self.mean_relative + other.mean_relative,
            self.mean_squared + other.mean_squared,
        )


Vectors = dict[str, Tensor]  # by kind


def _vectors(
    source: Decoder, target: Decoder, tokens: Tensor, sequences_at_once: int
) -> Iterator[tuple[Vectors, Vectors]]:
    """For each batch, (layers, tokens, hidden) of the first model and (tokens, layers, hidden) of the second."""
    device = source.lm_head.weight.device
    for some in tokens.split(sequences_at_once):
        some = some.to(device)
        kept = ~(first_of_text(source, some) | first_of_text(target, some))
        if kept.any():
            yield _by_kind(source, some, kept, 0), _by_kind(target, some, kept, 1)


def _by_kind(decoder: Decoder, tokens: Tensor, kept: Tensor, layers_at: int) -> Vectors:
    trace = run(decoder, tokens)
    contributions = [trace.contributions[layer, "layer"] for layer in range(1, decoder.config.layers + 1)]
    found = {"residual": trace.residuals, "contribution": contributions}
    return {kind: torch.stack([each[kept] for each in layers], layers_at) for kind, layers in found.items()}


def _errors(
    maps: dict[str, list[Ridge]], source: Decoder, target: Decoder, tokens: Tensor, sequences_at_once: int
) -> tuple[dict[str, Errors], int]:
    """The errors of every map under every penalty, and of the means, by kind; and of how many tokens."""
    sums: dict[str, Errors] = {}
    count = 0
    for found, expected in _vectors(source, target, tokens, sequences_at_once):
        for kind, ridges in maps.items():
            outputs = expected[kind].double()
            mean = ridges[0].mean_output.view(outputs.shape[1:])
            batch = Errors(
                *_mapped(ridges, found[kind], outputs),
                relative_norm(outputs - mean, outputs).sum(0),
                norm(outputs - mean).square().sum(0),
            )
            sums[kind] = sums[kind] + batch if kind in sums else batch
        count += len(expected["residual"])
    return sums, count


def _mapped(ridges: list[Ridge], inputs: Tensor, outputs: Tensor) -> tuple[Tensor, Tensor]:
    """Relative and squared errors, summed over tokens: (layers from, penalties, layers to)."""
    relative, squared = [], []
    for ridge, each in zip(ridges, inputs):
        for penalty in PENALTIES:
            missed = outputs - ridge.predict(each, penalty).view_as(outputs)
            relative.append(relative_norm(missed, outputs).sum(0))
            squared.append(norm(missed).square().sum(0))
    shape = (len(ridges), len(PENALTIES), -1)
    return torch.stack(relative).view(shape), torch.stack(squared).view(shape)


def _rows(
    pair: str, kind: str, depths: dict[str, int], errors: Errors, count: int, chosen: Tensor
) -> Iterator[LinearMap]:
    """The rows of one kind; `chosen` (layers from, layers to) is the place of each pair's penalty."""
    first, layers, source_layers = KINDS[kind], depths["layers"], depths["source_layers"]
    for to, mean in enumerate(errors.mean_relative.tolist()):
        layer, places = to + first, chosen[:, to].tolist()
        mapped = {o + first: errors.relative[o, place, to].item() / count for o, place in enumerate(places)}
        best = min((source for source in mapped if source and layer), key=mapped.get, default=None)
        for source, place in enumerate(places, first):
            yield LinearMap(
                pair,
                kind,
                layer,
                source,
                **depths,
                error=mapped[source],
                unexplained=(errors.squared[source - first, place, to] / errors.mean_squared[to]).item(),
                penalty=PENALTIES[place],
                mean_error=mean / count,
                from_diagonal=abs(source * layers - layer * source_layers) / (layers * source_layers),
                best=source == best,
            )
