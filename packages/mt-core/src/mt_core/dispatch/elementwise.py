"""Executors of elementwise operators.

Contiguous tensors of one dtype that the kernel computes in directly take a path of a few lines (`_fast_unary`,
`_fast_binary`, `_fast_ternary`); everything else goes through `Elementwise.general`, which broadcasts, promotes, lays
the output out and converts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..cell import Cell, cell_of
from ..dtypes import ALL_DTYPES, complex32, dtype
from ..dtypes import bool as bool_dtype
from ..keys import BACKEND_MASK, STRIDED
from ..layout import broadcast_shapes, broadcast_strides, output_strides
from ..promotion import KEEP, Promotion, result_type_of
from ..spec import is_contiguous
from ..state import tls
from ..tensor import Tensor, new_tensor
from ..tensor_types import TENSORS
from .memory import check_no_internal_overlap, check_no_partial_overlap
from .registry import KernelDef, Overload

__all__ = ["Elementwise", "build", "build_inplace"]

#: Whether an array and a Python number compute in the array's dtype whatever the number (NumPy 2; before it, the value
#: and the number of dimensions had a say).
WEAKLY_TYPED = np.lib.NumpyVersion(np.__version__) >= "2.0.0"


class Elementwise:
    """One elementwise operator on one backend, for arguments of any layout and dtype."""

    def __init__(self, overload: Overload, kernel: KernelDef | None, backend: Any, keys: int) -> None:
        declaration = overload.declaration
        self.kernel = kernel
        self.backend = backend
        self.keys = keys
        self.promotion: Promotion = declaration.promotion  # type: ignore[assignment]
        self.check = declaration.check
        self.require = getattr(declaration.check, "require", None)
        arguments = overload.schema.arguments
        #: Positions of the operands: tensors, and Scalars that promote with them.
        self.operands_at = tuple(i for i, a in enumerate(arguments) if a.is_tensor or a.name in declaration.promotes)
        self.promoting = tuple(i for i in self.operands_at if arguments[i].name in declaration.promotes)

    def common_dtype(self, args: tuple[Any, ...]) -> dtype:
        """What the arguments promote to."""
        if self.promotion is KEEP:
            common: dtype = args[self.promoting[0]]._dtype
        else:
            common = result_type_of([args[i] for i in self.promoting])
        if self.check is not None:
            self.check(args, common)
        return common

    def dtypes(self, args: tuple[Any, ...], common: dtype) -> tuple[dtype, dtype]:
        """(dtype of the computation, dtype of the result)."""
        promotion = self.promotion.chosen(args)
        return promotion.compute(common), promotion.result(common)

    def tensors(self, args: tuple[Any, ...]) -> list[Tensor]:
        return [args[i] for i in self.operands_at if isinstance(args[i], Tensor)]

    def layout(self, args: tuple[Any, ...]) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
        """Shape of the result and its strides (None: row-major)."""
        tensors = self.tensors(args)
        check_same_device(tensors)
        shape = broadcast_shapes([t._array.shape for t in tensors])
        if not any(t._keys & STRIDED for t in tensors):
            return shape, None
        strides = output_strides(shape, [broadcast_strides(t._array.shape, t.stride(), shape) for t in tensors])
        return shape, None if is_contiguous(shape, strides) else strides

    def arrays(self, args: tuple[Any, ...], compute: dtype) -> list[Any]:
        """The arguments as the kernel takes them.

        Arrays of the computation dtype, numbers among them converted likewise.
        """
        backend = self.backend
        converted = list(args)
        for i in self.operands_at:
            value = args[i]
            if isinstance(value, Tensor):
                converted[i] = backend.cast(value._array, compute if i in self.promoting else value._dtype)
            elif value is not None:
                converted[i] = number_array(value, compute)
        return converted

    def compute_dtype(self, wanted: dtype) -> dtype:
        kernel = self.kernel
        return wanted.compute if kernel is not None and kernel.half == "float32" else wanted

    def general(self, *args: Any) -> Tensor:
        common = self.common_dtype(args)
        shape, strides = self.layout(args)
        if self.require is not None:
            self.require(args, common)
        compute, result = self.dtypes(args, common)
        backend = self.backend
        out = backend.empty(shape, result, strides, None)
        if self.kernel is not None:
            self.write(out, result, args, compute)
        return new_tensor(out, result, self.keys if strides is None else self.keys | STRIDED)

    def write(self, out: Any, result: dtype, args: tuple[Any, ...], compute: dtype) -> None:
        """Compute into the array `out` of dtype `result`."""
        kernel = self.kernel
        assert kernel is not None
        compute = self.compute_dtype(compute)
        arrays = self.arrays(args, compute)
        if kernel.ufunc and (result is compute or self.promotion.fixed_result is result):
            tls.quiet(_into, kernel.function, arrays, out)
        else:
            self.backend.copy(out, self.backend.as_array(tls.quiet(kernel.function, *arrays)))

    def general_inplace(self, self_: Tensor, *args: Any) -> Tensor:
        args = (self_, *args)
        common = self.common_dtype(args)
        compute, result = self.dtypes(args, common)
        shape, _ = self.layout(args)
        target = self_._dtype
        if shape != self_._array.shape:
            raise RuntimeError(f"output with shape {list(self_.shape)} doesn't match the broadcast shape {list(shape)}")
        if result is not target:
            from .executors import check_castable

            check_castable(result, target)
        if self.require is not None:
            self.require(args, common)
        check_no_internal_overlap(self_)
        for other in self.tensors(args)[1:]:
            check_no_partial_overlap(self_, other)
        if self.kernel is not None:
            # What is read may be what is written (x.add_(x.t())): the result is complete before it is stored.
            out = self.backend.empty(shape, target, None, None)
            self.write(out, target, args, compute)
            self.backend.copy(self_._array, out)
        cell_of(self_).version += 1
        return self_


def _into(function: Any, arrays: list[Any], out: Any) -> None:
    function(*arrays, out=out)


def check_same_device(tensors: list[Tensor]) -> None:
    """All tensors with dimensions on one device; 0-dim CPU tensors may join any.

    Raises
    ------
    RuntimeError
        In PyTorch's words.
    """
    if len(tensors) < 2:
        return
    first = next((t for t in tensors if t._array.ndim), tensors[0])
    for t in tensors:
        if (t._keys ^ first._keys) & BACKEND_MASK and not (t._array.ndim == 0 and t.device.type == "cpu"):
            raise different_devices(first, t)


def different_devices(first: Tensor, second: Tensor) -> RuntimeError:
    """The error for two tensors that would have to be on one device."""
    return RuntimeError(
        "Expected all tensors to be on the same device, but found at least two devices, "
        f"{first.device} and {second.device}!"
    )


def number_array(value: Any, compute: dtype) -> np.ndarray:
    """A Python number as a 0-dim array of a dtype, wrapping around where an integer does not fit, as PyTorch does.

    Raises
    ------
    OverflowError
        For integers beyond 64 bits.
    """
    if value.__class__ is int and not -(1 << 63) <= value < 1 << 64:
        raise OverflowError("int too big to convert")
    if compute.is_integral and isinstance(value, int) and not isinstance(value, bool):
        bits = compute.itemsize * 8
        value &= (1 << bits) - 1
        if compute.is_signed and value >> (bits - 1):
            value -= 1 << bits
    return np.asarray((value.real, value.imag) if compute is complex32 else value, compute.np)


def build(
    overload: Overload, kernel: KernelDef | None, backend: Any, keys: int, strided: bool
) -> Callable[..., Tensor]:
    """The executor for one operator; `strided` tells that some input is not contiguous."""
    operator = Elementwise(overload, kernel, backend, keys)
    operands = operator.operands_at
    if kernel is None or strided or operands != tuple(range(len(operands))):
        return operator.general
    tensors = overload.tensor_positions
    if tensors == (0,):
        fast = _fast_unary if len(operands) == 1 else _fast_with_numbers
        return fast(operator, overload, kernel, keys)
    if tensors != operands:
        return operator.general
    if len(tensors) == 2:
        return _fast_binary(operator, overload, kernel, keys)
    if len(tensors) == 3:
        return _fast_ternary(operator, overload, kernel, keys)
    return operator.general


def _finish(backend: Any, keys: int) -> Callable[[Any, dtype], Tensor]:
    array_type, as_array, cast = backend.array_type, backend.as_array, backend.cast

    def finish(value: Any, d: dtype) -> Tensor:
        if value.__class__ is not array_type:
            value = as_array(value)
        if value.dtype is not d.np:
            value = cast(value, d)
        return new_tensor(value, d, keys)

    return finish


def _directs(operator: Elementwise) -> dict[dtype, dtype]:
    """dtype of the inputs -> dtype of the result, where no conversion and no check is needed."""
    promotion, check = operator.promotion, operator.check
    unchecked = ALL_DTYPES if check is None else getattr(check, "unchecked", REAL_FLOATS)
    return {d: promotion.result(d) for d in unchecked if getattr(d, promotion.direct)}


def _guarded_defaults(operator: Elementwise, overload: Overload) -> tuple[Any, ...] | None:
    """The only parameters that need no check: their defaults; None where any parameters may go unchecked."""
    check = operator.check
    if check is None or getattr(check, "also", check) is None:
        return None
    return tuple(a.default for a in overload.schema.arguments[len(operator.operands_at) :])


def _fast_unary(operator: Elementwise, overload: Overload, kernel: KernelDef, keys: int) -> Callable[..., Tensor]:
    function, general, directs = kernel.function, operator.general, _directs(operator)
    array_type, as_array, finish = (
        operator.backend.array_type,
        operator.backend.as_array,
        _finish(operator.backend, keys),
    )
    if kernel.ufunc:

        def run(self: Tensor) -> Tensor:
            d = directs.get(self._dtype)
            if d is None:
                return general(self)
            value = tls.quiet(function, self._array)
            if value.__class__ is not array_type:
                value = as_array(value)
            return new_tensor(value, d, keys)

        return run

    guarded = _guarded_defaults(operator, overload)

    def run_params(self: Tensor, *params: Any) -> Tensor:
        d = directs.get(self._dtype)
        if d is None or guarded is not None and params != guarded:
            return general(self, *params)
        return finish(tls.quiet(function, self._array, *params), d)

    return run_params


def _fast_with_numbers(
    operator: Elementwise, overload: Overload, kernel: KernelDef, keys: int
) -> Callable[..., Tensor]:
    """A tensor, then numbers (or None) that promote with it, where they leave its dtype as it is."""
    general, directs = operator.general, _directs(operator)
    function, finish, last = kernel.function, _finish(operator.backend, keys), len(operator.operands_at) - 1

    def run(self: Tensor, *rest: Any) -> Tensor:
        d = directs.get(self._dtype)
        if d is None or not _all_take_dtype(rest[:last], self._dtype):
            return general(self, *rest)
        return finish(tls.quiet(function, self._array, *rest), d)

    return run


def _all_take_dtype(numbers: tuple[Any, ...], d: dtype) -> bool:
    """Whether each number takes the dtype or is None, and not all are None."""
    given = False
    for number in numbers:
        if number is not None:
            if not takes_dtype(number, d):
                return False
            given = True
    return given


def takes_dtype(number: Any, d: dtype) -> bool:
    """Whether a number beside a tensor takes the tensor's dtype, in PyTorch's promotion as in NumPy's.

    Integers moreover must fit every integer dtype: PyTorch wraps around those that do not.
    """
    cls = number.__class__
    return cls in WEAK_NUMBERS[d] and (cls is not int or 0 <= number <= 127)


def _fast_binary(operator: Elementwise, overload: Overload, kernel: KernelDef, keys: int) -> Callable[..., Tensor]:
    if operator.promoting != (0, 1):
        return operator.general
    extra = [a.default for a in overload.schema.arguments[2:]]
    if not kernel.ufunc and kernel.fast is None:
        return _fast_binary_with_parameters(operator, overload, kernel, keys)
    straight = _fast_binary_ufunc(operator, kernel, keys, extra)
    if not extra:
        return straight
    general = operator.general
    if len(extra) > 1:
        default = tuple(extra)
        return lambda self, other, *params: (
            straight(self, other) if params == default else general(self, other, *params)
        )
    only = extra[0]

    def run(self: Tensor, other: Any, parameter: Any) -> Tensor:
        return straight(self, other) if parameter is only else general(self, other, parameter)

    return run


def _fast_binary_ufunc(operator: Elementwise, kernel: KernelDef, keys: int, extra: list[Any]) -> Callable[..., Tensor]:
    general, directs = operator.general, _directs(operator)
    function = kernel.function if kernel.fast is None else kernel.fast
    array_type, as_array = operator.backend.array_type, operator.backend.as_array

    def straight(self: Tensor, other: Any) -> Tensor:
        d = self._dtype
        result = directs.get(d)
        if result is None:
            return general(self, other, *extra)
        if other.__class__ in NUMBERS:
            if not takes_dtype(other, d):
                return general(self, other, *extra)
            operand = other
        elif other._dtype is d:
            operand = other._array
        else:
            return general(self, other, *extra)
        try:
            value = tls.quiet(function, self._array, operand)
        except ValueError:  # shapes that do not broadcast: the general path says so in PyTorch's words
            return general(self, other, *extra)
        if value.__class__ is not array_type:
            value = as_array(value)
        return new_tensor(value, result, keys)

    return straight


def _fast_binary_with_parameters(
    operator: Elementwise, overload: Overload, kernel: KernelDef, keys: int
) -> Callable[..., Tensor]:
    general, directs, guarded = operator.general, _directs(operator), _guarded_defaults(operator, overload)
    function, finish = kernel.function, _finish(operator.backend, keys)

    def run(self: Tensor, other: Any, *params: Any) -> Tensor:
        d = self._dtype
        result = directs.get(d)
        if (
            result is None
            or other.__class__ not in TENSORS
            or other._dtype is not d
            or guarded is not None
            and params != guarded
        ):
            return general(self, other, *params)
        try:
            return finish(tls.quiet(function, self._array, other._array, *params), result)
        except ValueError:  # as above
            return general(self, other, *params)

    return run


def _fast_ternary(operator: Elementwise, overload: Overload, kernel: KernelDef, keys: int) -> Callable[..., Tensor]:
    general, directs, guarded = operator.general, _directs(operator), _guarded_defaults(operator, overload)
    function, finish = kernel.function, _finish(operator.backend, keys)
    first = 0 if 0 in operator.promoting else 1
    condition = first == 1

    def run(a: Any, b: Any, c: Any, *params: Any) -> Tensor:
        if b.__class__ not in TENSORS or a.__class__ not in TENSORS or guarded is not None and params != guarded:
            return general(a, b, c, *params)
        d = b._dtype
        result = directs.get(d)
        if result is None or a._dtype is not (bool_dtype if condition else d):
            return general(a, b, c, *params)
        if c.__class__ in TENSORS and c._dtype is d:
            last = c._array
        elif c.__class__ in NUMBERS and takes_dtype(c, d):
            last = c
        else:
            return general(a, b, c, *params)
        try:
            return finish(tls.quiet(function, a._array, b._array, last, *params), result)
        except ValueError:  # as in the binary path
            return general(a, b, c, *params)

    return run if operator.promoting in ((0, 1, 2), (1, 2)) else general


def build_inplace(overload: Overload, kernel: KernelDef | None, backend: Any, strided: bool) -> Callable[..., Tensor]:
    """The executor of the in-place form, from the functional kernel."""
    operator = Elementwise(overload, kernel, backend, 0)
    general = operator.general_inplace
    if kernel is None or strided:
        return general
    if kernel.inplace is not None:
        general = _inplace_kernel(general, kernel.inplace, len(overload.tensor_positions))
    if not kernel.ufunc and kernel.fast is None:
        return general
    function = kernel.function if kernel.fast is None else kernel.fast
    directs = frozenset(d for d, r in _directs(operator).items() if r is d)
    operands = operator.operands_at
    extra = tuple(a.default for a in overload.schema.arguments[len(operands):])  # fmt: skip
    if len(operands) == 1 and not extra:
        return _fast_inplace_unary(general, function, directs)
    if operands == operator.promoting == overload.tensor_positions == (0, 1):
        return _fast_inplace_binary(general, function, directs, extra)
    return general


def _fast_inplace_unary(general: Any, function: Any, directs: frozenset[dtype]) -> Callable[..., Tensor]:
    def run(self: Tensor) -> Tensor:
        if self._dtype not in directs:
            return general(self)
        array = self._array
        tls.quiet(function, array, array)
        cell = self._cell
        if cell is None:
            cell = self._cell = Cell(self)
        cell.version += 1
        return self

    return run


def _fast_inplace_binary(
    general: Any, function: Any, directs: frozenset[dtype], extra: tuple[Any, ...]
) -> Callable[..., Tensor]:
    def run(self: Tensor, other: Any, *params: Any) -> Tensor:
        d = self._dtype
        if d not in directs or params != extra:
            return general(self, other, *params)
        cell = self._cell
        if other.__class__ in NUMBERS:
            if not takes_dtype(other, d):
                return general(self, other, *params)
            operand = other
        elif other._dtype is d and (cell is None or other._cell is None):
            operand = other._array
        else:
            return general(self, other, *params)
        array = self._array
        try:
            tls.quiet(function, array, operand, out=array)
        except ValueError:  # the shapes do not fit: the general path says how
            return general(self, other, *params)
        if cell is None:
            cell = self._cell = Cell(self)
        cell.version += 1
        return self

    return run


def _inplace_kernel(general: Any, function: Any, tensors: int) -> Callable[..., Tensor]:
    """Tensors of one shape and one real floating dtype, then real numbers: the kernel writes where the first lies."""

    def run(self: Tensor, *rest: Any) -> Tensor:
        d = self._dtype
        others, numbers = rest[: tensors - 1], rest[tensors - 1 :]
        if (
            not d.native_real_float
            or not _stand_beside(self, others)
            or not REAL_NUMBERS.issuperset(map(type, numbers))
        ):
            return general(self, *rest)
        tls.quiet(function, self._array, *[other._array for other in others], *numbers)
        cell = self._cell
        if cell is None:
            cell = self._cell = Cell(self)
        cell.version += 1
        return self

    return run


def _stand_beside(self: Tensor, others: tuple[Any, ...]) -> bool:
    """Whether all are tensors of the first one's shape and dtype, each either itself or on other memory."""
    cell, shape = self._cell, self._array.shape
    for other in others:
        if other.__class__ not in TENSORS or other._dtype is not self._dtype or other._array.shape != shape:
            return False
        theirs = other._cell
        if other is not self and cell is not None and theirs is not None:
            if cell is theirs or cell.storage is not None and cell.storage is theirs.storage:
                return False
    return True


#: Classes of Python numbers that stand for 0-dim tensors.
NUMBERS = frozenset((bool, int, float, complex))
REAL_NUMBERS = frozenset((bool, int, float))
REAL_FLOATS = frozenset(d for d in ALL_DTYPES if d.native_real_float)
#: dtype -> classes of numbers that take it. A bool beside a number is rare, and refused by some operators.
WEAK_NUMBERS = {
    d: frozenset((int, float, complex)[: d.category] or (bool,)) if WEAKLY_TYPED else frozenset()
    for d in ALL_DTYPES
    if d.native
}
