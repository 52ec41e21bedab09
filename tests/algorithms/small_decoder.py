"""A decoder small enough for gradients written out by hand, in float64."""

import torch
from torch.nn import functional

from perlayer.model.config import ModelConfig
from perlayer.model.decoder import Decoder
from perlayer.model.readouts import auxiliary_readouts
from perlayer.model.residual.sandwich import Design as Sandwich
from perlayer.training.composer_model import PerLayerModel

LAYERS, VOCABULARY, EOS = 4, 30, 1
OUTPUT = ("decoder.model.norm.weight", "decoder.lm_head.weight")


class TwoStreams(Sandwich):
    """Two copies of the stream: sublayers read the first, a tap their sum; in a dictionary with a list of one."""

    def start(self, embedding):
        return {"first": embedding, "others": [0.5 * embedding]}

    def read(self, state, sublayer):
        return super().read(state["first"], sublayer)

    def write(self, state, sublayer, output):
        return {"first": super().write(state["first"], sublayer, output), "others": [state["others"][0] + output]}

    def tap(self, state, layer):
        return state["first"] + state["others"][0]

    def detach(self, state):
        return {"first": state["first"].detach(), "others": [state["others"][0].detach()]}


def build(residual="sandwich"):
    """A model with readouts of its own, in float64: norms away from one, layers that change much, sure predictions.

    So the gradients of its losses differ, also where all are read through one head.
    """
    config = ModelConfig(residual, LAYERS, 16, 24, 2, 1, 8, 10000.0, 1e-5, VOCABULARY, 12, EOS, True)
    decoder = Decoder(config)
    decoder.initialize(0)
    model = PerLayerModel(decoder)
    model.readouts = auxiliary_readouts(config, 0)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" in name:
                generator = torch.Generator().manual_seed(len(name))
                parameter.add_(0.2 * torch.randn(parameter.shape, generator=generator))
            elif any(part in name for part in ("lm_head", "o_proj", "down_proj")):
                parameter.mul_(10)
    return model.double()


def some_tokens():
    """(3, 12), with an end of a document on the way."""
    tokens = torch.randint(2, VOCABULARY, (3, 12), generator=torch.Generator().manual_seed(4))
    tokens[1, 5] = EOS
    return tokens


def layer_written_out(decoder, layer, hidden, tokens):
    """Layer `layer` on a stream, sublayer by sublayer."""
    block, length = decoder.model.layers[layer - 1], tokens.shape[1]
    rotary = decoder.rotary_cosine[:length], decoder.rotary_sine[:length]
    attended = block.self_attn(block.input_layernorm(hidden), rotary=rotary, mask=decoder.mask(tokens))
    hidden = hidden + (block.post_attention_norm(attended) if decoder.config.residual == "sandwich" else attended)
    output = block.mlp(block.post_attention_layernorm(hidden))
    return hidden + (block.post_mlp_norm(output) if decoder.config.residual == "sandwich" else output)


def loss_written_out(model, kind, layer, hidden, targets):
    """Cross-entropy of the readout after a layer, and the names of the readout's parameters that it trains."""
    own = (f"readouts.{layer}.norm.weight", f"readouts.{layer}.lm_head.weight")
    names = own if kind == "separate" and layer < LAYERS else OUTPUT
    norm, head = (model.get_parameter(name) for name in names)
    scaled = hidden / torch.sqrt(hidden.pow(2).mean(-1, keepdim=True) + 1e-5) * norm
    loss = functional.cross_entropy((scaled @ head.T).flatten(0, 1), targets.flatten())
    return loss, [] if kind == "shared_stop_gradient" and layer < LAYERS else list(names)


class Total:
    """The gradient of every parameter, summed from autograd calls of which each names what it reaches."""

    def __init__(self, model):
        self.named = dict(model.named_parameters())
        self.gradients = {name: torch.zeros_like(parameter) for name, parameter in self.named.items()}

    def add(self, output, names, cotangent=None):
        if not names:
            return
        found = torch.autograd.grad(
            output, [self.named[name] for name in names], cotangent, retain_graph=True, allow_unused=True
        )
        for name, gradient in zip(names, found):
            if gradient is not None:
                self.gradients[name] += gradient

    def of_layer(self, layer):
        return [name for name in self.named if name.startswith(f"decoder.model.layers.{layer - 1}.")]


def assert_gradients(model, expected):
    for name, parameter in model.named_parameters():
        found = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        torch.testing.assert_close(found, expected[name], rtol=1e-9, atol=1e-12, msg=name)
