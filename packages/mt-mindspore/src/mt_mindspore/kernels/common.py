"""Kernels by functions that MindSpore has on every device target."""

from __future__ import annotations

import math
from typing import Any

import mindspore
from mindspore import mint, ops

from mt_core.checks.indexing import refuse_picked

from ..dtypes import MINDSPORE_NAMES
from ..registry import Refused, Single, Table

__all__ = ["TABLE"]

TABLE = Table()
kernel = TABLE.kernel

_cast = ops.auto_generate.cast_op
_copied = ops.auto_generate.copy_op

FLOATS = "fd"
COMPLEX = "fdFD"
SIGNED = "bhilfdFD"
NUMERIC = "BbhilfdFD"
ORDERED = "BbhilfdHIL"
ANY = "?BbhilfdFD"

# Elementwise, of one operand

TABLE.functions(
    {
        "exp": mint.exp,
        "log": mint.log,
        "log1p": mint.log1p,
        "expm1": mint.expm1,
        "rsqrt": mint.rsqrt,
        "sqrt": mint.sqrt,
        "sin": mint.sin,
        "cos": mint.cos,
        "tan": mint.tan,
        "sinh": mint.sinh,
        "cosh": mint.cosh,
        "reciprocal": mint.reciprocal,
        "sigmoid": mint.sigmoid,
    },
    takes=COMPLEX,
)
TABLE.functions({"erf": mint.erf, "erfc": mint.erfc, "erfinv": mint.erfinv}, takes=FLOATS)
TABLE.functions({"neg": mint.neg}, takes=NUMERIC)
TABLE.functions({"abs": mint.abs}, takes="?Bbhilfd")
TABLE.functions({"logical_not": mint.logical_not}, takes=ANY)


@kernel("floor", "ceil", "trunc", "round", takes="Bbhil")
def whole(self: Any) -> Any:
    """Integers are whole already."""
    return _copied(self)


def of_floats(name: str, function: Any) -> None:
    @kernel(name, takes="Bbhilfd")
    def rounded(self: Any) -> Any:
        return function(self) if self.is_floating_point() else _copied(self)


for _name, _function in {"floor": mint.floor, "ceil": mint.ceil, "trunc": mint.trunc, "round": mint.round}.items():
    of_floats(_name, _function)


@kernel("frac", takes=FLOATS)
def frac(self: Any) -> Any:
    return mint.sub(self, mint.trunc(self))


@kernel("exp2", takes=FLOATS)
def exp2(self: Any) -> Any:
    return mint.pow(mindspore.Tensor(2, self.dtype), self)


# Elementwise, of several operands

TABLE.functions({"eq.Tensor": mint.eq, "ne.Tensor": mint.ne}, takes=ANY, numbers=True)
TABLE.functions(
    {
        "lt.Tensor": mint.lt,
        "le.Tensor": mint.le,
        "gt.Tensor": mint.gt,
        "ge.Tensor": mint.ge,
    },
    takes="?Bbhilfd",
    numbers=True,
)
TABLE.functions({"div.Tensor": mint.div}, takes=COMPLEX, numbers=True)
TABLE.functions(
    {"logical_and": mint.logical_and, "logical_or": mint.logical_or, "logical_xor": mint.logical_xor},
    takes=ANY,
    numbers=True,
)


@kernel("mul.Tensor", takes=ANY, numbers=True)
def mul(self: Any, other: Any) -> Any:
    if self.dtype == mindspore.bool_:
        return mint.logical_and(self, other)
    return mint.mul(self, other)


def scaled(tensor: Any, factor: Any) -> Any:
    """``factor * tensor`` in the tensor's dtype."""
    if factor.__class__ is not mindspore.Tensor and factor == 1:
        return tensor
    if tensor.dtype == mindspore.bool_:
        return tensor if factor else mint.logical_and(tensor, mindspore.Tensor(False))
    return mint.mul(tensor, mindspore.Tensor(factor, tensor.dtype))


def operand(number: Any, like: Any) -> Any:
    """A number as a tensor of another's dtype; a tensor as it is."""
    return number if isinstance(number, mindspore.Tensor) else mindspore.Tensor(number, like.dtype)


@kernel("add.Tensor", takes=ANY)
def add(self: Any, other: Any, alpha: Any) -> Any:
    self, other = _operands(self, other)
    if self.dtype == mindspore.bool_:
        return mint.logical_or(self, scaled(other, alpha))
    return mint.add(self, scaled(other, alpha))


@kernel("sub.Tensor", takes=NUMERIC)
def sub(self: Any, other: Any, alpha: Any) -> Any:
    self, other = _operands(self, other)
    return mint.sub(self, scaled(other, alpha))


def _operands(self: Any, other: Any) -> tuple[Any, Any]:
    if not isinstance(other, mindspore.Tensor):
        return self, mindspore.Tensor(other, self.dtype)
    return operand(self, other), other


@kernel("where.self", half="native")
def where(condition: Any, self: Any, other: Any) -> Any:
    return moved(lambda left, right: mint.where(condition, left, right), self, other)


@kernel("masked_fill.Scalar", "masked_fill.Tensor", takes=ANY, numbers=True)
def masked_fill(self: Any, mask: Any, value: Any) -> Any:
    return mint.where(mask, value, self)


# Reductions


@kernel("sum.dim_IntList", takes=ANY)
def sum_dims(self: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    return _summed(self, _axes(self, dim), keepdim, dtype)


@kernel("sum", takes=ANY)
def sum_all(self: Any, dtype: Any) -> Any:
    return _summed(self, tuple(range(self.ndim)), False, dtype)


def theirs(dtype: Any) -> Any:
    """MindSpore's dtype for the core's; half types are float32 here, for results are rounded once."""
    return getattr(mindspore, MINDSPORE_NAMES[str(dtype.compute).partition(".")[2]])


def _wide(self: Any, dtype: Any) -> Any:
    """The numbers to be added up: of the dtype that is asked for, integers in 64 bits."""
    if dtype is not None:
        return _cast(self, theirs(dtype)) if self.dtype != theirs(dtype) else self
    return self if self.is_floating_point() or self.is_complex() else _cast(self, mindspore.int64)


def _summed(self: Any, axes: tuple[int, ...], keepdim: bool, dtype: Any) -> Any:
    self = _wide(self, dtype)
    if not self.size:  # MindSpore's sum of nothing is uninitialized
        shape = [1 if i in axes else n for i, n in enumerate(self.shape) if keepdim or i not in axes]
        return mint.zeros(tuple(shape), dtype=self.dtype)
    if not axes:
        return _copied(self)
    if len(axes) == self.ndim and not keepdim:
        return Single(mint.sum(self, axes, keepdim=True))
    return mint.sum(self, axes, keepdim=keepdim)


def _axes(self: Any, dim: Any) -> tuple[int, ...]:
    if dim is None or dim.__class__ is not int and not len(dim):
        return tuple(range(self.ndim))
    if not self.ndim:
        return ()
    return tuple(d % self.ndim for d in ((dim,) if dim.__class__ is int else dim))


def found(find: Any, self: Any, dim: int, keepdim: bool) -> Any:
    """(the greatest or least, its place) by `mint.max` or `mint.min`."""
    if not self.ndim:
        return _copied(self), mint.zeros((), dtype=mindspore.int64)
    values, places = find(self, dim, keepdim)
    if not self.is_floating_point():
        return values, places
    # The first NaN is both the greatest and the least; MindSpore passes over it.
    is_nan, place_of_nan = mint.max(_cast(ops.isnan(self), mindspore.int32), dim, keepdim)
    unknown = mint.gt(is_nan, 0)
    return mint.where(unknown, operand(math.nan, self), values), mint.where(unknown, place_of_nan, places)


# Products


@kernel("mm", "bmm", takes="ilfdFD")
def product(self: Any, other: Any) -> Any:
    if 0 in self.shape:  # MindSpore's result is uninitialized
        return mint.zeros((*self.shape[:-1], other.shape[-1]), dtype=self.dtype)
    return mint.matmul(self, other)


@kernel("baddbmm", "addmm", takes="ilfdFD")
def add_product(self: Any, left: Any, right: Any, beta: Any, alpha: Any) -> Any:
    made = scaled(product(left, right), alpha)
    return made if beta == 0 else mint.add(made, scaled(self, beta))


# Joins


@kernel("cat", half="native")
def cat(tensors: Any, dim: int) -> Any:
    kept = of_one_type([t for t in tensors if tuple(t.shape) != (0,)] or tensors[:1])
    if len(kept) == 1:
        return _copied(kept[0].contiguous())
    return moved(lambda *parts: mint.cat(parts, dim), *kept)


#: Types in the order in which tensors of several are joined, half types as float32; the core rounds the result.
_WIDENING = (
    mindspore.uint8, mindspore.int8, mindspore.int16, mindspore.int32, mindspore.int64, mindspore.float32,
    mindspore.float64, mindspore.complex64, mindspore.complex128,
)  # fmt: skip


def of_one_type(tensors: Any) -> Any:
    """Tensors as they are, or where their types differ, in one that holds all of them."""
    types = {t.dtype for t in tensors}
    if len(types) < 2:
        return tensors
    halves = (mindspore.float16, mindspore.bfloat16)
    known = [mindspore.float32 if t in halves else t for t in types if t != mindspore.bool_]
    try:
        target = _WIDENING[max(_WIDENING.index(t) for t in known)]
    except ValueError:
        raise TypeError(f"tensors of {', '.join(map(str, types))} have no type in common") from None
    if target == mindspore.int8 and mindspore.uint8 in types:
        target = mindspore.int16
    if target == mindspore.complex64 and mindspore.float64 in types:
        target = mindspore.complex128
    return [t if t.dtype == target else _cast(t, target) for t in tensors]


#: Types that MindSpore moves no elements of -> what carries their bits.
_CARRIERS = {
    mindspore.bfloat16: mindspore.int16,
    mindspore.uint16: mindspore.int16,
    mindspore.uint32: mindspore.int32,
    mindspore.uint64: mindspore.int64,
}


def moved(function: Any, *tensors: Any) -> Any:
    """A function that only moves elements, on tensors of one dtype; by their bits where MindSpore has no kernel."""
    carrier = _CARRIERS.get(tensors[0].dtype)
    if carrier is None or not tensors[0].ndim:
        return function(*tensors)
    return function(*[t.contiguous().view(carrier) for t in tensors]).view(tensors[0].dtype)


@kernel("gather", half="native")
def gather(self: Any, dim: int, index: Any, sparse_grad: bool) -> Any:
    if not index.size:
        return mint.empty(tuple(index.shape), dtype=self.dtype)
    shape = tuple(index.shape)
    self, index = at_least_1d(self), at_least_1d(index)
    bounded(index, self.shape[dim], lambda wrong: refuse_picked(wrong, dim % self.ndim, self.shape[dim]))
    return moved(lambda t: mint.gather(t, dim, index), self).reshape(shape)


def at_least_1d(tensor: Any) -> Any:
    return tensor if tensor.ndim else tensor.reshape((1,))


def bounded(index: Any, size: int, refuse: Any, least: int = 0) -> None:
    """Refuse indices outside of least .. size - 1, by the first that is."""
    if not index.size or int(mint.min(index)) >= least and int(mint.max(index)) < size:
        return
    flat = index.reshape((-1,)).tolist()
    try:
        refuse(next(i for i in flat if not least <= i < size))
    except (IndexError, RuntimeError) as error:
        raise Refused(error) from None
