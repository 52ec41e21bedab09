"""Published models: a Hugging Face checkpoint of the Llama or Qwen3 kind, as a model of ours."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from torch import Tensor, nn

from perlayer.data.tokenizer import load_published_tokenizer, quiet_transformers
from perlayer.errors import UserError
from perlayer.model.config import ModelConfig
from perlayer.model.decoder import Decoder, run_layer
from perlayer.model.published_settings import read_published_config
from perlayer.model.residual.pre_ln import Design

CLASSES = {"llama": "LlamaForCausalLM", "qwen3": "Qwen3ForCausalLM"}


class PublishedAttention(nn.Module):
    """transformers' own attention, called as ours is; its projections keep their published names."""

    def __init__(self, attention: nn.Module):
        super().__init__()
        for name, module in attention.named_children():
            self.add_module(name, module)
        self._attend = attention.forward

    def forward(self, hidden: Tensor, rotary: tuple[Tensor, Tensor], mask: Tensor | None) -> Tensor:
        """(batch, length, hidden) to the same.

        Args:
            rotary: cosines and sines (length, head_dim) of transformers' rotary module.
            mask: added to the scores, (batch or 1, 1, length, length); None for plain causal attention.
        """
        cosine, sine = rotary
        return self._attend(hidden, position_embeddings=(cosine[None], sine[None]), attention_mask=mask)[0]


class PublishedLayer(nn.Module):
    """One block: transformers' own sublayers and norms, under the names that the Pre-LN design reads."""

    def __init__(self, layer: nn.Module):
        super().__init__()
        self.self_attn = PublishedAttention(layer.self_attn)
        self.mlp = layer.mlp
        self.input_layernorm = layer.input_layernorm
        self.post_attention_layernorm = layer.post_attention_layernorm


class PublishedStack(nn.Module):
    """Embedding, layers and final norm: `model` in the Hugging Face names."""

    def __init__(self, stack: nn.Module):
        super().__init__()
        self.embed_tokens = stack.embed_tokens
        self.layers = nn.ModuleList(PublishedLayer(layer) for layer in stack.layers)
        self.norm = stack.norm


class PublishedDecoder(Decoder):
    """A published model that is read as one of ours: same taps, same protocol, transformers' own modules inside.

    Llama and Qwen3 differ from the Pre-LN decoder in their sublayers alone (biases, head sizes, norms on queries and
    keys, the scaling of the rotary frequencies), and those are theirs.
    """

    def __init__(self, config: ModelConfig, causal_lm: nn.Module):
        """Take the modules of a `LlamaForCausalLM` or `Qwen3ForCausalLM` whose shape `config` describes."""
        nn.Module.__init__(self)  # Decoder's own would build the modules that stand here already
        self.config = config
        self.design = Design(config)
        self.run_layer = run_layer
        self.model = PublishedStack(causal_lm.model)
        self.lm_head = causal_lm.lm_head
        positions = torch.arange(config.sequence_length)[None]
        cosine, sine = causal_lm.model.rotary_emb(torch.zeros(1), positions)  # (1, length, head_dim) in float32
        self.register_buffer("rotary_cosine", cosine[0], persistent=False)
        self.register_buffer("rotary_sine", sine[0], persistent=False)


def load_published(folder: str | Path, sequence_length: int) -> PublishedDecoder:
    """Read a published model from a local folder: float32, in evaluation mode, its weights fixed.

    Args:
        folder: config.json, tokenizer.json and weights (safetensors or .bin, in one file or several), as transformers
            saves a Llama or Qwen3 for causal language modelling.
        sequence_length: how many tokens it will read at most.

    Raises:
        UserError: the folder or a file of it is missing or broken, the weights are not exactly those that config.json
            describes, or the model cannot be read as this project reads models.
    """
    described = read_published_config(folder, sequence_length)
    tokenizer = load_published_tokenizer(folder)
    causal_lm = _load_causal_lm(Path(folder), described["model_type"])
    theirs = causal_lm.config
    config = ModelConfig(
        residual="pre_ln",
        layers=theirs.num_hidden_layers,
        hidden_size=theirs.hidden_size,
        intermediate_size=theirs.intermediate_size,
        attention_heads=theirs.num_attention_heads,
        key_value_heads=theirs.num_key_value_heads,
        head_dim=theirs.head_dim,
        rope_theta=theirs.rope_theta,
        norm_epsilon=theirs.rms_norm_eps,
        vocab_size=theirs.vocab_size,
        sequence_length=sequence_length,
        eos_id=tokenizer.eos_id,
        bos_is_eos=tokenizer.bos_id == tokenizer.eos_id,
        block_cross_document=False,  # published models have read plain causal text
    )
    decoder = PublishedDecoder(config, causal_lm)
    decoder.freeze()
    return decoder


def _load_causal_lm(folder: Path, model_type: str) -> nn.Module:
    import transformers

    _require_one_set_of_weights(folder)
    kind = getattr(transformers, CLASSES[model_type])
    try:
        with quiet_transformers():
            config = kind.config_class.from_pretrained(folder, local_files_only=True)
            # Embedding and head are read apart: of two that differ transformers would drop one.
            tied, config.tie_word_embeddings = config.tie_word_embeddings, False
            causal_lm, loading = kind.from_pretrained(
                folder,
                config=config,
                dtype=torch.float32,
                attn_implementation="sdpa",
                local_files_only=True,
                output_loading_info=True,
            )
    except Exception as error:  # of many kinds, from reading files to fitting them
        found = " ".join(str(error).split()).partition(" If you tried to load")[0]  # a model of TensorFlow's
        found = found[:300] or type(error).__name__
        raise UserError(f"{folder}: the model cannot be loaded: {found}") from None
    for name, value in causal_lm.named_parameters():
        if value.dtype != torch.float32:  # transformers leaves some as they are
            raise UserError(f"{folder}: {name}: expected float32, float16, bfloat16 or float64, found {value.dtype}")
    # What is missing was drawn at random, with a warning; what a shard lacks though its index names it was left empty.
    missing = {*loading["missing_keys"], *(name for name, value in causal_lm.named_parameters() if value.is_meta)}
    if tied:
        _tie(causal_lm, missing, folder)
    if missing:
        raise UserError(f"{folder}: weights are missing: {_some(missing)}")
    if loading["unexpected_keys"]:
        raise UserError(
            f"{folder}: weights belong to no part of the model that config.json describes: "
            f"{_some(loading['unexpected_keys'])}"
        )
    return causal_lm


def _require_one_set_of_weights(folder: Path) -> None:
    """Refuse a file of weights beside the shards of others, of which transformers would take that file."""
    for whole in ("model.safetensors", "pytorch_model.bin"):
        index = folder / f"{whole}.index.json"
        if not ((folder / whole).exists() and index.exists()):
            continue
        try:
            named = set(json.loads(index.read_bytes())["weight_map"].values())
        except (ValueError, KeyError, TypeError, AttributeError):
            named = set()
        if named != {whole}:
            raise UserError(f"{folder}: expected {whole} or the files that {index.name} names, found both; remove one")


def _tie(causal_lm: nn.Module, missing: set[str], folder: Path) -> None:
    """Make head and embedding one, of which the weights may lack either, and take that from `missing`."""
    head, embedding = causal_lm.lm_head, causal_lm.model.embed_tokens
    lacking = missing & {"lm_head.weight", "model.embed_tokens.weight"}
    if not lacking and not torch.equal(head.weight, embedding.weight):
        raise UserError(
            f"{folder}: lm_head.weight: expected the weights of the embedding, as config.json says by "
            "tie_word_embeddings, found others"
        )
    if lacking == {"model.embed_tokens.weight"}:
        embedding.weight = head.weight
    head.weight = embedding.weight
    if len(lacking) == 1:
        missing -= lacking


def _some(names: set[str] | list[str]) -> str:
    first, *others = sorted(names)
    return f"{first} and {len(others)} more" if others else first
