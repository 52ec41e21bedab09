"""The lenses of a published model."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from perlayer.environment import Machine
from perlayer.layer_metrics import LayerNumber, layers_table
from perlayer.lens.lenses import LogitLens, save_lens
from perlayer.lens.reading import held_out_rows, lens_series
from perlayer.lens.settings import TunedLensSettings
from perlayer.lens.tuning import tuned_lens
from perlayer.model.published import load_published
from perlayer.model.published_settings import SIZE, PublishedSettings
from perlayer.process import prepare_process
from perlayer.store import fresh_folder
from perlayer.tables import write_table

if TYPE_CHECKING:
    import pyarrow as pa


def read_published(
    name: str,
    settings: PublishedSettings,
    tuned: TunedLensSettings,
    shards: Path,
    lenses: Path,
    metrics: Path,
    machine: Machine,
) -> None:
    """Read a published model by the logit lens, and by a tuned lens where it is to have one; publish `metrics/NAME/`.

    Args:
        tuned: what the size says of tuned lenses; the model's own settings say how many updates of how many sequences.
        shards: held-out text in the model's own tokens.
        lenses: where a tuned lens goes, `lenses/NAME/`.

    Raises:
        UserError: the model or its text is missing or damaged.
    """
    device = prepare_process(machine)
    rows = held_out_rows(shards, settings.sequences)
    decoder = load_published(settings.path, settings.sequence_length).to(device)
    tables = [layers_table(name, SIZE, 0, lens_series(decoder, LogitLens(), rows))]
    if not settings.tuned_steps:
        with fresh_folder(lenses / name):
            _write(tables, metrics / name)
        return
    tuned = dataclasses.replace(tuned, steps=settings.tuned_steps, batch=settings.tuned_batch)
    stage, batch_key = f"published_lens@{name}", f"published.{name}.tuned_batch"
    with tuned_lens(stage, decoder, shards, tuned, batch_key, "float32", machine) as done:
        series = done.series + lens_series(decoder, done.lens, rows, done.steps)
        tables.append(layers_table(name, SIZE, done.tokens_per_step, series))
        with fresh_folder(lenses / name) as folder:
            save_lens(folder, done.lens, decoder)
        _write(tables, metrics / name)


def _write(tables: list[pa.Table], destination: Path) -> None:
    import pyarrow as pa

    with fresh_folder(destination) as folder:
        write_table(LayerNumber, pa.concat_tables(tables).combine_chunks(), folder / "layers.parquet")
