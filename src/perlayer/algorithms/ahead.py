"""Which positions predict a token further ahead, and which token that is."""

from __future__ import annotations

from torch import Tensor


def positions_ahead(values: Tensor, tokens: Tensor, ahead: int) -> tuple[Tensor, Tensor]:
    """What predicts `ahead` tokens on, and its targets: position t reads tokens 0 .. t and predicts token t + `ahead`.

    The rule is that of the next token, `ahead` 1: every position counts whose target lies in the sequence, also where
    a document ends in between. The last `ahead` - 1 positions have no target and are left out.

    Args:
        values: (batch, length, ...), one for each position.
        tokens: (batch, length + 1).

    Returns:
        values (batch, length + 1 - ahead, ...) and targets (batch, length + 1 - ahead).
    """
    return values[:, : tokens.shape[1] - ahead], tokens[:, ahead:]
