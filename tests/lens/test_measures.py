"""The numbers of lenses against a float64 reference written from the definitions."""

import numpy as np
import pytest
import torch
from tiny_model import LENGTH, tiny_decoder

from perlayer.lens.lenses import LogitLens, TunedLens
from perlayer.lens.measures import MEASURES, lens_measures
from perlayer.lens.reading import lens_series, read_layers
from perlayer.losses import linear_cross_entropy as chunks
from perlayer.model.weights import save_model


def reference(hidden_states, norm, epsilon, head, targets, translators=None):
    """Every measure of every position, (layers + 1) x name -> (sequences, length), in numpy's float64.

    logits_l = W RMSNorm(h_l + W_l h_l + b_l); p the lens, f the final output (that of the last layer).
    CE = -log p(target); KL(p || f) = sum p log(p / f); KL(f || p) the other way; top-5 overlap |top5(p) n top5(f)| / 5;
    agreement of the likeliest token; entropy -sum p log p.
    """

    def log_probabilities(hidden):
        normed = hidden / np.sqrt((hidden**2).mean(-1, keepdims=True) + epsilon) * norm
        logits = normed @ head.T
        return (
            logits
            - np.log(np.exp(logits - logits.max(-1, keepdims=True)).sum(-1, keepdims=True))
            - logits.max(-1, keepdims=True)
        )

    final = log_probabilities(hidden_states[-1])
    top = lambda log: np.argsort(-log, axis=-1)[..., :5]  # noqa: E731
    found = []
    for layer, hidden in enumerate(hidden_states):
        if translators and layer < len(translators):
            weight, bias = translators[layer]
            hidden = hidden + hidden @ weight.T + bias
        log = log_probabilities(hidden)
        overlap = [[len(set(a) & set(b)) / 5 for a, b in zip(*pair)] for pair in zip(top(log), top(final))]
        found.append(
            {
                "loss": -np.take_along_axis(log, targets[..., None], -1)[..., 0],
                "kl_lens_final": (np.exp(log) * (log - final)).sum(-1),
                "kl_final_lens": (np.exp(final) * (final - log)).sum(-1),
                "top5_overlap": np.array(overlap),
                "argmax_agreement": (log.argmax(-1) == final.argmax(-1)).astype(float),
                "entropy": -(np.exp(log) * log).sum(-1),
            }
        )
    return found


def transformers_states(folder, tokens):
    """What transformers' Qwen3 holds after the embedding and after each layer, before its final norm, in float64."""
    from transformers import Qwen3ForCausalLM

    model = Qwen3ForCausalLM.from_pretrained(folder, attn_implementation="eager").double()
    states = []
    model.model.embed_tokens.register_forward_hook(lambda module, inputs, output: states.append(output))
    for layer in model.model.layers:
        layer.register_forward_hook(
            lambda module, inputs, output: states.append(output[0] if isinstance(output, tuple) else output)
        )
    with torch.no_grad():
        model(tokens)
    return [state.numpy() for state in states]


@pytest.mark.parametrize("kind", ["logit lens", "tuned lens"])
def test_lens_numbers_of_a_tiny_model_equal_the_definitions(tmp_path, kind):
    decoder = tiny_decoder("pre_ln")
    rows = torch.randint(2, 50, (7, LENGTH + 1), generator=torch.Generator().manual_seed(3))  # no end of a document
    save_model(tmp_path, decoder)
    states = transformers_states(tmp_path, rows[:, :-1])
    lens, translators = LogitLens(), None
    if kind == "tuned lens":
        lens = TunedLens(3, 16)
        generator = torch.Generator().manual_seed(4)
        for parameter in lens.parameters():
            torch.nn.init.normal_(parameter, std=0.3, generator=generator)
        translators = [
            (one.weight.detach().double().numpy(), one.bias.detach().double().numpy())
            for one in lens.translators.values()
        ]
    norm, head = (weight.detach().double().numpy() for weight in (decoder.model.norm.weight, decoder.lm_head.weight))
    expected = reference(states, norm, 1e-5, head, rows[:, 1:].numpy(), translators)

    found = {}
    for series in lens_series(decoder, lens, rows):
        found[series.reading.layer, series.metric] = series.values[0]
        assert (series.reading.readout, series.split) == (lens.name, "val")
    assert len(found) == 4 * (2 * len(MEASURES) + 1)
    for layer, measures in enumerate(expected):
        for name, values in measures.items():
            means = values.mean(1)  # of each sequence
            assert found[layer, name] == pytest.approx(values.mean(), rel=1e-5, abs=2e-6), (layer, name)
            error = means.std(ddof=1) / np.sqrt(7)
            assert found[layer, f"{name}_standard_error"] == pytest.approx(error, rel=1e-4, abs=2e-6), (layer, name)
        assert found[layer, "evaluated_tokens"] == 7 * LENGTH


@pytest.mark.parametrize("residual", ["sandwich", "pre_ln"])
def test_the_logit_lens_of_the_last_layer_is_the_final_output(rows, residual):
    layers = read_layers(tiny_decoder(residual), LogitLens(), rows)
    last = layers[-1]
    assert not last["kl_lens_final"].any() and not last["kl_final_lens"].any()
    assert (last["top5_overlap"] == 1).all() and (last["argmax_agreement"] == 1).all()
    assert all(layer["kl_final_lens"].min() > 0 for layer in layers[:-1])


def test_chunks_give_the_same_numbers(decoder, rows, monkeypatch):
    whole = read_layers(decoder, LogitLens(), rows)
    monkeypatch.setattr(chunks, "LOGITS_AT_ONCE_CPU", 50 * 5)
    monkeypatch.setattr(chunks, "LEAST_ROWS", 1)
    for one, other in zip(whole, read_layers(decoder, LogitLens(), rows)):
        for name in MEASURES:
            torch.testing.assert_close(one[name], other[name], rtol=1e-5, atol=1e-6)


def test_closed_forms():
    # Four tokens; the final output is even, the lens gives token 0 a half and the others a sixth: entropies log 4 and
    # (log 2 + log 6) / 2, KL(final || lens) = (log 2 + 3 log 6) / 4 - log 4, KL(lens || final) = log 4 - entropy.
    head = torch.eye(4, dtype=torch.float64)
    final = torch.zeros(1, 4, dtype=torch.float64)
    lens = torch.tensor([[3.0, 1.0, 1.0, 1.0]], dtype=torch.float64).log()
    (found,) = lens_measures([lens], final, head, torch.tensor([2]))
    log = np.log
    entropy = (log(2) + log(6)) / 2
    expected = {
        "loss": log(6),
        "entropy": entropy,
        "kl_lens_final": log(4) - entropy,
        "kl_final_lens": (log(2) + 3 * log(6)) / 4 - log(4),
        "top5_overlap": 1.0,  # of a vocabulary of four all are among the first five
    }
    for name, value in expected.items():
        assert found[name].item() == pytest.approx(value, abs=1e-12), name
