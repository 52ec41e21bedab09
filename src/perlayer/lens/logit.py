"""The logit lens of a finished run."""

from __future__ import annotations

from pathlib import Path

from perlayer.environment import Machine
from perlayer.layer_metrics import LayerNumber, layers_table
from perlayer.lens.lenses import LogitLens
from perlayer.lens.reading import held_out_rows, lens_series
from perlayer.lens.settings import LensSettings
from perlayer.model.weights import load_model
from perlayer.process import prepare_process
from perlayer.store import fresh_folder
from perlayer.tables import write_table


def read_run(
    run: str, size: str, settings: LensSettings, shards: Path, models: Path, metrics: Path, machine: Machine
) -> None:
    """Read the finished model `models/RUN` by the logit lens, and publish `metrics/RUN/`.

    Raises:
        UserError: the model or the held-out text is missing or broken.
    """
    device = prepare_process(machine)
    rows = held_out_rows(shards, settings.sequences)
    decoder = load_model(models / run).freeze().to(device)
    table = layers_table(run, size, 0, lens_series(decoder, LogitLens(), rows))
    with fresh_folder(metrics / run) as folder:
        write_table(LayerNumber, table, folder / "layers.parquet")
