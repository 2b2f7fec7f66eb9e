"""Random numbers that programs draw themselves: their distributions, their seeds, and that a gradient sees the same."""

from __future__ import annotations

import math

import pytest

import mindtorch as torch
from mindtorch import nn
from mindtorch._dynamo.exc import Unsupported
from mindtorch.nn import functional as F

COUNT = 40_000


def compiled(program, **settings):
    return torch.compile(program, backend="xla", fullgraph=True, options={"rng": "philox"}, **settings)


#: What is drawn, with the mean and the standard deviation of what it gives.
DRAWS = {
    "rand": (lambda x: torch.rand(COUNT), 0.5, 12**-0.5),
    "randn_like": (lambda x: torch.randn_like(x), 0.0, 1.0),
    "float64": (lambda x: torch.randn(COUNT, dtype=torch.float64), 0.0, 1.0),
    "normal": (lambda x: torch.empty(COUNT).normal_(3, 2), 3.0, 2.0),
    "uniform": (lambda x: torch.empty(COUNT).uniform_(-1, 3), 1.0, 4 * 12**-0.5),
    "randint": (lambda x: torch.randint(-2, 8, (COUNT,)).double(), 2.5, math.sqrt(99 / 12)),
    "random": (lambda x: torch.empty(COUNT, dtype=torch.uint8).random_().double(), 127.5, math.sqrt((256**2 - 1) / 12)),
    "random to": (lambda x: torch.empty(COUNT).random_(10), 4.5, math.sqrt(99 / 12)),
    "bernoulli": (lambda x: torch.empty(COUNT).bernoulli_(0.3), 0.3, math.sqrt(0.21)),
    "dropout": (lambda x: F.dropout(torch.ones(COUNT), 0.2), 1.0, 0.5),
    "exponential": (lambda x: torch.empty(COUNT).exponential_(2), 0.5, 0.5),
    "geometric": (lambda x: torch.empty(COUNT).geometric_(0.4), 2.5, math.sqrt(0.6) / 0.4),
    "log_normal": (lambda x: torch.empty(COUNT).log_normal_(0, 0.5).log(), 0.0, 0.5),
    "cauchy": (lambda x: torch.empty(COUNT).cauchy_(1, 2).sub(1).div(2).atan(), 0.0, math.pi * 12**-0.5),
    "randperm": (lambda x: torch.randperm(COUNT).double(), (COUNT - 1) / 2, COUNT * 12**-0.5),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_have_their_distribution_their_seed_and_come_anew(name):
    program, mean, deviation = DRAWS[name]
    run, x = compiled(program), torch.ones(COUNT)
    torch.manual_seed(2)
    first, second = run(x), run(x)
    assert not torch.equal(first, second)
    torch.manual_seed(2)
    assert torch.equal(run(x), first)
    torch.manual_seed(3)
    assert not torch.equal(run(x), first)
    for drawn in (first, second):
        assert drawn.dtype is program(x).dtype
        assert drawn.shape == (COUNT,)
        assert abs(drawn.mean().item() - mean) < 6 * deviation / math.sqrt(COUNT)
        assert abs(drawn.std().item() / deviation - 1) < 0.05


def test_each_number_of_a_permutation_comes_once_and_integers_stay_in_their_range():
    order, numbers = compiled(lambda x: (torch.randperm(500), torch.randint(3, 6, (500,))))(torch.ones(1))
    assert torch.equal(order.sort().values, torch.arange(500))
    assert numbers.unique().tolist() == [3, 4, 5]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_the_upper_end_is_left_out_and_logarithms_are_finite(dtype):
    def program(x):
        return torch.rand_like(x), torch.empty_like(x).uniform_(1, 2), torch.empty_like(x).exponential_()

    unit, other, waits = compiled(program)(torch.ones(300_000, dtype=dtype))
    assert 0 <= unit.min() <= unit.max() < 1
    assert 1 <= other.min() <= other.max() < 2
    assert 0 < waits.min() <= waits.max() < math.inf


def test_draws_of_one_program_are_independent():
    a, b = compiled(lambda x: (torch.randn(COUNT), torch.randn(COUNT)))(torch.ones(1))
    assert abs((a * b).mean().item()) < 6 / math.sqrt(COUNT)


def test_a_gradient_sees_what_the_forward_drew():
    x = torch.ones(1000, requires_grad=True)
    y = compiled(lambda x: F.dropout(x * 3, 0.5))(x)
    y.sum().backward()
    torch.testing.assert_close(x.grad, y.detach())
    assert {0.0, 6.0} == set(y.unique().tolist())


def test_a_step_learns():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Dropout(0.1), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(64, 4)
    y = x.sum(1, keepdim=True).tanh()

    def step(x, y):
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    run = compiled(step)
    losses = [run(x, y).item() for _ in range(60)]
    assert sum(losses[-5:]) < 0.4 * sum(losses[:5])


def test_what_philox_does_not_draw_is_named():
    generator = torch.Generator().manual_seed(1)
    with pytest.raises(Unsupported):
        compiled(lambda x: x + torch.rand(3, generator=generator))(torch.ones(3))
    with pytest.raises(Unsupported, match="of complex numbers is not drawn by Philox"):
        compiled(lambda x: x + torch.randn(3, dtype=torch.complex64))(torch.ones(3))
    with pytest.raises(Unsupported, match="draws random numbers by elements"):
        compiled(lambda x: torch.bernoulli(x * 0.5))(torch.ones(3))
