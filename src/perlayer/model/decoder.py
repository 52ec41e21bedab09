"""The Qwen3 decoder of the recipe, with its residual design behind the protocol."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from perlayer.model.config import ModelConfig
from perlayer.model.documents import attention_mask
from perlayer.model.initialization import initialize_recipe
from perlayer.model.layer import DecoderLayer
from perlayer.model.norm import RMSNorm
from perlayer.model.residual.protocol import ResidualDesign, Sublayer, build_design
from perlayer.model.rotary import rotary_tables
from perlayer.model.value_residual import ValueResidual

# fork(layer, before, after, run) -> (read, passed_on), see `Decoder.forward`
Fork = Callable[[int, Any, Any, Callable[[Any], Any] | None], tuple[Any, Any]]


def run_layer(
    design: ResidualDesign,
    state: Any,
    attention: Sublayer,
    mlp: Sublayer,
    rotary: tuple[Tensor, Tensor],
    mask: Tensor | None,
) -> Any:
    """The state after one layer: both of its sublayers, each between the design's read and write."""
    output, state = design.attend(state, attention, rotary, mask)
    state = design.write(state, attention, output)
    return design.write(state, mlp, mlp.block.mlp(design.read(state, mlp)))


class DecoderStack(nn.Module):
    """Embedding, layers and final norm: `model` in the Hugging Face names."""

    def __init__(self, config: ModelConfig, design: ResidualDesign):
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(
            DecoderLayer(config, design.layer_modules(layer)) for layer in range(1, config.layers + 1)
        )
        self.norm = RMSNorm(config.hidden_size, config.norm_epsilon)
        for name, module in design.model_modules().items():
            self.add_module(name, module)


class Decoder(nn.Module):
    """A causal language model that hands out its residual stream after every layer.

    Weights are float32 and named as in Hugging Face's Qwen3; with the Pre-LN design they load into
    `transformers.Qwen3ForCausalLM` and give the same logits.
    """

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.config = config
        self.design = build_design(config)
        if config.value_residual is not None:
            self.design = ValueResidual(self.design, config.value_residual)
        self.run_layer = run_layer  # or a compiled one
        self.model = DecoderStack(config, self.design)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        cosine, sine = rotary_tables(config.sequence_length, config.head_dim, config.rope_theta)
        self.register_buffer("rotary_cosine", cosine, persistent=False)
        self.register_buffer("rotary_sine", sine, persistent=False)

    def initialize(self, seed: int) -> None:
        """Draw the initial weights; a parameter's draw depends on the seed and its name alone."""
        initialize_recipe(self, seed)
        self.design.initialize(self)

    def freeze(self) -> Decoder:
        """Leave it as it is from now on: no parameter takes a gradient."""
        return self.eval().requires_grad_(False)

    def mask(self, tokens: Tensor) -> Tensor | None:
        """The attention mask for `tokens` (batch, length); None where plain causal attention is meant."""
        if not self.config.block_cross_document:
            return None
        return attention_mask(tokens, self.config.eos_id, self.config.bos_is_eos)

    def forward(self, tokens: Tensor, fork: Fork | None = None) -> list[Tensor]:
        """Read tokens and return the taps: what a readout sees after each layer.

        Args:
            tokens: integers (batch, length), length at most `config.sequence_length`.
            fork: called as `fork(layer, before, after, run)` after each layer, 0 included; returns the state that the
                tap is taken from and the state that the next layer gets, both `after` where nothing is to change.
                `before` is the state that entered the layer, `after` the one that left it, and `run(state)` is the
                layer itself; `before` and `run` are None for layer 0, the embedding.

        Returns:
            layers + 1 tensors (batch, length, hidden); index 0 is the embedding, the last is what the model's own
            `model.norm` and `lm_head` read.
        """
        length = tokens.shape[1]
        mask = self.mask(tokens)
        rotary = self.rotary_cosine[:length], self.rotary_sine[:length]
        state = self.design.start(self.model.embed_tokens(tokens))
        taps = []
        for layer in range(self.config.layers + 1):
            before, run = (None, None) if layer == 0 else (state, self._layer(layer, rotary, mask))
            after = state if run is None else run(before)
            read, state = (after, after) if fork is None else fork(layer, before, after, run)
            taps.append(self.design.tap(read, layer))
        return taps

    def _layer(self, layer: int, rotary: tuple[Tensor, Tensor], mask: Tensor | None) -> Callable[[Any], Any]:
        """Layer `layer` as a function of the state alone."""
        block = self.model.layers[layer - 1]
        attention = Sublayer(2 * layer - 2, layer, "attention", block)
        mlp = Sublayer(2 * layer - 1, layer, "mlp", block)
        return lambda state: self.run_layer(self.design, state, attention, mlp, rotary, mask)

    def logits(self, tap: Tensor) -> Tensor:
        """The model's own readout: (batch, length, hidden) to (batch, length, vocabulary)."""
        return self.lm_head(self.model.norm(tap))


def parameters_up_to(model: Decoder, layer: int) -> int:
    """N of 6ND: parameters of layers 1..`layer`, norms and design included, without embedding, final norm and head.

    What a design has beside its layers counts with the last.
    """
    parts = list(model.model.layers[:layer])
    if layer == len(model.model.layers):
        parts += [part for name, part in model.model.named_children() if name not in ("embed_tokens", "layers", "norm")]
    return sum(parameter.numel() for part in parts for parameter in part.parameters())
