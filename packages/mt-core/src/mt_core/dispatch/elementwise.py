"""Elementwise operators for arguments of any layout and dtype: `Elementwise` broadcasts, promotes and converts.

Most calls do not come here: `elementwise_paths` has the ways of a few lines for tensors of one dtype.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..cell import cell_of
from ..dtypes import (
    ALL_DTYPES,
    bfloat16,
    complex32,
    dtype,
    float8_e4m3fn,
    float8_e8m0fnu,
    float16,
    float32,
    float64,
    saturated,
)
from ..keys import BACKEND_MASK, OTHER_INDEX, STRIDED
from ..layout import broadcast_shapes, broadcast_strides, output_strides
from ..meta_array import contiguous_strides
from ..number_range import check_width
from ..promotion import KEEP, Promotion, result_type_of
from ..spec import is_contiguous
from ..state import run_quietly
from ..tensor import Tensor, new_tensor
from .kernel import Kernel, is_default, quiet
from .memory import check_no_internal_overlap, check_no_partial_overlap
from .registry import Overload
from .repeated_writes import Visits, visits
from .writing import check_castable

__all__ = [
    "NUMBERS", "Callee", "Elementwise", "check_same_device", "different_devices", "is_elsewhere", "native_dtypes",
    "number_array", "takes_dtype",
]  # fmt: skip

Callee = Callable[..., Any]

#: Classes of Python numbers that stand for 0-dim tensors.
NUMBERS = frozenset((bool, int, float, complex))
#: The dtypes that no operator's check refuses.
REAL_FLOATS = frozenset((bfloat16, float16, float32, float64))
#: What a backend computes in that does not say: NumPy's dtypes.
_NUMPY_NATIVE = frozenset(d for d in ALL_DTYPES if d.native)
#: Whether a NumPy array and a Python number compute in the array's dtype whatever the number (NumPy 2; before it, the
#: value and the number of dimensions had a say).
_NUMPY_IS_WEAK = np.lib.NumpyVersion(np.__version__) >= "2.0.0"


def native_dtypes(backend: Any) -> frozenset[dtype]:
    """The dtypes that a backend's kernels compute in (`Backend.native`)."""
    return getattr(backend, "native", _NUMPY_NATIVE)


def weak_numbers(backend: Any) -> dict[dtype, frozenset[type]]:
    """dtype -> the classes of numbers that a kernel may be given beside arrays of it, and that leave it as it is.

    A bool beside a number is rare, and refused by some operators.
    """
    if not getattr(backend, "weak_numbers", _NUMPY_IS_WEAK):
        return {}
    return {d: frozenset((int, float, complex)[: d.category] or (bool,)) for d in native_dtypes(backend)}


class Elementwise:
    """One elementwise operator on one backend, for arguments of any layout and dtype."""

    def __init__(
        self, overload: Overload, kernels: list[Kernel], otherwise: Callee | None, backend: Any, keys: int
    ) -> None:
        declaration = overload.declaration
        self.kernels = kernels
        self.otherwise = otherwise
        self.overload = overload
        self.backend = backend
        self.keys = keys
        self.promotion: Promotion = declaration.promotion  # type: ignore[assignment]
        self.check = declaration.check
        self.require = getattr(declaration.check, "require", None)
        self.native = native_dtypes(backend)
        self.weak = weak_numbers(backend)
        arguments = overload.schema.arguments
        self.names = tuple(a.name for a in arguments)
        self.defaults = {a.name: a.default for a in arguments}
        #: Positions of the operands: tensors, and Scalars that promote with them.
        self.operands_at = tuple(i for i, a in enumerate(arguments) if a.is_tensor or a.name in declaration.promotes)
        self.promoting = tuple(i for i in self.operands_at if arguments[i].name in declaration.promotes)
        #: PyTorch makes the result of a power of a number before it looks at how the exponent is laid out.
        self.row_major = overload.name == "pow.Scalar"
        others = [i for i in self.operands_at if arguments[i].name == "other"]
        #: Where a number stands for a tensor: beside "other", the first choice of a condition.
        self.others = tuple(i for i in self.operands_at if others and 0 < i <= others[0])
        self.wide = frozenset(arguments.index(a) for a in arguments if a.name in declaration.wide)
        #: Positions of parameters that are stored as elements are.
        self.stored: tuple[int, ...] = getattr(declaration.check, "stored", ())
        self.functions = {id(kernel): quiet(kernel, backend) for kernel in kernels}
        self.number = getattr(backend, "number", _numpy_number)
        self.fills_by_copying = getattr(backend, "fills_by_copying", False)

    # dtypes

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

    def direct(self, kernel: Kernel) -> dict[dtype, dtype]:
        """dtype of the operands -> dtype of the result, where a kernel needs no conversion and the call no check."""
        promotion, check = self.promotion, self.check
        unchecked = ALL_DTYPES if check is None else getattr(check, "unchecked", REAL_FLOATS)
        accepted = kernel.accepts.dtypes
        return {
            d: promotion.result(d)
            for d in unchecked
            if promotion.is_direct(d)
            and d in self.native
            and (accepted is None or d in accepted)
            and not (kernel.half == "float32" and d.compute is not d)
        }

    # Arguments

    def tensors(self, args: tuple[Any, ...]) -> list[Tensor]:
        return [args[i] for i in self.operands_at if isinstance(args[i], Tensor)]

    def layout(self, args: tuple[Any, ...]) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
        """Shape of the result and its strides (None: row-major)."""
        tensors = self.tensors(args)
        check_same_device(tensors)
        shape = broadcast_shapes([t._array.shape for t in tensors])
        if self.row_major:
            return shape, None
        # Row-major tensors may have any strides along dimensions of size 1, or none: those count beside other shapes.
        plain = not any(t._keys & STRIDED for t in tensors)
        if plain and 1 not in shape and 0 not in shape:
            return shape, None
        alike = all(t._array.shape == shape for t in tensors) and not (shape and self.number_widened(args))
        if plain and alike:
            return shape, None
        given = [broadcast_strides(t._array.shape, t.stride(), shape) for t in tensors]
        strides = output_strides(shape, given, alike)
        return shape, None if strides == contiguous_strides(shape) else strides

    def number_widened(self, args: tuple[Any, ...]) -> bool:
        """Whether a number stands in the place of a later tensor: PyTorch broadcasts one without dimensions."""
        return any(not isinstance(args[i], Tensor) for i in self.others)

    def arrays(self, kernel: Kernel, args: tuple[Any, ...], asked: dtype) -> list[Any]:
        """The arguments as the kernel takes them: arrays of the dtype it computes in, numbers converted likewise.

        What the kernel accepts at its default only is left out.
        """
        compute = self.compute_dtype(kernel, asked)
        if compute is not asked:
            args = self.rounded(args, asked)
        converted = list(args)
        for i in self.operands_at:
            value = args[i]
            if isinstance(value, Tensor):
                wanted = compute if i in self.promoting else value._dtype
                if isinstance(value._array, self.backend.array_type):
                    converted[i] = self.backend.cast(value._array, wanted)
                else:  # of no dimensions, on the CPU (`several_devices`)
                    converted[i] = self.number(value.item(), wanted)
            elif value is not None:
                converted[i] = self.number(value, compute)
        dropped = kernel.accepts.defaults
        return (
            [v for v, name in zip(converted, self.names, strict=True) if name not in dropped] if dropped else converted
        )

    def rounded(self, args: tuple[Any, ...], half: dtype) -> tuple[Any, ...]:
        """The arguments as a half type holds them, for a kernel that computes in a wider one.

        Operands promote to the half type before they are widened, but for single elements that PyTorch's loops take as
        a number (`wide`); numbers that are stored as elements round too.
        """
        found = list(args)
        for i in (*self.promoting, *self.stored):
            value = args[i]
            is_tensor = isinstance(value, Tensor)
            if value is None or is_tensor and value._dtype is half:
                continue
            if i in self.wide and not (is_tensor and value.numel() != 1):
                continue
            if is_tensor and isinstance(value._array, self.backend.array_type):
                found[i] = new_tensor(self.backend.cast(value._array, half), half, value._keys)
            else:
                found[i] = as_held(value.item() if is_tensor else value, half)
        return tuple(found)

    def compute_dtype(self, kernel: Kernel, wanted: dtype) -> dtype:
        """The dtype that a kernel computes in where `wanted` is asked for: half types may have to be widened."""
        if kernel.half == "native" or kernel.half is None and wanted in self.native:
            return wanted
        return wanted.compute

    def chosen(self, args: tuple[Any, ...], compute: dtype) -> Kernel | None:
        """The first kernel that accepts the call, its operands taken as promoted."""
        for kernel in self.kernels:
            accepts = kernel.accepts
            if accepts.everything() or (
                (accepts.dtypes is None or self.compute_dtype(kernel, compute) in accepts.dtypes)
                and self._others_accepted(kernel, args)
            ):
                return kernel
        return None

    def _others_accepted(self, kernel: Kernel, args: tuple[Any, ...]) -> bool:
        """What `Accepts.takes` tests, but for dtypes, which are promoted first."""
        accepts = kernel.accepts
        for name, value in zip(self.names, args, strict=True):
            if name in accepts.defaults and not is_default(value, self.defaults[name]):
                return False
            if name in accepts.ranks and isinstance(value, Tensor) and value._array.ndim not in accepts.ranks[name]:
                return False
            if accepts.layout == "row_major" and isinstance(value, Tensor) and value._keys & STRIDED:
                return False
        return accepts.also is None or bool(accepts.also(*args))

    # The general path

    def general(self, *args: Any) -> Any:
        common = self.common_dtype(args)
        shape, strides = self.layout(args)
        if self.require is not None:
            self.require(args, common)
        compute, result = self.dtypes(args, common)
        kernel = self.chosen(args, compute)
        if kernel is None and self.kernels:
            return self.unaccepted(args)
        backend = self.backend
        if self.fills_by_copying and kernel is not None and strides is None:
            out = self.computed(kernel, shape, result, args, compute)
        else:
            out = backend.empty(shape, result, strides, self.index(args))
            if kernel is not None:
                self.write(kernel, out, result, args, compute)
        strided = strides is not None and not is_contiguous(shape, strides)
        return new_tensor(out, result, self.keys | STRIDED if strided else self.keys)

    def unaccepted(self, args: tuple[Any, ...]) -> Any:
        """What happens to a call that no kernel takes."""
        if self.otherwise is not None:
            return self.otherwise(*args)
        raise NotImplementedError(
            f"no kernel of {self.overload.qualified_name} on {self.tensors(args)[0].device} takes tensors of "
            + ", ".join(f"{t.dtype} {list(t.shape)}" for t in self.tensors(args))
        )

    def index(self, args: tuple[Any, ...]) -> int | None:
        """The device index of the operands that are on this backend."""
        backend = self.backend
        for tensor in self.tensors(args):
            if isinstance(tensor._array, backend.array_type):
                return backend.index_of(tensor._array)
        return None

    def write(self, kernel: Kernel, out: Any, result: dtype, args: tuple[Any, ...], compute: dtype) -> None:
        """Compute into the array `out` of dtype `result`."""
        arrays = self.arrays(kernel, args, compute)
        compute = self.compute_dtype(kernel, compute)
        function = self.functions[id(kernel)]
        if kernel.out == "fills" and (result is compute or self.promotion.fixed_result is result):
            function(*arrays, out=out)
        else:
            self.backend.copy(out, self.backend.as_array(function(*arrays)))

    def computed(
        self, kernel: Kernel, shape: tuple[int, ...], result: dtype, args: tuple[Any, ...], compute: dtype
    ) -> Any:
        """The array that a kernel gives, row by row and of dtype `result`."""
        backend = self.backend
        value = self.value(kernel, args, compute)
        if tuple(value.shape) == shape and backend.is_contiguous(value):
            return backend.cast(value, result)
        out = backend.empty(shape, result, None, self.index(args))
        backend.copy(out, value)
        return out

    def value(self, kernel: Kernel, args: tuple[Any, ...], compute: dtype) -> Any:
        """A fresh array of what a kernel calculates."""
        return self.backend.as_array(self.functions[id(kernel)](*self.arrays(kernel, args, compute)))

    def general_inplace(self, self_: Tensor, *args: Any) -> Any:
        args = (self_, *args)
        check_no_internal_overlap(self_)
        for other in self.tensors(args)[1:]:
            check_no_partial_overlap(self_, other)
        common = self.common_dtype(args)
        compute, result = self.dtypes(args, common)
        shape, _ = self.layout(args)
        target = self_._dtype
        if shape != self_._array.shape:
            raise RuntimeError(f"output with shape {list(self_.shape)} doesn't match the broadcast shape {list(shape)}")
        if result is not target:
            check_castable(result, target)
        if self.require is not None:
            self.require(args, common)
        kernel = self.chosen(args, compute)
        if kernel is None and self.kernels:
            return self.unaccepted(args)
        if kernel is not None:
            order = visits(shape, self_.stride()) if self_._keys & STRIDED and self_._array.size else None
            # What is read may be what is written (x.add_(x.t())): the result is complete before it is stored.
            if order is None and self.fills_by_copying:
                out = self.computed(kernel, shape, target, args, compute)
            elif order is None:
                out = self.backend.empty(shape, target, None, self.index(args))
                self.write(kernel, out, target, args, compute)
            else:
                out = self.written_in_turn(kernel, order, target, args, compute)
            self.backend.copy(self_._array, out)
        cell_of(self_).version += 1
        return self_

    def written_in_turn(
        self, kernel: Kernel, order: Visits, target: dtype, args: tuple[Any, ...], compute: dtype
    ) -> Any:
        """What the first argument holds after an operator wrote to it index by index; the order is kept on the host."""
        backend, shape, index = self.backend, args[0]._array.shape, self.index(args)
        held = backend.to_host(args[0]._array).reshape(-1)[order.first]
        others = {
            i: np.broadcast_to(backend.to_host(args[i]._array), shape).reshape(-1)
            for i in self.operands_at[1:]
            if isinstance(args[i], Tensor) and args[i].numel() != 1
        }
        given = list(args)
        for at in order.rounds():
            for i, elements in ((0, held[order.location[at]]), *((i, array[at]) for i, array in others.items())):
                array = backend.from_host(elements, args[i]._dtype, index)
                given[i] = new_tensor(array, args[i]._dtype, args[i]._keys & ~STRIDED)
            out = backend.empty(at.shape, target, None, index)
            self.write(kernel, out, target, tuple(given), compute)
            held[order.location[at]] = backend.to_host(out)
        return backend.from_host(held[order.location].reshape(shape), target, index)


def _numpy_number(value: Any, compute: dtype) -> Any:
    """A number as a NumPy scalar: array libraries other than NumPy refuse host arrays among their operands."""
    return number_array(value, compute)[()]


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
        if (t._keys ^ first._keys) & BACKEND_MASK:
            if not (t._array.ndim == 0 and t.device.type == "cpu"):
                raise different_devices(first, t)
        elif (t._keys | first._keys) & OTHER_INDEX and t.device != first.device:
            raise different_devices(first, t)


def is_elsewhere(out: Tensor, tensors: list[Tensor]) -> bool:
    """Whether what is to be written lies on another device than the tensors of the call."""
    if not tensors:
        return False
    keys = out._keys ^ tensors[0]._keys
    either = out._keys | tensors[0]._keys
    return bool(keys & BACKEND_MASK) or bool(either & OTHER_INDEX and out.device != tensors[0].device)


def different_devices(first: Tensor, second: Tensor) -> RuntimeError:
    """The error for two tensors that would have to be on one device."""
    return RuntimeError(
        "Expected all tensors to be on the same device, but found at least two devices, "
        f"{first.device} and {second.device}!"
    )


#: The largest number of float16: smaller ones overflow nowhere.
_TAME = 65504


def number_array(value: Any, compute: dtype) -> np.ndarray:
    """A Python number as a 0-dim array of a dtype, wrapping around where an integer does not fit, as PyTorch does.

    Raises
    ------
    OverflowError
        For integers beyond 64 bits.
    """
    check_width(value)
    if compute.is_integral and isinstance(value, int) and not isinstance(value, bool):
        bits = compute.itemsize * 8
        value &= (1 << bits) - 1
        if compute.is_signed and value >> (bits - 1):
            value -= 1 << bits
    if compute is float8_e4m3fn or compute is float8_e8m0fnu:
        return run_quietly(saturated(np.asarray(value), compute.numpy_dtype).astype, compute.numpy_dtype)
    if compute.compute is not compute and type(value) is int:
        value = float(value)  # NumPy's extension types take no integers beyond 64 bits with a sign
    stored = (value.real, value.imag) if compute is complex32 else value
    if abs(value) > _TAME:  # which may become infinity, without NumPy's warning
        return run_quietly(np.asarray, stored, compute.numpy_dtype)
    return np.asarray(stored, compute.numpy_dtype)


def as_held(number: Any, half: dtype) -> Any:
    """A Python number as a half type holds it, which may be infinite."""
    held = number_array(number, half)
    if half is complex32:  # a structure of two parts, which NumPy casts to no number
        return complex(*held.item())
    return held.astype(half.compute.numpy_dtype).item()


def takes_dtype(number: Any, d: dtype, weak: dict[dtype, frozenset[type]]) -> bool:
    """Whether a number beside a tensor takes the tensor's dtype, in PyTorch's promotion as in the backend's.

    Integers moreover must fit every integer dtype: PyTorch wraps around those that do not.
    """
    cls = number.__class__
    return cls in weak.get(d, ()) and (cls is not int or 0 <= number <= 127)
