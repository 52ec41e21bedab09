"""The tuned lens of a finished run."""

from __future__ import annotations

from pathlib import Path

from perlayer.environment import Machine
from perlayer.layer_metrics import LayerNumber, layers_table
from perlayer.lens.lenses import save_lens
from perlayer.lens.reading import held_out_rows, lens_series
from perlayer.lens.settings import LensSettings, TunedLensSettings
from perlayer.lens.tuning import tuned_lens
from perlayer.model.weights import load_model
from perlayer.store import fresh_folder
from perlayer.tables import write_table


def tune_run(
    run: str,
    size: str,
    settings: TunedLensSettings,
    reading: LensSettings,
    compute_dtype: str,
    shards: Path,
    models: Path,
    lenses: Path,
    metrics: Path,
    machine: Machine,
) -> None:
    """Train a tuned lens for the finished model `models/RUN`, read it, and publish `lenses/RUN/` and `metrics/RUN/`.

    Raises:
        UserError: the model or the shards are missing or damaged.
    """
    rows = held_out_rows(shards, reading.sequences)
    decoder = load_model(models / run)
    stage, batch_key = f"tuned_lens@{run}", f"recipes.{size}.tuned_lens.batch"
    with tuned_lens(stage, decoder, shards, settings, batch_key, compute_dtype, machine) as tuned:
        if not tuned.is_first:
            return
        series = tuned.series + lens_series(decoder, tuned.lens, rows, tuned.steps)
        table = layers_table(run, size, tuned.tokens_per_step, series)
        with fresh_folder(lenses / run) as folder:
            save_lens(folder, tuned.lens, decoder)
        with fresh_folder(metrics / run) as folder:
            write_table(LayerNumber, table, folder / "layers.parquet")
