"""The tokenizer that tests give a published model."""

import json

from tokenizers import Tokenizer, models, pre_tokenizers


def write_tokenizer(folder):
    """A byte-level tokenizer of 257 tokens: the bytes, then EOS, 256."""
    pieces = sorted(pre_tokenizers.ByteLevel.alphabet())
    backend = Tokenizer(models.BPE({piece: number for number, piece in enumerate(pieces)}, []))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.add_special_tokens(["<end>"])
    backend.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": "<end>"}))
