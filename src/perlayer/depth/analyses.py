"""The dissections of how a finished model uses its depth, and how one model is dissected by all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from perlayer.data.tokenizer import Tokenizer
from perlayer.data.tokens import read_tokenizer
from perlayer.depth.by_group import score_groups
from perlayer.depth.contributions import measure_contributions
from perlayer.depth.depth_score import depth_scores, effective_depth
from perlayer.depth.prompt_sets import read_prompt_sets
from perlayer.depth.prompts import Prompt
from perlayer.depth.residual_lens import measure_residual_lens
from perlayer.depth.settings import DepthSettings
from perlayer.depth.skipping import measure_skipping
from perlayer.depth.tables import TABLES
from perlayer.depth.token_effects import measure_token_effects
from perlayer.environment import Machine
from perlayer.lens.reading import held_out_rows
from perlayer.model.decoder import Decoder
from perlayer.model.weights import load_model
from perlayer.output import say
from perlayer.process import prepare_process
from perlayer.store import fresh_folder
from perlayer.tables import write_tables


def dissect_run(
    run: str,
    settings: DepthSettings,
    prompts: Path,
    tokenizer: Path,
    shards: Path,
    models: Path,
    metrics: Path,
    machine: Machine,
) -> None:
    """Dissect the finished model `models/RUN` on held-out text and on prompts, and publish `metrics/RUN/`.

    Args:
        prompts: the folder of the sets of prompts.
        tokenizer: the folder of the tokenizer by which the shards were made.

    Raises:
        UserError: model, tokenizer, held-out text or a prompt is missing or broken, or sequences are too short.
    """
    device = prepare_process(machine)
    decoder = load_model(models / run).freeze().to(device)
    tokens = held_out_rows(shards, settings.sequences)[:, :-1]
    sets = read_prompt_sets(prompts)
    dissect_to(metrics / run, run, decoder, tokens, sets, read_tokenizer(tokenizer), settings)


def dissect_to(
    destination: Path,
    name: str,
    decoder: Decoder,
    tokens: Tensor,
    sets: Mapping[str, Sequence[Prompt]],
    tokenizer: Tokenizer,
    settings: DepthSettings,
) -> None:
    """Write the tables of all dissections of one model, and say how many prompts were too long for it.

    Args:
        tokens: held-out text, integers (sequences, length).
        sets: prompts by the name of their set.
    """
    groups = score_groups(name, decoder, sets, tokenizer, settings.splits, settings.tokens_at_once)
    too_long = sum(row.too_long for row in groups)
    if too_long:
        longest = decoder.config.sequence_length
        say(f"{name}: {too_long} of {sum(map(len, sets.values()))} prompts have more than {longest} tokens: left out")
    found = {**dissect(name, decoder, tokens, tokenizer, settings), "group_scores": groups}
    with fresh_folder(destination) as folder:
        write_tables(TABLES, found, folder)


def dissect(
    name: str, decoder: Decoder, tokens: Tensor, tokenizer: Tokenizer, settings: DepthSettings
) -> dict[str, list[Any]]:
    """The rows of each table that is measured on text; a new analysis is a line here.

    Args:
        tokens: integers (sequences, length).
    """
    contributions = measure_contributions(name, decoder, tokens, settings)
    lens = measure_residual_lens(name, decoder, tokens, settings)
    effects, outputs = measure_skipping(name, decoder, tokens, settings)
    return {
        "contributions": contributions,
        "residual_lens": lens,
        "skip_effects": effects,
        "output_effects": outputs,
        "depth_scores": depth_scores(name, decoder.config.layers, effects, outputs),
        "effective_depths": [effective_depth(name, contributions, lens)],
        "token_effects": measure_token_effects(name, decoder, tokens, tokenizer, settings),
    }
