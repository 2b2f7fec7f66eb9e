"""Operators over lists of tensors and whole steps of optimizers: one launch for up to 40 tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy

from mt_core.dispatch.kernel import Accepts
from mt_core.dtypes import float32

from ..compiled import optimizers
from ..compiled.on_cupy import FLOATING, available, machine
from ..registry import enter

Arrays = list[Any]

_ALIKE = Accepts(dtypes=FLOATING, alike=True)


def of_lists(name: str, functor: str, two: bool, number: Callable[..., float]) -> None:
    """Enter ``_foreach_NAME`` and its form in place; `number` makes the functor's number of what follows the lists."""

    def into(outs: Arrays, args: tuple[Any, ...]) -> None:
        lists = args[: 1 + two]
        optimizers.for_each(machine(), functor, outs, lists[0], lists[1] if two else None, number(*args[1 + two :]))

    def fresh(*args: Any) -> Arrays:
        outs = [cupy.empty(one.shape, one.dtype) for one in args[0]]
        into(outs, args)
        return outs

    def in_place(*args: Any) -> None:
        into(args[0], args)

    base, _, form = name.partition(".")
    form = form and f".{form}"
    if available():
        options: dict[str, Any] = {"accepts": _ALIKE, "recorded": False, "half": "native"}
        enter((f"_foreach_{base}{form}",), fresh, False, **options)
        enter((f"_foreach_{base}_{form}",), in_place, False, into_first=True, **options)


def same(value: Any) -> float:
    return float(value)


def negated(value: Any) -> float:
    return -float(value)


def none() -> float:
    return 1.0


for _name, _functor, _two, _number in (
    ("add.List", "list_add", True, same), ("sub.List", "list_add", True, negated), ("mul.List", "list_mul", True, none),
    ("div.List", "list_div", True, none), ("add.Scalar", "list_add_number", False, same),
    ("sub.Scalar", "list_add_number", False, negated), ("mul.Scalar", "list_mul_number", False, same),
    ("div.Scalar", "list_div_number", False, same), ("lerp.Scalar", "list_lerp", True, same),
    ("sqrt", "list_sqrt", False, none), ("neg", "list_neg", False, none),
):  # fmt: skip
    of_lists(_name, _functor, _two, _number)


def alike(*lists: Any) -> bool:
    """Whether lists hold row-major tensors of one dtype, on one device."""
    if not lists[0]:
        return False
    d, index = lists[0][0]._dtype, lists[0][0].device.index
    tensors = [t for one in lists for t in one]
    return all(t._dtype is d and t._array.flags.c_contiguous and t.device.index == index for t in tensors)


def single(*tensors: Any) -> bool:
    """Whether tensors, or None, are float32, which the device reads."""
    return all(t is None or t._dtype is float32 and t.is_cuda for t in tensors)


def adam_takes(
    self: Any, grads: Any, averages: Any, squares: Any, largest: Any, steps: Any, lr: Any, beta1: Any, beta2: Any,
    decay: Any, eps: Any, amsgrad: bool, maximize: bool, grad_scale: Any, found_inf: Any,
) -> bool:  # fmt: skip
    """Whether a step is one of the kernel's."""
    return (
        alike(self, grads, averages, squares, *([largest] if amsgrad else []))
        and self[0]._dtype in FLOATING and single(*steps, grad_scale, found_inf)
    )  # fmt: skip


def adam(name: str, decoupled: bool) -> None:
    """Enter the step of Adam or of AdamW."""

    def run(
        self: Arrays, grads: Arrays, averages: Arrays, squares: Arrays, largest: Arrays, steps: Arrays, lr: float,
        beta1: float, beta2: float, decay: float, eps: float, amsgrad: bool, maximize: bool, grad_scale: Any,
        found_inf: Any,
    ) -> None:  # fmt: skip
        optimizers.adam(
            machine(), self, grads, averages, squares, largest if amsgrad else None, steps, rate=lr, beta1=beta1,
            beta2=beta2, decay=decay, eps=eps, decoupled=decoupled, maximize=maximize, grad_scale=grad_scale,
            found_inf=found_inf,
        )  # fmt: skip

    if available():
        accepts = Accepts(also=adam_takes)
        enter((name,), run, False, accepts=accepts, recorded=False, half="native", into_first=True)


adam("_fused_adam_", False)
adam("_fused_adamw_", True)


def sgd_takes(self: Any, grads: Any, buffers: Any, *options: Any) -> bool:
    """Whether a step is one of the kernel's."""
    return alike(self, grads, *([buffers] if buffers else [])) and self[0]._dtype in FLOATING and single(*options[-2:])


def fused_sgd(
    self: Arrays, grads: Arrays, buffers: Arrays, decay: float, momentum: float, lr: float, dampening: float,
    nesterov: bool, maximize: bool, first: bool, grad_scale: Any, found_inf: Any,
) -> None:  # fmt: skip
    """A step of SGD, in place."""
    optimizers.sgd(
        machine(), self, grads, buffers or None, rate=lr, momentum=momentum, dampening=dampening, decay=decay,
        nesterov=nesterov, maximize=maximize, first=first, grad_scale=grad_scale, found_inf=found_inf,
    )  # fmt: skip


if available():
    enter(
        ("_fused_sgd_",), fused_sgd, False, accepts=Accepts(also=sgd_takes), recorded=False, half="native",
        into_first=True,
    )  # fmt: skip
