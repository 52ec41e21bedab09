"""Training a tuned lens on a frozen decoder."""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from perlayer.data.batches import read_split
from perlayer.environment import Machine
from perlayer.layer_metrics import Series
from perlayer.lens.lenses import TunedLens, decoder_hash
from perlayer.lens.reading import at_once
from perlayer.lens.settings import TunedLensSettings
from perlayer.losses.divergence import kl_from_final
from perlayer.losses.reading import Reading
from perlayer.model.decoder import Decoder
from perlayer.optim.hyperball import clip_by_global_norm
from perlayer.training.frozen_backbone import FrozenBackbone
from perlayer.training.layer_log import LayerLog
from perlayer.training.milestones import Milestones
from perlayer.training.schedule import LearningRateSchedule
from perlayer.training.session import Work, begin, checked_data, fit, layer_log, new_trainer, resumable

SEED = 0  # nothing is drawn: translators start at zero, and the data order is that of the shards


class LensTraining(FrozenBackbone):
    """Draws every layer of a tuned lens towards the final output: the mean of KL(final || lens) over tokens."""

    def losses(self, taps: list[Tensor], tokens: Tensor) -> dict[Reading, Tensor]:
        layers = range(self.decoder.config.layers)
        hiddens = [self.readers.hidden(self.decoder, layer, taps[layer]) for layer in layers]
        final = self.decoder.model.norm(taps[-1])
        losses = kl_from_final(hiddens, final, self.decoder.lm_head.weight)
        return {Reading(layer, self.readers.name): loss for layer, loss in zip(layers, losses)}


class TranslatorSGD(torch.optim.SGD):
    """Nesterov's momentum, each translator clipped by its own norm, so that layers learn independently.

    Belrose et al. clip all translators by one norm.
    """

    def __init__(self, lens: TunedLens, settings: TunedLensSettings):
        # The published rate belongs to a momentum that averages gradients; torch's sums them.
        rate = settings.learning_rate * (1.0 - settings.momentum)
        super().__init__(
            [{"params": list(one.parameters()), "peak_lr": rate} for one in lens.translators.values()],
            lr=rate,
            momentum=settings.momentum,
            weight_decay=settings.weight_decay,
            nesterov=settings.momentum > 0,
        )
        self.max_grad_norm = settings.max_grad_norm

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:  # which forms the gradients
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            gradients = [parameter.grad for parameter in group["params"]]
            for gradient, clipped in zip(gradients, clip_by_global_norm(gradients, self.max_grad_norm)):
                gradient.copy_(clipped)
        super().step()
        return loss


class BestTranslators(Milestones):
    """Keeps each layer's translator of the step at which it lay closest to the final output of a fixed sample."""

    def __init__(self, model: LensTraining, sample: Tensor, steps: int, count: int):
        super().__init__(self._measure_and_keep, steps, count)
        self.model, self.sample = model, sample
        self.kept: dict[str, tuple[int, float, dict[str, Tensor]]] = {}  # step, KL and weights, by layer

    def _measure_and_keep(self, step: int) -> dict[str, float]:
        mean = self._sample_losses()
        for layer, translator in self.model.readers.translators.items():
            if layer not in self.kept or mean[layer] < self.kept[layer][1]:
                weights = {name: value.detach().clone() for name, value in translator.state_dict().items()}
                self.kept[layer] = (step, mean[layer], weights)
        return mean

    def _sample_losses(self) -> dict[str, float]:
        """The mean of KL(final || lens) over the sample, by layer."""
        total: dict[str, float] = {}
        with torch.inference_mode(), self.model.autocast():
            for some in self.sample.split(at_once(self.sample)):
                tokens = some.to(self.model.decoder.lm_head.weight.device)
                for reading, loss in self.model.losses(self.model.forward({"tokens": tokens}), tokens).items():
                    share = len(some) / len(self.sample)
                    total[str(reading.layer)] = total.get(str(reading.layer), 0.0) + share * loss.item()
        return total

    def restore(self, lens: TunedLens) -> list[int]:
        """Fill the lens with what was kept; returns the step of each layer."""
        for layer, (_, _, weights) in self.kept.items():
            lens.translators[layer].load_state_dict(weights)
        return [self.kept[layer][0] for layer in lens.translators]

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "kept": self.kept}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.kept = state["kept"]


@dataclass(frozen=True)
class Tuned:
    """A lens that has been trained."""

    lens: TunedLens
    steps: list[int]  # for each layer from 0 the update of what was kept; the last layer has no translator
    series: list[Series]  # the numbers of its training
    tokens_per_step: int
    is_first: bool  # whether this is the one process that publishes


@contextlib.contextmanager
def tuned_lens(
    name: str,
    decoder: Decoder,
    shards: Path,
    settings: TunedLensSettings,
    batch_key: str,
    compute_dtype: str,
    machine: Machine,
) -> Iterator[Tuned]:
    """Train a tuned lens for a finished decoder, to be published while the context lasts.

    SGD with Nesterov's momentum and a rate that falls linearly to zero (Belrose et al. 2023; their code). Of its
    checkpoints, step 0 included, each layer keeps the one that lies closest to the final output on the last
    `settings.sample` training sequences. Continues from a checkpoint if it was interrupted; the checkpoints go when the
    context ends well.

    Args:
        name: what the log and errors call it.
        batch_key: where params.yaml says how many sequences an update has.

    Raises:
        UserError: the shards are damaged or too few, or a loss is not finite.
    """
    data = checked_data(shards, settings.batch, batch_key)
    session = begin(dataclasses.replace(machine, compile="off"))  # too few forward passes to compile for
    work = Work(name, settings.steps, settings.batch, SEED, shards)
    lens = TunedLens(decoder.config.layers, decoder.config.hidden_size).to(session.device)
    model = LensTraining(decoder.to(session.device), lens, getattr(torch, compute_dtype))
    rows = read_split(shards, "train")
    sample = torch.from_numpy(rows[-min(settings.sample, data.train_sequences) :])
    best = BestTranslators(model, sample, work.steps, settings.checkpoints)
    log = layer_log(work, session)
    scratch, checkpoints = resumable(
        work,
        session,
        {
            "settings": dataclasses.asdict(settings),
            "compute_dtype": compute_dtype,
            "decoder": decoder_hash(decoder),
        },
    )
    trainer = new_trainer(
        work,
        session,
        model,
        TranslatorSGD(lens, settings),
        log,
        callbacks=[LearningRateSchedule(work.steps, "linear", 0, 1.0), best],
        **checkpoints,
    )
    fit(trainer, work, session, scratch)
    trainer.close()
    steps = [*best.restore(lens), 0]
    tokens_per_step = settings.batch * data.sequence_length
    yield Tuned(lens.requires_grad_(False), steps, _training_series(log, best), tokens_per_step, session.is_first)
    if session.is_first:
        shutil.rmtree(scratch, ignore_errors=True)


def _training_series(log: LayerLog, best: BestTranslators) -> list[Series]:
    series = []
    for reading, losses in log.by_reading().items():
        steps = sorted(best.found)
        sample = [best.found[step][str(reading.layer)] for step in steps]
        series.append(Series(reading, "train", "kl_final_lens", range(1, len(losses) + 1), losses))
        series.append(Series(reading, "train", "sample_kl_final_lens", steps, sample))
    return series
