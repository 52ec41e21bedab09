"""Linear maps between models, held against normal equations that are solved for each pair of layers by itself."""

from functools import partial

import by_hand
import numpy as np
import pytest
import torch
from by_hand import EOS

from perlayer.depth.linear_maps import PENALTIES, MappedText, measure_linear_maps
from perlayer.depth.pairs import map_pair
from perlayer.depth.ridge import Moments, Ridge
from perlayer.depth.settings import MapSettings, Pair, parse_pair
from perlayer.depth.tables import LinearMap
from perlayer.environment import Machine
from perlayer.errors import UserError
from perlayer.model.config import ModelConfig
from perlayer.model.decoder import Decoder
from perlayer.model.weights import save_model
from perlayer.params import load
from perlayer.plan import check_params
from perlayer.store import fresh_folder
from perlayer.tables import read_table

LENGTH = 12
decoder_of = partial(by_hand.decoder_of, sequence_length=LENGTH)


def some_text():
    """Texts of 20, 6 and 7 sequences; documents begin within many of them."""
    tokens = torch.randint(0, 30, (33, LENGTH), generator=torch.Generator().manual_seed(2))
    return MappedText(*tokens.split([20, 6, 7]))


def vectors(decoder, tokens):
    """By kind, the vectors of each layer at the tokens that see others, as numpy (tokens, hidden)."""
    taps = [tap.numpy() for tap in decoder(tokens)]  # of one stream, which is the residual
    kept = [
        (row, place)
        for row, sequence in enumerate(tokens.tolist())
        for place in range(1, LENGTH)
        if sequence[place - 1] != EOS
    ]
    residuals = [np.stack([tap[at] for at in kept]) for tap in taps]
    return {"residual": residuals, "contribution": [b - a for a, b in zip(residuals, residuals[1:])]}


def normal_equations(inputs, outputs, penalty):
    """The weights (inputs, outputs) and the bias; the penalty in units of the mean variance of the inputs."""
    ones = np.ones((len(inputs), 1))
    extended = np.hstack([inputs, ones])
    punished = np.eye(inputs.shape[1] + 1) * penalty * inputs.var(0).mean() * len(inputs)
    punished[-1, -1] = 0  # the bias is free
    solution = np.linalg.solve(extended.T @ extended + punished, extended.T @ outputs)
    return solution[:-1], solution[-1]


def relative(outputs, predicted):
    return (np.linalg.norm(outputs - predicted, axis=1) / np.linalg.norm(outputs, axis=1)).mean()


def test_every_pair_of_layers_is_the_best_map_of_the_best_penalty():
    source = decoder_of("pre_ln", layers=2)
    target = decoder_of("sandwich", layers=3, hidden_size=20)
    text = some_text()
    fit, choose, measure = (
        (vectors(source, tokens), vectors(target, tokens)) for tokens in (text.fit, text.choose, text.measure)
    )
    expected, penalties = {}, set()
    for kind, first in (("residual", 0), ("contribution", 1)):
        for to, outputs in enumerate(fit[1][kind]):
            theirs, mean = measure[1][kind][to], outputs.mean(0)
            mean_error, found = relative(theirs, mean), {}
            for origin, inputs in enumerate(fit[0][kind]):
                maps = [normal_equations(inputs, outputs, penalty) for penalty in PENALTIES]
                errors = [relative(choose[1][kind][to], choose[0][kind][origin] @ w + b) for w, b in maps]
                best = int(np.argmin(errors))
                predicted = measure[0][kind][origin] @ maps[best][0] + maps[best][1]
                share = ((theirs - predicted) ** 2).sum() / ((theirs - mean) ** 2).sum()
                found[origin + first] = (relative(theirs, predicted), share, PENALTIES[best], mean_error)
                penalties.add(PENALTIES[best])
            closest = min((found[layer][0], layer) for layer in found if layer)[1]
            for layer, numbers in found.items():
                away = abs((to + first) / 3 - layer / 2)
                expected[kind, to + first, layer, 3, 2] = (*numbers, away, to + first > 0 and layer == closest)
    assert len(penalties) > 1
    rows = measure_linear_maps("mine", source, target, text, sequences_at_once=3)
    found = {tuple(values)[1:6]: tuple(values)[6:] for values in (vars(row).values() for row in rows)}
    assert len(found) == len(rows) and {row.pair for row in rows} == {"mine"} and found.keys() == expected.keys()
    for place, numbers in found.items():
        assert numbers == pytest.approx(expected[place], rel=1e-6)


def test_a_model_maps_to_itself():
    decoder = decoder_of("hyper_connections", layers=2)
    rows = measure_linear_maps("mine", decoder, decoder, some_text(), sequences_at_once=40)
    found = {(row.layer, row.source_layer): row for row in rows if row.kind == "residual"}
    for layer in (0, 1, 2):
        assert found[layer, layer].error < 1e-3 < found[layer, layer].mean_error
        assert found[layer, layer].best == (layer > 0)
    assert found[2, 0].error > 1e-2


def test_moments_of_batches_are_those_of_all_tokens():
    generator = torch.Generator().manual_seed(0)
    inputs = 1e6 + torch.rand(50, 3, generator=generator, dtype=torch.float64)
    outputs = torch.rand(50, 2, generator=generator, dtype=torch.float64) - 1e5
    moments = Moments()
    for some in (slice(0, 1), slice(1, 30), slice(30, 50)):
        moments.add(inputs[some], outputs[some])
    around = inputs.numpy() - inputs.numpy().mean(0)
    np.testing.assert_allclose(moments.squares.numpy(), around.T @ around, rtol=1e-7)
    products = around.T @ (outputs.numpy() - outputs.numpy().mean(0))
    np.testing.assert_allclose(moments.products.numpy(), products, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(moments.mean_output.numpy(), outputs.numpy().mean(0), rtol=1e-12)
    assert moments.count == 50


def test_a_linear_map_is_found_again():
    generator = torch.Generator().manual_seed(0)
    inputs, weights = torch.randn(60, 4, generator=generator), torch.randn(4, 3, generator=generator)
    moments = Moments()
    moments.add(inputs, inputs @ weights + 5)
    others = torch.randn(7, 4, generator=generator)
    found = Ridge(moments).predict(others, 1e-9)
    np.testing.assert_allclose(found.numpy(), (others @ weights + 5).numpy(), rtol=1e-5, atol=1e-5)
    huge = Ridge(moments).predict(others, 1e12)
    np.testing.assert_allclose(huge.numpy(), np.tile(moments.mean_output.numpy(), (7, 1)), rtol=1e-6)


def saved(folder, run, layers, seed):
    decoder = Decoder(ModelConfig("sandwich", layers, 16, 24, 2, 1, 8, 10000.0, 1e-5, 300, 16, 1, True))
    decoder.initialize(seed=seed)
    with fresh_folder(folder / run) as model:
        save_model(model, decoder)


def test_a_pair_leaves_one_table_the_same_bytes_each_time(tmp_path, small_shards):
    saved(tmp_path / "models", "shallow", 1, 0)
    saved(tmp_path / "models", "deep", 2, 1)
    paths = []
    for name in "ab":
        arguments = (small_shards, tmp_path / "models", tmp_path / name, Machine(device="cpu", compile="off"))
        map_pair("mine", Pair("shallow", "deep"), MapSettings(30, 8, 64), *arguments)
        (path,) = (tmp_path / name / "mine").glob("*.parquet")  # `collect` reads one
        paths.append(path)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert paths[0].name == "linear_maps.parquet"
    rows = read_table(LinearMap, paths[0]).to_pylist()
    assert {(row["pair"], row["layers"], row["source_layers"]) for row in rows} == {("mine", 2, 1)}
    assert {(row["layer"], row["source_layer"]) for row in rows if row["kind"] == "residual"} == {
        (to, origin) for to in (0, 1, 2) for origin in (0, 1)
    }


@pytest.mark.parametrize(
    ("section", "said"),
    [
        (["baseline"], "depth_maps: expected a mapping of names, found ['baseline']"),
        ({"a-b": {}}, "depth_maps: expected a name of at most 50 lower-case letters, digits and _, starting with a "),
        ({"separate": {}}, "depth_maps.separate: expected another name than that of a run"),
        ({"mine": "baseline"}, "depth_maps.mine: expected a mapping of keys, found 'baseline'"),
        ({"mine": {"from": "baseline"}}, "depth_maps.mine.to: missing"),
        ({"mine": {"from": "baseline", "too": "shared"}}, "depth_maps.mine.too: unknown key; did you mean to?"),
        ({"mine": {"from": "nobody", "to": "baseline"}}, "depth_maps.mine.from: expected names of runs, found "),
        ({"mine": {"from": "shared", "to": "shared"}}, "depth_maps.mine.to: expected another run than from, found "),
    ],
)
def test_a_wrong_pair_is_named_before_any_work(section, said):
    with pytest.raises(UserError) as error:
        check_params({**load(), "depth_maps": section})
    assert str(error.value).startswith(f"params.yaml: {said}") and "\n" not in str(error.value)


def test_a_pair_that_is_not_there_is_named():
    with pytest.raises(UserError, match="params.yaml: depth_maps.none: no such pair; pairs: shallow_to_deep, "):
        parse_pair(load(), "none")


@pytest.mark.parametrize("key", ["sequences", "held_out", "tokens_at_once"])
def test_a_wrong_length_is_named_before_any_work(key):
    params = load()
    params["recipes"]["nano"]["depth_maps"][key] = 0
    with pytest.raises(UserError, match=f"params.yaml: recipes.nano.depth_maps.{key}: expected at least "):
        check_params(params)
