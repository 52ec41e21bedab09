import pyarrow.parquet as parquet
import pytest

from perlayer.errors import UserError
from perlayer.layer_metrics import LayerNumber, Series, layers_table
from perlayer.losses.reading import LayerMetric, Reading
from perlayer.tables import schema_of, write_table
from perlayer.training.layer_log import LayerLog
from perlayer.training.outs import final_loss


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
    assert table.schema == schema_of(LayerNumber)
    assert [(r["step"], r["tokens"], r["layer"], r["readout"], r["ahead"], r["value"]) for r in table.to_pylist()] == [
        (1, 10, 1, "probe", 1, 3.0),
        (2, 20, 1, "probe", 1, 2.0),
        (3, 30, 1, "probe", 1, 1.0),
        (3, 30, 2, "head", 2, 0.5),
    ]
    for name in ("first", "second"):
        write_table(LayerNumber, table, tmp_path / name)
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
    assert parquet.read_table(tmp_path / "first").equals(table)


def test_a_pair_of_layers_has_both(tmp_path):
    series = [
        Series(Reading(2, "separate"), "train", "gradient_cosine", [1, 101], [0.5, 0.25], other_layer=1),
        Series(Reading(2, "separate"), "train", "gradient_cosine", [1], [0.75]),
    ]
    write_table(LayerNumber, layers_table("mine", "tiny", 10, series), tmp_path / "layers")
    table = parquet.read_table(tmp_path / "layers")
    assert table.schema == schema_of(LayerNumber)
    assert [(r["step"], r["tokens"], r["layer"], r["other_layer"], r["value"]) for r in table.to_pylist()] == [
        (1, 10, 2, 1, 0.5),
        (101, 1010, 2, 1, 0.25),
        (1, 10, 2, None, 0.75),
    ]


def test_the_log_keeps_layer_metrics_with_their_updates():
    log = LayerLog("mine", 10, quiet=True)
    cosine = LayerMetric("gradient_cosine", Reading(2, "separate"))
    norm = LayerMetric("gradient_norm", Reading(10, "head"), 3)
    log.log_metrics({"loss/train/head/10/1": 2.0, norm.name: 4.0, cosine.name: 0.5}, step=0)
    log.log_metrics({"loss/train/head/10/1": 1.0, "trainer/other": 3.0}, step=1)
    log.log_metrics({norm.name: 5.0}, step=2)
    resumed = LayerLog("mine", 10, quiet=True)
    resumed.load_state_dict(log.state_dict())
    for one in (log, resumed):
        one.log_metrics({norm.name: 6.0}, step=5)
        assert {reading: list(values) for reading, values in one.by_reading().items()} == {norm.reading: [2.0, 1.0]}
        # Composer counts the updates done, the tables the update that is next
        assert [
            (series.metric, series.reading, series.other_layer, list(series.steps), list(series.values))
            for series in one.measured_series()
        ] == [
            ("gradient_cosine", cosine.reading, None, [1], [0.5]),
            ("gradient_norm", norm.reading, 3, [1, 3, 6], [4.0, 5.0, 6.0]),
        ]


@pytest.mark.parametrize("other_layer", [None, 3])
def test_a_layer_metric_is_its_name(other_layer):
    metric = LayerMetric("gradient_norm", Reading(12, "separate", 2), other_layer)
    assert LayerMetric.from_name(metric.name) == metric


@pytest.mark.parametrize("reading", [Reading(3, "head"), Reading(12, "shared_stop_gradient", 2)])
def test_a_reading_is_its_key(reading):
    assert Reading.from_key(reading.key) == reading


def test_a_number_that_is_not_finite_is_named_and_not_written():
    series = [Series(Reading(2, "tuned_lens"), "val", "kl_final_lens", [0, 5], [1.0, float("nan")])]
    with pytest.raises(UserError) as error:
        layers_table("mine", "tiny", 0, series)
    assert str(error.value) == (
        "mine: kl_final_lens of layer 2 (tuned_lens, val): expected finite numbers, found nan at step 5; "
        "nothing was written"
    )
