"""One call of an operator in a graph, as a lowering sees it, and dtypes as jax has them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import mt_core as mt
from mindtorch.fx.node import Node
from mt_core import Tensor
from mt_core.dispatch.registry import Overload
from mt_core.promotion import result_type_of

__all__ = ["Call", "Check", "NotLowered", "Value", "bound", "checked", "constant", "convert", "jax_dtype", "opmath"]

#: A value of XLA's: what a lowering takes and gives.
Value = Any

_DTYPES: dict[Any, Any] = {
    mt.bool: jnp.bool_, mt.uint8: jnp.uint8, mt.uint16: jnp.uint16, mt.uint32: jnp.uint32, mt.uint64: jnp.uint64,
    mt.int8: jnp.int8, mt.int16: jnp.int16, mt.int32: jnp.int32, mt.int64: jnp.int64,
    mt.float16: jnp.float16, mt.bfloat16: jnp.bfloat16, mt.float32: jnp.float32, mt.float64: jnp.float64,
    mt.complex64: jnp.complex64, mt.complex128: jnp.complex128,
    mt.float8_e4m3fn: jnp.float8_e4m3fn, mt.float8_e5m2: jnp.float8_e5m2,
    mt.float8_e4m3fnuz: jnp.float8_e4m3fnuz, mt.float8_e5m2fnuz: jnp.float8_e5m2fnuz,
}  # fmt: skip
#: What numbers of a narrow dtype are computed in; the result is rounded once.
_OPMATH = {mt.float16: mt.float32, mt.bfloat16: mt.float32, mt.complex32: mt.complex64}


class NotLowered(Exception):
    """An operator, or one form of it, cannot be handed to XLA."""


def jax_dtype(dtype: Any) -> Any:
    """A dtype as jax has it.

    Raises
    ------
    NotLowered
        For complex32 and dtypes of quantized numbers, which XLA does not have.
    """
    found = _DTYPES.get(dtype)
    if found is None:
        raise NotLowered(f"XLA has no dtype for {dtype}")
    return found


def opmath(dtype: Any) -> Any:
    """The dtype that numbers of `dtype` are computed in."""
    return _OPMATH.get(dtype, dtype)


class Check(NamedTuple):
    """What must be true of elements, and what is raised where it is not."""

    holds: Value
    error: type[Exception]
    text: str


#: The checks of the program that is being traced.
_checks: ContextVar[list[Check]] = ContextVar("checks")


@contextlib.contextmanager
def checked() -> Iterator[list[Check]]:
    """Context manager: gives the list that checks are noted in while a program is traced."""
    found: list[Check] = []
    token = _checks.set(found)
    try:
        yield found
    finally:
        _checks.reset(token)


class Call:
    """A call of an operator.

    Attributes
    ----------
    name
        The operator, with its overload: ``add.Tensor``.
    fakes
        All arguments in the order of the schema, defaults filled in; tensors as fake tensors.
    out
        Its result in the same way: a fake tensor, or a tuple or list of them.
    written
        Place of an argument -> what its elements are afterwards, of an operator that writes without its schema telling.
    """

    __slots__ = ("fakes", "name", "out", "written")

    def __init__(self, name: str, fakes: tuple[Any, ...], out: Any) -> None:
        self.name, self.fakes, self.out = name, fakes, out
        self.written: dict[int, Value] = {}

    def write(self, place: int, value: Value) -> None:
        """Give an argument other elements."""
        self.written[place] = value

    @property
    def dtype(self) -> Any:
        """The dtype of the result, of the first where there are several."""
        return self.outs[0].dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the result, of the first where there are several."""
        return tuple(self.outs[0].shape)

    @property
    def outs(self) -> list[Any]:
        """All results."""
        return [self.out] if isinstance(self.out, Tensor) else list(self.out)

    @property
    def common(self) -> Any:
        """What the operands among the arguments, tensors and numbers, promote to."""
        operands = [f for f in self.fakes if isinstance(f, (Tensor, int, float, complex))]
        return result_type_of(operands)

    def refuse(self, what: str) -> NotLowered:
        """The refusal of a form of the operator."""
        return NotLowered(f"aten::{self.name} is not lowered to XLA {what}")

    def check(self, holds: Value, error: type[Exception], text: str) -> None:
        """Have the program refuse elements, as eager execution does: before anything is written to an argument."""
        _checks.get().append(Check(holds, error, f"{text} (aten::{self.name})"))

    def result(self, value: Value, index: int = 0) -> Value:
        """A value in the dtype and shape of a result."""
        wanted = self.outs[index]
        value = jnp.asarray(value)
        dtype = jax_dtype(wanted.dtype)
        if value.dtype != dtype:
            value = convert(value, dtype)
        shape = tuple(wanted.shape)
        return value if value.shape == shape else jnp.broadcast_to(value, shape)


def bound(overload: Overload, node: Node) -> tuple[Any, ...]:
    """All arguments of a node in the order of the operator's schema, defaults filled in."""
    found = []
    for place, argument in enumerate(overload.schema.arguments):
        if place < len(node.args):
            found.append(node.args[place])
        else:
            found.append(node.kwargs.get(argument.name, argument.default))
    return tuple(found)


def convert(value: Value, dtype: Any) -> Value:
    """A value in another dtype as PyTorch converts it: to bool by comparison, and from complex by its real part."""
    if not isinstance(value, jax.Array) and not isinstance(value, np.ndarray):
        value = constant(value, dtype)
    if value.dtype == dtype:
        return value
    if dtype == jnp.bool_:
        return value != 0
    if jnp.issubdtype(value.dtype, jnp.complexfloating) and not jnp.issubdtype(dtype, jnp.complexfloating):
        value = value.real
    if jnp.issubdtype(value.dtype, jnp.floating) and jnp.issubdtype(dtype, jnp.integer):
        return _truncated(value, dtype)
    return value.astype(dtype)


def _truncated(value: Value, dtype: Any) -> Value:
    """Floats as integers. Out of range they are what x86-64 gives PyTorch: the smallest number, cut off from 32 bits.

    What 32 and 64 unsigned bits do not hold is not laid down.
    """
    value = value if value.dtype == jnp.float64 else value.astype(jnp.float32)
    if dtype in (jnp.uint32, jnp.uint64):
        wide = jnp.where(value < 0, 0, value).astype(dtype)
        return jnp.where(value < 0, value.astype(jnp.int64).astype(dtype), wide)
    width = jnp.int64 if dtype == jnp.int64 else jnp.int32
    low = np.iinfo(width).min
    fits = (value >= low) & (value < -float(low))
    return jnp.where(fits, jnp.where(fits, value, 0).astype(width), low).astype(dtype)


def constant(number: Any, dtype: Any) -> Value:
    """A Python number as a value; integers wrap around."""
    if isinstance(number, int) and not isinstance(number, bool) and jnp.issubdtype(dtype, jnp.integer):
        bits = jnp.iinfo(dtype).bits
        number &= (1 << bits) - 1
        if jnp.issubdtype(dtype, jnp.signedinteger) and number >> (bits - 1):
            number -= 1 << bits
    return jnp.asarray(number, dtype=dtype)
