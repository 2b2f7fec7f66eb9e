"""Custom functions inside of transforms: own rules for batches, made ones, and what is refused."""

import pytest

from mt_autograd import Function
from mt_autograd.func import grad, jacrev
from mt_core import allclose, tensor
from mt_core.transforms.vmapping import vmap

X = tensor([1.0, 2.0, 3.0])


class Tripled(Function):
    """A square whose backward says 3x, so that whoever differentiates its forward instead is found out."""

    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, gradient):
        return 3 * ctx.saved_tensors[0] * gradient


class Made(Tripled):
    generate_vmap_rule = True


class Own(Tripled):
    seen = []

    @staticmethod
    def vmap(info, in_dims, x):
        Own.seen.append((info.batch_size, info.randomness, in_dims, tuple(x.shape)))
        return Own.apply(x), in_dims[0]


class Weighted(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, y, factor):
        return x * y * factor, x + y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], inputs[1], output[0])
        ctx.factor = inputs[2]

    @staticmethod
    def backward(ctx, first, second):
        x, y, _ = ctx.saved_tensors
        return (first * y * ctx.factor + second).sum(), first * x * ctx.factor + second, None


def test_every_level_uses_the_functions_own_backward():
    assert allclose(grad(lambda x: Tripled.apply(x).sum())(X), 3 * X)
    assert allclose(grad(grad(Tripled.apply))(X[0]), tensor(3.0))
    outer = X.clone().requires_grad_()
    grad(lambda x: Tripled.apply(x).sum())(outer).sum().backward()
    assert allclose(outer.grad, tensor([3.0, 3.0, 3.0]))


def test_function_of_batches_is_made():
    assert allclose(vmap(Made.apply)(X), X * X)
    assert allclose(grad(lambda x: vmap(Made.apply)(x).sum())(X), 3 * X)
    assert allclose(jacrev(Made.apply)(X), (3 * X).diag())


def test_own_rule_is_told_sizes_and_dimensions():
    Own.seen.clear()
    assert allclose(vmap(Own.apply, in_dims=1)(X.view(1, 3)), (X * X).view(3, 1))
    assert Own.seen == [(3, "error", (1,), (1, 3))]


def test_gradient_of_what_lanes_share_is_their_sum():
    def total(x, y):
        return sum(out.sum() for out in vmap(lambda a, b: Weighted.apply(a, b, 2.0), in_dims=(0, None))(x, y))

    by_x, by_y = grad(total, argnums=(0, 1))(X, X)
    assert allclose(by_x, tensor([15.0, 15.0, 15.0])) and allclose(by_y, tensor([15.0, 15.0, 15.0]))


class Old(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class Returned(Tripled):
    @staticmethod
    def forward(x):
        return x


class Both(Own):
    generate_vmap_rule = True


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: grad(lambda x: Old.apply(x).sum())(X), "it must override the setup_context staticmethod"),
        (lambda: vmap(Tripled.apply)(X), "You tried to vmap over Tripled, but it does not have vmap support"),
        (lambda: vmap(Both.apply)(X), "has both generate_vmap_rule=True and an overridden vmap"),
        (lambda: Returned.apply(X), "An input that has been returned as-is as output is being saved"),
    ],
)
def test_refusals(call, text):
    with pytest.raises(RuntimeError, match=text):
        call()


@pytest.mark.parametrize("output, text", [(0, "two returns"), ((0, (0, 0)), "returned an incompatible")])
def test_rule_that_returns_something_else(output, text):
    class Bad(Tripled):
        @staticmethod
        def vmap(info, in_dims, x):
            return x if output == 0 else (x, (0, 0))

    with pytest.raises(RuntimeError, match=text):
        vmap(Bad.apply)(X)
