"""How long a layer takes to recover from noise on its weights, if it alone is trained.

Wietrzykowski 2026 (arXiv 2603.19348) counts steps after 50 % noise, 200 at most; the rest is ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from perlayer.anatomy.changes import WeightChange, layer_weights, weights_changed, with_noise
from perlayer.anatomy.perplexity import HeldOutText, log_perplexity, nats_by_document, percent
from perlayer.anatomy.settings import AnatomySettings
from perlayer.anatomy.tables import Recovery
from perlayer.losses.linear_cross_entropy import linear_cross_entropy
from perlayer.model.decoder import Decoder


def measure_recovery(
    name: str, decoder: Decoder, text: HeldOutText, training: Tensor, settings: AnatomySettings
) -> list[Recovery]:
    """Disturb each layer by noise, train it alone until perplexity is back, and count the updates.

    Each matrix W of its attention and MLP becomes W + noise x std(W) x N(0, 1). Then all weights of the layer are
    trained by AdamW on the same batches, until held-out perplexity is at most (1 + `recovery_within`) x that of the
    untouched model; looked at before the first update and after each `recovery_every` of them. The model is left as
    it was. Without any updates (`recovery_steps` 0) there are no rows.

    - `steps`: updates until then, or all of them where it is not back.
    - `recovered`: whether it is back.
    - `perturbation` and `remaining`: by how many percent perplexity lies above the untouched model's, before the
      first update and at the end.

    Args:
        text: on which perplexity is looked at.
        training: int64 (sequences, length + 1), in the order in which they are trained on, again from the first where
            they end.
    """

    if not settings.recovery_steps:
        return []

    def nats() -> float:
        (found,) = nats_by_document(decoder, text, [], settings.tokens_at_once)
        return log_perplexity(found, text.targets)

    usual, rows = nats(), []
    for layer in range(1, decoder.config.layers + 1):
        # all weights of the layer are named, so that all are put back
        everything = {**layer_weights(decoder, layer), **with_noise(decoder, layer)}
        with weights_changed(decoder, WeightChange({layer: everything}, settings.noise)):
            rows.append(Recovery(name, layer, *_recover(decoder, layer, usual, nats, training, settings)))
    return rows


def _recover(
    decoder: Decoder,
    layer: int,
    usual: float,
    nats: Callable[[], float],
    training: Tensor,
    settings: AnatomySettings,
) -> tuple[int, bool, float, float]:
    block, goal = decoder.model.layers[layer - 1], usual + math.log1p(settings.recovery_within)
    optimizer = torch.optim.AdamW(block.parameters(), lr=settings.recovery_learning_rate)
    first = now = nats()
    step = 0
    block.requires_grad_(True)
    try:
        while now > goal and step < settings.recovery_steps:
            step += 1
            optimizer.zero_grad()
            _loss(decoder, _batch(training, step, settings.recovery_batch)).backward()
            optimizer.step()
            if step % settings.recovery_every == 0 or step == settings.recovery_steps:
                now = nats()
    finally:
        block.requires_grad_(False)
    return step, now <= goal, percent(first - usual), percent(now - usual)


def _batch(training: Tensor, step: int, batch: int) -> Tensor:
    """The sequences of the `step`-th update, from 1."""
    return training[torch.arange((step - 1) * batch, step * batch) % len(training)]


def _loss(decoder: Decoder, rows: Tensor) -> Tensor:
    rows = rows.to(decoder.lm_head.weight.device)
    hidden = decoder.model.norm(decoder(rows[:, :-1])[-1])
    return linear_cross_entropy(hidden, decoder.lm_head.weight, rows[:, 1:])
