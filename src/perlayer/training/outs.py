"""What a finished run leaves: its weights, layers.parquet and summary.json."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perlayer.layer_metrics import LayerNumber, Series, layers_table
from perlayer.losses.reading import Reading
from perlayer.model.decoder import parameters_up_to
from perlayer.model.weights import save_model
from perlayer.store import fresh_folder
from perlayer.tables import write_table
from perlayer.training.composer_model import PerLayerModel
from perlayer.training.evaluation import Total, bits_per_byte

FINAL_STEPS = 50


@dataclass(frozen=True)
class Results:
    """The numbers of a run."""

    run: str
    size: str
    steps: int
    tokens_per_step: int
    losses: Mapping[Reading, Sequence[float]]  # training losses, one an update
    measured: Sequence[Series]  # what else was measured on the way
    validation: Mapping[Reading, Total]
    averaged: Mapping[Reading, Total]  # validation losses of the averaged weights; empty without an average
    validation_bytes: int  # UTF-8 bytes of the validation targets


def write_outs(results: Results, model: PerLayerModel, model_folder: Path, metrics_folder: Path) -> None:
    """Write the weights to `model_folder`, layers.parquet and summary.json to `metrics_folder`.

    Raises:
        UserError: a number is not finite; then nothing is written.
    """
    table = layers_table(results.run, results.size, results.tokens_per_step, _series(results, model))
    head = results.validation[model.head]
    summary = {
        "final_loss": final_loss(results.losses[model.head]),
        "val_loss": head.mean,
        "val_bpb": bits_per_byte(head.nats, results.validation_bytes),
        "tokens": results.steps * results.tokens_per_step,
        "parameters": sum(parameter.numel() for parameter in model.decoder.parameters()),
    }
    with fresh_folder(model_folder) as folder:
        save_model(folder, model.decoder, model.readouts, dict(model.auxiliary.items()))
    with fresh_folder(metrics_folder) as folder:
        write_table(LayerNumber, table, folder / "layers.parquet")
        (folder / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")


def final_loss(losses: Sequence[float]) -> float:
    """The final training loss: the mean over the last 50 updates, or over all where there are fewer."""
    last = losses[-FINAL_STEPS:]
    return math.fsum(last) / len(last)


def _series(results: Results, model: PerLayerModel) -> list[Series]:
    steps, last = range(1, results.steps + 1), [results.steps]
    series = [Series(reading, "train", "loss", steps, values) for reading, values in results.losses.items()]
    series += results.measured
    for reading, total in results.validation.items():
        series.append(Series(reading, "val", "loss", last, [total.mean]))
        if reading.ahead == 1:
            bits = bits_per_byte(total.nats, results.validation_bytes)
            series.append(Series(reading, "val", "bits_per_byte", last, [bits]))
    for reading, total in results.averaged.items():
        series.append(Series(reading, "val", "ema_loss", last, [total.mean]))
    readouts = {reading.layer: reading for reading in results.losses if reading.ahead == 1}
    for layer in range(1, model.decoder.config.layers + 1):
        reading = readouts.get(layer, Reading(layer, "head"))
        series.append(Series(reading, "train", "parameters", [0], [parameters_up_to(model.decoder, layer)]))
    return series
