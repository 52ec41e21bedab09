"""The diagnostics of what layers are made of, and how one model is dissected by all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from perlayer.anatomy.ablation import measure_ablation
from perlayer.anatomy.controls import measure_controls
from perlayer.anatomy.manipulation import measure_manipulation, unimportant_layers
from perlayer.anatomy.matrices import initial_matrices, layer_matrices
from perlayer.anatomy.perplexity import HeldOutText
from perlayer.anatomy.predictability import measure_predictability
from perlayer.anatomy.recovery import measure_recovery
from perlayer.anatomy.recovery_order import measure_recovery_order
from perlayer.anatomy.replacement import measure_replacement
from perlayer.anatomy.settings import AnatomySettings
from perlayer.anatomy.structure import measure_components, measure_deltas
from perlayer.anatomy.tables import TABLES
from perlayer.data.batches import read_split
from perlayer.environment import Machine
from perlayer.errors import UserError
from perlayer.lens.reading import held_out_rows
from perlayer.model.decoder import Decoder
from perlayer.model.weights import load_model
from perlayer.process import prepare_process
from perlayer.store import fresh_folder
from perlayer.tables import write_tables


def anatomize_run(
    run: str,
    seed: int,
    settings: AnatomySettings,
    confidence: float,
    shards: Path,
    models: Path,
    metrics: Path,
    machine: Machine,
) -> None:
    """Take the finished model `models/RUN` apart, and publish `metrics/RUN/`.

    Args:
        seed: with which the run began.
        confidence: of the intervals by which claims are judged.

    Raises:
        UserError: the model or the text is missing or broken, or holds too few documents.
    """
    device = prepare_process(machine)
    write_outs(run, load_model(models / run).freeze().to(device), seed, settings, confidence, shards, metrics)


def write_outs(
    name: str,
    decoder: Decoder,
    seed: int,
    settings: AnatomySettings,
    confidence: float,
    shards: Path,
    metrics: Path,
) -> None:
    """Write the rows of every diagnostic as `metrics/NAME/TABLE.parquet`.

    Args:
        seed: with which the model is drawn that stands beside it, as it was before training.
        shards: text in the tokens of the model.

    Raises:
        UserError: a weight is not finite, or the text holds too few documents.
    """
    for weight, values in decoder.named_parameters():
        if not values.isfinite().all():
            raise UserError(f"{name}: {weight}: expected finite weights, found nan or infinity; nothing was written")
    found = anatomize(name, decoder, seed, settings, confidence, shards)
    with fresh_folder(metrics / name) as folder:
        write_tables(TABLES, found, folder)


def anatomize(
    name: str, decoder: Decoder, seed: int, settings: AnatomySettings, confidence: float, shards: Path
) -> dict[str, list[Any]]:
    """The rows of each table; a new diagnostic is a line here."""
    rows = held_out_rows(shards, settings.sequences)
    text = HeldOutText.of(rows, decoder.config.eos_id, decoder.config.bos_is_eos)
    sample = text.first(settings.recovery_sequences)
    training = torch.from_numpy(read_split(shards, "train")[: settings.recovery_steps * settings.recovery_batch])
    trained, initial = layer_matrices(decoder), initial_matrices(decoder, seed)
    ablations, of_ablations = measure_ablation(name, decoder, text, settings, confidence)
    predictability = measure_predictability(name, trained, initial, settings)
    replacements, of_replacements = measure_replacement(name, decoder, text, predictability, settings, confidence)
    unimportant = unimportant_layers(ablations, settings.manipulated_layers)
    manipulations, of_manipulations = measure_manipulation(name, decoder, text, unimportant, settings, confidence)
    recoveries = measure_recovery(name, decoder, sample, training, settings)
    controls = measure_controls(name, trained, settings, confidence)
    return {
        "ablations": ablations,
        "predictability": predictability,
        "replacements": replacements,
        "delta_correlations": measure_deltas(name, trained, initial),
        "weight_components": measure_components(name, trained, initial),
        "manipulations": manipulations,
        "recoveries": recoveries,
        "recovery_orders": measure_recovery_order(name, ablations, recoveries),
        "anatomy_estimates": [*of_ablations, *of_replacements, *of_manipulations, *controls],
    }
