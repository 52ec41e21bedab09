"""Every number of the dissections of depth, held against hidden states that are edited by hand."""

from collections import defaultdict
from functools import partial

import by_hand
import numpy as np
import pytest
import torch
from by_hand import EOS, beside_itself, skipping, tokens_with_ends
from tokenizers import Tokenizer

from perlayer.data.batches import read_split
from perlayer.depth import analyses, residual_lens
from perlayer.depth import skipping as skipping_module
from perlayer.depth.contributions import measure_contributions
from perlayer.depth.prompt_sets import write_prompt_sets
from perlayer.depth.residual_lens import measure_residual_lens
from perlayer.depth.settings import DepthSettings, Sums
from perlayer.depth.skipping import measure_skipping, split_positions
from perlayer.depth.statistics import STATS
from perlayer.depth.tables import TABLES, ResidualLens
from perlayer.environment import Machine
from perlayer.errors import UserError
from perlayer.model.config import ModelConfig
from perlayer.model.decoder import Decoder
from perlayer.model.weights import save_model
from perlayer.params import load
from perlayer.plan import check_params
from perlayer.store import fresh_folder
from perlayer.tables import read_table

LENGTH, LAYERS, SPLITS = 22, 3, 2
SETTINGS = DepthSettings(
    3, SPLITS, tokens_at_once=2 * LENGTH, texts=1, gradient_steps=1
)  # two of three sequences together
PARTS = ("layer", "attention", "mlp")
decoder_of = partial(by_hand.decoder_of, layers=LAYERS, sequence_length=LENGTH)


def some_tokens():
    """(3, LENGTH); documents end within two of the sequences, one of them where a split may be."""
    return tokens_with_ends(LENGTH, [(0, 5), (0, 13), (2, 2), (2, 15)])


@pytest.fixture(scope="module", params=["pre_ln", "sandwich", "Llama", "Qwen3"])
def model(request):
    return beside_itself(request.param, LAYERS, some_tokens())


def table(rows, *key):
    """What was measured, by the values of some columns and the name of the column."""
    found = {}
    for row in rows:
        columns = dict(vars(row))
        assert columns.pop("run") == "mine"
        place = tuple(columns.pop(name) for name in key)
        assert not any(each[: len(place)] == place for each in found)
        found |= {(*place, name): value for name, value in columns.items() if value is not None}
    return found


class Expected:
    """Values of tokens by what they are of, and the statistics of them all."""

    def __init__(self):
        self.values = defaultdict(list)

    def add(self, *place, values):
        self.values[tuple(None if part == "layer" else part for part in place)].append(values.numpy())

    def over_tokens(self, stat):
        of = {"mean": np.mean, "p95": lambda values: np.percentile(values, 95), "max": np.max}[stat]
        return {place: of(np.concatenate(parts)) for place, parts in self.values.items()}


def length(vectors):
    return torch.sqrt((vectors * vectors).sum(-1))


def cosine(vectors, others):
    return (vectors * others).sum(-1) / (length(vectors) * length(others))


def later_tokens(one):
    """Those that see another token than themselves."""
    return one.sees.sum(-1) > 1


def assert_tables(found, expected, close):
    assert found.keys() == expected.keys()
    assert found == pytest.approx(expected, rel=close, abs=close / 100)


def test_contributions_and_cosines(model):
    decoder, by_hand, close = model
    means, shares = Expected(), Expected()
    for one in by_hand:
        residuals, contributions, _ = one.run()
        for layer, h in enumerate(residuals):
            means.add(layer, "layer", "residual_norm", values=length(h))
        for layer in range(1, LAYERS + 1):
            h, a = residuals[layer - 1], contributions[layer, "attention"]
            m = residuals[layer] - h - a
            for part, c, beside in (("attention", a, h), ("mlp", m, h + a), ("layer", a + m, h)):
                share, later = length(c) / length(beside), later_tokens(one)
                shares.add(layer, part, values=share)
                means.add(layer, part, "relative_contribution", values=share)
                means.add(layer, part, "relative_contribution_without_first", values=share[later])
                means.add(layer, part, "cosine", values=cosine(c, beside))
                means.add(layer, part, "cosine_without_first", values=cosine(c, beside)[later])
                means.add(layer, part, "contribution_norm", values=length(c))
            means.add(layer, "layer", "residual_cosine", values=cosine(h, residuals[layer]))
    expected = means.over_tokens("mean")
    for stat, name in (("p95", "relative_contribution_p95"), ("max", "greatest_relative_contribution")):
        expected |= {(*place, name): value for place, value in shares.over_tokens(stat).items()}
    found = measure_contributions("mine", decoder, some_tokens(), SETTINGS)
    assert_tables(table(found, "layer", "sublayer"), expected, close)


def test_the_lens_on_the_residual(model):
    decoder, by_hand, close = model
    expected = Expected()
    for one in by_hand:
        residuals, _, final = one.run()
        top = final.argsort(-1, descending=True)[:, :5]
        for layer, h in enumerate(residuals):
            lens = one.distribution(h)
            expected.add(layer, "kl_lens_final", values=(lens * (lens / final).log()).sum(-1))
            expected.add(layer, "kl_final_lens", values=(final * (final / lens).log()).sum(-1))
            ours = lens.argsort(-1, descending=True)[:, :5]
            both = [len(set(left) & set(right)) / 5 for left, right in zip(ours.tolist(), top.tolist())]
            expected.add(layer, "top5_overlap", values=torch.tensor(both, dtype=torch.float64))
    found = measure_residual_lens("mine", decoder, some_tokens(), SETTINGS)
    assert_tables(table(found, "layer"), expected.over_tokens("mean"), close)
    assert found[LAYERS] == ResidualLens("mine", LAYERS, 0, 0, 1)


def cuts_of(one, splits):
    """Where something is skipped, and where its effect is measured."""
    later, places = later_tokens(one), torch.arange(LENGTH)
    yield "all", later, later
    for split in splits.tolist():
        skipped = later & (places < split)
        reached = torch.tensor([bool((one.sees[t] & skipped).any()) for t in range(LENGTH)])
        yield "future", skipped, reached & (places >= split)


def test_skipping(model):
    """Skips that propagate are edits of what sublayers add; those that do not, of what one later layer reads."""
    decoder, by_hand, close = model
    effects, outputs = Expected(), Expected()
    for one, splits in zip(by_hand, split_positions(3, LENGTH, SPLITS)):
        residuals, usual, probabilities = one.run()
        for name, skipped, measured in cuts_of(one, splits):
            for layer in range(1, LAYERS + 1):
                for part in PARTS:
                    _, changed, output = one.run(skipping(part, layer, skipped))
                    distance = length(output - probabilities)[measured]
                    outputs.add(layer, part, f"output_effect_{name}", values=distance)
                    for later in range(layer + 1, LAYERS + 1):
                        without = residuals[later - 1] - usual[layer, part] * skipped[:, None]

                        def read(place, h, later=later, without=without):
                            return without if place == later else h

                        _, alone, _ = one.run(read=read)
                        for effect, contributions in (("effect", changed), ("local_effect", alone)):
                            difference = length(contributions[later, "layer"] - usual[later, "layer"])
                            change = (difference / length(usual[later, "layer"]))[measured]
                            effects.add(layer, part, later, f"{effect}_{name}", values=change)
    found = measure_skipping("mine", decoder, some_tokens(), SETTINGS)
    for stat in STATS:
        on_layers, on_output = ([row for row in rows if row.stat == stat] for rows in found)
        found_effects = table(on_layers, "layer", "sublayer", "later_layer", "stat")
        assert_tables(found_effects, with_stat(effects, stat), close)
        assert_tables(table(on_output, "layer", "sublayer", "stat"), with_stat(outputs, stat), close)


def with_stat(expected, stat):
    return {(*place, stat, name): value for (*place, name), value in expected.over_tokens(stat).items()}


def test_nothing_is_skipped_at_the_first_token_of_a_text_and_nothing_measured_where_it_cannot_reach():
    decoder = decoder_of("pre_ln")
    tokens = some_tokens()[:1].clone()
    tokens[0, 0], tokens[0, 7] = EOS, EOS  # documents begin at 1 and 8: nothing before 8 is seen from there on
    with torch.no_grad():
        cuts = skipping_module._cuts(decoder, tokens, torch.tensor([[8, 16]]))
    assert [cut.name for cut in cuts] == ["all", "future", "future"]
    assert cuts[0].skipped[0].nonzero()[:, 0].tolist() == [2, 3, 4, 5, 7, *range(9, 14), *range(15, 22)]
    assert not cuts[1].measured.any()
    assert cuts[2].skipped[0].nonzero()[:, 0].tolist() == [2, 3, 4, 5, 7, *range(9, 14), 15]
    assert cuts[2].measured[0].nonzero()[:, 0].tolist() == [*range(16, 22)]


def test_splits_are_drawn_from_a_grid_the_same_each_time():
    splits = split_positions(50, 64, 4)
    assert splits.shape == (50, 4)
    assert all(len(set(row)) == 4 and set(row) <= set(range(8, 60, 8)) for row in splits.tolist())
    assert len({tuple(row) for row in splits.tolist()}) > 10
    assert torch.equal(splits, split_positions(50, 64, 4)) and torch.equal(splits[:7], split_positions(7, 64, 4))
    assert split_positions(2, 13, 4).tolist() == [[8], [8]]
    with pytest.raises(UserError, match="expected sequences of more than 12 tokens, to split, found 12"):
        split_positions(2, 12, 4)


@pytest.mark.parametrize(
    "name", ["hyper_connections", "mhc", "deepnorm", "keel", "attnres_full", "attnres_block", "moda"]
)
def test_skipping_in_designs_that_do_not_just_add(name):
    effects, outputs = measure_skipping("mine", decoder_of(name), some_tokens(), SETTINGS)
    blocks = {row.layer for row in outputs if row.sublayer == "block"}
    mixes_or_norms = name in ("hyper_connections", "mhc", "deepnorm", "keel")
    assert blocks == (set(range(1, LAYERS + 1)) if mixes_or_norms else set())
    assert {(row.layer, row.later_layer) for row in effects if row.sublayer == "block"} == {
        (layer, later) for layer in blocks for later in range(layer + 1, LAYERS + 1)
    }
    for row in effects:
        # nothing lies between, but for the MLP that reads what an attention has given
        if row.later_layer == row.layer + 1 and row.sublayer not in ("attention", "block"):
            local = (row.local_effect_all, row.local_effect_future)
            assert local == pytest.approx((row.effect_all, row.effect_future))
        assert row.effect_all >= 0 and row.effect_future >= 0
    for row in outputs:
        assert row.output_effect_all >= 0
        # no later token reads what the last layer has given
        assert row.output_effect_future == 0 if row.layer == LAYERS else row.output_effect_future >= 0


def shard_decoder(residual):
    decoder = Decoder(ModelConfig(residual, LAYERS, 16, 24, 2, 1, 8, 10000.0, 1e-5, 300, 16, 1, True))
    decoder.initialize(seed=0)
    return decoder


def dissected(folder, shards):
    with fresh_folder(folder / "models/mine") as model:
        save_model(model, shard_decoder("sandwich"))
    write_prompt_sets({"sums": Sums([2, 3], 3)}, folder / "prompts")
    arguments = (folder / "models", folder / "metrics", Machine(device="cpu", compile="off"))
    settings = DepthSettings(4, 2, 32, texts=2, gradient_steps=3)
    analyses.dissect_run("mine", settings, folder / "prompts", shards.parent / "tokenizer", shards, *arguments)
    return sorted((folder / "metrics/mine").glob("*.parquet"))


def test_a_run_leaves_its_tables_the_same_bytes_each_time(tmp_path, small_shards):
    paths, again = (dissected(tmp_path / name, small_shards) for name in "ab")
    assert [path.read_bytes() for path in paths] == [path.read_bytes() for path in again]
    found = {path.stem: read_table(TABLES[path.stem], path).to_pylist() for path in paths}
    assert set(found) == set(TABLES) - {"linear_maps", "routing"}
    assert {row["run"] for rows in found.values() for row in rows} == {"mine"}
    groups = [(row["prompts"], row["prompt_group"], row["difficulty"]) for row in found["group_scores"]]
    assert groups == [("sums", "2 operands", 2), ("sums", "3 operands", 3)]
    words = {(row["text"], row["position"]): row["token"] for row in found["token_effects"]}
    tokenizer = Tokenizer.from_file(str(small_shards.parent / "tokenizer/tokenizer.json"))
    for number, row in enumerate(read_split(small_shards, "val")[:2], 1):
        said = "".join(words[f"window {number}", place] for place in range(16))
        assert said == tokenizer.decode(row[:16].tolist(), skip_special_tokens=False)


def test_a_number_that_is_not_finite_is_named_before_anything_is_published(tmp_path, small_shards, monkeypatch):
    broken = dict.fromkeys(residual_lens.MEASURES, torch.tensor([0.5, np.nan]))
    monkeypatch.setattr(residual_lens, "lens_measures", lambda hiddens, *_: [broken] * len(hiddens))
    said = "residual_lens.parquet: run mine, layer 0: expected finite numbers, found kl_lens_final nan; nothing was"
    with pytest.raises(UserError, match=said):
        dissected(tmp_path, small_shards)
    assert not (tmp_path / "metrics/mine").exists()


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ({"runs": ["nobody"]}, "depth.runs: expected names of runs"),
        ({"runs": "probes"}, "depth.runs: expected a list, found 'probes'"),
        ({"runs": ["probes", "probes"]}, "depth.runs: expected probes once"),
        ({"prompts": []}, "depth.prompts: expected a mapping, found []"),
        ({"prompts": {"Sums": {}}}, "depth.prompts: expected a name of at most 50 lower-case letters"),
        ({"prompts": {"mine": None}}, "depth.prompts.mine: expected a mapping of keys, found None"),
        ({"prompts": {"mine": {"file": "a"}}}, "depth.prompts.mine.format: missing"),
        (
            {"prompts": {"mine": {"file": "a", "format": "csv"}}},
            "depth.prompts.mine.format: expected one of gsm8k, math, mquake, prompts, found 'csv'",
        ),
        ({"prompts": {"mine": {"operands": []}}}, "depth.prompts.mine.operands: expected whole numbers from 1 to 1000"),
        ({"prompts": {"mine": {"operands": [2, 2]}}}, "depth.prompts.mine.operands: expected whole numbers"),
        ({"prompts": {"mine": {"operands": [2], "each": 0}}}, "depth.prompts.mine.each: expected from 1 to 1000"),
        ({"prompts": {"mine": {"operands": [2], "each": 10**9}}}, "depth.prompts.mine.each: expected from 1 to 1000"),
    ],
)
def test_a_wrong_list_of_runs_is_named_before_any_work(section, said):
    with pytest.raises(UserError, match="params.yaml: ") as error:
        check_params({**load(), "depth": {"runs": [], "prompts": {}} | section})
    assert said in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("sequences", 1, "expected at least 2, found 1"),  # `held_out_rows` wants as many
        ("splits", 0, "expected at least 1 a sequence, found 0"),
        ("tokens_at_once", 0, "expected at least 1, found 0"),
        ("texts", 33, "expected at most the 32 sequences, found 33"),
        ("gradient_steps", 0, "expected at least 1, found 0"),
    ],
)
def test_a_wrong_length_is_named_before_any_work(key, value, said):
    params = load()
    params["recipes"]["nano"]["depth"][key] = value
    with pytest.raises(UserError, match=f"params.yaml: recipes.nano.depth.{key}: {said}"):
        check_params(params)


def test_sequences_too_short_to_split_are_named_before_any_work():
    params = load()
    params["recipes"]["nano"]["data"]["sequence_length"] = 12
    said = "params.yaml: recipes.nano.data.sequence_length: expected at least 13 tokens, to split .*, found 12"
    with pytest.raises(UserError, match=said):
        check_params(params)
    check_params({**params, "depth": {"runs": [], "prompts": {}}})  # nothing is dissected
    params["recipes"]["nano"]["data"]["sequence_length"] = 13
    check_params(params)
    assert split_positions(1, 13, 1).tolist() == [[8]]
