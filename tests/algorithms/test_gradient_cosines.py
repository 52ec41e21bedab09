"""Gradients beside that of the final loss: against plain autograd, and without a trace in training."""

import pytest
import torch
from algorithm_settings import ALGORITHMS
from composer.core import Algorithm, Event
from torch import nn
from torch.nn import functional

from perlayer.algorithms.gradient_cosines.algorithm import GradientCosines
from perlayer.algorithms.gradient_cosines.cosines import compare_gradients
from perlayer.algorithms.protocol import RunContext, build_algorithm
from perlayer.losses.reading import LayerMetric, Reading
from perlayer.model.config import ModelConfig
from perlayer.model.decoder import Decoder, run_layer
from perlayer.model.readouts import auxiliary_readouts
from perlayer.training.composer_model import PerLayerModel
from perlayer.training.layer_log import LayerLog

NAMES = {
    "none": "counterfactual",
    "probes": "counterfactual",
    "separate": "separate",
    "shared": "shared",
    "shared_stop_gradient": "shared_stop_gradient",
}
SETUPS = [name for name, settings in ALGORITHMS.items() if not {"gradient_cosines", "growth"} & {*dict(settings)}]


def fresh(residual="sandwich", layers=3, vocabulary=30):
    """A model before training, with readouts of its own."""
    config = ModelConfig(residual, layers, 16, 24, 2, 1, 8, 10000.0, 1e-5, vocabulary, 16, 1, True)
    decoder = Decoder(config)
    decoder.initialize(0)
    model = PerLayerModel(decoder)
    model.readouts = auxiliary_readouts(config, 0)
    return model


def build(**arguments):
    """The same with norms that are not all one, in float64."""
    model = fresh(**arguments)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" in name:
                generator = torch.Generator().manual_seed(len(name))
                parameter.add_(0.2 * torch.randn(parameter.shape, generator=generator))
    return model.double()


def looking(model, readouts, every=1):
    algorithm = GradientCosines(every, readouts)
    algorithm.model = model
    return algorithm


@pytest.fixture
def tokens():
    return torch.randint(0, 30, (2, 12), generator=torch.Generator().manual_seed(4))


def reference(model, readouts, tokens):
    """By layer of the loss, then by layer of the model: the gradient as one vector. Plain losses of full logits."""
    decoder = model.decoder
    found = {}
    for layer in (1, 2, 3):
        norm, head = decoder.model.norm.weight, decoder.lm_head.weight
        if readouts == "separate" and layer < 3:
            norm, head = model.readouts[str(layer)].norm.weight, model.readouts[str(layer)].lm_head.weight
        tap = decoder(tokens[:, :-1])[layer]
        logits = tap / torch.sqrt(tap.pow(2).mean(-1, keepdim=True) + 1e-5) * norm @ head.T
        model.zero_grad()
        functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()).backward()
        found[layer] = {
            place: torch.cat(
                [
                    (torch.zeros_like(parameter) if parameter.grad is None else parameter.grad).flatten()
                    for name, parameter in model.named_parameters()
                    if name.startswith(f"decoder.model.layers.{place - 1}.")
                ]
            )
            for place in (1, 2, 3)
        }
        found[layer][None] = torch.cat([found[layer][place] for place in (1, 2, 3)])
    model.zero_grad()
    return found


@pytest.mark.parametrize("residual", ["sandwich", "pre_ln"])
@pytest.mark.parametrize("readouts", NAMES)
def test_norms_and_cosines_are_those_of_plain_autograd(readouts, residual, tokens):
    model = build(residual=residual)
    gradients = reference(model, readouts, tokens)
    expected = {}
    for layer, reading in ((1, Reading(1, NAMES[readouts])), (2, Reading(2, NAMES[readouts])), (3, Reading(3, "head"))):
        for place in (*range(1, layer + 1), None):
            one, final = gradients[layer][place], gradients[3][place]
            expected[LayerMetric("gradient_norm", reading, place)] = one.norm().item()
            if layer < 3:
                cosine = (one @ final / (one.norm() * final.norm())).item()
                expected[LayerMetric("gradient_cosine", reading, place)] = cosine
    for place in (1, 2, None):
        one, final = gradients[1][place] + gradients[2][place], gradients[3][place]
        expected[LayerMetric("summed_gradient_norm", Reading(3, "head"), place)] = one.norm().item()
        cosine = (one @ final / (one.norm() * final.norm())).item()
        expected[LayerMetric("summed_gradient_cosine", Reading(3, "head"), place)] = cosine
    found = looking(model, readouts).measure(tokens)
    assert found == pytest.approx(expected, rel=1e-9)
    assert all(parameter.grad is None for parameter in model.parameters())


def test_gradients_by_hand():
    # a . w has the gradient a, of the first of two layers; the first loss adds twice the only weight of the second
    layers = [nn.Linear(2, 1, bias=False), nn.Linear(1, 1, bias=False)]
    directions = [torch.tensor(direction) for direction in ([1.0, 0.0], [1.0, 1.0], [-2.0, 0.0], [0.0, 3.0])]
    losses = [(direction * layers[0].weight).sum() for direction in directions]
    losses[0] = losses[0] + 2 * layers[1].weight.sum()
    found = compare_gradients(iter(losses), layers)
    nan = float("nan")
    # in the first layer, in the second, in both; by sum the three others are (-1, 4)
    expected = [
        ([1, 2, 5**0.5], [1, 1, 1]),
        ([2**0.5, 0, 2**0.5], [0.5**0.5, nan, 0.1**0.5]),
        ([2, 0, 2], [-1, nan, -(0.2**0.5)]),
        ([3, 0, 3], [0, nan, 0]),
        ([17**0.5, 0, 17**0.5], [-1 / 17**0.5, nan, -1 / 85**0.5]),
    ]
    for one, (norms, cosines) in zip([*found.each, found.summed], expected, strict=True):
        assert one.norms == pytest.approx(norms)
        assert one.cosines == pytest.approx(cosines, nan_ok=True)
    assert all(layer.weight.grad is None for layer in layers)


def test_losses_are_asked_for_one_at_a_time():
    layers = [nn.Linear(2, 1, bias=False)]
    events = []

    def losses():
        for place in range(3):
            events.append(place)
            loss = layers[0].weight.sum()
            loss.register_hook(lambda gradient, place=place: events.append(f"gradient {place}"))
            yield loss

    compare_gradients(losses(), layers)
    assert events == [0, "gradient 0", 1, "gradient 1", 2, "gradient 2"]


def test_a_model_of_one_layer_has_the_norm_of_its_final_loss_alone(tokens):
    found = looking(build(layers=1), "separate").measure(tokens)
    assert set(found) == {LayerMetric("gradient_norm", Reading(1, "head"), place) for place in (1, None)}


def test_layers_run_as_they_stand(tokens):
    model = build()
    expected = looking(model, "shared").measure(tokens)

    def compiled(*arguments):
        raise AssertionError("this one cannot be differentiated twice")

    model.decoder.run_layer = compiled
    model.fork = compiled
    assert looking(model, "shared").measure(tokens) == expected
    assert model.decoder.run_layer is compiled and run_layer is not compiled


def test_products_in_bfloat16_give_about_the_same(tokens):
    model = build().float()
    exact = looking(model, "separate").measure(tokens)
    model.compute_dtype = torch.bfloat16
    found = looking(model, "separate").measure(tokens)
    assert found != exact
    assert found == pytest.approx(exact, rel=0.1, abs=0.05)  # bfloat16 keeps 8 bits


class Watch(Algorithm):
    """Remembers what a training reads and what it ends with."""

    def __init__(self):
        self.batches = []

    def match(self, event, state):
        return event in (Event.BATCH_START, Event.FIT_END)

    def apply(self, event, state, logger):
        if event == Event.BATCH_START:
            self.batches.append(state.batch["tokens"])
            return
        self.optimizer = state.optimizers[0].state_dict()
        self.random = torch.get_rng_state()
        (log,) = (one for one in logger.destinations if isinstance(one, LayerLog))
        self.rows = {
            (one.metric, one.reading, one.other_layer, step): value
            for one in log.measured_series()
            for step, value in zip(one.steps, one.values)
        }


@pytest.fixture
def watched(train):
    """Train a setup of the table, looking at its gradients every few steps or never."""

    def run(name, every=None, seed=0, **arguments):
        settings = ALGORITHMS.get(name, [])
        readouts = next((one.readouts for folder, one in settings if folder == "per_layer_loss"), "none")
        context = RunContext(seed, arguments.get("steps", 6), readouts)
        algorithms = [build_algorithm(folder, one, context) for folder, one in settings]
        # in the order in which a run has them: by name, per_layer_loss first
        place = sum(folder < "gradient_cosines" or folder == "per_layer_loss" for folder, _ in settings)
        algorithms[place:place] = [] if every is None else [GradientCosines(every, readouts)]
        watch = Watch()
        model, losses = train([*algorithms, watch], seed=seed, **arguments)
        return model.state_dict(), losses, watch

    return run


def same(first, second):
    """Bit for bit, through mappings and lists."""
    if isinstance(first, torch.Tensor):
        assert torch.equal(first, second)
    elif isinstance(first, dict):
        assert first.keys() == second.keys()
        for key in first:
            same(first[key], second[key])
    elif isinstance(first, (list, tuple)):
        assert len(first) == len(second)
        for one, other in zip(first, second):
            same(one, other)
    else:
        assert first == second


@pytest.mark.parametrize("name", [*SETUPS, "baseline"])
def test_looking_changes_nothing_in_training(watched, name):
    weights, losses, watch = watched(name, steps=4, microbatch=2)
    looked_weights, looked_losses, looked = watched(name, every=2, steps=4, microbatch=2)
    same(weights, looked_weights)
    assert losses == looked_losses
    same(watch.optimizer, looked.optimizer)
    same(watch.random, looked.random)
    assert watch.rows == {} and {step for *_, step in looked.rows} == {1, 3}


@pytest.mark.parametrize("name", SETUPS)
def test_before_the_first_update_only_the_readouts_matter(watched, name):
    """Weights, schedules, reach, surgery and dropout are not in the gradients that are compared."""
    *_, found = watched(name, every=10, stop=1)
    kind = next((one.readouts for folder, one in ALGORITHMS[name] if folder == "per_layer_loss"), "baseline")
    *_, expected = watched(kind, every=10, stop=1)
    assert found.rows == expected.rows
    assert {reading.readout for _, reading, *_ in found.rows} == {NAMES.get(kind, "counterfactual"), "head"}


@pytest.mark.parametrize("name", ["baseline", "separate"])
def test_a_resumed_run_has_the_rows_of_an_uninterrupted_one(watched, tmp_path, name):
    *_, uninterrupted = watched(name, every=2)
    watched(name, every=2, stop=4, folder=tmp_path)
    *_, resumed = watched(name, every=2, folder=tmp_path)
    assert resumed.rows == uninterrupted.rows


def test_it_reads_the_first_microbatch_with_the_weights_before_the_update(watched):
    initial, trained = fresh(vocabulary=40), fresh(vocabulary=40)
    trained.load_state_dict(watched("separate", stop=3)[0])
    for microbatch in (4, 2):
        *_, found = watched("separate", every=3, microbatch=microbatch)
        for step, model in ((1, initial), (4, trained)):
            expected = looking(model, "separate").measure(found.batches[step - 1][:microbatch])
            rows = {LayerMetric(*key): value for (*key, at), value in found.rows.items() if at == step}
            # after three updates, taken by microbatches of another size, weights differ by rounding
            assert rows == pytest.approx(expected, rel=1e-3, abs=1e-3), (step, microbatch)
            assert step == 4 or rows == expected
