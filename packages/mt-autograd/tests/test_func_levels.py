"""Levels of transforms: what each records, and what becomes of tensors that outlive one."""

import pytest

import mt_core
from mt_autograd.func import debug_unwrap, grad, vjp
from mt_core import tensor
from mt_core.transforms.vmapping import vmap

X = tensor([0.5, -1.25, 2.0])


def close(a, b):
    return bool(mt_core.allclose(a, b))


def test_gradient_of_a_gradient():
    assert close(grad(grad(lambda x: x.sin()))(X[0]), -X[0].sin())


def test_vmap_of_gradients_and_gradient_of_vmap():
    assert close(vmap(grad(lambda x: x.sin()))(X), X.cos())
    assert close(grad(lambda x: vmap(lambda y: y.sin())(x).sum())(X), X.cos())


def test_pulling_back_after_the_level_has_ended_is_recorded_further_out():
    def function(x):
        _, pull_back = vjp(lambda y: (y * y * y).sum(), x)
        return pull_back(tensor(1.0))[0].sum()

    assert close(grad(function)(X), 6 * X)


def test_writing_in_place_changes_no_argument():
    def function(x):
        y = x * 1
        y[0:2].mul_(2)
        return (y * y).sum()

    before = X.clone()
    assert close(grad(function)(X), tensor([8.0, 8.0, 2.0]) * X)
    assert close(X, before)


def test_captured_tensors_may_not_be_written_to():
    with pytest.raises(RuntimeError, match="would mutate a captured Tensor"):
        grad(lambda y: X.add_(y).sum())(X)
    with pytest.raises(RuntimeError, match=r"vmap: aten::add_.Tensor\(self, \*extra_args\) is not possible"):
        vmap(lambda y: X.add_(y))(mt_core.ones(3, 3))


def test_wrapper_that_outlives_its_level_stands_for_what_it_wraps():
    kept = []
    grad(lambda x: kept.append(x) or x.sum())(X)
    assert kept[0].requires_grad and close(kept[0] + 1, X + 1)
    assert not (kept[0] + 1).requires_grad


def test_batched_tensor_that_outlives_its_level_is_refused():
    kept = []
    vmap(lambda x: kept.append(x) or x)(X)
    with pytest.raises(RuntimeError, match="escaped from inside a function being vmapped"):
        kept[0] + 1


def test_history_inside_a_level_does_not_show_outside():
    outer = X.clone().requires_grad_()
    gradient = grad(lambda x: (x * x).sum())(outer)
    assert gradient.requires_grad
    (gradient * gradient).sum().backward()
    assert close(outer.grad, 8 * X)


def test_grad_mode_inside_a_level_is_its_own():
    with mt_core.no_grad():
        assert close(grad(lambda x: (x * x).sum())(X), 2 * X)

    def half_recorded(x):
        with mt_core.no_grad():
            y = x * x
        return (x * y).sum()

    assert close(grad(half_recorded)(X), X * X)


def test_looking_inside():
    seen = []
    vmap(grad(lambda x: seen.append(debug_unwrap(x)) or x.sin()))(X)
    assert seen[0] is X or close(seen[0], X)
