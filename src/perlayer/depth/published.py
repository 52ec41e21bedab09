"""The dissections of a published model."""

from __future__ import annotations

from pathlib import Path

from perlayer.data.tokenizer import load_published_tokenizer
from perlayer.depth.analyses import dissect_to
from perlayer.depth.prompt_sets import read_prompt_sets
from perlayer.depth.settings import DepthSettings
from perlayer.environment import Machine
from perlayer.lens.reading import held_out_rows
from perlayer.model.published import load_published
from perlayer.model.published_settings import PublishedSettings
from perlayer.process import prepare_process


def dissect_published(
    name: str,
    model: PublishedSettings,
    settings: DepthSettings,
    prompts: Path,
    shards: Path,
    metrics: Path,
    machine: Machine,
) -> None:
    """Dissect a published model on held-out text and on prompts, and publish `metrics/NAME/`.

    Args:
        prompts: the folder of the sets of prompts.
        shards: held-out text in the model's own tokens.

    Raises:
        UserError: the model, its text or a prompt is missing or broken, or an output cannot be written.
    """
    device = prepare_process(machine)
    decoder = load_published(model.path, model.sequence_length).to(device)
    tokens = held_out_rows(shards, settings.sequences)[:, :-1]
    sets, tokenizer = read_prompt_sets(prompts), load_published_tokenizer(model.path)
    dissect_to(metrics / name, name, decoder, tokens, sets, tokenizer, settings)
