"""Derivatives of one expression against finite differences: first and second order, in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mt_autograd
from mt_autograd.gradcheck import gradcheck, gradgradcheck
from mt_core.testing.namespace import namespace

torch = namespace(autograd=mt_autograd)

Case = tuple[str, Callable[..., Any], tuple[tuple[int, ...], ...]]


def inputs_of(shapes: tuple[tuple[int, ...], ...], dtype: Any = torch.float64) -> tuple[Any, ...]:
    """Random tensors that require grad, the same in every run."""
    torch.manual_seed(len(shapes) + sum(map(sum, shapes)))
    return tuple(torch.randn(shape, dtype=dtype).requires_grad_() for shape in shapes)


def check_both_orders(function: Callable[..., Any], inputs: tuple[Any, ...]) -> None:
    """First and second derivatives by `function`'s rules are those of finite differences."""
    assert gradcheck(function, inputs)
    assert gradgradcheck(function, inputs)


def positive_definite(a: Any) -> Any:
    """A Hermitian matrix far from singular that depends on all of `a`."""
    return a @ a.mH + 3 * torch.eye(a.shape[-1], dtype=a.dtype)
