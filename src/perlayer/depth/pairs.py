"""How the layers of one finished run are mapped to those of another."""

from __future__ import annotations

from pathlib import Path

import torch

from perlayer.data.batches import read_split
from perlayer.depth.linear_maps import MappedText, measure_linear_maps
from perlayer.depth.settings import MapSettings, Pair
from perlayer.depth.tables import TABLES
from perlayer.environment import Machine
from perlayer.lens.reading import held_out_rows
from perlayer.model.weights import load_model
from perlayer.process import prepare_process
from perlayer.store import fresh_folder
from perlayer.tables import write_tables


def map_pair(
    name: str,
    pair: Pair,
    settings: MapSettings,
    shards: Path,
    models: Path,
    metrics: Path,
    machine: Machine,
) -> None:
    """Fit linear maps between two finished models `models/RUN` on training text, and publish `metrics/NAME/`.

    Every second held-out sequence chooses the penalties; the others measure.

    Raises:
        UserError: a model or the text is missing or broken.
    """
    device = prepare_process(machine)
    source, target = (load_model(models / run).freeze().to(device) for run in (pair.source, pair.target))
    held_out = held_out_rows(shards, settings.held_out)[:, :-1]
    fit = torch.from_numpy(read_split(shards, "train")[: settings.sequences])[:, :-1]
    text = MappedText(fit, choose=held_out[::2], measure=held_out[1::2])
    maps = measure_linear_maps(name, source, target, text, settings.sequences_at_once(fit.shape[1]))
    with fresh_folder(metrics / name) as folder:
        write_tables(TABLES, {"linear_maps": maps}, folder)
