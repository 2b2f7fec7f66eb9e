"""Random expressions: first and second derivatives against finite differences."""

from __future__ import annotations

import random

import pytest

import mt_autograd
from mt_autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from mt_core.testing.namespace import namespace

torch = namespace(autograd=mt_autograd)

UNARY = [
    lambda a: a * 0.5 - 1,
    lambda a: (a * 0.3).exp(),
    lambda a: -a,
    lambda a: a.t() * 1.5,
    lambda a: 1.5 / (a * a + 1),
    lambda a: a - a.mean(0),
    lambda a: a.sum(1, keepdim=True) * a,
    lambda a: a[1:].sum(0) + a,
    lambda a: a.unsqueeze(0)[0] * 2,
    lambda a: torch.cat([a[:1], a[1:] * 2]),
    lambda a: torch.stack(a.unbind(1), 1) * a,
    lambda a: a.reshape(-1).view(3, 3).clone(),
    lambda a: a.expand(2, 3, 3).sum(0),
    lambda a: a.diagonal() + a,
    lambda a: a.transpose(0, 1).contiguous(),
]
BINARY = [
    lambda a, b: a + b,
    lambda a, b: a - b * 0.5,
    lambda a, b: a * b,
    lambda a, b: a / (b * b + 1),
    lambda a, b: a @ b,
    lambda a, b: a + b[0],
    lambda a, b: (a * b).sum() * a,
]


def random_function(seed):
    """A function of two 3 x 3 matrices, made of a dozen operators at most."""
    rng = random.Random(seed)
    steps = [(rng.random() < 0.5, rng.choice(UNARY), rng.choice(BINARY), rng.random(), rng.random()) for _ in range(6)]

    def function(x, y):
        values = [x, y]
        for single, unary, binary, first, second in steps:
            a, b = values[int(first * len(values))], values[int(second * len(values))]
            values.append(unary(a) if single else binary(a, b))
        return values[-1] * 0.1 + values[-2] * 0.1

    return function


def inputs(seed):
    torch.manual_seed(seed)
    return tuple((torch.rand(3, 3, dtype=torch.float64) + 0.1).requires_grad_() for _ in range(2))


@pytest.mark.parametrize("seed", range(40))
def test_first_derivative(seed):
    assert gradcheck(random_function(seed), inputs(seed), rtol=1e-4)


@pytest.mark.parametrize("seed", range(40))
def test_second_derivative(seed):
    assert gradgradcheck(random_function(seed), inputs(seed), rtol=1e-4, atol=1e-4, fast_mode=True)


def test_complex_derivatives():
    z = (torch.rand(2, 2, dtype=torch.float64) + 1j * torch.rand(2, 2, dtype=torch.float64)).requires_grad_()
    w = torch.rand(2, 2, dtype=torch.float64).requires_grad_()

    def function(z, w):
        return (z * w + z.exp()) / (z + 2) @ z

    assert gradcheck(function, (z, w))
    assert gradgradcheck(function, (z, w))
    assert gradcheck(function, (z, w), fast_mode=True)


class Wrong(torch.autograd.Function):
    """Squares, and gets the derivative wrong by a little."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return g * 2.1 * ctx.saved_tensors[0]


@pytest.mark.parametrize("fast_mode", [False, True])
def test_wrong_derivative_is_found(fast_mode):
    x = torch.rand(3, dtype=torch.float64).requires_grad_()
    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0,\nnumerical:"):
        gradcheck(Wrong.apply, (x,), fast_mode=fast_mode)
    assert gradcheck(Wrong.apply, (x,), fast_mode=fast_mode, raise_exception=False) is False


def test_wrong_second_derivative_is_found():
    class Square(Wrong):
        @staticmethod
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0].detach()

    x = torch.rand(3, dtype=torch.float64).requires_grad_()
    assert gradcheck(Square.apply, (x,))
    with pytest.raises(GradcheckError):
        gradgradcheck(Square.apply, (x,))


def test_irreproducible_backward_is_found():
    class Noisy(Wrong):
        @staticmethod
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0] + torch.rand(3, dtype=torch.float64) * 1e-7

    x = torch.rand(3, dtype=torch.float64).requires_grad_()
    with pytest.raises(GradcheckError, match="Backward is not reentrant"):
        gradcheck(Noisy.apply, (x,))
    assert gradcheck(Noisy.apply, (x,), nondet_tol=1e-6, check_undefined_grad=False)


def test_mishandled_undefined_gradient_is_found():
    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 1, x * 2

        @staticmethod
        def backward(ctx, g, h):
            if g is None and h is None:
                return torch.ones(3, dtype=torch.float64)
            return (0 if g is None else g) + (0 if h is None else 2 * h)

    x = torch.rand(3, dtype=torch.float64).requires_grad_()
    with pytest.raises(GradcheckError, match="undefined or zero"):
        gradcheck(Two.apply, (x,))


def test_nothing_to_check():
    with pytest.raises(ValueError, match="gradcheck expects at least one input tensor to require gradient"):
        gradcheck(lambda x: x, (torch.ones(1),))


def test_single_precision_warns():
    with pytest.warns(UserWarning, match="Input #0 requires gradient and is not a double precision"):
        gradcheck(lambda x: x * 2, (torch.ones(1, requires_grad=True),), raise_exception=False)


def test_overlapping_input_is_refused():
    x = torch.ones(1, dtype=torch.float64).expand(3).requires_grad_()
    with pytest.raises(RuntimeError, match="The 0th input has a dimension with stride 0"):
        gradcheck(lambda x: x * 2, (x,))


def test_batched_gradients():
    x = torch.rand(3, dtype=torch.float64).requires_grad_()
    assert gradcheck(lambda x: x * x, (x,), check_batched_grad=True)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_the_check_draws_from_a_generator_of_its_own(fast_mode):
    def noisy(x):
        """Multiplies by noise, the same at every call in between which nobody draws."""
        state = torch.get_rng_state()
        noise = torch.rand(x.shape, dtype=torch.float64)
        torch.set_rng_state(state)
        return x * noise

    x = torch.rand(3, 2, dtype=torch.float64).requires_grad_()
    before = torch.get_rng_state()
    assert gradcheck(noisy, (x,), fast_mode=fast_mode)
    assert torch.equal(torch.get_rng_state(), before)


def test_fast_mode_allows_the_absolute_error_of_every_element():
    class AlmostConstant(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.sum().expand(20) * 5e-6

        @staticmethod
        def backward(ctx, g):
            return g.new_zeros(50)

    x = torch.rand(50, dtype=torch.float64).requires_grad_()
    for fast_mode in (False, True):
        assert gradcheck(AlmostConstant.apply, (x,), fast_mode=fast_mode)
        assert not gradcheck(AlmostConstant.apply, (x,), atol=4e-6, fast_mode=fast_mode, raise_exception=False)
