"""Models whose hidden states are edited by hand: ours from the formulas, those of transformers through their hooks.

Each reads one sequence of tokens (length,). Contributions are by layer from 1 and by part: attention, mlp or layer.
"""

import math
from contextlib import contextmanager

import torch
from tiny import build, move
from torch.nn import functional

from perlayer.model.config import ModelConfig
from perlayer.model.published import PublishedDecoder

PARTS = ("layer", "attention", "mlp")
SUBLAYERS = {"layer": ("attention", "mlp"), "attention": ("attention",), "mlp": ("mlp",)}
EOS = 1


def contributions_of(layer, before, middle, after):
    return {(layer, "attention"): middle - before, (layer, "mlp"): after - middle, (layer, "layer"): after - before}


class Plain:
    """A Pre-LN or sandwich model of ours, whose sublayers are written out in float64."""

    def __init__(self, decoder, tokens):
        self.config, self.tokens = decoder.config, tokens
        self.weights = {name: value.detach().double() for name, value in decoder.state_dict().items()}
        ends = (tokens == EOS).long()
        document = ends.cumsum(0) - ends
        self.sees = (document[:, None] == document[None]).tril()

    @property
    def layers(self):
        return self.config.layers

    def norm(self, x, name):
        return x / torch.sqrt((x * x).mean(-1, keepdim=True) + self.config.norm_epsilon) * self.weights[name]

    def rotated(self, heads):
        half = self.config.head_dim // 2
        frequencies = self.config.rope_theta ** (-torch.arange(half, dtype=torch.float64) / half)
        angles = torch.arange(len(self.tokens), dtype=torch.float64)[:, None] * frequencies
        left, right = heads[..., :half], heads[..., half:]
        return torch.cat([left * angles.cos() - right * angles.sin(), right * angles.cos() + left * angles.sin()], -1)

    def attention(self, layer, x):
        place = f"model.layers.{layer - 1}.self_attn."

        def heads(kind):
            projected = x @ self.weights[f"{place}{kind}_proj.weight"].T
            return projected.unflatten(-1, (-1, self.config.head_dim)).transpose(0, 1)

        query = self.rotated(self.norm(heads("q"), f"{place}q_norm.weight"))
        key = self.rotated(self.norm(heads("k"), f"{place}k_norm.weight"))
        shared = self.config.attention_heads // self.config.key_value_heads
        key, value = key.repeat_interleave(shared, 0), heads("v").repeat_interleave(shared, 0)
        scores = query @ key.transpose(1, 2) / math.sqrt(self.config.head_dim)
        mixed = torch.softmax(scores.masked_fill(~self.sees, -math.inf), -1) @ value
        return mixed.transpose(0, 1).flatten(1) @ self.weights[f"{place}o_proj.weight"].T

    def mlp(self, layer, x):
        gate, up, down = (self.weights[f"model.layers.{layer - 1}.mlp.{n}_proj.weight"] for n in ("gate", "up", "down"))
        return (functional.silu(x @ gate.T) * (x @ up.T)) @ down.T

    def sublayer(self, layer, kind, h):
        """What a sublayer adds to the residual h (length, hidden)."""
        before, after = {
            "attention": ("input_layernorm", "post_attention_norm"),
            "mlp": ("post_attention_layernorm", "post_mlp_norm"),
        }[kind]
        place = f"model.layers.{layer - 1}."
        added = getattr(self, kind)(layer, self.norm(h, f"{place}{before}.weight"))
        return self.norm(added, f"{place}{after}.weight") if self.config.residual == "sandwich" else added

    def run(self, replaced=None, read=None):
        """The residuals after each layer from 0, all contributions, and the next-token distributions.

        Args:
            replaced: called with (layer, kind, what a sublayer adds), returns what it is to add.
            read: called with (layer, what enters it), returns what is to enter it.
        """
        h = self.weights["model.embed_tokens.weight"][self.tokens]
        residuals, contributions = [h], {}
        for layer in range(1, self.layers + 1):
            before = h if read is None else read(layer, h)
            middle = h = before
            for kind in ("attention", "mlp"):
                middle = h
                added = self.sublayer(layer, kind, h)
                h = h + (added if replaced is None else replaced(layer, kind, added))
            contributions |= contributions_of(layer, before, middle, h)
            residuals.append(h)
        return residuals, contributions, self.distribution(h)

    def distribution(self, h):
        return torch.softmax(self.norm(h, "model.norm.weight") @ self.weights["lm_head.weight"].T, -1)


class Hooked:
    """A Llama or Qwen3 of transformers, edited by hooks on its own modules."""

    def __init__(self, causal_lm, tokens):
        self.model, self.tokens = causal_lm, tokens
        self.layers = causal_lm.config.num_hidden_layers
        self.sees = torch.ones(len(tokens), len(tokens), dtype=torch.bool).tril()

    def run(self, replaced=None, read=None):
        """As `Plain.run`."""
        inputs, outputs, added, handles = {}, {}, {}, []

        def before_block(layer):
            def hook(module, arguments, keywords):
                h = arguments[0] if read is None else read(layer, arguments[0][0])[None]
                inputs[layer] = h[0]
                return (h, *arguments[1:]), keywords

            return hook

        def after_block(layer):
            def hook(module, arguments, output):
                outputs[layer] = (output[0] if isinstance(output, tuple) else output)[0]

            return hook

        def after_sublayer(layer, kind):
            def hook(module, arguments, output):
                value = (output[0] if isinstance(output, tuple) else output)[0]
                value = value if replaced is None else replaced(layer, kind, value)
                added[layer, kind] = value
                return (value[None], *output[1:]) if isinstance(output, tuple) else value[None]

            return hook

        for layer, block in enumerate(self.model.model.layers, 1):
            handles += [
                block.register_forward_pre_hook(before_block(layer), with_kwargs=True),
                block.register_forward_hook(after_block(layer)),
                block.self_attn.register_forward_hook(after_sublayer(layer, "attention")),
                block.mlp.register_forward_hook(after_sublayer(layer, "mlp")),
            ]
        try:
            logits = self.model(self.tokens[None]).logits[0]
        finally:
            for handle in handles:
                handle.remove()
        contributions = {}
        for layer in range(1, self.layers + 1):
            middle = inputs[layer] + added[layer, "attention"]
            contributions |= contributions_of(layer, inputs[layer], middle, outputs[layer])
        return [inputs[1], *(outputs[layer] for layer in outputs)], contributions, torch.softmax(logits, -1)

    def distribution(self, h):
        return torch.softmax(self.model.lm_head(self.model.model.norm(h)), -1)


SHAPE = dict(
    vocab_size=30,
    hidden_size=16,
    intermediate_size=24,
    num_hidden_layers=3,
    num_attention_heads=2,
    num_key_value_heads=1,
    max_position_embeddings=32,
    rms_norm_eps=1e-5,
    initializer_range=0.3,  # so that attention is far from uniform
    head_dim=8,
)


def published_twice(kind, length):
    """A random Llama or Qwen3, as transformers has it and as ours, in float64 where its norms do not say otherwise."""
    import transformers

    def build():
        torch.manual_seed(3)
        config = getattr(transformers, f"{kind}Config")(**SHAPE)
        model = getattr(transformers, f"{kind}ForCausalLM")(config)
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.ndim == 1:
                    parameter.add_(0.3 * torch.randn_like(parameter))
        return model.double().eval().requires_grad_(False)

    config = ModelConfig("pre_ln", 3, 16, 24, 2, 1, 8, 10000.0, 1e-5, 30, length, EOS, False)
    ours = PublishedDecoder(config, build()).freeze().double()
    return build(), ours


def skipping(part, layer, positions):
    """`replaced` that leaves out a part of a layer at some positions (length,)."""

    def replaced(where, kind, added):
        hit = where == layer and kind in SUBLAYERS[part]
        return torch.where(positions[:, None], torch.zeros_like(added), added) if hit else added

    return replaced


@contextmanager
def outputs_replaced(decoder, replaced):
    """A decoder of ours whose sublayers hand `replaced(layer, kind, output)` to their residual design."""
    handles = []
    for layer, block in enumerate(decoder.model.layers, 1):
        for kind, module in (("attention", block.self_attn.o_proj), ("mlp", block.mlp)):

            def hook(module, arguments, output, layer=layer, kind=kind):
                return replaced(layer, kind, output)

            handles.append(module.register_forward_hook(hook))
    try:
        yield decoder
    finally:
        for handle in handles:
            handle.remove()


def decoder_of(residual, **shape):
    """A finished decoder of ours in float64, away from its start, with 30 tokens unless `shape` says otherwise."""
    return move(build(residual, **{"vocab_size": 30, **shape})).freeze()


def tokens_with_ends(length, ends):
    """(3, length) random tokens in which documents end at `ends`, (sequence, position) each."""
    tokens = torch.randint(2, 30, (3, length), generator=torch.Generator().manual_seed(2))
    for sequence, position in ends:
        tokens[sequence, position] = EOS
    return tokens


def beside_itself(kind, layers, tokens):
    """A decoder, the model that is edited by hand for each of its sequences, and how close the two are.

    `kind` is a residual design of ours, or Llama or Qwen3.
    """
    length = tokens.shape[1]
    if kind in ("Llama", "Qwen3"):
        theirs, ours = published_twice(kind, length)
        return ours, [Hooked(theirs, sequence) for sequence in tokens], 1e-4  # norms are in float32 there
    decoder = decoder_of(kind, layers=layers, sequence_length=length)
    return decoder, [Plain(decoder, sequence) for sequence in tokens], 1e-8
