"""The dissections of how a finished model uses its depth, and how one run is dissected by all of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from torch import Tensor

from perlayer.data.tokenizer import load_tokenizer
from perlayer.depth.contributions import measure_contributions
from perlayer.depth.depth_score import score_depth
from perlayer.depth.erasure import measure_erasure
from perlayer.depth.integrated_gradients import measure_integrated_gradients
from perlayer.depth.logit_lens import measure_logit_lens
from perlayer.depth.settings import DepthSettings
from perlayer.depth.skipping import measure_skipping
from perlayer.depth.tables import Number, dissections_table
from perlayer.depth.texts import token_words, windows
from perlayer.environment import Machine
from perlayer.lens.reading import held_out_rows
from perlayer.model.decoder import Decoder
from perlayer.model.weights import load_model
from perlayer.training.fresh_folder import fresh_folder
from perlayer.training.process import prepare_process
from perlayer.training.tables import write_layers

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
    tokenizer: Path,
    shards: Path,
    models: Path,
    metrics: Path,
    machine: Machine,
) -> None:
    """Dissect the finished model `models/RUN` on held-out text, and publish `metrics/RUN/`.

    Args:
        tokenizer: the folder of the tokenizer by which the shards were made, which says what a token says.

    Raises:
        UserError: model, tokenizer or held-out text is missing or broken, or sequences are too short.
    """
    device = prepare_process(machine)
    decoder = load_model(models / run).freeze().to(device)
    tokens = held_out_rows(shards, settings.sequences)[:, :-1]
    found = dissect(decoder, tokens, settings)
    words = token_words(windows(tokens, settings.texts), load_tokenizer(tokenizer))
    tables = [dissections_table(run, size, name, numbers, words) for name, numbers in found.items()]
    with fresh_folder(metrics / run) as folder:
        write_layers(pa.concat_tables(tables).combine_chunks(), folder / "depth.parquet")


def dissect(decoder: Decoder, tokens: Tensor, settings: DepthSettings) -> dict[str, list[Number]]:
    """The numbers of every analysis, and the scores of them all, by name.

    Args:
        tokens: integers (sequences, length).
    """
    found = {name: analyse(decoder, tokens, settings) for name, analyse in ANALYSES.items()}
    return {**found, "depth_score": score_depth(found, decoder.config.layers)}
