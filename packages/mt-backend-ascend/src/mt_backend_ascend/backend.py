"""Device ``npu`` on CANN alone: memory, copies, views, the runtime, kernels of your own; no MindSpore.

It has no kernels of operators: what needs one raises an error that names the operator. Factories, copies, views and
random numbers are there for every backend; AscendC kernels and aclnn packages bring the rest (`custom_kernel`,
`aclnn`).
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy

from mt_core import dtypes
from mt_core.checks.memory import refuse_size
from mt_core.dtypes import dtype
from mt_core.meta_array import contiguous_strides
from mt_core.plugins.protocols import CONTRACT
from mt_core.plugins.runtime_access import checked_index

from . import transfers
from .cann.acl import Acl
from .device_array import DeviceArray
from .runtime import AscendRuntime

__all__ = ["HELD", "AclBackend"]

#: The dtypes of tensors on the device: float64 and complex numbers are not among them.
HELD = (
    dtypes.bool, dtypes.uint8, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, dtypes.float16, dtypes.bfloat16,
    dtypes.float32,
)  # fmt: skip
_HELD_STORED = {d.numpy_dtype: d for d in HELD}
_BYTE = numpy.dtype(numpy.uint8)
Ints = tuple[int, ...]


class AclBackend:
    """A `mt_core.plugins.protocols.Backend` over libascendcl.so, with a `runtime`.

    CANN is initialized when the devices are first asked for.
    """

    contract = CONTRACT
    array_type = DeviceArray

    def __init__(self, device_type: str = "npu") -> None:
        self.device_type = device_type

    @functools.cached_property
    def runtime(self) -> AscendRuntime:
        return AscendRuntime(Acl.loaded(), HELD)

    def device_count(self) -> int:
        return self.runtime.device_count()

    def diagnose(self) -> list[tuple[str, str]]:
        count = self.device_count()
        if not count:
            return [("devices", "none: CANN sees none (npu-smi info; ASCEND_RT_VISIBLE_DEVICES)")]
        free, total = self.runtime.memory_info(0)
        return [
            ("devices", f"{count} of {self.runtime.name()}, {total / (1 << 30):.1f} GiB ({free / (1 << 30):.1f} free)"),
            ("operators", "none: MT_ASCEND_TARGET=ACL is memory, copies and kernels of your own, without MindSpore"),
        ]

    # Memory

    def _index(self, index: int | None) -> int:
        return self.runtime.current_device() if index is None else checked_index(self.device_type, index)

    def _stored(self, d: Any) -> numpy.dtype:
        """A dtype's storage type, if tensors of it can be had."""
        if d not in HELD:
            raise NotImplementedError(f"device '{self.device_type}' holds no tensors of {d!r}")
        stored: numpy.dtype = d.numpy_dtype
        return stored

    def _new(self, shape: Ints, d: numpy.dtype, strides: Ints | None, index: int) -> DeviceArray:
        """Uninitialized; strides in elements."""
        size = d.itemsize
        if strides is None:
            refuse_size(shape, size)
            return DeviceArray(
                self.runtime.allocate(math.prod(shape) * size, index), shape, contiguous_strides(shape, size), 0, d
            )
        refuse_size(shape, size, list(strides))
        extent = 0 if 0 in shape else 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
        return DeviceArray(self.runtime.allocate(extent * size, index), shape, tuple(s * size for s in strides), 0, d)

    def empty(self, shape: Ints, dtype: dtype, strides: Ints | None, index: int | None) -> DeviceArray:
        return self._new(
            tuple(shape), self._stored(dtype), None if strides is None else tuple(strides), self._index(index)
        )

    def as_array(self, value: Any) -> DeviceArray:
        return value if isinstance(value, DeviceArray) else self._from_host(numpy.asarray(value), None)

    def copy(self, target: DeviceArray, source: DeviceArray) -> None:
        if not target.size:
            return
        if source.block.device_index != target.block.device_index:
            source = self._brought(source, target.block.device_index)
        if source.shape != target.shape:
            source = _broadcast(source, target.shape)
        if source.dtype == target.dtype and source.is_row_major and target.is_row_major:
            transfers.moved(self.runtime, target, source)
        else:
            self.runtime.copier.copy(target, source)

    def _brought(self, source: DeviceArray, index: int) -> DeviceArray:
        """A row-major copy on another device."""
        if not source.is_row_major:  # what makes it so is given to its own device, which the other has to wait for
            source = self.contiguous(source)
            own = self.runtime.current_stream(source.block.device_index)
            done = self.runtime.event(own.device_index, False, False, False)
            done.record(own)
            self.runtime.current_stream(index).wait(done)
        made = self._new(source.shape, source.dtype, None, index)
        transfers.moved(self.runtime, made, source)
        return made

    def cast(self, array: DeviceArray, dtype: dtype) -> DeviceArray:
        return array if array.dtype == dtype.numpy_dtype else self._copied(array, self._stored(dtype))

    def contiguous(self, array: DeviceArray) -> DeviceArray:
        return array if array.is_row_major else self._copied(array, array.dtype)

    def _copied(self, array: DeviceArray, d: numpy.dtype) -> DeviceArray:
        made = self._new(array.shape, d, None, array.block.device_index)
        self.copy(made, array)
        return made

    def is_contiguous(self, array: DeviceArray) -> bool:
        """Whether an array lies row by row."""
        return array.is_row_major

    def fill(self, array: DeviceArray, number: Any, dtype: dtype) -> None:
        """Set every element."""
        if array.size:
            self.runtime.copier.fill(array, number, dtype)

    def memory_of(self, array: DeviceArray) -> Any:
        """What all arrays on an array's memory refer to."""
        return array.block

    # Views

    def owner(self, array: DeviceArray) -> DeviceArray:
        return DeviceArray(array.block, (array.block.nbytes,), (1,), 0, _BYTE)

    def offset(self, owner: DeviceArray, array: DeviceArray) -> int:
        return array.offset - owner.offset

    def as_strided(self, owner: DeviceArray, shape: Ints, strides: Ints, offset: int, dtype: dtype) -> DeviceArray:
        return DeviceArray(owner.block, tuple(shape), tuple(strides), owner.offset + offset, self._stored(dtype))

    def address(self, array: DeviceArray) -> int:
        return array.address

    def index_of(self, array: DeviceArray) -> int:
        return array.block.device_index

    # The way to and from the host: both wait for the current stream, as copies of ordinary memory do.

    def from_host(self, array: numpy.ndarray, dtype: dtype, index: int | None) -> DeviceArray:
        return self._from_host(array, index)

    def _from_host(self, array: numpy.ndarray, index: int | None) -> DeviceArray:
        if array.dtype not in _HELD_STORED:
            raise NotImplementedError(f"device '{self.device_type}' holds no tensors of {array.dtype}")
        made = self._new(array.shape, array.dtype, None, self._index(index))
        transfers.from_pageable(self.runtime, made, numpy.ascontiguousarray(array).reshape(array.shape))
        return made

    def to_host(self, array: DeviceArray) -> numpy.ndarray:
        return transfers.to_pageable(self.runtime, self.contiguous(array))

    def load(self, family: str) -> None:
        """There are no kernels of operators to register."""


def _broadcast(array: DeviceArray, shape: Ints) -> DeviceArray:
    """A view of a larger shape, which repeats elements."""
    lead = len(shape) - array.ndim
    strides = tuple(
        0 if at < lead or array.shape[at - lead] == 1 else array.strides[at - lead] for at in range(len(shape))
    )
    return DeviceArray(array.block, shape, strides, array.offset, array.dtype)
