"""What must hold for every residual design with every way to read and supervise it, through Composer's Trainer."""

import pytest
import torch
from test_algorithms_train import built, same, weights

from perlayer.errors import UserError
from perlayer.losses.reading import Reading
from perlayer.model.config import design_names

SEVERAL_STREAMS = {"hyper_connections", "hyper_connections_static", "mhc", "mhc_lite"}
GROWING = {"attnres_full", "attnres_block", "moda"}
PASSES = 12  # twice the same six batches


def assert_falling(losses):
    for reading, values in losses.items():
        assert sum(values[6:]) < sum(values[:6]), reading


@pytest.mark.parametrize("design", design_names())
def test_separate_heads_lower_every_loss_and_resume_bit_for_bit(train, tmp_path, design):
    model, losses = train(built("separate", steps=PASSES), steps=PASSES, residual=design)
    assert_falling(losses)
    train(built("separate", steps=PASSES), steps=PASSES, residual=design, stop=5, folder=tmp_path)
    resumed, again = train(built("separate", steps=PASSES), steps=PASSES, residual=design, folder=tmp_path)
    assert again == losses
    same(weights(model), weights(resumed))


@pytest.mark.parametrize("design", design_names())
def test_probes_lower_every_loss_and_leave_the_backbone_bit_for_bit(train, design):
    plain, plain_losses = train(steps=PASSES, residual=design)
    probed, losses = train(built("probes", steps=PASSES), steps=PASSES, residual=design)
    assert_falling(losses)
    same(weights(plain.decoder), weights(probed.decoder))
    assert losses[Reading(3, "head")] == plain_losses[Reading(3, "head")]


@pytest.mark.parametrize(
    "name", ["gradient_reach", "gradient_surgery", "layer_dropout", "gradient_cosines with separate"]
)
@pytest.mark.parametrize("design", design_names())
def test_composes_with_each_way_to_supervise_or_says_at_start_why_not(train, design, name):
    refused = {"gradient_surgery": SEVERAL_STREAMS | GROWING, "layer_dropout": GROWING}.get(name, set())
    if design in refused:
        with pytest.raises(UserError, match=f"runs.test.{name}: expected .*'{design}'$"):
            train(built(name), steps=2, residual=design)
    else:
        _, losses = train(built(name), steps=2, residual=design)
        assert all(torch.isfinite(torch.tensor(values)).all() for values in losses.values())
