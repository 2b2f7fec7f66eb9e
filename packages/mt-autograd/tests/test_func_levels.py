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
    with pytest.raises(RuntimeError, match=r"vmap: aten::add_\(self, \*extra_args\) is not possible"):
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


@pytest.mark.parametrize(
    "function, text",
    [
        (lambda x: x.detach().requires_grad_().sum(), r"attempting to call Tensor.requires_grad_\(\) \(or perhaps"),
        (lambda x: x.sum().backward() or x.sum(), r"backward\(\) called inside a functorch transform"),
        (lambda x: (x * 1).retain_grad() or x.sum(), r"attempting to call Tensor.retain_grad\(\) inside"),
    ],
)
def test_what_transforms_see_to_themselves_is_refused(function, text):
    with pytest.raises(RuntimeError, match=text):
        grad(function)(X)


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: grad(lambda x: x)(X), r"return a scalar Tensor, got tensor with 1 dims"),
        (lambda: grad(lambda x: 1.0)(X), r"return a Tensor, got <class 'float'>"),
        (lambda: grad(lambda x: (x.sum(), 1), has_aux=True)(X), "Expected tensors, got unsupported type <class 'int'>"),
        (lambda: grad(lambda x: x.sum(), argnums=2)(X), "Got argnum=2, but only 1 positional inputs"),
        (lambda: grad(lambda x: x.sum(), argnums=(0, 0))(X), "argnums elements must be unique"),
        (lambda: vjp(lambda x: x, X)[1]((X, X)), "Expected pytree structure of cotangents"),
        (lambda: vjp(lambda x: 1, X), "expected f.*to return only tensors, got unsupported type <class 'int'>"),
    ],
)
def test_refusals_of_gradients(call, text):
    with pytest.raises(RuntimeError, match=text):
        call()


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: vmap(lambda x: x)(1), "We cannot vmap over non-Tensor arguments"),
        (lambda: vmap(lambda x, y: x)(X, X[:2]), r"got sizes \[3, 2\] for the mapped dimension"),
        (lambda: vmap(lambda x: x, in_dims=1)(X), "expected in_dim to satisfy -1 <= in_dim < 1"),
        (lambda: vmap(lambda x: x, in_dims="a")(X), "expected `in_dims` to be int or a"),
        (lambda: vmap(lambda: 1)(), "got no inputs"),
        (lambda: vmap(lambda x: 1)(X), "must only return Tensors, got type <class 'int'>"),
        (lambda: vmap(lambda x: (x, x), out_dims=(0,))(X), "out_dims is not compatible with the structure of"),
        (lambda: vmap(lambda x: x, out_dims=None)(X), "can not return a BatchedTensor when out_dim is None"),
        (lambda: vmap(lambda x: x, chunk_size=0), "chunk_size should be None or greater than 0"),
    ],
)
def test_refusals_of_vmap(call, text):
    with pytest.raises(ValueError, match=text):
        call()


def test_detached_is_detached_at_every_level():
    assert close(grad(lambda x: (x.detach() * x).sum())(X), X)
    assert close(grad(lambda x: grad(lambda y: (y.detach() * x * y).sum())(x).sum())(X), X)
    assert close(vmap(grad(lambda x: x.detach() * x))(X), X)


def test_writing_to_a_detached_tensor_does_not_record():
    def function(x):
        y = x * 1
        y.detach().mul_(2)
        return y.sum()

    assert close(grad(function)(X), mt_core.ones(3))
