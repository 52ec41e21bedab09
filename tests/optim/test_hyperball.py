"""The optimizer, step by step, against a plain float64 reference written from the recipe's formulae."""

import dataclasses
import math

import pytest
import torch
from torch import nn

from perlayer.errors import InvalidValue
from perlayer.model.config import ModelConfig
from perlayer.model.decoder import Decoder
from perlayer.model.readouts import auxiliary_readouts
from perlayer.optim import hyperball as module
from perlayer.optim.groups import auxiliary_groups, parameter_groups, peak_rates
from perlayer.optim.hyperball import Hyperball, clip_by_global_norm
from perlayer.optim.settings import OptimizerSettings

SETTINGS = OptimizerSettings(
    learning_rate=0.02,
    adam_learning_rate=0.008,
    momentum=0.95,
    beta1=0.9,
    beta2=0.98,
    adam_epsilon=1e-20,
    muon_epsilon=1e-5,
    newton_schulz_steps=5,
    max_grad_norm=1.0,
    schedule="linear",
    decay=0.8,
    warmup=0,
)
CONFIG = ModelConfig("sandwich", 2, 16, 40, 4, 2, 4, 10000.0, 1e-5, 30, 12, 1, True)
NO_CONSTANTS = ("learning_rate", "adam_learning_rate", "schedule", "decay", "warmup", "rate_multiplier")
CONSTANTS = {key: value for key, value in vars(SETTINGS).items() if key not in NO_CONSTANTS}


class Reference:
    """recipe section 3 in float64, one matrix at a time."""

    def __init__(self, groups):
        self.groups = [
            (kind, rate, {name: p.detach().double().clone() for name, p in parameters.items()})
            for kind, rate, parameters in groups
        ]
        self.m, self.v, self.t = {}, {}, 0

    def step(self, gradients):
        self.t += 1
        for kind, rate, parameters in self.groups:
            norm = math.sqrt(sum((gradients[name].double() ** 2).sum().item() for name in parameters))
            scale = min(1.0, 1.0 / norm)
            for name, w in parameters.items():
                g = gradients[name].double() * scale
                if kind == "muonh":
                    m = self.m[name] = 0.95 * self.m.get(name, torch.zeros_like(w)) + g
                    direction = self.newton_schulz(0.95 * m + g)
                else:
                    m = self.m[name] = 0.9 * self.m.get(name, torch.zeros_like(w)) + 0.1 * g
                    v = self.v[name] = 0.98 * self.v.get(name, torch.zeros_like(w)) + 0.02 * g * g
                    direction = (m / (1 - 0.9**self.t)) / (torch.sqrt(v / (1 - 0.98**self.t)) + 1e-20)
                if kind == "adam":
                    w -= rate * direction
                    continue
                length = w.norm()
                moved = w - rate * direction * length / max(direction.norm().item(), 1e-10)
                w.copy_(moved * length / moved.norm())

    @staticmethod
    def newton_schulz(u):
        transpose = u.shape[0] > u.shape[1]
        x = u / (u.norm() + 1e-5)
        x = x.T if transpose else x
        for _ in range(5):
            a = x @ x.T
            x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
        return x.T if transpose else x


def named_groups(optimizer, named):
    names = {id(p): name for name, p in named.items()}
    return [
        (group["kind"], group["lr"], {names[id(p)]: p for p in group["params"]}) for group in optimizer.param_groups
    ]


@pytest.fixture
def training():
    decoder = Decoder(CONFIG)
    decoder.initialize(0)
    readouts = auxiliary_readouts(CONFIG, 0)
    optimizer = Hyperball(parameter_groups(decoder, SETTINGS), **CONSTANTS)
    for group in auxiliary_groups("readouts", readouts, optimizer):
        optimizer.add_param_group(group)
    named = dict(decoder.named_parameters()) | {f"readouts.{n}": p for n, p in readouts.named_parameters()}
    return optimizer, named


def test_every_parameter_is_in_the_group_the_recipe_says(training):
    optimizer, named = training
    kinds = {}
    for group, (kind, _, parameters) in zip(optimizer.param_groups, named_groups(optimizer, named)):
        for name in parameters:
            assert name not in kinds
            kinds[name] = (group["owner"], kind)
    assert kinds.keys() == named.keys()
    for name, (owner, kind) in kinds.items():
        assert owner == ("readouts" if name.startswith("readouts") else "backbone")
        if "_proj" in name:
            assert kind == "muonh"
        elif "lm_head" in name:
            assert kind == "adamh"
        else:
            assert kind == "adam"
            assert "norm" in name or "embed" in name
    rates = {kind: rate for kind, rate, _ in named_groups(optimizer, named)}
    assert rates == {"muonh": 0.02, "adamh": 0.02, "adam": 0.008}


@pytest.mark.parametrize("size_of_gradient", [1e-3, 10.0])
def test_twelve_steps_equal_the_reference(training, size_of_gradient):
    optimizer, named = training
    reference = Reference(named_groups(optimizer, named))
    generator = torch.Generator().manual_seed(1)
    for _ in range(12):
        gradients = {name: size_of_gradient * torch.randn(p.shape, generator=generator) for name, p in named.items()}
        for name, parameter in named.items():
            parameter.grad = gradients[name].clone()
        reference.step(gradients)
        optimizer.step()
        for _, _, parameters in reference.groups:
            for name, expected in parameters.items():
                torch.testing.assert_close(named[name].double(), expected, rtol=2e-4, atol=2e-5, msg=name)
    for name, parameter in named.items():
        assert torch.equal(parameter.grad, gradients[name])  # clipping leaves the gradients as they are


def test_a_parameter_without_a_gradient_stands_still_with_its_state():
    # Each parameter alone, updated only when it has a gradient, is the reference: frozen, it must not notice time.
    # Gradients stay below the norm at which they would be clipped, which is the one thing they share.
    generator = torch.Generator().manual_seed(3)
    shapes = {"muonh": (6, 4), "adamh": (5, 3), "adam": (4,)}
    for kind, shape in shapes.items():
        start = torch.randn(2, *shape, generator=generator)
        gradients = [0.05 * torch.randn(2, *shape, generator=generator) for _ in range(9)]
        frozen = [{0: False, 1: step in (0, 1, 2, 5)} for step in range(9)]

        def group(*parameters, kind=kind):
            return Hyperball([{"params": list(parameters), "kind": kind, "lr": 0.02}], **CONSTANTS)

        together = [nn.Parameter(one.clone()) for one in start]
        apart = [nn.Parameter(one.clone()) for one in start]
        joint, alone = group(*together), [group(one) for one in apart]
        for gradient, still in zip(gradients, frozen):
            for index in range(2):
                together[index].grad = apart[index].grad = None
                if not still[index]:
                    together[index].grad, apart[index].grad = gradient[index].clone(), gradient[index].clone()
                    alone[index].step()
            joint.step()
        for index in range(2):
            torch.testing.assert_close(together[index], apart[index], rtol=1e-5, atol=1e-6)
        assert {joint.state[one].get("step") for one in together} == ({None} if kind == "muonh" else {9, 5})


def test_hyperball_matrices_keep_their_norm_over_many_steps(training):
    optimizer, named = training
    hyperball = {
        name: (p, torch.linalg.vector_norm(p.detach().double()).item())
        for kind, _, parameters in named_groups(optimizer, named)
        if kind != "adam"
        for name, p in parameters.items()
    }
    generator = torch.Generator().manual_seed(2)
    for _ in range(300):
        for parameter in named.values():
            parameter.grad = torch.randn(parameter.shape, generator=generator)
        optimizer.step()
    for name, (parameter, start) in hyperball.items():
        # float32 rounds each restored norm to 2^-24 or so; 300 of them walk, they do not add up
        assert torch.linalg.vector_norm(parameter.detach().double()).item() == pytest.approx(start, rel=1e-5), name


def test_an_angular_step_has_the_size_of_the_rate():
    # closed form: for a direction at right angles to W the angle turned is atan(rate)
    w = torch.nn.Parameter(torch.tensor([[3.0, 0.0], [0.0, 0.0]]))
    optimizer = Hyperball([{"params": [w], "kind": "adamh", "lr": 0.1, "owner": "backbone"}], **CONSTANTS)
    w.grad = torch.tensor([[0.0, 0.5], [0.0, 0.0]])
    optimizer.step()
    angle = math.atan(0.1)
    torch.testing.assert_close(w.detach(), torch.tensor([[3 * math.cos(angle), -3 * math.sin(angle)], [0.0, 0.0]]))


@pytest.mark.parametrize("kind", ["muonh", "adamh"])
@pytest.mark.parametrize("block", [7, 10**6])
def test_a_matrix_of_zeros_stays_and_leaves_the_others_alone(kind, block, monkeypatch):
    # the formulae: W' = W - lr O |W| / |O| = 0, whose norm is that of W already
    monkeypatch.setattr(module, "BLOCK_CPU", block)
    generator = torch.Generator().manual_seed(4)
    start = torch.randn(5, 3, generator=generator)
    gradients = [(torch.randn(5, 3, generator=generator), torch.randn(5, 3, generator=generator)) for _ in range(3)]
    turning, zeros, alone = (nn.Parameter(w) for w in (start.clone(), torch.zeros(5, 3), start.clone()))
    constants = {**CONSTANTS, "max_grad_norm": 1e9}
    both, one = (Hyperball([{"params": p, "kind": kind, "lr": 0.1}], **constants) for p in ([turning, zeros], [alone]))
    for first, second in gradients:
        turning.grad, zeros.grad, alone.grad = first.clone(), second, first.clone()
        both.step()
        one.step()
    assert torch.equal(zeros.detach(), torch.zeros(5, 3))
    torch.testing.assert_close(turning.detach(), alone.detach(), rtol=1e-5, atol=1e-6)
    assert not torch.equal(turning.detach(), start)


@pytest.mark.parametrize("kind", ["muonh", "adamh", "adam"])
@pytest.mark.parametrize("key", ["adam_epsilon", "muon_epsilon", "max_grad_norm"])
def test_gradients_of_zero_divide_nothing_by_zero(kind, key):
    smallest = 1e-37  # above the least normal number of float32, 1.2e-38
    settings = dataclasses.replace(SETTINGS, **{key: smallest})
    weight = nn.Parameter(torch.ones(2, 3))
    optimizer = Hyperball.from_settings([{"params": [weight], "kind": kind, "lr": 0.1}], settings)
    weight.grad = torch.zeros(2, 3)
    optimizer.step()
    torch.testing.assert_close(weight.detach(), torch.ones(2, 3))
    with pytest.raises(InvalidValue, match=f"{key}: expected a number of at least 1e-37"):
        dataclasses.replace(SETTINGS, **{key: 1e-46})


def test_groups_are_clipped_apart():
    small, large = torch.nn.Parameter(torch.zeros(2)), torch.nn.Parameter(torch.zeros(2))
    groups = [{"params": [p], "kind": "adam", "lr": 1.0, "owner": str(i)} for i, p in enumerate((small, large))]
    optimizer = Hyperball(groups, **{**CONSTANTS, "adam_epsilon": 1.0})
    small.grad, large.grad = torch.tensor([0.3, 0.4]), torch.tensor([300.0, 400.0])
    optimizer.step()
    # the first Adam step is g / (|g| + epsilon); small stays as it is (norm 0.5), large becomes (0.6, 0.8)
    torch.testing.assert_close(small.detach(), -torch.tensor([0.3 / 1.3, 0.4 / 1.4]))
    torch.testing.assert_close(large.detach(), -torch.tensor([0.6 / 1.6, 0.8 / 1.8]))


def test_clipping_is_joint_and_leaves_small_gradients():
    gradients = [torch.tensor([3.0]), torch.tensor([4.0])]
    assert [g.item() for g in clip_by_global_norm(gradients, 1.0)] == pytest.approx([0.6, 0.8])
    assert [g.item() for g in clip_by_global_norm(gradients, 10.0)] == [3.0, 4.0]
    assert [g.item() for g in clip_by_global_norm([torch.zeros(1)], 1.0)] == [0.0]


def test_matrices_of_one_shape_do_not_mix():
    torch.manual_seed(0)
    first, second = torch.randn(6, 4), torch.randn(6, 4)
    gradient_one, gradient_two = torch.randn(6, 4), torch.randn(6, 4)

    def after(weights, gradients):
        parameters = [torch.nn.Parameter(w.clone()) for w in weights]
        optimizer = Hyperball(
            [{"params": parameters, "kind": "muonh", "lr": 0.1, "owner": "backbone"}],
            **{**CONSTANTS, "max_grad_norm": 1e9},
        )
        for parameter, gradient in zip(parameters, gradients):
            parameter.grad = gradient
        optimizer.step()
        return [p.detach() for p in parameters]

    both = after([first, second], [gradient_one, gradient_two])
    torch.testing.assert_close(both[0], after([first], [gradient_one])[0], rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(both[1], after([second], [gradient_two])[0], rtol=1e-5, atol=1e-6)


def test_its_state_resumes_bit_for_bit(training):
    import copy

    optimizer, named = training
    generator = torch.Generator().manual_seed(3)
    gradients = [{n: torch.randn(p.shape, generator=generator) for n, p in named.items()} for _ in range(4)]

    def run(steps):
        for step in steps:
            for name, parameter in named.items():
                parameter.grad = gradients[step].get(name)
            optimizer.step()

    run([0, 1])
    weights, state = {n: p.detach().clone() for n, p in named.items()}, copy.deepcopy(optimizer.state_dict())
    run([2, 3])
    expected = {n: p.detach().clone() for n, p in named.items()}
    with torch.no_grad():
        for name, parameter in named.items():
            parameter.copy_(weights[name])
    optimizer.load_state_dict(state)
    run([2, 3])
    assert all(torch.equal(p, expected[n]) for n, p in named.items())


@pytest.mark.parametrize("kind", ["adam", "adamh", "muonh"])
def test_blocks_and_parts_change_nothing_but_rounding(monkeypatch, kind):
    """Large parameters are updated block by block, and long lists part by part."""
    torch.manual_seed(0)
    weights = [torch.randn(6, 5) for _ in range(3)]
    gradients = [[torch.randn(6, 5) for _ in weights] for _ in range(4)]

    def after(block):
        monkeypatch.setattr(module, "BLOCK_CPU", block)
        parameters = [torch.nn.Parameter(w.clone()) for w in weights]
        optimizer = Hyperball([{"params": parameters, "kind": kind, "lr": 0.1, "owner": "backbone"}], **CONSTANTS)
        for some in gradients:
            for parameter, gradient in zip(parameters, some):
                parameter.grad = gradient.clone()
            optimizer.step()
        return [parameter.detach() for parameter in parameters]

    whole = after(10**6)
    for block in (7, 30, 60):
        torch.testing.assert_close(after(block), whole, rtol=1e-6, atol=1e-6)


def test_a_multiplier_scales_both_rates():
    halved = dataclasses.replace(SETTINGS, rate_multiplier=0.5)
    assert peak_rates(halved) == {kind: rate / 2 for kind, rate in peak_rates(SETTINGS).items()}


def test_what_a_design_routes_by_has_an_adam_of_its_own():
    decoder = Decoder(dataclasses.replace(CONFIG, value_residual="learnable"))
    group = parameter_groups(decoder, SETTINGS)[-1]
    assert group["params"] == [decoder.model.layers[1].value_residual.weights]
    assert (group["owner"], group["kind"], group["adam_epsilon"], group["lr"]) == (
        "backbone",
        "adam",
        1e-8,  # recipe section 6b
        SETTINGS.adam_learning_rate,
    )
