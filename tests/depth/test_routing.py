"""How finished models route, held against numpy on designs whose weights have a closed form."""

import numpy as np
import pytest
import torch

from perlayer.depth import routing
from perlayer.depth.tables import Route
from perlayer.environment import Machine
from perlayer.errors import UserError
from perlayer.lens import reading
from perlayer.lens.settings import LensSettings
from perlayer.model import decoder as decoder_module
from perlayer.model.config import ModelConfig
from perlayer.model.decoder import Decoder
from perlayer.model.residual.protocol import ResidualDesign, build_design
from perlayer.model.weights import save_model
from perlayer.params import load
from perlayer.plan import check_params
from perlayer.store import fresh_folder
from perlayer.tables import read_table

LAYERS, VOCABULARY, LENGTH = 2, 30, 7
PLACES = [(1, "attention"), (1, "mlp"), (2, "attention"), (2, "mlp"), (2, "head")]


class Streams(ResidualDesign):
    """Two streams, whose weights follow t, the first number of a token's embedding, and the place of the sublayer."""

    def start(self, embedding):
        return torch.stack([embedding, embedding], -2), embedding[..., :1]

    def weights(self, t, place):
        read = torch.cat([t + place, 1 - t], -1)
        write = torch.cat([t, 2 + 0 * t], -1)
        mixing = torch.stack([torch.cat([1 + t, t * place], -1), torch.cat([-2 * t, 0.5 + 0 * t], -1)], -2)
        return read, write, mixing

    def read(self, state, sublayer):
        streams, t = state
        return (self.weights(t, sublayer.index)[0][..., None] * streams).sum(-2)

    def write(self, state, sublayer, output):
        streams, t = state
        _, write, mixing = self.weights(t, sublayer.index)
        return mixing @ streams + write[..., None] * output[..., None, :], t

    def tap(self, state, layer):
        return state[0].sum(-2)

    def routing(self, state, sublayer):
        if sublayer.kind == "head":
            return {}
        return dict(zip(("read", "write", "mixing"), self.weights(state[1], sublayer.index)))


class Sources(ResidualDesign):
    """Attention over all earlier outputs, with scores of t times the place of the source."""

    def start(self, embedding):
        return (embedding,)

    def attention(self, state):
        return torch.softmax(state[0][..., :1] * torch.arange(float(len(state))), -1)

    def read(self, state, sublayer):
        return sum(w[..., None] * v for w, v in zip(self.attention(state).unbind(-1), state))

    def write(self, state, sublayer, output):
        return (*state, output)

    def tap(self, state, layer):
        return self.read(state, None)

    def routing(self, state, sublayer):
        assert sublayer.kind != "head" or (sublayer.index, sublayer.block) == (2 * LAYERS, None)
        return {"sources": self.attention(state)}


@pytest.fixture
def built(monkeypatch):
    def built(design, residual="pre_ln"):
        monkeypatch.setattr(decoder_module, "build_design", design)
        config = ModelConfig(residual, LAYERS, 16, 24, 2, 1, 8, 10000.0, 1e-5, VOCABULARY, LENGTH, 1, True)
        decoder = Decoder(config)
        decoder.initialize(seed=0)
        with torch.no_grad():  # weights far enough apart to tell tokens from each other
            decoder.model.embed_tokens.weight[:, 0] = torch.linspace(-0.6, 0.9, VOCABULARY)
        return decoder.freeze()

    return built


@pytest.fixture
def rows(monkeypatch):
    """Five sequences, of which two are read together."""
    monkeypatch.setattr(reading, "TOKENS_AT_ONCE", 2 * LENGTH)
    return torch.randint(0, VOCABULARY, (5, LENGTH + 1), generator=torch.Generator().manual_seed(1))


def first_numbers(decoder, rows):
    """t of every token that is read, float64 (tokens,)."""
    return decoder.model.embed_tokens.weight[rows[:, :-1].flatten(), 0].double().numpy()


def assert_routes(decoder, rows, expected):
    """Expected are values of tokens by place, stream or source, and column: their means, or what is greatest."""
    found = {}
    for row in routing.read_routing("mine", decoder, rows):
        columns = dict(vars(row))
        name, layer, sublayer, place, other = (columns.pop(key) for key in [*columns][:5])
        assert name == "mine" and (layer, sublayer) == PLACES[place]
        assert (place, other) not in {key[:2] for key in found}
        found |= {(place, other, column): value for column, value in columns.items() if value is not None}
    numbers = {
        key: values.max() if key[-1].startswith("greatest_") else values.mean() for key, values in expected.items()
    }
    assert found.keys() == numbers.keys()
    assert found == pytest.approx(numbers, rel=1e-5, abs=1e-6)  # the model's weights are float32


def test_streams_are_read_written_and_mixed_as_the_formulas_say(built, rows):
    decoder = built(Streams)
    t = first_numbers(decoder, rows)
    expected = {}
    product = np.broadcast_to(np.eye(2), (len(t), 2, 2))
    for place in range(4):
        one, zero = np.ones_like(t), np.zeros_like(t)
        expected |= {(place, k, "read"): values for k, values in enumerate((t + place, 1 - t), 1)}
        expected |= {(place, k, "write"): values for k, values in enumerate((t, 2 * one), 1)}
        mixing = np.array([[1 + t, t * place + zero], [-2 * t, 0.5 * one]]).transpose(2, 0, 1)
        product = np.einsum("nij,njk->nik", mixing, product)
        row_sums = [product[:, after, 0] + product[:, after, 1] for after in (0, 1)]
        column_sums = [product[:, 0, before] + product[:, 1, before] for before in (0, 1)]
        for name, sums in (("forward_gain", row_sums), ("backward_gain", column_sums)):
            gain = np.maximum(*map(abs, sums))
            expected |= {(place, None, name): gain, (place, None, f"greatest_{name}"): gain}
        expected[place, None, "least_column_sum"] = np.minimum(*column_sums)
    assert_routes(decoder, rows, expected)


def test_attention_over_sources_grows_by_one_source_a_sublayer(built, rows):
    decoder = built(Sources)
    t = first_numbers(decoder, rows)
    expected = {}
    for place in range(5):
        scores = np.exp(t[:, None] * np.arange(place + 1))
        weights = scores / scores.sum(1, keepdims=True)
        expected |= {(place, source, "source_weight"): weights[:, source] for source in range(place + 1)}
        expected[place, None, "source_entropy"] = -(weights * np.log(weights)).sum(1)
    assert_routes(decoder, rows, expected)


@pytest.mark.parametrize("design", [Streams, Sources, build_design])
def test_a_watched_decoder_gives_the_same_taps_and_runs_every_sublayer_once(built, rows, design):
    decoder = built(design)
    calls, seen = [], []
    for layer in decoder.model.layers:
        layer.self_attn.register_forward_hook(lambda *_: calls.append("attention"))
        layer.mlp.register_forward_hook(lambda *_: calls.append("mlp"))
    usual, run_layer = decoder(rows[:, :-1]), decoder.run_layer
    calls.clear()
    with routing.watched(decoder, lambda design, state, sublayer: seen.append(sublayer)) as read:
        taps = read(rows[:, :-1])
    assert all(torch.equal(one, other) for one, other in zip(taps, usual, strict=True))
    assert calls == ["attention", "mlp"] * LAYERS
    assert [(one.layer, one.kind) for one in seen] == PLACES and [one.index for one in seen] == list(range(5))
    assert decoder.run_layer is run_layer


def test_gains_tell_rows_from_columns():
    # product = B A = [[0, 3], [0, 4]]: stream 1 of before is lost, and stream 2 reaches both
    first, second = torch.tensor([[0.0, 1.0], [0.0, 1.0]]), torch.tensor([[3.0, 0.0], [0.0, 4.0]])
    before = routing.routing_numbers({"mixing": first[None, None]}, None)["product"]
    numbers = routing.routing_numbers({"mixing": second[None, None]}, before)
    assert numbers["product"].tolist() == [[[0.0, 3.0], [0.0, 4.0]]]
    assert [numbers[name].item() for name in ("forward_gain", "backward_gain", "least_column_sum")] == [4.0, 7.0, 0.0]


def test_a_source_without_weight_has_no_entropy_to_give():
    numbers = routing.routing_numbers({"sources": torch.tensor([[[0.5, 0.5, 0.0]]])}, None)
    assert numbers["source_entropy"].item() == pytest.approx(np.log(2))


def test_batches_of_tokens_make_the_mean_and_the_greatest_of_all_of_them():
    values = 1e6 + torch.rand(1000, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    over = routing.OverTokens()
    for batch in values.split([1, 600, 399]):
        over.add(batch)
    np.testing.assert_allclose(over.mean.numpy(), values.numpy().mean(0), rtol=1e-9)
    np.testing.assert_array_equal(over.greatest.numpy(), values.numpy().max(0))


def read_one(folder, shards, decoder, settings):
    with fresh_folder(folder / "models/mine") as model:
        save_model(model, decoder)
    machine = Machine(device="cpu", compile="off")
    routing.read_run("mine", LensSettings(settings), shards, folder / "models", folder / "metrics", machine)
    (path,) = (folder / "metrics/mine").glob("*.parquet")  # `collect` reads one
    return path


def shard_decoder(residual="pre_ln"):
    decoder = Decoder(ModelConfig(residual, LAYERS, 16, 24, 2, 1, 8, 10000.0, 1e-5, 300, 16, 1, True))
    decoder.initialize(seed=0)
    return decoder


def test_a_run_leaves_one_table_the_same_bytes_each_time(tmp_path, monkeypatch, small_shards):
    monkeypatch.setattr(decoder_module, "build_design", Sources)
    paths = [read_one(tmp_path / name, small_shards, shard_decoder(), 4) for name in "ab"]
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert paths[0].name == "routing.parquet"
    rows = read_table(Route, paths[0]).to_pylist()
    assert {row["run"] for row in rows} == {"mine"}
    head = [row for row in rows if row["sublayer"] == "head" and row["source_weight"] is not None]
    assert [(row["layer"], row["other_layer"]) for row in head] == [(2, k) for k in range(5)]
    assert sum(row["source_weight"] for row in head) == pytest.approx(1)


def test_a_run_whose_design_does_not_route_is_named_in_one_line(tmp_path, small_shards):
    with pytest.raises(UserError) as error:
        read_one(tmp_path, small_shards, shard_decoder(), 4)
    said = "params.yaml: routing.runs: expected runs whose residual design routes, and mine has pre_ln"
    assert str(error.value) == said and not (tmp_path / "metrics").exists()


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ({"runs": ["nobody"]}, "routing.runs: expected names of runs"),
        ({"runs": "probes"}, "routing.runs: expected a list, found 'probes'"),
        ({"runs": ["probes", "probes"]}, "routing.runs: expected probes once"),
        ({"run": []}, "routing.run: unknown key; did you mean runs?"),
    ],
)
def test_a_wrong_list_of_runs_is_named_before_any_work(section, said):
    with pytest.raises(UserError, match="params.yaml: ") as error:
        check_params({**load(), "routing": section})
    assert said in str(error.value) and "\n" not in str(error.value)
