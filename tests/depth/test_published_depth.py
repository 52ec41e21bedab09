"""A published model, dissected from its folder to the tables that `collect` reads, held against its own modules."""

import pytest
import torch
from by_hand import Hooked

from perlayer.data.batches import read_split
from perlayer.depth.prompts import Prompt, arithmetic_prompts, write_prompts
from perlayer.depth.published import dissect_published
from perlayer.depth.settings import published_settings
from perlayer.depth.tables import TABLES
from perlayer.environment import Machine
from perlayer.errors import UserError
from perlayer.model.published_settings import PublishedSettings
from perlayer.params import load
from perlayer.plan import check_params
from perlayer.store import fresh_folder
from perlayer.tables import read_table

LENGTH, LAYERS = 24, 3


@pytest.fixture(scope="module", params=["Llama", "Qwen3"])
def published(request, tmp_path_factory, write_published_text):
    """A random model of three layers over bytes, a text in its tokens, and prompts."""
    import transformers

    folder = tmp_path_factory.mktemp(request.param)
    torch.manual_seed(0)
    shape = dict(vocab_size=257, hidden_size=16, intermediate_size=24, num_hidden_layers=LAYERS, num_attention_heads=2)
    config = getattr(transformers, f"{request.param}Config")(
        **shape, num_key_value_heads=1, head_dim=8, max_position_embeddings=LENGTH, initializer_range=0.3
    )
    getattr(transformers, f"{request.param}ForCausalLM")(config).save_pretrained(folder / "model")
    write_published_text(folder, length=LENGTH, batch=1)
    with fresh_folder(folder / "prompts") as prompts:
        write_prompts(arithmetic_prompts([2, 4, 9], 3, 0), prompts / "sums.jsonl")
        write_prompts([Prompt("Is it?", " Yes.", "easy")], prompts / "mine.jsonl")
    return folder


def test_tables_hold_all_dissections(published, tmp_path, capsys):
    from transformers import AutoModelForCausalLM

    model = PublishedSettings(str(published / "model"), LENGTH, depth={"sequences": 3, "splits": 2})
    dissect_published(
        "mine",
        model,
        published_settings("mine", model.depth),
        published / "prompts",
        published / "shards",
        tmp_path,
        Machine(device="cpu", compile="off"),
    )
    found = {
        path.stem: read_table(TABLES[path.stem], path).to_pylist() for path in (tmp_path / "mine").glob("*.parquet")
    }
    assert {row["run"] for rows in found.values() for row in rows} == {"mine"}
    # no token is looked at alone where params do not ask for it
    assert {name for name, rows in found.items() if not rows} == {"token_effects"}
    assert set(found) == set(TABLES) - {"linear_maps", "routing"}
    # a token is a byte, and a sum of nine digits alone has 33
    assert capsys.readouterr().out == f"mine: 3 of 10 prompts have more than {LENGTH} tokens: left out\n"
    groups = {(row["prompts"], row["prompt_group"]): row["prompts_read"] for row in found["group_scores"]}
    sums = {("sums", "2 operands"): 3, ("sums", "4 operands"): 3, ("sums", "9 operands"): 0}
    assert groups == {**sums, ("mine", "easy"): 1}

    theirs = AutoModelForCausalLM.from_pretrained(published / "model", dtype=torch.float32)
    theirs = theirs.double().eval().requires_grad_(False)
    shares, norms = [], []
    for sequence in torch.from_numpy(read_split(published / "shards", "val")[:3]):
        residuals, contributions, _ = Hooked(theirs, sequence[:-1]).run()
        shares += (contributions[2, "layer"].norm(dim=-1) / residuals[1].norm(dim=-1)).tolist()
        norms += residuals[-1].norm(dim=-1).tolist()
    rows = {row["layer"]: row for row in found["contributions"] if row["sublayer"] is None}
    assert rows[2]["relative_contribution"] == pytest.approx(sum(shares) / len(shares), rel=1e-4)
    assert rows[LAYERS]["residual_norm"] == pytest.approx(sum(norms) / len(norms), rel=1e-4)


@pytest.mark.parametrize(
    ("depth", "said"),
    [
        ({"layers": 3}, "published.mine.depth.layers: unknown key"),
        ({"sequences": 1}, "published.mine.depth.sequences: expected at least 2, found 1"),
        ({"texts": 3}, "published.mine.depth.texts: expected at most the 2 sequences, found 3"),
        ({"texts": -1}, "published.mine.depth.texts: expected at least 0, found -1"),
        (3, "published.mine.depth: expected a mapping, found 3"),
    ],
)
def test_a_wrong_choice_is_named_before_any_work(depth, said):
    with pytest.raises(UserError) as error:
        check_params({**load(), "published": {"mine": {"path": "nowhere", "depth": depth}}})
    assert said in str(error.value) and "\n" not in str(error.value)


def test_sequences_too_short_to_split_are_named_before_any_work():
    said = "params.yaml: published.mine.sequence_length: expected at least 13 tokens, to split .*, found 12"
    for length, message in ((12, said), (13, "nowhere: no such folder")):
        with pytest.raises(UserError, match=message):
            check_params({**load(), "published": {"mine": {"path": "nowhere", "sequence_length": length}}})
