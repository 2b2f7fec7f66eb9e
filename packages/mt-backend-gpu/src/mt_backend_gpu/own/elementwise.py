"""Arithmetic of floating arrays in one launch each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from mt_core.dispatch.kernel import Accepts

from ..compiled.elementwise import pointwise
from ..compiled.on_cupy import FLOATING, available, compiled, machine
from ..compiled.operands import combine
from ..registry import enter

F = TypeVar("F", bound=Callable[..., Any])

_FLOATING = Accepts(dtypes=FLOATING)
#: Arrays of one shape and dtype, row by row, on memory of their own or the same.
IN_PLACE = Accepts(dtypes=FLOATING, alike=True)


@compiled("add.Tensor", accepts=_FLOATING)
def add(self: Any, other: Any, alpha: Any = 1) -> Any:
    """self (*), other (*), broadcast -> the common shape."""
    return combine("add", self, other) if alpha == 1 else combine("add_scaled", self, other, numbers=(alpha,))


@compiled("sub.Tensor", accepts=_FLOATING)
def sub(self: Any, other: Any, alpha: Any = 1) -> Any:
    """self (*), other (*), broadcast -> the common shape."""
    return combine("sub", self, other) if alpha == 1 else combine("sub_scaled", self, other, numbers=(alpha,))


def two_operands(name: str, functor: str) -> None:
    """Enter an operator of two operands and nothing else."""

    @compiled(name, accepts=_FLOATING, fills=True)
    def run(self: Any, other: Any, out: Any = None) -> Any:
        return combine(functor, self, other, out)


def one_operand(name: str, functor: str) -> None:
    """Enter an operator of one operand and nothing else."""

    @compiled(name, accepts=_FLOATING, fills=True)
    def run(self: Any, out: Any = None) -> Any:
        return pointwise(machine(), functor, self, out=out)


for _name, _functor in {"add.Tensor": "add", "sub.Tensor": "sub"}.items():

    @compiled(_name, accepts=Accepts(dtypes=FLOATING, defaults=("alpha",)), fills=True)
    def plain(self: Any, other: Any, out: Any = None, functor: str = _functor) -> Any:
        """self (*), other (*), broadcast -> the common shape."""
        return combine(functor, self, other, out)


for _name, _functor in {"mul.Tensor": "mul", "div.Tensor": "divide"}.items():
    two_operands(_name, _functor)
for _name, _functor in {
    "neg": "neg", "abs": "abs_", "exp": "exp_", "log": "log_", "sqrt": "sqrt_", "rsqrt": "rsqrt_", "tanh": "tanh_",
    "sin": "sin_", "cos": "cos_", "reciprocal": "reciprocal", "erf": "erf_",
}.items():  # fmt: skip
    one_operand(_name, _functor)


def three_operands(name: str) -> None:
    """Enter an operator of three operands and a factor."""

    @compiled(name, accepts=_FLOATING)
    def run(self: Any, tensor1: Any, tensor2: Any, value: Any) -> Any:
        return pointwise(machine(), name, self, tensor1, tensor2, numbers=(value,))


for _name in ("addcmul", "addcdiv"):
    three_operands(_name)


def into_first(name: str, accepts: Accepts = IN_PLACE) -> Callable[[F], F]:
    """Decorator: the function writes its result into the first of several arrays alike, in one launch."""

    def register(function: F) -> F:
        if available():
            enter((name,), function, False, accepts=accepts, half="native", into_first=True)
        return function

    return register


def in_place(name: str, functor: str) -> None:
    """Enter the in-place form of an operator of two operands, of which the second may be a number."""

    @into_first(name)
    def run(self: Any, other: Any) -> Any:
        return combine(functor, self, other, self)


def scaled_in_place(name: str, functor: str) -> None:
    """The same with a factor of the second operand."""

    @into_first(name)
    def run(self: Any, other: Any, alpha: Any) -> Any:
        return combine(functor, self, other, self, numbers=(alpha,))


def three_in_place(name: str) -> None:
    """The same of three operands and a factor."""

    @into_first(f"{name}_")
    def run(self: Any, tensor1: Any, tensor2: Any, value: Any) -> Any:
        return pointwise(machine(), name, self, tensor1, tensor2, numbers=(value,), out=self)


scaled_in_place("add_.Tensor", "add_scaled")
scaled_in_place("sub_.Tensor", "sub_scaled")
in_place("mul_.Tensor", "mul")
in_place("div_.Tensor", "divide")
for _name in ("addcmul", "addcdiv"):
    three_in_place(_name)
