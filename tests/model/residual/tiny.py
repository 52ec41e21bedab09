"""A float64 decoder of any residual design, and its sublayers written out, so that a test writes connections alone."""

import math

import torch
from torch._dynamo.testing import CompileCounter

from perlayer.model.config import ModelConfig
from perlayer.model.decoder import Decoder, run_layer

EOS, VOCABULARY, LENGTH = 1, 20, 9
BACKBONE = ("self_attn.", "mlp.", "model.embed_tokens.", "model.norm.", "lm_head.")


def build(residual, **changes):
    """A decoder as it is initialised, in float64 with rotary tables of that precision.

    Three layers unless said otherwise; two heads of queries on one of keys and values.
    """
    shape = dict(
        residual=residual,
        layers=3,
        hidden_size=16,
        intermediate_size=24,
        attention_heads=2,
        key_value_heads=1,
        head_dim=8,
        rope_theta=10000.0,
        norm_epsilon=1e-5,
        vocab_size=VOCABULARY,
        sequence_length=LENGTH,
        eos_id=EOS,
        block_cross_document=True,
    )
    decoder = Decoder(ModelConfig(**{**shape, **changes}))
    decoder.initialize(seed=4)
    decoder.double()
    half = decoder.config.head_dim // 2
    frequencies = decoder.config.rope_theta ** (-torch.arange(half, dtype=torch.float64) / half)
    angles = torch.arange(decoder.config.sequence_length, dtype=torch.float64)[:, None] * frequencies
    decoder.rotary_cosine = torch.cat([angles.cos(), angles.cos()], -1)
    decoder.rotary_sine = torch.cat([-angles.sin(), angles.sin()], -1)
    return decoder


@torch.no_grad()
def move(decoder, amount=0.2):
    """The decoder with every parameter moved away from where it started."""
    generator = torch.Generator().manual_seed(7)
    for parameter in decoder.parameters():
        parameter.add_(amount * torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype))
    return decoder


def some_tokens():
    """(2, LENGTH); a document of the first sequence ends at position 4."""
    tokens = torch.randint(2, VOCABULARY, (2, LENGTH), generator=torch.Generator().manual_seed(0))
    tokens[0, 4] = EOS
    return tokens


def own_parameters(decoder):
    """The names of the parameters that the residual design adds."""
    return [name for name, _ in decoder.named_parameters() if not any(part in name for part in BACKBONE)]


class WrittenOut:
    """The sublayers for one sequence of tokens (length,), from the formulas, a token and a head at a time.

    Layers count from 1; hidden states are (length, hidden).
    """

    def __init__(self, decoder, tokens):
        self.config, self.tokens = decoder.config, tokens
        self.weights = {name: value.detach().double() for name, value in decoder.state_dict().items()}

    def weight(self, layer, name):
        """A weight of a layer by the rest of its name, as in `input_layernorm.weight`."""
        return self.weights[f"model.layers.{layer - 1}.{name}"]

    def embedding(self):
        return self.weights["model.embed_tokens.weight"][self.tokens]

    def norm(self, x, weight):
        return x / torch.sqrt((x * x).mean(-1, keepdim=True) + self.config.norm_epsilon) * weight

    def rotated(self, x, position):
        """One head (head_dim,) of a query or key, turned by its position."""
        half = self.config.head_dim // 2
        angles = position * self.config.rope_theta ** (-torch.arange(half, dtype=torch.float64) / half)
        left, right = x[:half], x[half:]
        return torch.cat([left * angles.cos() - right * angles.sin(), right * angles.cos() + left * angles.sin()])

    def heads(self, layer, x, kind):
        """Queries (q), keys (k) or values (v) of one layer, (heads, length, head_dim); q and k normed, not rotated."""
        projected = x @ self.weight(layer, f"self_attn.{kind}_proj.weight").T
        heads = torch.stack(projected.split(self.config.head_dim, -1))
        return heads if kind == "v" else self.norm(heads, self.weight(layer, f"self_attn.{kind}_norm.weight"))

    def first_visible(self, position):
        """The position where the document of the token at `position` begins."""
        if not self.config.block_cross_document:
            return 0
        return max([end + 1 for end in range(position) if self.tokens[end] == EOS], default=0)

    def attention(self, layer, x):
        """The attention of a layer on its input, the output projection included."""
        query, key, value = (self.heads(layer, x, kind) for kind in "qkv")
        mixed = []
        for t in range(len(self.tokens)):
            seen = range(self.first_visible(t), t + 1)
            parts = []
            for head in range(self.config.attention_heads):
                shared = head // (self.config.attention_heads // self.config.key_value_heads)
                keys = torch.stack([self.rotated(key[shared, s], s) for s in seen])
                scores = keys @ self.rotated(query[head, t], t) / math.sqrt(self.config.head_dim)
                parts.append(torch.softmax(scores, 0) @ value[shared, list(seen)])
            mixed.append(torch.cat(parts))
        return torch.stack(mixed) @ self.weight(layer, "self_attn.o_proj.weight").T

    def mlp(self, layer, x):
        gate, up = (x @ self.weight(layer, f"mlp.{name}_proj.weight").T for name in ("gate", "up"))
        return (gate / (1 + torch.exp(-gate)) * up) @ self.weight(layer, "mlp.down_proj.weight").T


def assert_taps(decoder, reference):
    """Every tap of `some_tokens` equals what `reference(WrittenOut)` returns for each sequence: a list from layer 0."""
    tokens = some_tokens()
    taps = decoder(tokens)
    assert len(taps) == decoder.config.layers + 1
    for row, sequence in enumerate(tokens):
        for tap, expected in zip(taps, reference(WrittenOut(decoder, sequence)), strict=True):
            torch.testing.assert_close(tap[row], expected, rtol=1e-9, atol=1e-10)


def assert_causal(decoder):
    """Changing one token changes the taps of all layers there, and those of no earlier position."""
    tokens = some_tokens()[1:]
    taps = decoder(tokens)
    for position in range(LENGTH):
        changed = tokens.clone()
        changed[0, position] = 2 + (tokens[0, position] - 1) % (VOCABULARY - 2)
        for tap, other in zip(taps, decoder(changed), strict=True):
            torch.testing.assert_close(other[:, :position], tap[:, :position], rtol=0, atol=1e-12)
            assert not torch.allclose(other[:, position], tap[:, position], rtol=0, atol=1e-6)


def assert_documents_apart(decoder):
    """The tokens of one document change no tap of the next, though they do where documents are not kept apart."""
    tokens = some_tokens()[:1]
    changed = tokens.clone()
    changed[0, 1] = 2 + (tokens[0, 1] - 1) % (VOCABULARY - 2)
    for tap, other in zip(decoder(tokens), decoder(changed), strict=True):
        torch.testing.assert_close(other[:, 5:], tap[:, 5:], rtol=0, atol=1e-12)
    mask, decoder.mask = decoder.mask, lambda _: None
    assert not torch.allclose(decoder(tokens)[-1][:, 5:], decoder(changed)[-1][:, 5:], rtol=0, atol=1e-9)
    decoder.mask = mask


def assert_gradients(decoder, tokens, names=None):
    """The gradient of all taps with respect to the embedding's output and parameters, by default the design's own.

    Keep the decoder very small: each number is moved by itself.
    """
    names = own_parameters(decoder) if names is None else names
    embedding = decoder.model.embed_tokens(tokens).detach().requires_grad_()
    given = [decoder.get_parameter(name).detach().clone().requires_grad_() for name in names]
    # an embedding that hands out what it is called with, so that the decoder reads `embedding` for its tokens
    mask = decoder.mask(tokens)
    decoder.mask = lambda _: mask
    decoder.model.embed_tokens.forward = lambda hidden: hidden

    def taps(hidden, *values):
        return tuple(torch.func.functional_call(decoder, dict(zip(names, values)), hidden))[1:]

    assert torch.autograd.gradcheck(taps, (embedding, *given), eps=1e-6, atol=1e-6)


def assert_mixed_precision(decoder):
    """With products in bfloat16 every tap stays float32, close to the one of float32 products."""
    tokens = some_tokens()
    decoder.float()
    taps = decoder(tokens)
    with torch.autocast("cpu", torch.bfloat16):
        mixed = decoder(tokens)
    for tap, other in zip(taps, mixed, strict=True):
        assert other.dtype == torch.float32
        torch.testing.assert_close(other, tap, rtol=0.1, atol=0.05 * tap.abs().max().item())


def layers_compiled(*decoders):
    """How many different layers are compiled for all layers of the decoders, which must give the same taps."""
    torch._dynamo.reset()  # what other tests of this process have compiled counts towards its limit
    counter = CompileCounter()
    compiled = torch.compile(run_layer, backend=counter, dynamic=False)
    for decoder in decoders:
        taps = decoder(some_tokens())
        decoder.run_layer = compiled
        for tap, other in zip(taps, decoder(some_tokens()), strict=True):
            torch.testing.assert_close(other, tap, rtol=1e-9, atol=1e-10)
        decoder.run_layer = run_layer
    return counter.frame_count
