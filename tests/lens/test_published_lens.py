"""The lenses of a published model, from its folder to the table that `collect` reads."""

import pyarrow.parquet as parquet
import pytest

from perlayer.environment import Machine
from perlayer.lens.lenses import load_lens
from perlayer.lens.published import read_published
from perlayer.lens.settings import TunedLensSettings
from perlayer.model.published import load_published
from perlayer.model.published_settings import PublishedSettings

LENGTH = 16


@pytest.mark.parametrize("tuned_steps", [0, 3])
def test_one_table_holds_all_lenses(small_published, tmp_path, monkeypatch, tuned_steps):
    monkeypatch.chdir(tmp_path)
    settings = PublishedSettings(str(small_published / "model"), LENGTH, 6, tuned_steps, 4)
    tuned = TunedLensSettings(250, 64, 1, 4, 1.0, 0.9, 1e-3, 1.0)
    machine = Machine(device="cpu", compile="off")
    read_published(
        "mine", settings, tuned, small_published / "shards", tmp_path / "lenses", tmp_path / "metrics", machine
    )
    (table,) = (tmp_path / "metrics/mine").glob("*.parquet")  # `collect` reads one
    rows = parquet.read_table(table).to_pylist()
    assert {row["run"] for row in rows} == {"mine"} and {row["size"] for row in rows} == {"published"}
    lenses = {"logit_lens", "tuned_lens"} if tuned_steps else {"logit_lens"}
    found = {(row["readout"], row["layer"]) for row in rows if (row["metric"], row["split"]) == ("loss", "val")}
    assert found == {(lens, layer) for lens in lenses for layer in range(3)}
    assert (tmp_path / "lenses/mine").is_dir()
    if tuned_steps:
        assert {row["tokens"] for row in rows if row["step"] == 3} == {3 * 4 * LENGTH}
        load_lens(tmp_path / "lenses/mine", load_published(settings.path, LENGTH))
