"""Making and copying tensors on any backend."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..cell import cell_of
from ..deprecation import warn_once
from ..determinism import DETERMINISM, filler_of
from ..devices import BACKENDS, device, index_flag
from ..dispatch.dispatcher import backend_for, backend_key_for
from ..dispatch.memory import check_no_internal_overlap, is_dense
from ..dispatch.registry import register_contract_kernel as contract_kernel
from ..dispatched_members import plain_item
from ..dtypes import dtype, saturated
from ..factories import check_options
from ..formats import (
    channels_last,
    channels_last_3d,
    memory_format,
    preserve_format,
    sparse_coo,
    sparse_csc,
    sparse_csr,
)
from ..keys import BACKEND_MASK, CPU, META, OTHER_INDEX, STRIDED
from ..layout import broadcast_shapes, channels_last_strides, dense_order, ordered_strides
from ..number_range import check_fill
from ..pinned import can_pin, is_pinned, pinned_array
from ..plugins.runtime_access import has_part, require
from ..promotion import dtype_of_number
from ..spec import is_contiguous
from ..state import mode_triple, run_quietly, tls
from ..tensor import Tensor, new_tensor

Ints = tuple[int, ...]

#: The key bits that say where a tensor is.
_PLACE = BACKEND_MASK | OTHER_INDEX


def allocate(
    shape: Ints, d: dtype, where: device | None, strides: Ints | None = None, like: Tensor | None = None
) -> Tensor:
    """An uninitialized tensor on a device, or on that of `like`.

    Raises
    ------
    RuntimeError
        For a negative size.
    """
    for n in shape:  # each by itself: of symbolic sizes, comparing one with another would be relied on
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(shape)}")
    if where is None and (like is not None or tls.default_device is None):
        key = CPU if like is None else like._keys & BACKEND_MASK
        if key == CPU and strides is None and not tls.mode:
            return new_tensor((BACKENDS.get(CPU) or backend_for(CPU)).empty(tuple(shape), d, None, None), d, CPU)
        index = None if key == CPU else like.device.index  # type: ignore[union-attr]
    else:
        wanted = where or tls.default_device
        key, index = backend_key_for(wanted), None if wanted is None else wanted.index
    mode = tls.mode
    flags = mode_triple(mode)[2] if mode else 0
    if strides is not None and is_contiguous(shape, strides):
        ordinary = all(n != 1 for n in shape) and 0 not in shape
        strides = None if ordinary else strides
    elif strides is not None:
        flags |= STRIDED
    backend = BACKENDS.get(key) or backend_for(key)
    array = backend.empty(shape if shape.__class__ is tuple else tuple(shape), d, strides, index)
    if key != CPU:
        flags |= index_flag(backend, array)
    return new_tensor(array, d, key | flags)


def unwritten(result: Tensor) -> Tensor:
    """A result whose elements mean nothing; with deterministic algorithms they are always the same."""
    if DETERMINISM.fills and result._keys & BACKEND_MASK != META:
        write_number(result, filler_of(result._dtype))
    return result


def strides_for(format_: memory_format | None, shape: Ints) -> Ints | None:
    """Strides that a memory format gives a fresh tensor; None for row-major."""
    if format_ in (channels_last, channels_last_3d):
        return channels_last_strides(shape, format_)
    return None


def _is_plain(tensor: Tensor) -> bool:
    """Whether the strides are those that a new row-major tensor has, along dimensions of size 1 as well."""
    if tensor._keys & STRIDED:
        return False
    array = tensor._array
    if 1 not in array.shape and array.size:
        return True
    step = array.itemsize
    for size, stride in zip(reversed(array.shape), reversed(array.strides), strict=True):
        if stride != step:
            return False
        step *= size or 1
    return True


def strides_like(tensor: Tensor, format_: memory_format | None) -> Ints | None:
    """Strides of a copy: those of the tensor when it is dense and they are to be preserved."""
    if format_ is not None and format_ is not preserve_format:
        return strides_for(format_, tensor._array.shape)
    if _is_plain(tensor):
        return None
    shape, strides = tensor._array.shape, tensor.stride()
    return strides if 0 in shape or is_dense(tensor) else ordered_strides(shape, dense_order(shape, [strides]))


#: Factories of zeros make tensors of these without values.
SPARSE_LAYOUTS = (sparse_coo, sparse_csr, sparse_csc)


@contract_kernel("empty.memory_format")
def empty(size: Ints, dtype: Any, layout: Any, device: Any, pin_memory: Any, memory_format: Any) -> Tensor:
    """-> size, whose elements mean nothing; strides of the memory format."""
    if layout is not None or pin_memory:
        if layout in SPARSE_LAYOUTS:
            return _without_values(size, dtype, layout, device)
        check_options(layout, pin_memory)
    if memory_format is None:
        return unwritten(allocate(size, dtype or dtypes.get_default_dtype(), device))
    if memory_format is preserve_format:
        raise RuntimeError("unsupported memory format option Preserve")
    return unwritten(allocate(size, dtype or dtypes.get_default_dtype(), device, strides_for(memory_format, size)))


@contract_kernel("empty_strided")
def empty_strided(size: Ints, stride: Ints, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Tensor:
    """-> size, whose elements mean nothing, with these strides."""
    if layout is not None or pin_memory:
        check_options(layout, pin_memory)
    _check_strides(size, stride)
    return unwritten(allocate(size, dtype or dtypes.get_default_dtype(), device, stride))


def _check_strides(size: Ints, stride: Ints) -> None:
    """Refuse strides that do not go with the sizes, or run backwards."""
    if len(size) != len(stride):
        raise RuntimeError(
            f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(stride)})"
        )
    if any(s < 0 for s in stride):
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")


def _filled(result: Tensor, value: Any) -> Tensor:
    write_number(result, value)
    return result


def _filled_anew(shape: Ints, d: dtype, where: device | None, like: Tensor | None, number: int) -> Tensor:
    """Zeros or ones, row by row."""
    if number == 0 and where is None and not tls.mode and (not shape or min(shape) >= 0):
        key = like._keys & _PLACE if like is not None else CPU if tls.default_device is None else 0
        zeros_of = getattr(BACKENDS.get(key), "zeros", None)
        if zeros_of is not None:
            return new_tensor(zeros_of(shape, d), d, key)
    result = allocate(shape, d, where, None, like)
    keys = result._keys
    backend = BACKENDS.get(keys & BACKEND_MASK)
    zeros_of = getattr(backend, "zeros", None)
    if number == 0 and zeros_of is not None and not keys & OTHER_INDEX:
        result._array = zeros_of(tuple(result._array.shape), d)  # zero bytes, in dtypes without a zero too
        return result
    fill = getattr(backend, "fill", None)
    if fill is None or not _is_one(d):
        return _filled(result, number)
    fill(result._array, number, d)
    return result


def _is_one(d: dtype) -> bool:
    """Whether an element is one number to a backend, and not a pair of halves."""
    return d.native or not d.is_complex


def write_number(tensor: Tensor, value: Any) -> None:
    """Set every element of a tensor to a Python number.

    Raises
    ------
    RuntimeError
        When the number does not fit the dtype, in PyTorch's words.
    """
    d = tensor._dtype
    backend = tensor._backend
    fill = getattr(backend, "fill", None)
    if fill is not None and _fits_at_once(value, d):
        fill(tensor._array, value, d)
        return
    check_fill(value, d, tensor.numel())
    number = _element(value, d)
    if fill is not None:
        fill(tensor._array, number, d)
    else:
        backend.copy(tensor._array, backend.from_host(number, d, backend.index_of(tensor._array)))


def _fits_at_once(value: Any, d: dtype) -> bool:
    """Whether a number needs neither checks nor conversion: a float in the range of float32, or 0 or 1."""
    if value.__class__ is float:
        return d.native_real_float and -3e38 < value < 3e38
    return value.__class__ is int and 0 <= value <= 1 and _is_one(d) and d is not dtypes.float8_e8m0fnu


def _element(value: Any, d: dtype) -> np.ndarray:
    """A number as a 0-dim host array; unsigned types take negative numbers modulo their range."""
    if d.is_complex and not d.native:
        return np.asarray((complex(value).real, complex(value).imag), d.numpy_dtype)
    if not d.is_complex and isinstance(value, complex):
        value = bool(value) if d is dtypes.bool else value.real
    if d.is_integral and not d.is_signed and value < 0:
        value = int(value) % (1 << d.itemsize * 8)
    return run_quietly(saturated(np.asarray(value), d.numpy_dtype).astype, d.numpy_dtype)


def _without_values(size: Ints, dtype: Any, layout: Any, device: Any) -> Tensor:
    from ..sparse.construct import without_values  # lazy: few programs ask for such layouts

    return without_values(size, dtype, layout, device)


@contract_kernel("zeros")
def zeros(size: Ints, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Tensor:
    """-> size."""
    if layout is not None or pin_memory:
        if layout in SPARSE_LAYOUTS:
            return _without_values(size, dtype, layout, device)
        check_options(layout, pin_memory)
    for n in size:
        if n < 0:
            raise RuntimeError("zeros: Dimension size must be non-negative.")
    return _filled_anew(size, dtype or dtypes.get_default_dtype(), device, None, 0)


@contract_kernel("ones")
def ones(size: Ints, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Tensor:
    """-> size."""
    if layout is not None or pin_memory:
        check_options(layout, pin_memory)
    return _filled_anew(size, dtype or dtypes.get_default_dtype(), device, None, 1)


@contract_kernel("full")
def full(size: Ints, fill_value: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Tensor:
    """-> size; the dtype of `fill_value` unless told."""
    if layout is not None or pin_memory:
        check_options(layout, pin_memory)
    d = dtype or dtype_of_number(fill_value)
    if dtype is None and d is dtypes.complex32:  # `tensor` makes these where the default dtype is a half one
        d = dtypes.complex64
    return _filled(allocate(size, d, device), fill_value)


@contract_kernel("scalar_tensor")
def scalar_tensor(s: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Tensor:
    """-> ()."""
    return full((), s, dtype or dtypes.get_default_dtype(), layout, device, pin_memory)


@contract_kernel("empty_like")
def empty_like(self: Tensor, dtype: Any, layout: Any, device: Any, pin_memory: Any, memory_format: Any) -> Tensor:
    """self (*) -> (*), laid out like self unless told; elements mean nothing."""
    if layout is not None or pin_memory:
        check_options(layout, pin_memory)
    strides = strides_like(self, memory_format)
    return unwritten(allocate(self._array.shape, dtype or self._dtype, device, strides, like=self))


@contract_kernel("zeros_like")
def zeros_like(self: Tensor, dtype: Any, layout: Any, device: Any, pin_memory: Any, memory_format: Any) -> Tensor:
    """self (*) -> (*), laid out like self unless told."""
    if layout is None and not pin_memory and memory_format is None and _is_plain(self):
        return _filled_anew(self._array.shape, dtype or self._dtype, device, self, 0)
    return _filled(empty_like(self, dtype, layout, device, pin_memory, memory_format), 0)


@contract_kernel("ones_like")
def ones_like(self: Tensor, dtype: Any, layout: Any, device: Any, pin_memory: Any, memory_format: Any) -> Tensor:
    """self (*) -> (*), laid out like self unless told."""
    if layout is None and not pin_memory and memory_format is None and _is_plain(self):
        return _filled_anew(self._array.shape, dtype or self._dtype, device, self, 1)
    return _filled(empty_like(self, dtype, layout, device, pin_memory, memory_format), 1)


@contract_kernel("full_like")
def full_like(self: Tensor, fill_value: Any, *options: Any) -> Tensor:
    """self (*) -> (*), laid out like self unless told."""
    return _filled(empty_like(self, *options), fill_value)


@contract_kernel("new_empty")
def new_empty(self: Tensor, size: Ints, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Tensor:
    """-> size, of self's dtype and device unless told; elements mean nothing."""
    if layout is not None or pin_memory:
        check_options(layout, pin_memory)
    return unwritten(allocate(size, dtype or self._dtype, device, like=self))


@contract_kernel("new_empty_strided")
def new_empty_strided(
    self: Tensor, size: Ints, stride: Ints, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> Tensor:
    """-> size with these strides, of self's dtype and device unless told; elements mean nothing."""
    if layout is not None or pin_memory:
        check_options(layout, pin_memory)
    _check_strides(size, stride)
    return unwritten(allocate(size, dtype or self._dtype, device, stride, like=self))


@contract_kernel("new_zeros")
def new_zeros(self: Tensor, size: Ints, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Tensor:
    """-> size, of self's dtype and device unless told."""
    if layout is not None or pin_memory:
        check_options(layout, pin_memory)
    return _filled_anew(size, dtype or self._dtype, device, self, 0)


@contract_kernel("new_ones")
def new_ones(self: Tensor, size: Ints, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Tensor:
    """-> size, of self's dtype and device unless told."""
    if layout is not None or pin_memory:
        check_options(layout, pin_memory)
    return _filled_anew(size, dtype or self._dtype, device, self, 1)


@contract_kernel("new_full")
def new_full(self: Tensor, size: Ints, fill_value: Any, *options: Any) -> Tensor:
    """-> size, of self's dtype and device unless told."""
    return _filled(new_empty(self, size, *options), fill_value)


@contract_kernel("clone")
def clone(self: Tensor, memory_format: Any) -> Tensor:
    """self (*) -> (*), laid out like self unless told."""
    keys = self._keys
    backend = backend_for(keys & BACKEND_MASK)
    shape, strides, strided = self._array.shape, None, 0
    if memory_format is not None or not _is_plain(self):
        strides = strides_like(self, memory_format)
        if strides is not None and not is_contiguous(shape, strides):
            strided = STRIDED
    array = backend.empty(shape, self._dtype, strides, backend.index_of(self._array))
    backend.copy(array, self._array)
    flags = mode_triple(tls.mode)[2] | keys & OTHER_INDEX | strided
    return new_tensor(array, self._dtype, (keys & BACKEND_MASK) | flags)


@contract_kernel("_to_copy")
def to_copy(
    self: Tensor, dtype: Any, layout: Any, device: Any, pin_memory: Any, non_blocking: bool, memory_format: Any
) -> Tensor:
    """self (*) -> (*), of another dtype, device or layout."""
    if layout is not None or pin_memory:
        check_options(layout, pin_memory)
    if self._dtype.is_complex and dtype is not None:
        warn_of_lost_part(self._dtype, dtype)
    keys = self._keys
    stays = device is None and memory_format is None and _is_plain(self)
    if stays and dtype is not None and dtype is not self._dtype:
        converted = backend_for(keys & BACKEND_MASK).cast(self._array, dtype)
        return new_tensor(converted, dtype, keys & _PLACE | mode_triple(tls.mode)[2])
    result = allocate(self._array.shape, dtype or self._dtype, device, strides_like(self, memory_format), like=self)
    if non_blocking and result._keys & CPU and not self._keys & (CPU | META) and can_pin():
        result._array = pinned_array(
            result._array.shape, result._dtype.numpy_dtype, result._array.strides, "non_blocking=True"
        )
    transfer(result, self, non_blocking)
    return result


def warn_of_lost_part(source: dtype, target: dtype) -> None:
    """Warn, once, that numbers lose their imaginary part; whether one is true takes both into account."""
    if source.is_complex and not target.is_complex and target is not dtypes.bool:
        warn_once("Casting complex values to real discards the imaginary part", stacklevel=4)


def transfer(target: Tensor, source: Tensor, non_blocking: bool = False) -> None:
    """Write the source's elements into the target, across device types by way of the host.

    With `non_blocking` the copy between pinned memory of the host and a device is left to the current stream.
    """
    if non_blocking and copy_behind(target, source):
        return
    backend = target._backend
    if (target._keys ^ source._keys) & BACKEND_MASK:
        host = source._backend.to_host(source._array)
        array = backend.from_host(np.ascontiguousarray(host) if host.ndim else host, source._dtype, target.device.index)
    elif target._keys & (CPU | META):
        array = source._array
    else:
        copy_on_device(backend, target._array, source._array)
        return
    backend.copy(target._array, array)


def copy_on_device(backend: Any, target: Any, source: Any) -> None:
    """Copy an array, from one device of a type to another too: the current streams of the two wait for each other.

    The target's waits for what the source is still being written by, and the source's for the copy, before it writes
    on.
    """
    here, there = backend.index_of(source), backend.index_of(target)
    ordered = here != there and has_part(backend.device_type, "streams")
    if ordered:
        _let_wait(backend, there, here)
    backend.copy(target, source)
    if ordered:
        _let_wait(backend, here, there)


def _let_wait(backend: Any, waiting: int, awaited: int) -> None:
    """Let the current stream of a device wait for that of another."""
    runtime = require(backend.device_type, "streams", "a copy between devices")
    event = runtime.event(awaited, False, False, False)
    event.record(runtime.current_stream(awaited))
    runtime.current_stream(waiting).wait(event)


def copy_behind(target: Tensor, source: Tensor) -> bool:
    """Give the copy between pinned memory and a device to its current stream; False where it cannot be done so."""
    upwards = source._keys & CPU != 0
    device, host = (target, source) if upwards else (source, target)
    if not host._keys & CPU or device._keys & (CPU | META) or source._dtype is not target._dtype:
        return False
    kind = device.device.type
    if not has_part(kind, "pinned memory") or not is_pinned(host):
        return False
    runtime = require(kind, "pinned memory", "non_blocking=True")
    (runtime.copy_from_host if upwards else runtime.copy_to_host)(target._array, source._array)
    return True


@contract_kernel("copy_")
def copy_(self: Tensor, src: Tensor, non_blocking: bool) -> Tensor:
    """self (*), src broadcast to it -> self, written into."""
    if src is self:  # wherever its elements lie
        cell_of(self).version += 1
        return self
    if self._keys & STRIDED:
        check_no_internal_overlap(self)
    shape = self._array.shape
    if src._array.shape != shape:
        common = broadcast_shapes([shape, src._array.shape])
        if common != tuple(shape):
            raise RuntimeError(f"output with shape {list(shape)} doesn't match the broadcast shape {list(common)}")
        src = src.detach().expand(shape)
    if src._dtype.is_complex:
        warn_of_lost_part(src._dtype, self._dtype)
    transfer(self, src, non_blocking)
    cell_of(self).version += 1
    return self


@contract_kernel("fill_.Scalar")
def fill_(self: Tensor, value: Any) -> Tensor:
    """self (*) -> self, written into."""
    # One value for all: it may be written where several indices reach one element.
    write_number(self, value)
    cell_of(self).version += 1
    return self


@contract_kernel("fill_.Tensor")
def fill_tensor_(self: Tensor, value: Tensor) -> Tensor:
    """self (*), value () -> self, written into."""
    if value._array.ndim:
        raise RuntimeError(
            f"fill_ only supports 0-dimension value tensor but got tensor with {value._array.ndim} dimensions."
        )
    return copy_(self, value, False)


@contract_kernel("zero_")
def zero_(self: Tensor) -> Tensor:
    """self (*) -> self, written into."""
    return fill_(self, 0)


@contract_kernel("_local_scalar_dense")
def _local_scalar_dense(self: Tensor) -> Any:
    """One element -> a Python number.

    Raises
    ------
    RuntimeError
        When there is not exactly one, or no data (meta).
    """
    return plain_item(self)
