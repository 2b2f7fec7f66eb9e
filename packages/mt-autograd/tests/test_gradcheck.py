"""What `gradcheck` finds, and in which words; what it finds right is tested by all that uses it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import mt_core as mt
from mt_autograd.function import Function
from mt_autograd.gradcheck import GradcheckError, get_analytical_jacobian, get_numerical_jacobian, gradcheck

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
    for jacobian, arguments in ((get_numerical_jacobian, (_two, (a, b))), (get_analytical_jacobian, ((a,), a * 2))):
        with pytest.warns(FutureWarning), pytest.raises(ValueError, match="Expected grad_out to be 1.0"):
            jacobian(*arguments, grad_out=2.0)


def test_a_backward_that_draws_is_not_reentrant() -> None:
    a = _ones()
    with pytest.warns(FutureWarning):
        assert not get_analytical_jacobian((a,), _hooked(mt.clone, lambda g: g * mt.rand(2))(a))[1]
