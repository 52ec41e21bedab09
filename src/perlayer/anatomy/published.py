"""What the layers of a published model are made of."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from perlayer.anatomy.analyses import write_outs
from perlayer.anatomy.settings import AnatomySettings
from perlayer.environment import Machine
from perlayer.model.published import load_published
from perlayer.model.published_settings import PublishedSettings
from perlayer.process import prepare_process

SEED = 0  # of the draw that stands for such a model before training


def anatomize_published(
    name: str,
    model: PublishedSettings,
    settings: AnatomySettings,
    confidence: float,
    with_recovery: bool,
    shards: Path,
    metrics: Path,
    machine: Machine,
) -> None:
    """Take a published model apart on as many sequences as it is read on elsewhere, and publish `metrics/NAME/`.

    Args:
        settings: what the size says; how much text is read stands with the model.
        confidence: of the intervals by which claims are judged.
        with_recovery: whether its layers are also trained back after noise.
        shards: text in the model's own tokens.

    Raises:
        UserError: the model or its text is missing or broken, or holds too few documents.
    """
    device = prepare_process(machine)
    steps = settings.recovery_steps if with_recovery else 0
    settings = replace(settings, sequences=model.sequences, recovery_steps=steps)
    decoder = load_published(model.path, model.sequence_length).to(device)
    write_outs(name, decoder, SEED, settings, confidence, shards, metrics)
