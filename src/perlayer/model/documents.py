"""Which tokens of a packed sequence may see each other."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def document_ids(tokens: Tensor, eos_id: int, bos_is_eos: bool = False) -> Tensor:
    """Number the documents of each sequence from 0: EOS is the last token of its document.

    Where one token is BOS and EOS, it stands on both sides of each text: a document ends where it is followed by
    itself.

    Args:
        tokens: integers (batch, length).

    Returns:
        int32 (batch, length).
    """
    is_end = tokens == eos_id
    if bos_is_eos:
        is_end = is_end & functional.pad(is_end[..., 1:], (0, 1))
    is_end = is_end.to(torch.int32)
    return is_end.cumsum(-1, dtype=torch.int32) - is_end


def attention_mask(tokens: Tensor, eos_id: int, bos_is_eos: bool = False) -> Tensor:
    """Zero where a query may attend, to itself and to earlier tokens of its own document, minus infinity elsewhere.

    Returns:
        float32 (batch, 1, length, length), query before key; added to the attention scores.
    """
    documents = document_ids(tokens, eos_id, bos_is_eos)
    length = tokens.shape[1]
    causal = torch.full((length, length), -torch.inf, device=tokens.device).triu_(1)
    return torch.where(documents[:, :, None] == documents[:, None, :], causal, -torch.inf)[:, None]
