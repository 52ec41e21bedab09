"""What happens to later layers and to the output when a layer or a sublayer is left out.

Csordas, Manning, Potts 2025, figures 3, 5 and 17 (arXiv 2505.13898), and their code for how many splits.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from perlayer.depth.interventions import (
    PARTS,
    Intervention,
    Replacement,
    UntouchedRun,
    first_of_text,
    giving_nothing_changes_residual,
    rerun,
    run,
    running_residual,
    skip,
    visible,
)
from perlayer.depth.measures import probability_distance, relative_norm
from perlayer.depth.settings import AFTER_SPLIT, FIRST_SPLIT, DepthSettings
from perlayer.depth.statistics import STATS, TokenValues
from perlayer.depth.tables import OutputEffect, SkipEffect
from perlayer.errors import UserError
from perlayer.model.decoder import Decoder

BETWEEN_SPLITS = 8  # tokens from one split to the next
SEED = 123
BLOCK = "block"  # beside the parts of a layer: the whole layer as the identity, where that is not the same


@dataclass(frozen=True, eq=False)
class Cut:
    """Where something is skipped in every sequence, and where the effect is measured; both bool (batch, length)."""

    name: str  # all or future
    skipped: Tensor
    measured: Tensor


def measure_skipping(
    name: str, decoder: Decoder, tokens: Tensor, settings: DepthSettings
) -> tuple[list[SkipEffect], list[OutputEffect]]:
    """The effect of leaving out each layer or one of its sublayers, as mean, p95 and max over tokens.

    What is left out gives nothing to the residual design. `effect_*` is |c - c'| / |c| of the contribution c of each
    later layer; `output_effect_*` the Euclidean distance between the next-token distributions;
    `local_effect_*` is that of a later layer alone, which reads the untouched stream without what was left out.

    - `*_all`: everywhere but at the first token of a text, and measured there.
    - `*_future`: before a split, and measured at the tokens from it on that see a token where something was left out.
      Splits of a sequence are drawn from a grid, the same for every model.

    Where leaving out a layer's outputs is not leaving out the layer, since its design still mixes streams or norms
    them, `sublayer` block has the numbers of the layer as the identity.

    Args:
        name: of the model.
        tokens: integers (sequences, length).

    Raises:
        UserError: sequences are too short for a split.
    """
    found = TokenValues()
    size = settings.sequences_at_once(tokens.shape[1])
    splits = split_positions(*tokens.shape, settings.splits)
    for some, where in zip(tokens.split(size), splits.split(size)):
        add_effects(decoder, some, where, settings.tokens_at_once, found)
    return effects_of(name, found, STATS)


def effects_of(name: str, found: TokenValues, stats: Sequence[str]) -> tuple[list[SkipEffect], list[OutputEffect]]:
    """The rows of what has been taken in: effects on later layers, and on the output."""
    layers, outputs = [], []
    for stat in stats:
        for (layer, sublayer, later), effects in found.numbers(stat).items():
            if later is None:
                outputs.append(OutputEffect(name, layer, sublayer, stat, **effects))
            else:
                layers.append(SkipEffect(name, layer, sublayer, later, stat, **effects))
    return layers, outputs


def add_effects(decoder: Decoder, tokens: Tensor, splits: Tensor, tokens_at_once: int, found: TokenValues) -> None:
    """Take in the effects of leaving out each layer and its sublayers in a batch of sequences of one length.

    Args:
        tokens: integers (sequences, length).
        splits: where each of them is split, int64 (sequences, splits).
    """
    device = decoder.lm_head.weight.device
    with torch.inference_mode():
        untouched = run(decoder, tokens.to(device))
        cuts = _cuts(decoder, untouched.tokens, splits.to(device))
        for layer in range(1, decoder.config.layers + 1):
            _skip_layer(decoder, untouched, layer, cuts, tokens_at_once, found)


def split_positions(sequences: int, length: int, splits: int) -> Tensor:
    """Where each sequence is split: int64 (sequences, splits), or as many as there are places.

    Raises:
        UserError: a sequence has no place for a split.
    """
    places = range(FIRST_SPLIT, length - AFTER_SPLIT, BETWEEN_SPLITS)
    if not places:
        raise UserError(f"expected sequences of more than {FIRST_SPLIT + AFTER_SPLIT} tokens, to split, found {length}")
    draw = random.Random(SEED)
    return torch.tensor([draw.sample(places, min(splits, len(places))) for _ in range(sequences)])


def add_future_effects(
    decoder: Decoder, tokens: Tensor, splits: Tensor, tokens_at_once: int, found: TokenValues
) -> None:
    """Of `add_effects` the effects of whole layers on future tokens alone, where changes propagate.

    Args:
        tokens: integers (sequences, length).
        splits: where each of them is split, int64 (sequences, splits).
    """
    device = decoder.lm_head.weight.device
    with torch.inference_mode():
        untouched = run(decoder, tokens.to(device))
        cuts = _future_cuts(decoder, untouched.tokens, splits.to(device))
        for layer in range(1, decoder.config.layers + 1):
            ways = [skip("layer", layer, cut.skipped) for cut in cuts]
            _measure(decoder, untouched, layer, "layer", cuts, ways, tokens_at_once, found)


def _cuts(decoder: Decoder, tokens: Tensor, splits: Tensor) -> list[Cut]:
    later = ~first_of_text(decoder, tokens)
    return [Cut("all", later, later), *_future_cuts(decoder, tokens, splits)]


def _future_cuts(decoder: Decoder, tokens: Tensor, splits: Tensor) -> list[Cut]:
    seen, later = visible(decoder, tokens), ~first_of_text(decoder, tokens)
    cuts = []
    for split in splits.T:
        before = torch.arange(tokens.shape[1], device=tokens.device) < split[:, None]
        skipped = later & before
        cuts.append(Cut("future", skipped, ~before & (seen & skipped[:, None]).any(-1)))
    return cuts


def _skip_layer(
    decoder: Decoder, untouched: UntouchedRun, layer: int, cuts: list[Cut], tokens_at_once: int, found: TokenValues
) -> None:
    """Take in the effects of leaving out one layer and its sublayers."""

    def measure(part: str, interventions: list[Intervention]) -> None:
        _measure(decoder, untouched, layer, part, cuts, interventions, tokens_at_once, found)

    for part in PARTS:
        measure(part, [skip(part, layer, cut.skipped) for cut in cuts])
        if layer < decoder.config.layers:
            measure(part, [skip(part, layer, cut.skipped, propagates=False) for cut in cuts])
    if giving_nothing_changes_residual(decoder, untouched, layer):
        before = running_residual(untouched.states[layer - 1])
        measure(BLOCK, [Intervention((Replacement("residual", layer, cut.skipped, before),)) for cut in cuts])


def _measure(
    decoder: Decoder,
    untouched: UntouchedRun,
    layer: int,
    part: str,
    cuts: list[Cut],
    interventions: list[Intervention],
    tokens_at_once: int,
    found: TokenValues,
) -> None:
    """Take in the effects of one way to leave out a layer or a part of it, one intervention a cut."""
    sublayer = None if part == "layer" else part
    traces = rerun(decoder, untouched, interventions, tokens_at_once)
    for cut, intervention, trace in zip(cuts, interventions, traces):
        effect = "effect" if intervention.propagates else "local_effect"
        for later in range(layer + 1, decoder.config.layers + 1):
            usual, other = untouched.contributions[later, "layer"], trace.contributions[later, "layer"]
            change = relative_norm((usual - other)[cut.measured], usual[cut.measured])
            found.add((layer, sublayer, later), f"{effect}_{cut.name}", change)
        if intervention.propagates:
            hidden, other = (decoder.model.norm(tap[cut.measured]) for tap in (untouched.tap, trace.tap))
            distance = probability_distance(hidden, other, decoder.lm_head.weight)
            found.add((layer, sublayer, None), f"output_effect_{cut.name}", distance)
