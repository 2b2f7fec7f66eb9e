"""What `gradcheck` finds, and in which words; what it finds right is tested by all that uses it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import mt_core as mt
from mt_autograd import forward_ad
from mt_autograd.function import Function
from mt_autograd.functional import hessian, jacobian
from mt_autograd.gradcheck import (
    GradcheckError,
    get_analytical_jacobian,
    get_numerical_jacobian,
    gradcheck,
    gradgradcheck,
)
from mt_core.transforms.batched import BatchedArray
from mt_core.transforms.vmapping import vmap

both = pytest.mark.parametrize("fast_mode", [False, True], ids=["by elements", "along a direction"])


def _ones(dtype: Any = mt.float64) -> mt.Tensor:
    return mt.ones(2, dtype=dtype, requires_grad=True)


def _hooked(function: Callable[[mt.Tensor], mt.Tensor], hook: Callable[[mt.Tensor], Any]) -> Callable[..., mt.Tensor]:
    def run(x: mt.Tensor) -> mt.Tensor:
        y = function(x)
        y.register_hook(hook)
        return y

    return run


def _as_complex(x: mt.Tensor) -> mt.Tensor:
    return mt.complex(x, x)


@both
def test_the_part_of_a_complex_output_is_named(fast_mode: bool) -> None:
    with pytest.raises(GradcheckError, match="^While considering the imaginary part of complex outputs only, Jacobian"):
        gradcheck(_hooked(_as_complex, lambda g: g + 1e-2), _ones(), fast_mode=fast_mode)
    of_real_part = _hooked(_as_complex, lambda g: g + 1e-2 if not g.imag.any() else g)
    with pytest.raises(GradcheckError, match="^While considering the real part of complex outputs only, Jacobian"):
        gradcheck(of_real_part, _ones(), fast_mode=fast_mode)
    with pytest.raises(GradcheckError, match="^Jacobian mismatch for output 0 with respect to input 0"):
        gradcheck(_hooked(mt.clone, lambda g: g + 1e-2), _ones(), fast_mode=fast_mode)


@both
@pytest.mark.parametrize("what", ["shape", "dtype"])
def test_outputs_must_be_alike_at_all_inputs(what: str, fast_mode: bool) -> None:
    def changing(x: mt.Tensor) -> mt.Tensor:
        if not bool((x >= 1).all()):
            return x
        return mt.cat([x, x]) if what == "shape" else x.to(mt.float32)

    where = "by 1e-06" if fast_mode else "on index (0,) by 1e-06"
    words = (
        f"Expected `func` to return outputs with the same {what} when inputs are perturbed {where}, but got: {what}s"
    )
    with pytest.raises(AssertionError, match=re.escape(words)):
        gradcheck(changing, _ones(), fast_mode=fast_mode, eps=1e-6, atol=1)


class _OneForNothing(Function):
    @staticmethod
    def forward(ctx: Any, x: mt.Tensor) -> mt.Tensor:
        ctx.set_materialize_grads(False)
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: mt.Tensor | None) -> mt.Tensor:
        return mt.ones(2, dtype=mt.float64) if grad is None else 2 * grad


@both
def test_undefined_gradients_are_withheld(fast_mode: bool) -> None:
    def refuses(grad: mt.Tensor | None) -> None:
        if grad is None:
            raise RuntimeError("undefined")

    function = _hooked(mt.clone, refuses)
    for wrong, words in (
        (function, "Expected backward function to handle"),
        (_OneForNothing.apply, "Expected all input"),
    ):
        with pytest.warns(UserWarning, match="undefined gradient support"), pytest.raises(GradcheckError, match=words):
            gradcheck(wrong, _ones(), fast_mode=fast_mode)
        with pytest.warns(UserWarning, match="undefined gradient support"):
            assert gradcheck(wrong, _ones(), fast_mode=fast_mode, raise_exception=False) is False
        assert gradcheck(wrong, _ones(), fast_mode=fast_mode, check_undefined_grad=False)


def _two(inputs: tuple[mt.Tensor, mt.Tensor]) -> tuple[mt.Tensor, mt.Tensor]:
    return 2 * inputs[0] + 3 * inputs[1], inputs[0]


def test_jacobians_of_the_first_output() -> None:
    a, b = _ones(), _ones()
    eye = mt.eye(2, dtype=mt.float64)
    with pytest.warns(FutureWarning, match="`get_numerical_jacobian` was part of PyTorch's private API"):
        numerical = get_numerical_jacobian(_two, (a, b), eps=1e-6)
        (of_b,) = get_numerical_jacobian(_two, (a, b), target=b, eps=1e-6)
    with pytest.warns(FutureWarning, match="`get_analytical_jacobian` was part of PyTorch's private API"):
        analytical, reentrant, right_sizes, right_dtypes = get_analytical_jacobian((a, b), _two((a, b))[0])
    assert [j.tolist() for j in analytical] == [(2 * eye).tolist(), (3 * eye).tolist()]
    assert all(mt.allclose(n, j) for n, j in zip(numerical, analytical, strict=True)) and mt.allclose(of_b, 3 * eye)
    assert reentrant and right_sizes and right_dtypes
    for compute, arguments in ((get_numerical_jacobian, (_two, (a, b))), (get_analytical_jacobian, ((a,), a * 2))):
        with pytest.warns(FutureWarning), pytest.raises(ValueError, match="Expected grad_out to be 1.0"):
            compute(*arguments, grad_out=2.0)


def test_a_backward_that_draws_is_not_reentrant() -> None:
    a = _ones()
    with pytest.warns(FutureWarning):
        assert not get_analytical_jacobian((a,), _hooked(mt.clone, lambda g: g * mt.rand(2))(a))[1]


# Forward mode


class WrongForward(Function):
    """2 * x, whose tangents are said to be three times as large."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 2

    @staticmethod
    def jvp(ctx: Any, tangent: Any) -> Any:
        return tangent * 3


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("dtype", [mt.float64, mt.complex128])
def test_forward_mode_is_checked(fast_mode: bool, dtype: Any) -> None:
    x = mt.tensor([0.5, 2.0], dtype=dtype, requires_grad=True)
    options = {"check_forward_ad": True, "fast_mode": fast_mode}
    assert gradcheck(lambda x: (x.sin() * x, x.abs()), (x,), **options)
    assert gradcheck(lambda x, y: x * y, (x, x.detach().clone().requires_grad_()), **options)
    assert gradgradcheck(lambda x: x.sin() * x, (x,), check_fwd_over_rev=True, fast_mode=fast_mode)
    with pytest.raises(GradcheckError, match="Jacobian computed with forward mode mismatch for output 0"):
        gradcheck(WrongForward.apply, (x,), **options)
    assert not gradcheck(WrongForward.apply, (x,), raise_exception=False, **options)
    assert gradcheck(WrongForward.apply, (x,), fast_mode=fast_mode)


def test_modes_that_cannot_be_checked() -> None:
    x = mt.ones(2, dtype=mt.float64, requires_grad=True)
    with pytest.raises(AssertionError, match="check_fwd_over_rev or check_rev_over_rev to be True"):
        gradgradcheck(mt.sin, (x,), check_fwd_over_rev=False, check_rev_over_rev=False)
    with pytest.raises(AssertionError, match="check_undefined_grad=True requires check_rev_over_rev"):
        gradgradcheck(mt.sin, (x,), check_fwd_over_rev=True, check_rev_over_rev=False)
    with pytest.raises(AssertionError, match="check_batched_forward_grad=True requires check_forward_ad"):
        gradcheck(mt.sin, (x,), check_batched_forward_grad=True)


def test_jacobians_by_forward_mode() -> None:
    x, y = mt.tensor([0.5, 2.0], dtype=mt.float64), mt.tensor([[1.0], [3.0]], dtype=mt.float64)
    options = {"strategy": "forward-mode", "vectorize": True}

    def function(x: Any, y: Any) -> Any:
        return x * y, y.exp().sum()

    forward, reverse = jacobian(function, (x, y), **options), jacobian(function, (x, y))
    pairs = zip([b for row in forward for b in row], [b for row in reverse for b in row], strict=True)
    assert all(a.shape == b.shape and mt.allclose(a, b) for a, b in pairs)
    assert jacobian(lambda x: x.exp(), mt.ones(0), **options).shape == (0, 0)
    found = hessian(lambda x: (x**3).sum(), x, vectorize=True, outer_jacobian_strategy="forward-mode")
    assert mt.allclose(found, mt.diag(6 * x))
    for bad, words in [({"create_graph": True}, "create_graph=True"), ({"vectorize": False}, "isonly implemented")]:
        with pytest.raises(NotImplementedError, match=words):
            jacobian(function, (x, y), **{**options, **bad})


def test_batches_of_directions_are_checked():
    x = mt.tensor([[0.3, -1.2, 2.0]], dtype=mt.float64, requires_grad=True)
    y = mt.tensor([0.5, 0.25, 4.0], dtype=mt.float64, requires_grad=True)
    assert gradcheck(
        lambda a, b: ((a * b).sin(), b.sum()), (x, y), check_forward_ad=True, check_batched_forward_grad=True
    )


def test_tangents_that_are_wrong_under_vmap_are_found():
    x = mt.tensor([0.3, -1.2], dtype=mt.float64, requires_grad=True)

    class Wrong(Function):
        @staticmethod
        def forward(x):
            return x.clone()

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, grad):
            return grad

        @staticmethod
        def jvp(ctx, tangent):
            return tangent * (2 if isinstance(tangent._array, BatchedArray) else 1)

    assert gradcheck(Wrong.apply, (x,), check_forward_ad=True)
    with pytest.raises(GradcheckError, match="batched"):
        gradcheck(Wrong.apply, (x,), check_forward_ad=True, check_batched_forward_grad=True)


def test_a_function_sees_the_level_that_it_is_checked_at():
    x = mt.tensor([0.3, -1.2], dtype=mt.float64, requires_grad=True)

    def wrong_at_a_level(x):
        if forward_ad._current_level < 0:
            return x * 2
        primal, tangent = forward_ad.unpack_dual(x)
        return forward_ad.make_dual(primal, tangent * 1.1) * 2

    with pytest.raises(GradcheckError, match="Jacobian computed with forward mode mismatch"):
        gradcheck(wrong_at_a_level, (x,), check_forward_ad=True)


def test_in_forward_mode_every_checked_input_is_dual_and_none_requires_grad() -> None:
    seen = []

    def function(x: Any, y: Any) -> Any:
        if forward_ad._current_level >= 0:
            seen.append([(t.requires_grad, forward_ad.unpack_dual(t).tangent is None) for t in (x, y)])
        return x * y

    x, y = (mt.rand(2, dtype=mt.float64).requires_grad_() for _ in range(2))
    assert gradcheck(function, (x, y), check_forward_ad=True, check_undefined_grad=False)
    assert seen and all(pair == [(False, False)] * 2 for pair in seen)


class _Older(Function):
    """A function of the older form, which no transform takes."""

    @staticmethod
    def forward(ctx: Any, x: Any, factor: float) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 2, None

    @staticmethod
    def jvp(ctx: Any, x_t: Any, _: Any) -> Any:
        return x_t * 2


def test_functions_without_setup_context_are_checked_in_batches() -> None:
    assert gradcheck(_Older.apply, (_ones(), 3.0), check_forward_ad=True, check_batched_forward_grad=True)
    with pytest.raises(RuntimeError, match="must override the setup_context staticmethod"):
        vmap(lambda x: _Older.apply(x, 3.0))(mt.ones(2, 2))


def test_backward_is_looked_at_before_forward_mode() -> None:
    class Wrong(_Older):
        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            raise RuntimeError("backward")

        @staticmethod
        def jvp(ctx: Any, x_t: Any, _: Any) -> Any:
            raise RuntimeError("forward")

    for backward, first in ((True, "backward"), (False, "forward")):
        with pytest.raises(RuntimeError, match=first):
            gradcheck(Wrong.apply, (_ones(), 3.0), check_forward_ad=True, check_backward_ad=backward)


def test_inputs_are_left_as_they_were() -> None:
    x = _ones() * 1
    assert gradcheck(lambda x: x * x, (x,), check_batched_grad=True)
    assert not x.retains_grad and x._autograd.grad is None
