"""Multi-token prediction: both forms against losses and gradients written out, in float64."""

import math

import pytest
import torch
from algorithm_settings import ALGORITHMS
from small_decoder import EOS, LAYERS, VOCABULARY, build, some_tokens
from test_algorithms_train import built
from torch.nn import functional

from perlayer.algorithms.ahead import positions_ahead
from perlayer.algorithms.multi_token_prediction.algorithm import NAME, MultiTokenPrediction
from perlayer.algorithms.multi_token_prediction.loss import future_losses, tokens_ahead
from perlayer.algorithms.multi_token_prediction.modules import future_modules
from perlayer.algorithms.multi_token_prediction.settings import Settings
from perlayer.errors import InvalidValue, UserError
from perlayer.losses.reading import Reading
from perlayer.model.config import design_names
from perlayer.optim.groups import auxiliary_groups, parameter_groups
from perlayer.optim.hyperball import Hyperball
from perlayer.optim.settings import OptimizerSettings
from perlayer.runs import parse_run

FORMS = ("sequential", "parallel")
SETTINGS = OptimizerSettings(0.02, 0.008, 0.95, 0.9, 0.98, 1e-20, 1e-5, 5, 1.0, "linear", 0.8, 0)


def with_modules(form, depth=2, residual="sandwich"):
    """A model whose modules have norms away from one, in float64."""
    model = build(residual)
    modules = future_modules(form, depth, model.decoder.config, 0, NAME)
    with torch.no_grad():
        for name, parameter in modules.named_parameters():
            if "norm" in name:
                generator = torch.Generator().manual_seed(len(name))
                parameter.add_(0.2 * torch.randn(parameter.shape, generator=generator))
    model.auxiliary[NAME] = modules.double()
    return model


def normed(hidden, weight):
    return hidden / torch.sqrt(hidden.pow(2).mean(-1, keepdim=True) + 1e-5) * weight


def sandwich_layer(block, hidden, decoder, tokens):
    """h + RMSNorm(attention(RMSNorm(h))), and the same of the MLP, sublayer by sublayer."""
    rotary = decoder.rotary_cosine[: tokens.shape[1]], decoder.rotary_sine[: tokens.shape[1]]
    attended = block.self_attn(normed(hidden, block.input_layernorm.weight), rotary, decoder.mask(tokens))
    hidden = hidden + normed(attended, block.post_attention_norm.weight)
    output = block.mlp(normed(hidden, block.post_attention_layernorm.weight))
    return hidden + normed(output, block.post_mlp_norm.weight)


def written_out(model, form, tokens, depth):
    """methods.md C7, position by position: the mean loss of each later token."""
    decoder, modules = model.decoder, model.auxiliary[NAME]
    inputs, length = tokens[:, :-1], tokens.shape[1] - 1
    taps = decoder(inputs)
    stream = taps[-1] if form == "sequential" else taps[-2]
    losses = []
    for k in range(1, depth + 1):
        module = modules[str(k + 1)]
        if form == "sequential":
            # h' at positions that have both a token t + k and a target t + k + 1; the rest cannot reach them
            known = torch.zeros_like(inputs)
            known[:, : length + 1 - k] = tokens[:, k:]
            embedding = decoder.model.embed_tokens.weight[known]
            both = torch.cat(
                [normed(stream, module.hidden_norm.weight), normed(embedding, module.embedding_norm.weight)], -1
            )
            stream = sandwich_layer(module.layer.model.layers[0], both @ module.projection.weight.T, decoder, inputs)
            hidden = normed(stream, module.layer.model.norm.weight)
        else:
            hidden = sandwich_layer(module.layer.model.layers[0], stream, decoder, inputs)
            hidden = normed(hidden, decoder.model.norm.weight)
        logits = hidden @ decoder.lm_head.weight.T
        terms = [
            functional.cross_entropy(logits[row, t], tokens[row, t + k + 1])
            for row in range(len(tokens))
            for t in range(length - k)
        ]
        losses.append(torch.stack(terms).mean())
    return losses


@pytest.mark.parametrize("weight", [0.3, 0.0])
@pytest.mark.parametrize("form", FORMS)
def test_losses_and_gradients_are_the_definitions(form, weight):
    model, tokens = with_modules(form), some_tokens()
    expected = written_out(model, form, tokens, 2)
    share = (weight or 1.0) / 2
    named = dict(model.named_parameters())
    trained = {name: p for name, p in named.items() if weight or name.startswith("auxiliary")}
    gradients = torch.autograd.grad(share * sum(expected), list(trained.values()), allow_unused=True)
    algorithm = MultiTokenPrediction(form, 2, weight)
    algorithm.model = model
    found = algorithm.losses(model.decoder(tokens[:, :-1]), tokens)
    assert list(found) == [Reading(LAYERS, "multi_token", 2), Reading(LAYERS, "multi_token", 3)]
    torch.testing.assert_close(list(found.values()), expected, rtol=1e-10, atol=0)
    (share * sum(found.values())).backward()
    for name, gradient in zip(trained, gradients):
        found_gradient = named[name].grad
        if gradient is None:
            assert found_gradient is None, name
        else:
            torch.testing.assert_close(found_gradient, gradient, rtol=1e-9, atol=1e-12, msg=name)
    assert all(named[name].grad is None for name in named.keys() - trained.keys())


def test_targets_of_a_sequence_made_by_hand():
    # two documents, a b . and c d: position t reads up to t; what follows an end of a document counts as well
    a, b, c, d = 5, 6, 7, 8
    tokens = torch.tensor([[a, b, EOS, c, d]])
    places = torch.arange(4)[None]
    for ahead, positions, targets in [(1, [0, 1, 2, 3], [b, EOS, c, d]), (2, [0, 1, 2], [EOS, c, d]), (4, [0], [d])]:
        found = positions_ahead(places, tokens, ahead)
        assert [values.tolist() for values in found] == [[positions], [targets]]
    assert tokens_ahead(tokens, 1).tolist() == [[b, EOS, c, d]]
    assert tokens_ahead(tokens, 3).tolist() == [[c, d, 0, 0]]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("design", design_names())
def test_a_later_token_never_reaches_an_earlier_loss(design, form):
    model, tokens = with_modules(form, depth=2, residual=design), some_tokens()
    changed = tokens.clone()
    changed[:, 8:] = (changed[:, 8:] + 1 - 2) % (VOCABULARY - 2) + 2

    def losses(tokens):
        with torch.no_grad():
            taps = model.decoder(tokens[:, :-1])
            return future_losses(model.decoder, model.auxiliary[NAME], form, taps, tokens, reduction="none")

    before, after = losses(tokens), losses(changed)
    for ahead in (2, 3):
        # position t predicts token t + ahead: those below 8 are as they were up to position 7 - ahead
        torch.testing.assert_close(before[ahead][:, : 8 - ahead], after[ahead][:, : 8 - ahead], rtol=1e-12, atol=0)
        assert (before[ahead][:, 8 - ahead] != after[ahead][:, 8 - ahead]).all()


@pytest.mark.parametrize("form", FORMS)
def test_no_logits_of_all_tokens_are_held(form):
    from torch.utils._python_dispatch import TorchDispatchMode

    sizes = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
            output = function(*arguments, **(keywords or {}))
            if isinstance(output, torch.Tensor) and output.shape[-1:] == (VOCABULARY,):
                sizes.append(output.numel())
            return output

    import perlayer.losses.linear_cross_entropy as fused

    model, tokens = with_modules(form), some_tokens().repeat(60, 1)
    rows = len(tokens) * (tokens.shape[1] - 1)
    before, fused.LOGITS_AT_ONCE_CPU = fused.LOGITS_AT_ONCE_CPU, 1
    try:
        with Watch():
            algorithm = MultiTokenPrediction(form, 2)
            algorithm.model = model
            sum(algorithm.losses(model.decoder(tokens[:, :-1]), tokens).values()).backward()
    finally:
        fused.LOGITS_AT_ONCE_CPU = before
    assert 0 < max(sizes) <= fused.LEAST_ROWS * VOCABULARY < rows * VOCABULARY


def test_each_parameter_has_the_kind_of_its_like_and_a_group_apart():
    model = with_modules("sequential", depth=1).float()
    optimizer = Hyperball.from_settings(parameter_groups(model.decoder, SETTINGS), SETTINGS)
    modules = model.auxiliary[NAME]
    groups = auxiliary_groups(NAME, modules, optimizer, lambda name: modules[name[0]].kind(name[2:]))
    kinds = {id(p): group["kind"] for group in groups for p in group["params"]}
    assert {group["owner"] for group in groups} == {NAME}
    for name, parameter in modules.named_parameters():
        expected = "muonh" if "_proj" in name or name.endswith("projection.weight") else "adam"
        assert kinds[id(parameter)] == expected, name
    assert [group["lr"] for group in groups] == [0.02 if group["kind"] == "muonh" else 0.008 for group in groups]


@pytest.mark.parametrize("form", FORMS)
def test_modules_start_alike_in_scale_and_apart_in_draw(form):
    # recipe section 1: truncated normal over the root of the fan-in, deviation 0.98658 of it; each its own stream
    model = build()
    modules = future_modules(form, 2, model.decoder.config, 0, NAME)
    first, second = (modules[key].layer.model.layers[0] for key in "23")
    own = model.decoder.model.layers[0].self_attn.q_proj.weight
    draws = [own.float(), first.self_attn.q_proj.weight, second.self_attn.q_proj.weight]
    assert not any(torch.equal(one, other) for i, one in enumerate(draws) for other in draws[:i])
    for weight in (first.mlp.gate_proj.weight, second.mlp.down_proj.weight):
        assert weight.std().item() * math.sqrt(weight.shape[1]) == pytest.approx(0.98658, rel=0.15)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("design", design_names())
def test_trains_in_every_design(train, design, form):
    settings = ALGORITHMS["probes"] + [(NAME, Settings(form)), *ALGORITHMS["future_probes"]]
    ALGORITHMS["of this test"] = settings
    try:
        _, losses = train(built("of this test", steps=12), steps=12, residual=design)
    finally:
        del ALGORITHMS["of this test"]
    assert {(r.layer, r.readout, r.ahead) for r in losses} == {
        (1, "probe", 1), (2, "probe", 1), (3, "head", 1), (3, "multi_token", 2),
        *((layer, "probe", 2) for layer in (1, 2, 3)),
    }  # fmt: skip
    for reading, values in losses.items():
        assert sum(values[6:]) < sum(values[:6]), reading


def test_a_sequence_too_short_is_named(train):
    with pytest.raises(UserError, match=r"runs\.test\.multi_token_prediction\.depth: expected at most 15 .* found 16"):
        train([MultiTokenPrediction(depth=16)], steps=1)


@pytest.mark.parametrize(
    ("key", "value"), [("form", "chain"), ("depth", 0), ("depth", 127), ("weight", -0.1), ("weight", 1e-9)]
)
def test_impossible_settings_are_refused(key, value):
    with pytest.raises(InvalidValue, match=key):
        Settings(**{key: value})


@pytest.mark.parametrize("keys", [{"gradient_reach": "own_layer"}, {"gradient_surgery": "per_token"}])
def test_heads_do_not_read_where_gradients_are_cut(keys):
    # the stream after layer L - 1 is then the readouts', and its gradient does not go to the layers below
    def run(form):
        core = {"residual": "sandwich", "readouts": "separate", "seed": 0}
        return parse_run({"runs": {"mine": {**core, "multi_token_prediction": {"form": form}, **keys}}}, "mine")

    run("sequential")
    with pytest.raises(
        UserError, match=rf"runs\.mine\.{next(iter(keys))}: expected nothing with multi_token_prediction"
    ):
        run("parallel")
