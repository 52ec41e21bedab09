"""Changes of weights: what they are, that they work in every design, and that nothing is left of them."""

import pytest
import torch
from by_hand import decoder_of, published_twice
from edited import LAYERS, LENGTH, some_rows

from perlayer.anatomy.changes import (
    WeightChange,
    changed_run,
    drawn_anew,
    layer_weights,
    matrices,
    neighbour_average,
    neighbour_copy,
    weights_changed,
    with_noise,
    zeros,
)
from perlayer.depth.interventions import run
from perlayer.model.config import design_names

MATRICES = {f"self_attn.{name}_proj.weight" for name in "qkvo"} | {
    f"mlp.{name}_proj.weight" for name in ("gate", "up", "down")
}


def copied(decoder):
    return {name: value.clone() for name, value in decoder.state_dict().items()}


def assert_same(state, other):
    assert all(torch.equal(value, other[name]) for name, value in state.items())


def test_weights_move_by_their_strength_and_come_back():
    decoder = decoder_of("sandwich", layers=LAYERS)
    before = copied(decoder)
    name = "mlp.up_proj.weight"
    other = {layer: {name: torch.full_like(layer_weights(decoder, layer)[name], layer)} for layer in (1, 3)}
    with pytest.raises(KeyboardInterrupt), weights_changed(decoder, WeightChange(other, 0.25)):
        changed = decoder.state_dict()
        for layer in (1, 3):
            place = f"model.layers.{layer - 1}.{name}"
            torch.testing.assert_close(changed[place], 0.75 * before[place] + 0.25 * layer)
        untouched = {place for place in before if place not in ("model.layers.0." + name, "model.layers.2." + name)}
        assert_same({place: changed[place] for place in untouched}, before)
        raise KeyboardInterrupt
    assert_same(decoder.state_dict(), before)


def test_at_full_strength_weights_are_the_others_to_the_last_bit():
    decoder = decoder_of("pre_ln", layers=LAYERS)
    other = neighbour_copy(decoder, 2)
    with weights_changed(decoder, WeightChange({2: other})):
        assert_same(layer_weights(decoder, 2), layer_weights(decoder, 1))


@pytest.mark.parametrize("name", design_names())
def test_a_change_runs_as_the_changed_model_does(name):
    """From the changed layer on alone, and yet as the whole forward pass."""
    decoder = decoder_of(name, layers=LAYERS, sequence_length=LENGTH)
    before, tokens = copied(decoder), some_rows()[:2, :-1]
    with torch.inference_mode():
        untouched = run(decoder, tokens)
        for change in (
            WeightChange({2: neighbour_average(decoder, 2)}),
            WeightChange({3: zeros(decoder, 3), 2: with_noise(decoder, 2)}, 0.3),
        ):
            tap = changed_run(decoder, untouched, change).tap
            with weights_changed(decoder, change):
                expected = decoder(tokens)[-1]
            torch.testing.assert_close(tap, expected, rtol=1e-9, atol=1e-11)
            assert (tap - untouched.tap).abs().max() > 1e-3
    assert_same(decoder.state_dict(), before)


def test_the_average_is_of_both_neighbours_or_of_the_only_one():
    decoder = decoder_of("sandwich", layers=LAYERS)
    one, two, three = (layer_weights(decoder, layer) for layer in (1, 2, 3))
    assert neighbour_average(decoder, 2).keys() == two.keys()  # norms, too
    for name, weight in neighbour_average(decoder, 2).items():
        torch.testing.assert_close(weight, (one[name] + three[name]) / 2)
    for layer in (1, 3):
        assert_same(neighbour_average(decoder, layer), two)
    assert_same(neighbour_copy(decoder, 1), two)
    assert_same(neighbour_copy(decoder, 3), two)


def test_what_a_neighbour_has_not_is_left_out():
    decoder = decoder_of("keel", layers=LAYERS)  # whose first layer has one norm less
    assert "post_attention_norm.weight" in layer_weights(decoder, 2)
    assert "post_attention_norm.weight" not in neighbour_average(decoder, 2)
    assert "post_attention_norm.weight" in neighbour_average(decoder, 3)


@pytest.mark.parametrize("kind", ["sandwich", "Llama"])
def test_noise_has_the_deviation_of_each_matrix_and_is_the_same_each_time(kind):
    wide = dict(layers=2, hidden_size=64, intermediate_size=96, attention_heads=8, key_value_heads=4)
    decoder = decoder_of(kind, **wide) if kind == "sandwich" else published_twice(kind, LENGTH)[1]
    own = matrices(decoder, 2)
    assert own.keys() == MATRICES
    for weights, least in ((with_noise(decoder, 2), own), (drawn_anew(decoder, 2), {})):
        assert weights.keys() == MATRICES
        draws = []
        for name, weight in weights.items():
            draw = (weight - least.get(name, 0)) / own[name].std()
            size = draw.numel() ** -0.5
            assert draw.mean().abs() < 4 * size and (draw.std() - 1).abs() < 4 * size
            assert torch.corrcoef(torch.stack([draw.flatten(), own[name].flatten()]))[0, 1].abs() < 4 * size
            draws.append(draw.flatten()[:10])
        assert len({tuple(draw.tolist()) for draw in draws}) == len(MATRICES)  # no two matrices get the same
    assert_same(with_noise(decoder, 2), with_noise(decoder, 2))
    assert not torch.equal(
        with_noise(decoder, 1)["mlp.up_proj.weight"] - matrices(decoder, 1)["mlp.up_proj.weight"],
        with_noise(decoder, 2)["mlp.up_proj.weight"] - own["mlp.up_proj.weight"],
    )
