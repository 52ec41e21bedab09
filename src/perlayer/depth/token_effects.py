"""What the answer of a text owes to each of its tokens at each depth."""

from __future__ import annotations

from torch import Tensor

from perlayer.data.tokenizer import Tokenizer
from perlayer.depth.erasure import erase_tokens, mean_residuals
from perlayer.depth.integrated_gradients import attribute_answers
from perlayer.depth.settings import DepthSettings
from perlayer.depth.tables import TokenEffect
from perlayer.depth.texts import token_words, windows
from perlayer.model.decoder import Decoder


def measure_token_effects(
    name: str, decoder: Decoder, tokens: Tensor, tokenizer: Tokenizer, settings: DepthSettings
) -> list[TokenEffect]:
    """Erase and attribute to each token of the first `settings.texts` sequences.

    Args:
        name: of the model.
        tokens: integers (sequences, length); what is put in place of a residual is the mean over all of them.
    """
    texts = windows(tokens, settings.texts)
    if not texts:
        return []
    means = mean_residuals(decoder, tokens.split(settings.sequences_at_once(tokens.shape[1])))
    erased = erase_tokens(decoder, texts, means, settings.tokens_at_once)
    attributed = attribute_answers(decoder, texts, settings.gradient_steps, settings.tokens_at_once)
    words = token_words(texts, tokenizer)
    return [
        TokenEffect(name, text, position, words[text, position], layer, erased.get(place), **attributed.get(place, {}))
        for place in sorted({*erased, *attributed})
        for text, position, layer in (place,)
    ]
