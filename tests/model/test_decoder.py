import math

import pytest
import torch

from perlayer.model.config import ModelConfig
from perlayer.model.decoder import Decoder
from perlayer.model.documents import attention_mask, document_ids
from perlayer.model.norm import RMSNorm, rms_norm
from perlayer.model.rotary import rotary_tables, rotate

EOS = 1


def config(**changes):
    shape = dict(
        residual="sandwich",
        layers=3,
        hidden_size=32,
        intermediate_size=48,
        attention_heads=4,
        key_value_heads=2,
        head_dim=8,
        rope_theta=10000.0,
        norm_epsilon=1e-5,
        vocab_size=50,
        sequence_length=24,
        eos_id=EOS,
        block_cross_document=True,
    )
    return ModelConfig(**{**shape, **changes})


def model(**changes):
    decoder = Decoder(config(**changes))
    decoder.initialize(seed=3)
    return decoder


def reference_sandwich(decoder, tokens):
    """The sandwich decoder in float64, one token and one head at a time where it can be, from recipe section 1."""
    c = decoder.config
    w = {name: value.double() for name, value in decoder.state_dict().items()}

    def norm(x, weight):
        return x / torch.sqrt((x * x).mean(-1, keepdim=True) + c.norm_epsilon) * weight

    def rotated(x, position):
        half = c.head_dim // 2
        out = x.clone()
        for i in range(half):
            angle = position * c.rope_theta ** (-2.0 * i / c.head_dim)
            out[i] = x[i] * math.cos(angle) - x[i + half] * math.sin(angle)
            out[i + half] = x[i + half] * math.cos(angle) + x[i] * math.sin(angle)
        return out

    h = w["model.embed_tokens.weight"][tokens]
    taps = [h]
    length = len(tokens)
    for n in range(c.layers):
        p = f"model.layers.{n}."
        x = norm(h, w[p + "input_layernorm.weight"])
        mixed = torch.zeros(length, c.attention_heads * c.head_dim, dtype=torch.float64)
        for head in range(c.attention_heads):
            kv = head // (c.attention_heads // c.key_value_heads)
            rows, kv_rows = (slice(i * c.head_dim, (i + 1) * c.head_dim) for i in (head, kv))
            q = norm(x @ w[p + "self_attn.q_proj.weight"][rows].T, w[p + "self_attn.q_norm.weight"])
            k = norm(x @ w[p + "self_attn.k_proj.weight"][kv_rows].T, w[p + "self_attn.k_norm.weight"])
            v = x @ w[p + "self_attn.v_proj.weight"][kv_rows].T
            q = torch.stack([rotated(q[t], t) for t in range(length)])
            k = torch.stack([rotated(k[t], t) for t in range(length)])
            for t in range(length):
                first = max([s + 1 for s in range(t) if tokens[s] == EOS], default=0)
                scores = (k[first : t + 1] @ q[t]) / math.sqrt(c.head_dim)
                mixed[t, rows] = torch.softmax(scores, 0) @ v[first : t + 1]
        h = h + norm(mixed @ w[p + "self_attn.o_proj.weight"].T, w[p + "post_attention_norm.weight"])
        x = norm(h, w[p + "post_attention_layernorm.weight"])
        gate, up = x @ w[p + "mlp.gate_proj.weight"].T, x @ w[p + "mlp.up_proj.weight"].T
        h = h + norm(
            (gate / (1 + torch.exp(-gate)) * up) @ w[p + "mlp.down_proj.weight"].T, w[p + "post_mlp_norm.weight"]
        )
        taps.append(h)
    return taps


def test_sandwich_equals_a_plain_float64_reference():
    decoder = model()
    with torch.no_grad():
        for name, parameter in decoder.named_parameters():
            if "norm" in name:
                parameter.copy_(1 + 0.3 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)))
    tokens = torch.tensor([0, 7, 9, 4, EOS, 0, 5, 6, 30, 31, EOS, 0, 12, 13])
    for tap, expected in zip(decoder(tokens[None]), reference_sandwich(decoder, tokens), strict=True):
        torch.testing.assert_close(tap[0].double(), expected, rtol=1e-4, atol=1e-5)


def test_no_token_sees_the_future_or_another_document():
    decoder = model()
    tokens = torch.randint(2, 50, (1, 20), generator=torch.Generator().manual_seed(0))
    tokens[0, 9] = EOS
    embedding = decoder.model.embed_tokens(tokens).detach().requires_grad_()
    decoder.model.embed_tokens.forward = lambda _: embedding
    last = decoder(tokens)[-1]
    for position in range(20):
        (gradient,) = torch.autograd.grad(last[0, position].sum(), embedding, retain_graph=True)
        reached = gradient[0].abs().sum(-1) > 0
        own = range(0, 10) if position < 10 else range(10, 20)
        expected = [place in own and place <= position for place in range(20)]
        assert reached.tolist() == expected


def test_documents_end_with_eos():
    tokens = torch.tensor([[5, EOS, 0, 6, EOS, EOS, 7]])
    assert document_ids(tokens, EOS).tolist() == [[0, 0, 1, 1, 1, 2, 3]]
    mask = attention_mask(tokens, EOS)[0, 0]
    never = float("-inf")
    assert mask[3].tolist() == [never, never, 0, 0, never, never, never]
    assert (mask.diagonal() == 0).all()


def test_a_token_that_is_bos_and_eos_stands_in_one_document_with_its_text():
    own = torch.tensor([[9, 5, 6, EOS, 9, 7, EOS, 9, 8, EOS, 9, 5]])  # 9 begins each document
    one = torch.where(own == 9, EOS, own)
    for cut in range(own.shape[1]):  # a sequence begins and ends anywhere
        expected = document_ids(own[:, cut:], EOS)
        assert torch.equal(document_ids(one[:, cut:], EOS, bos_is_eos=True), expected)
        assert torch.equal(attention_mask(one[:, :cut], EOS, True), attention_mask(own[:, :cut], EOS))
    whole = document_ids(one, EOS, bos_is_eos=True)
    assert whole.tolist() == [[0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3]]
    decoder, other = model(bos_is_eos=True), model()
    assert torch.equal(decoder.mask(one), other.mask(own))


def test_without_blocking_attention_is_plain_causal():
    decoder = model(block_cross_document=False)
    assert decoder.mask(torch.tensor([[3, EOS, 4]])) is None
    blocked = model()
    tokens = torch.tensor([[3, 8, EOS, 0, 4, 9]])
    assert not torch.equal(decoder(tokens)[-1], blocked(tokens)[-1])
    no_end = torch.tensor([[3, 8, 7, 0, 4, 9]])
    torch.testing.assert_close(decoder(no_end)[-1], blocked(no_end)[-1])


def test_initialisation_is_the_recipes():
    # recipe section 1: truncated to [-3, 3], not re-standardised: 0.98658 / sqrt(fan-in); embedding 1 / hidden
    decoder = model(hidden_size=256, attention_heads=8, head_dim=32, intermediate_size=896, vocab_size=4000)
    for name, parameter in decoder.named_parameters():
        if "norm" in name:
            assert (parameter == 1).all()
            continue
        scale = 1 / 256 if "embed" in name else parameter.shape[1] ** -0.5
        assert parameter.abs().max() <= 3 * scale
        assert parameter.std().item() == pytest.approx(0.98658 * scale, rel=0.01), name
        assert abs(parameter.mean().item()) < 0.02 * scale


def test_output_head_norm_matches_the_published_one():
    # recipe section 1: at 130m the output head has a Frobenius norm of about 353.3 at the start
    from perlayer.model.initialization import fill_truncated_normal, random_stream

    weight = torch.empty(128256, 512)
    fill_truncated_normal(weight, 512**-0.5, random_stream(0, "lm_head"))
    assert torch.linalg.vector_norm(weight.double()).item() == pytest.approx(353.3, abs=0.1)


def test_a_shallower_model_or_another_design_starts_from_the_same_weights():
    deep = model().state_dict()
    for other in (model(layers=1), model(residual="pre_ln")):
        for name, value in other.state_dict().items():
            assert torch.equal(value, deep[name]), name
    assert not torch.equal(deep["lm_head.weight"], _seeded(4)["lm_head.weight"])


def _seeded(seed):
    decoder = Decoder(config())
    decoder.initialize(seed)
    return decoder.state_dict()


def test_rms_norm_adds_epsilon_to_the_mean_square():
    # closed form: all entries a: a / sqrt(a^2 + epsilon); the embedding's mean square is below epsilon at the start
    norm = RMSNorm(4, 1e-5)
    value = torch.full((1, 4), 1e-3)
    torch.testing.assert_close(norm(value), torch.full((1, 4), 1e-3 / math.sqrt(1e-6 + 1e-5)))


@pytest.mark.parametrize("shape", [(7,), (3, 7), (2, 3, 7)])
def test_rms_norm_has_the_gradient_of_its_formula(shape):
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()
    weight = torch.randn(7, generator=generator, dtype=torch.float64).requires_grad_()
    plain = hidden / torch.sqrt(hidden.pow(2).mean(-1, keepdim=True) + 0.1) * weight
    torch.testing.assert_close(rms_norm(hidden, weight, 0.1), plain)
    assert torch.autograd.gradcheck(lambda h, w: rms_norm(h, w, 0.1), (hidden, weight))


def test_rms_norm_of_a_bfloat16_stream_is_computed_in_float32():
    hidden = torch.randn(4, 8, generator=torch.Generator().manual_seed(0)).bfloat16()
    weight = torch.linspace(0.5, 1.5, 8)
    assert torch.equal(rms_norm(hidden, weight, 1e-5), rms_norm(hidden.float(), weight, 1e-5).bfloat16())


def test_rotary_scores_depend_on_distance_alone():
    cosine, sine = rotary_tables(32, 8, 10000.0)
    query, key = torch.randn(8), torch.randn(8)
    turned_q, turned_k = rotate(query.expand(32, 8), cosine, sine), rotate(key.expand(32, 8), cosine, sine)
    scores = turned_q @ turned_k.T
    for offset in range(5):
        diagonal = scores.diagonal(-offset)
        torch.testing.assert_close(diagonal, diagonal[:1].expand_as(diagonal), rtol=1e-4, atol=1e-5)


def some_tokens():
    return torch.randint(2, 50, (2, 8), generator=torch.Generator().manual_seed(5))


def test_a_fork_may_change_what_the_next_layer_gets():
    decoder, tokens = model(), some_tokens()
    plain = decoder(tokens)

    def cut(layer, before, after, run):
        return after, after.detach() if layer == 2 else after

    taps = decoder(tokens, cut)
    assert all(torch.equal(tap, expected) for tap, expected in zip(taps, plain, strict=True))
    (gradient,) = torch.autograd.grad(taps[-1].sum(), decoder.model.layers[0].mlp.up_proj.weight, allow_unused=True)
    assert gradient is None
    assert taps[2].requires_grad


def test_a_fork_may_change_what_a_tap_is_taken_from():
    decoder, tokens = model(), some_tokens()
    plain = decoder(tokens)
    taps = decoder(tokens, lambda layer, before, after, run: (2 * after if layer == 2 else after, after))
    for layer, (tap, expected) in enumerate(zip(taps, plain, strict=True)):
        assert torch.equal(tap, 2 * expected if layer == 2 else expected)


@pytest.mark.parametrize("block_cross_document", [True, False])
def test_a_fork_sees_every_layer_and_may_run_it_on_another_state(block_cross_document):
    decoder, tokens = model(block_cross_document=block_cross_document), some_tokens()
    tokens[:, 3] = EOS
    other = torch.randn(2, 8, 32, generator=torch.Generator().manual_seed(6))
    seen, reruns = [], []

    def watching(layer, before, after, run):
        seen.append((layer, before, after))
        if layer == 0:
            assert before is None and run is None
        else:
            reruns.append((run(before), run(other)))
        return after, after

    taps = decoder(tokens, watching)
    assert [layer for layer, _, _ in seen] == [0, 1, 2, 3]
    for layer, before, after in seen:
        assert torch.equal(after, taps[layer])
        if layer > 0:
            assert torch.equal(before, taps[layer - 1])
            assert torch.equal(reruns[layer - 1][0], after)
    # layer 2 alone, on `other`: a decoder whose first layer is cut off, with `other` in place of the embedding
    shorter = model(layers=2, block_cross_document=block_cross_document)
    shorter.model.layers[0].load_state_dict(decoder.model.layers[1].state_dict())
    shorter.model.embed_tokens.forward = lambda _: other
    assert torch.equal(reruns[1][1], shorter(tokens)[1])
