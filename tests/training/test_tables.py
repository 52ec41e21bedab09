import pyarrow.parquet as parquet
import pytest

from perlayer.losses.reading import Reading
from perlayer.training.tables import SCHEMA, Series, final_loss, layers_table, write_layers


def test_the_final_loss_is_the_mean_of_the_last_fifty_updates():
    # closed form: the last 50 of 1 .. 60 are 11 .. 60, whose mean is 35.5
    assert final_loss([float(step) for step in range(1, 61)]) == 35.5
    assert final_loss([1.0, 2.0]) == 1.5


def test_a_table_has_one_row_a_number(tmp_path):
    series = [
        Series(Reading(1, "probe"), "train", "loss", range(1, 4), [3.0, 2.0, 1.0]),
        Series(Reading(2, "head", ahead=2), "val", "loss", [3], [0.5]),
    ]
    table = layers_table("mine", "tiny", 10, series)
    assert table.schema == SCHEMA
    assert [(r["step"], r["tokens"], r["layer"], r["readout"], r["ahead"], r["value"]) for r in table.to_pylist()] == [
        (1, 10, 1, "probe", 1, 3.0),
        (2, 20, 1, "probe", 1, 2.0),
        (3, 30, 1, "probe", 1, 1.0),
        (3, 30, 2, "head", 2, 0.5),
    ]
    for name in ("first", "second"):
        write_layers(table, tmp_path / name)
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
    assert parquet.read_table(tmp_path / "first").equals(table)


@pytest.mark.parametrize("reading", [Reading(3, "head"), Reading(12, "shared_stop_gradient", 2)])
def test_a_reading_is_its_key(reading):
    assert Reading.from_key(reading.key) == reading
