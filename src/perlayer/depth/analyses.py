"""The dissections of how a finished model uses its depth, and how one model is dissected by all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from torch import Tensor

from perlayer.data.tokenizer import Tokenizer
from perlayer.data.tokens import read_tokenizer
from perlayer.depth.by_group import TOO_LONG, score_sets
from perlayer.depth.contributions import measure_contributions
from perlayer.depth.depth_score import score_depth
from perlayer.depth.erasure import measure_erasure
from perlayer.depth.integrated_gradients import measure_integrated_gradients
from perlayer.depth.logit_lens import measure_logit_lens
from perlayer.depth.prompt_sets import read_prompt_sets
from perlayer.depth.prompts import Prompt
from perlayer.depth.settings import DepthSettings
from perlayer.depth.skipping import measure_skipping
from perlayer.depth.tables import DissectionNumber, Number, dissections_table
from perlayer.depth.texts import token_words, windows
from perlayer.environment import Machine
from perlayer.lens.reading import held_out_rows
from perlayer.model.decoder import Decoder
from perlayer.model.weights import load_model
from perlayer.output import say
from perlayer.process import prepare_process
from perlayer.store import fresh_folder
from perlayer.tables import write_table

# What is measured in a model on tokens (sequences, length); a new analysis is a line here.
ANALYSES: dict[str, Callable[[Decoder, Tensor, DepthSettings], list[Number]]] = {
    "contributions": measure_contributions,
    "logit_lens": measure_logit_lens,
    "skipping": measure_skipping,
    "erasure": measure_erasure,
    "integrated_gradients": measure_integrated_gradients,
}


def dissect_run(
    run: str,
    size: str,
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
    dissect_to(metrics / run, run, size, decoder, tokens, sets, read_tokenizer(tokenizer), settings)


def dissect_to(
    destination: Path,
    name: str,
    size: str,
    decoder: Decoder,
    tokens: Tensor,
    sets: Mapping[str, Sequence[Prompt]],
    tokenizer: Tokenizer,
    settings: DepthSettings,
) -> None:
    """Write the table of all dissections of one model, and say how many prompts were too long for it.

    Args:
        tokens: held-out text, integers (sequences, length).
        sets: prompts by the name of their set.
    """
    by_group = score_sets(decoder, sets, tokenizer, settings.splits, settings.tokens_at_once)
    too_long = sum(number.value for number in by_group if number.metric == TOO_LONG)
    if too_long:
        longest = decoder.config.sequence_length
        say(f"{name}: {too_long} of {sum(map(len, sets.values()))} prompts have more than {longest} tokens: left out")
    found = {**dissect(decoder, tokens, settings), "depth_by_group": by_group}
    words = token_words(windows(tokens, settings.texts), tokenizer)
    with fresh_folder(destination) as folder:
        write_table(DissectionNumber, dissections_table(name, size, found, words), folder / "dissections.parquet")


def dissect(decoder: Decoder, tokens: Tensor, settings: DepthSettings) -> dict[str, list[Number]]:
    """The numbers of every analysis, and the scores of them all, by name.

    Args:
        tokens: integers (sequences, length).
    """
    found = {name: analyse(decoder, tokens, settings) for name, analyse in ANALYSES.items()}
    return {**found, "depth_score": score_depth(found, decoder.config.layers)}
