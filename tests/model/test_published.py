"""Published models against transformers, which is not ours: same modules, same numbers, and errors in one line."""

import hashlib
import json
import shutil

import pytest
import torch
from byte_tokenizer import write_tokenizer

from perlayer.errors import UserError
from perlayer.model.decoder import parameters_up_to
from perlayer.model.published import load_published
from perlayer.model.residual.pre_ln import Design

LENGTH = 48
SHAPE = dict(
    vocab_size=270,
    hidden_size=48,
    intermediate_size=80,
    num_hidden_layers=3,
    num_attention_heads=6,
    num_key_value_heads=2,
    max_position_embeddings=64,
    rms_norm_eps=1e-5,
    initializer_range=0.2,  # so that attention is far from uniform
)
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}
CASES = {
    "llama": ("Llama", {}),
    "llama_tied_wide_heads": ("Llama", {"tie_word_embeddings": True, "head_dim": 16}),
    "llama3_rope": ("Llama", {"rope_scaling": LLAMA3, "rope_theta": 500000.0}),
    "llama_linear_rope": ("Llama", {"rope_scaling": {"rope_type": "linear", "factor": 2.0}}),
    "llama_biases": ("Llama", {"attention_bias": True, "mlp_bias": True, "num_key_value_heads": 6}),
    "qwen3": ("Qwen3", {"head_dim": 16}),
    "qwen3_tied_biases": ("Qwen3", {"head_dim": 4, "tie_word_embeddings": True, "attention_bias": True}),
    "qwen3_yarn": ("Qwen3", {"head_dim": 8, "rope_scaling": YARN}),
}


def write_model(folder, kind, dtype=torch.float32, saving=(), **changes):
    """A random model as transformers saves it, its norms and biases away from their first values."""
    import transformers

    torch.manual_seed(3)
    config = getattr(transformers, f"{kind}Config")(**{**SHAPE, **changes})
    model = getattr(transformers, f"{kind}ForCausalLM")(config)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 1:
                parameter.add_(0.3 * torch.randn_like(parameter))
    model.to(dtype).save_pretrained(folder, **dict(saving))
    write_tokenizer(folder)
    return folder


def reference(folder):
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()


def some_tokens(length=LENGTH, batch=2):
    return torch.randint(0, 270, (batch, length), generator=torch.Generator().manual_seed(5))


def assert_close(found, expected):
    """Equal but for the rounding of two attention kernels, at values of order ten."""
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return {name: write_model(folder / name, kind, **changes) for name, (kind, changes) in CASES.items()}


@pytest.fixture
def llama(folders, tmp_path):
    """A folder of its own, for a test that damages it."""
    return shutil.copytree(folders["llama"], tmp_path / "llama")


@pytest.fixture
def qwen3(folders, tmp_path):
    return shutil.copytree(folders["qwen3"], tmp_path / "qwen3")


def recorded(model):
    """What the blocks of a transformers model and their two sublayers give, in order, filled when the model runs."""
    outputs = {"block": [], "self_attn": [], "mlp": []}

    def keep(name):
        return lambda module, inputs, output: outputs[name].append(output[0] if isinstance(output, tuple) else output)

    for block in model.model.layers:
        block.register_forward_hook(keep("block"))
        block.self_attn.register_forward_hook(keep("self_attn"))
        block.mlp.register_forward_hook(keep("mlp"))
    return outputs


class RecordingDesign(Design):
    """The Pre-LN design that also keeps what every sublayer writes."""

    def __init__(self, config):
        super().__init__(config)
        self.outputs = {"attention": [], "mlp": []}

    def write(self, state, sublayer, output):
        self.outputs[sublayer.kind].append(output)
        return super().write(state, sublayer, output)


@pytest.mark.parametrize("name", CASES)
def test_every_layer_every_sublayer_and_the_logits_are_those_of_transformers(folders, name):
    ours, theirs = load_published(folders[name], LENGTH), reference(folders[name])
    ours.design = RecordingDesign(ours.config)
    outputs = recorded(theirs)
    tokens = some_tokens()
    taps = ours(tokens)
    with torch.no_grad():
        expected = theirs(tokens, output_hidden_states=True)
    assert len(taps) == ours.config.layers + 1 == 4
    for tap, hidden in zip(taps[:-1], expected.hidden_states[:-1], strict=True):
        assert_close(tap, hidden)
    assert_close(ours.model.norm(taps[-1]), expected.hidden_states[-1])  # theirs is normed
    for tap, block in zip(taps[1:], outputs["block"], strict=True):
        assert_close(tap, block)
    for kind, sublayer in (("attention", "self_attn"), ("mlp", "mlp")):
        for output, hooked in zip(ours.design.outputs[kind], outputs[sublayer], strict=True):
            assert_close(output, hooked)
    assert_close(ours.logits(taps[-1]), expected.logits)


@pytest.mark.parametrize("name", ["llama3_rope", "llama_linear_rope", "qwen3_yarn"])
def test_scaled_rotary_frequencies_make_a_difference_here(folders, name, tmp_path):
    """The cases above would not notice a scaling that is left out if it changed nothing."""
    plain = shutil.copytree(folders[name], tmp_path / "plain")
    edit_config(plain, rope_scaling=None)
    tokens = some_tokens()
    with torch.no_grad():
        assert (reference(plain)(tokens).logits - reference(folders[name])(tokens).logits).abs().max() > 0.1


@pytest.mark.parametrize("name", ["llama3_rope", "qwen3"])
def test_a_shorter_text_is_read_like_its_beginning(folders, name):
    ours, theirs = load_published(folders[name], LENGTH), reference(folders[name])
    tokens = some_tokens()[:, :7]
    with torch.no_grad():
        assert_close(ours.logits(ours(tokens)[-1]), theirs(tokens).logits)


def test_a_change_between_layers_reaches_the_layers_above(folders):
    ours, theirs = load_published(folders["qwen3"], LENGTH), reference(folders["qwen3"])
    tokens = some_tokens()
    change = torch.randn(2, LENGTH, 48, generator=torch.Generator().manual_seed(1))
    seen = []

    def changing(layer, before, after, run):
        seen.append(layer)
        return after, after + change if layer == 2 else after

    taps = ours(tokens, changing)
    theirs.model.layers[1].register_forward_hook(lambda module, inputs, output: output + change)
    with torch.no_grad():
        assert_close(ours.logits(taps[-1]), theirs(tokens).logits)
    assert seen == [0, 1, 2, 3]


def test_a_gradient_reaches_the_embedding_through_fixed_weights(folders):
    """What a tuned lens or an attribution needs: gradients in the stream, none in the weights."""
    ours, theirs = load_published(folders["llama_biases"], LENGTH), reference(folders["llama_biases"])
    tokens = some_tokens()
    embeddings = []

    def leaf(layer, before, after, run):
        if layer == 0:
            embeddings.append(after.detach().requires_grad_())
            return after, embeddings[0]
        return after, after

    ours.logits(ours(tokens, leaf)[-1]).square().sum().backward()
    theirs.requires_grad_(False)
    expected = theirs.model.embed_tokens(tokens).detach().requires_grad_()
    theirs(inputs_embeds=expected).logits.square().sum().backward()
    assert (embeddings[0].grad - expected.grad).abs().max() < 1e-5 * expected.grad.abs().max()
    assert all(parameter.grad is None for parameter in ours.parameters())


def test_attention_takes_an_additive_mask_of_four_dimensions(folders):
    ours, theirs = load_published(folders["qwen3"], LENGTH), reference(folders["qwen3"])
    hidden = torch.randn(2, 9, 48, generator=torch.Generator().manual_seed(1))
    mask = torch.full((9, 9), -torch.inf).triu(1)
    mask[4:, :4] = -torch.inf  # a second document from the fifth token
    mask = mask.expand(2, 1, 9, 9)
    rotary = theirs.model.rotary_emb(hidden, torch.arange(9)[None])
    with torch.no_grad():
        expected, _ = theirs.model.layers[0].self_attn(hidden, position_embeddings=rotary, attention_mask=mask)
    rotary = ours.rotary_cosine[:9], ours.rotary_sine[:9]
    assert_close(ours.model.layers[0].self_attn(hidden, rotary=rotary, mask=mask), expected)


@pytest.mark.parametrize("name", CASES)
def test_the_configuration_the_names_and_the_state_of_the_weights(folders, name):
    ours, theirs = load_published(folders[name], LENGTH), reference(folders[name])
    config = ours.config
    assert (config.residual, config.layers, config.hidden_size, config.intermediate_size) == ("pre_ln", 3, 48, 80)
    assert (config.attention_heads, config.key_value_heads) == (6, theirs.config.num_key_value_heads)
    assert (config.head_dim, config.rope_theta) == (theirs.config.head_dim, theirs.config.rope_theta)
    assert (config.norm_epsilon, config.vocab_size, config.sequence_length) == (1e-5, 270, LENGTH)
    assert (config.eos_id, config.block_cross_document) == (256, False)
    named = dict(theirs.named_parameters())
    assert dict(ours.named_parameters()).keys() == named.keys()
    for parameter_name, parameter in ours.named_parameters():
        assert torch.equal(parameter, named[parameter_name])
        assert parameter.dtype == torch.float32 and not parameter.requires_grad
    assert not any(module.training for module in ours.modules())
    assert (ours.lm_head.weight is ours.model.embed_tokens.weight) == bool(theirs.config.tie_word_embeddings)
    blocks = sum(parameter.numel() for parameter in theirs.model.layers[:2].parameters())
    assert parameters_up_to(ours, 2) == blocks


@pytest.mark.parametrize(
    ("dtype", "saving"),
    [
        (torch.bfloat16, {}),
        (torch.float32, {"max_shard_size": "50KB"}),
        (torch.float32, {"safe_serialization": False}),
        (torch.float16, {"safe_serialization": False, "max_shard_size": "50KB"}),
    ],
)
def test_every_form_of_file_is_read_quietly_and_left_as_it_is(tmp_path, capfd, dtype, saving):
    from transformers.utils import logging

    folder = write_model(tmp_path / "model", "Llama", dtype, saving, tie_word_embeddings=True)
    assert len(list(folder.glob("*-of-*"))) > 1 or "max_shard_size" not in saving
    before = {path: hashlib.sha256(path.read_bytes()).digest() for path in folder.iterdir()}
    expected = reference(folder)
    settings = logging.get_verbosity(), logging.is_progress_bar_enabled()
    capfd.readouterr()
    ours = load_published(folder, LENGTH)
    tokens = some_tokens()
    taps = ours(tokens)
    assert capfd.readouterr() == ("", "")
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == settings
    with torch.no_grad():
        assert_close(ours.logits(taps[-1]), expected(tokens).logits)
    assert {path: hashlib.sha256(path.read_bytes()).digest() for path in folder.iterdir()} == before


def test_a_window_as_long_as_the_sequence_is_no_window(tmp_path):
    window = dict(use_sliding_window=True, sliding_window=20, max_window_layers=1, head_dim=8)
    folder = write_model(tmp_path / "model", "Qwen3", **window)
    ours, theirs = load_published(folder, 20), reference(folder)
    with torch.no_grad():
        assert_close(ours.logits(ours(some_tokens(20))[-1]), theirs(some_tokens(20)).logits)
    with pytest.raises(UserError, match="sliding_window: expected at least the sequence length of 21, found 20$"):
        load_published(folder, 21)
    edit_config(folder, layer_types=["full_attention"] * 3)
    load_published(folder, 21)


def edit_config(folder, **changes):
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def edit_weights(folder, change, name="model.safetensors"):
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / name)
    change(weights)
    save_file(weights, folder / name, {"format": "pt"})


def error_of(folder, length=LENGTH):
    with pytest.raises(UserError) as caught:
        load_published(folder, length)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 600
    return str(caught.value).replace(str(folder), "MODEL")


def test_a_folder_that_is_not_there(tmp_path):
    assert error_of(tmp_path / "gone") == "MODEL: no such folder; expected a published model"


def test_a_folder_without_a_configuration(llama):
    (llama / "config.json").unlink()
    assert error_of(llama) == ("MODEL/config.json: no such file; expected a published model in the Hugging Face format")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model_type": "gpt2"}, "model_type: expected one of llama, qwen3, found 'gpt2'"),
        ({"model_type": None}, "model_type: expected one of llama, qwen3, found None"),
        ({"vocab_size": "270"}, "vocab_size: expected a whole number of at least 1, found '270'"),
        ({"num_hidden_layers": 10**9}, "num_hidden_layers: expected at most 4096, found 1000000000"),
        ({"rms_norm_eps": "x"}, "rms_norm_eps: expected a number above 0, found 'x'"),
        ({"rope_theta": -1.0}, "rope_theta: expected a number above 0, found -1.0"),
        ({"partial_rotary_factor": 0.5}, "partial_rotary_factor: expected 1, found 0.5"),
        ({"rope_scaling": [1]}, "rope_scaling: expected a mapping, found [1]"),
        ({"sliding_window": "x"}, "sliding_window: expected a whole number, found 'x'"),
        ({"max_window_layers": "z"}, "max_window_layers: expected a whole number, found 'z'"),
        ({"layer_types": 3}, "layer_types: expected a list, found 3"),
        ({"num_hidden_layers": None}, "num_hidden_layers: expected a whole number of at least 1, found None"),
        (
            {"max_position_embeddings": 47},
            "max_position_embeddings: expected at least the sequence length of 48, found 47",
        ),
        ({"quantization_config": {"bits": 4}}, "quantization_config: expected weights that are not quantized"),
        (
            {"rope_parameters": {"rope_theta": 1e6, "rope_type": "default"}},
            "rope_parameters: expected rope_theta and rope_scaling, as transformers 4 writes them",
        ),
        (
            {"rope_scaling": {"type": "longrope"}},
            "rope_scaling: expected frequencies that do not change with the length of the text",
        ),
    ],
)
def test_a_configuration_that_is_not_read(llama, changes, message):
    edit_config(llama, **changes)
    assert error_of(llama) == f"MODEL/config.json: {message}"


@pytest.mark.parametrize("content", ["{", "[]", '"llama"', "[" * 200_000])
def test_a_broken_configuration(llama, content):
    (llama / "config.json").write_text(content)
    assert error_of(llama).startswith("MODEL/config.json: ")


@pytest.mark.parametrize("name", ["adapter_config.json", "adapter_model.safetensors"])
def test_an_adapter_beside_the_weights_is_not_passed_over(llama, name):
    (llama / name).write_text("{}")
    found = "expected the weights of a whole model, found an adapter; merge it into them first"
    assert error_of(llama) == f"MODEL/{name}: {found}"


def test_a_model_without_a_tokenizer(llama):
    (llama / "tokenizer.json").unlink()
    assert error_of(llama) == "MODEL/tokenizer.json: no such file; expected the tokenizer of a published model"


def test_a_tokenizer_without_an_end(llama):
    (llama / "tokenizer_config.json").write_text("{}")
    assert error_of(llama) == "MODEL: expected a eos_token named in its tokenizer_config.json, found none"


def test_a_folder_without_weights(llama):
    (llama / "model.safetensors").unlink()
    assert error_of(llama).startswith("MODEL: the model cannot be loaded: Error no file named pytorch_model.bin")


@pytest.mark.parametrize("name", ["lm_head.weight", "model.norm.weight", "model.layers.1.self_attn.k_proj.weight"])
def test_weights_that_lack_one(llama, name):
    edit_weights(llama, lambda weights: weights.pop(name))
    assert error_of(llama) == f"MODEL: weights are missing: {name}"


def test_weights_that_lack_a_layer(llama):
    edit_config(llama, num_hidden_layers=4)
    assert error_of(llama) == "MODEL: weights are missing: model.layers.3.input_layernorm.weight and 8 more"


def test_weights_that_are_too_many(llama):
    edit_config(llama, num_hidden_layers=2)
    assert error_of(llama) == (
        "MODEL: weights belong to no part of the model that config.json describes: "
        "model.layers.2.input_layernorm.weight and 8 more"
    )


def test_weights_of_another_kind(llama, qwen3):
    shutil.copy(qwen3 / "model.safetensors", llama)
    edit_config(llama, head_dim=16)
    assert "weights belong to no part of the model that config.json describes: model.layers.0.self_attn.k_norm" in (
        error_of(llama)
    )


def test_a_head_that_ties_would_drop(llama):
    edit_config(llama, tie_word_embeddings=True)
    assert error_of(llama) == (
        "MODEL: lm_head.weight: expected the weights of the embedding, as config.json says by tie_word_embeddings, "
        "found others"
    )


@pytest.mark.parametrize("dropped", [None, "lm_head.weight", "model.embed_tokens.weight"])
def test_tied_weights_that_stand_there_once_or_twice(llama, dropped):
    def tie(weights):
        weights["lm_head.weight"] = weights["model.embed_tokens.weight"].clone()

    tokens = some_tokens()
    edit_weights(llama, tie)
    expected = reference(llama)(tokens).logits
    edit_config(llama, tie_word_embeddings=True)
    edit_weights(llama, lambda weights: weights.pop(dropped, None))
    found = load_published(llama, LENGTH)
    assert found.lm_head.weight is found.model.embed_tokens.weight
    assert_close(found.logits(found(tokens)[-1]), expected)


@pytest.mark.parametrize("safe", [True, False])
def test_a_file_beside_the_shards_of_another_model(tmp_path, safe):
    folder = write_model(tmp_path / "model", "Llama", saving={"max_shard_size": "50KB", "safe_serialization": safe})
    whole = "model.safetensors" if safe else "pytorch_model.bin"
    (folder / whole).touch()
    assert error_of(folder) == (
        f"MODEL: expected {whole} or the files that {whole}.index.json names, found both; remove one"
    )


def test_an_index_of_one_file(llama):
    index = {"weight_map": {"lm_head.weight": "model.safetensors"}}
    (llama / "model.safetensors.index.json").write_text(json.dumps(index))
    load_published(llama, LENGTH)


def test_safetensors_go_before_what_is_pickled(llama):
    """As in transformers."""
    (llama / "pytorch_model.bin").write_bytes(b"no weights")
    load_published(llama, LENGTH)


def test_weights_of_eight_bits(llama):
    name = "model.layers.1.mlp.up_proj.weight"
    edit_weights(llama, lambda weights: weights.update({name: weights[name].to(torch.float8_e4m3fn)}))
    assert error_of(llama) == (
        f"MODEL: {name}: expected float32, float16, bfloat16 or float64, found torch.float8_e4m3fn"
    )


def test_a_pickle_of_more_than_tensors(llama):
    (llama / "model.safetensors").unlink()
    torch.save({"lm_head.weight": shutil.copy}, llama / "pytorch_model.bin")
    assert error_of(llama) == (
        "MODEL: the model cannot be loaded: Unable to load weights from pytorch checkpoint file for "
        "'MODEL/pytorch_model.bin' at 'MODEL/pytorch_model.bin'."
    )


def test_weights_of_another_shape(llama):
    edit_config(llama, intermediate_size=81)
    assert error_of(llama).startswith("MODEL: the model cannot be loaded: ")


@pytest.mark.parametrize("kept", [0, 6, 1000, -1])
def test_weights_that_are_cut(llama, kept):
    path = llama / "model.safetensors"
    path.write_bytes(path.read_bytes()[:kept])
    assert error_of(llama).startswith("MODEL: the model cannot be loaded: ")


def test_a_broken_bin_file(tmp_path):
    folder = write_model(tmp_path / "model", "Llama", saving={"safe_serialization": False})
    path = folder / "pytorch_model.bin"
    path.write_bytes(path.read_bytes()[:-5000])
    assert error_of(folder).startswith("MODEL: the model cannot be loaded: ")


def test_shards_that_lack_what_their_index_names(tmp_path):
    folder = write_model(tmp_path / "model", "Llama", saving={"max_shard_size": "50KB"})
    map_of_weights = json.loads((folder / "model.safetensors.index.json").read_text())["weight_map"]
    name = "model.layers.1.mlp.up_proj.weight"
    edit_weights(folder, lambda weights: weights.pop(name), map_of_weights[name])
    assert error_of(folder) == f"MODEL: weights are missing: {name}"
    (folder / map_of_weights[name]).unlink()
    assert error_of(folder).startswith("MODEL: the model cannot be loaded: ")
