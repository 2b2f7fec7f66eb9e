"""Backward of many gradients at once: one pass under ``vmap`` gives what a pass for each gives."""

import pytest

import mt_core
from mt_autograd import Function
from mt_autograd.api import grad
from mt_autograd.functional import hessian, jacobian
from mt_core import allclose, eye, tensor

X = tensor([0.5, -1.25, 2.0])

FUNCTIONS = {
    "elementwise": lambda x: (x * x).sin() / (1 + x * x),
    "written in place": lambda x: (x * 1).mul_(x).exp_(),
    "views": lambda x: x.flip(0).view(3, 1).expand(3, 2)[1:].t(),
    "sums": lambda x: x.cumsum(0).sum(0, keepdim=True) * x,
    "matrices": lambda x: mt_core.outer(x, x) @ x,
    "several": lambda x: (x * 2, x.sum()),
    "independent": lambda x: (mt_core.ones(2), x * x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_jacobian_at_once_is_the_one_by_rows(name):
    at_once = jacobian(FUNCTIONS[name], X, vectorize=True)
    by_rows = jacobian(FUNCTIONS[name], X)
    assert (at_once.__class__ is tuple) is (by_rows.__class__ is tuple)
    for ours, expected in zip(_tuple(at_once), _tuple(by_rows), strict=True):
        assert ours.shape == expected.shape and allclose(ours, expected)


def _tuple(value):
    return value if isinstance(value, tuple) else (value,)


def test_hessian_at_once():
    def function(x, y):
        return (x**3).sum() * y.sin()

    point = X, tensor(0.3)
    at_once, by_rows = hessian(function, point, vectorize=True), hessian(function, point)
    assert all(
        allclose(a, b) for row, other in zip(at_once, by_rows, strict=True) for a, b in zip(row, other, strict=True)
    )


def test_gradient_of_a_shared_graph_is_added_to_that_of_a_batch():
    x = X.clone().requires_grad_()
    y, z = x * x, x.sin()
    (together,) = grad((y, z), x, (eye(3), mt_core.ones(3, 3)), is_grads_batched=True)
    assert allclose(together, (2 * X).diag() + X.cos())


def test_backward_of_a_custom_function_runs_once():
    calls = []

    class Counted(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, gradient):
            calls.append(tuple(gradient.shape))
            return 2 * ctx.saved_tensors[0] * gradient

    x = X.clone().requires_grad_()
    (found,) = grad(Counted.apply(x), x, eye(3), is_grads_batched=True)
    assert allclose(found, (2 * X).diag()) and calls == [(3,)]


def test_gradients_of_a_batch_can_be_differentiated():
    x = X.clone().requires_grad_()
    (rows,) = grad(x**3, x, eye(3), is_grads_batched=True, create_graph=True)
    (second,) = grad(rows.sum(), x)
    assert allclose(second, 6 * X)


def test_strict_is_refused_once_the_outputs_depend_on_the_inputs():
    with pytest.raises(RuntimeError, match="are not supported together"):
        jacobian(lambda x: x * x, X, vectorize=True, strict=True)
    with pytest.raises(RuntimeError, match="Output 0 of the user-provided function does not require gradients"):
        jacobian(lambda x: mt_core.ones(2), X, vectorize=True, strict=True)


def test_gradients_of_products_do_not_take_every_element_for_a_zero():
    x = tensor([1.0, 2.0, 3.0], requires_grad=True)
    (found,) = grad(x.prod(), x, tensor([1.0, 2.0]), is_grads_batched=True)
    assert found.tolist() == [[6.0, 3.0, 2.0], [12.0, 6.0, 4.0]]
