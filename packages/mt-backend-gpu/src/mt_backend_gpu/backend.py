"""The backend: CuPy's arrays as tensors' memory."""

from __future__ import annotations

import math
import os
from typing import Any, NoReturn

import cupy
import numpy

from mt_core.checks.memory import refuse_size
from mt_core.dispatch.elementwise import number_array
from mt_core.dispatch.registry import load_family
from mt_core.dtypes import ALL_DTYPES, bfloat16, dtype, float16, float32
from mt_core.plugins.protocols import CONTRACT
from mt_core.plugins.runtime import PARTS

from .compiled.on_cupy import raise_faults
from .convert import cast
from .memory import address_of, carrier, flat_bytes, on_memory
from .on_host import register_on_host
from .runtime import CudaRuntime, on_device

__all__ = ["HELD", "GpuBackend"]

#: The dtypes of tensors on the device.
HELD = frozenset((*(d for d in ALL_DTYPES if d.native), bfloat16, float16))
_HALVES = frozenset((bfloat16, float16))
#: As many as CuPy's arrays have.
_MOST_DIMENSIONS = 32


#: What reaches the device, of all that a backend has.
_REACHING = (
    "empty", "as_array", "copy", "cast", "contiguous", "fill", "count_nonzero", "from_host", "to_host", "to_dlpack",
    "from_dlpack", "load",
)  # fmt: skip


def _refuse_fork(*args: Any, **options: Any) -> NoReturn:
    raise RuntimeError(
        "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' "
        "start method"
    )


def _refuse_dtype(d: dtype) -> None:
    if d not in HELD:
        raise NotImplementedError(f"device 'cuda' holds no tensors of {d!r}: CuPy has no arithmetic for it")


class GpuBackend:
    """A `mt_core.plugins.protocols.Backend` over CuPy."""

    contract = CONTRACT
    device_type = "cuda"
    array_type = cupy.ndarray
    #: Arrays of the device meet Python's numbers by value, and have their own dtype.
    weak_numbers = True
    numpy_errors = False
    #: DLPack's ``kDLCUDA``.
    dlpack_type = 2

    def __init__(self) -> None:
        self.runtime = CudaRuntime()
        self._count: int = cupy.cuda.runtime.getDeviceCount()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._refuse_from_here)

    def device_count(self) -> int:
        return self._count

    def _refuse_from_here(self) -> None:
        """A driver does not survive a fork: whatever would reach the device is refused in the child."""
        for name in _REACHING:
            setattr(self, name, _refuse_fork)
        for part in PARTS.values():
            for name in part:
                if hasattr(self.runtime, name):
                    setattr(self.runtime, name, _refuse_fork)

    def diagnose(self) -> list[tuple[str, str]]:
        from .diagnose import lines  # lazy: only `mindtorch doctor` asks

        return lines()

    def number(self, value: Any, dtype: dtype) -> Any:
        """A number beside an array, by value: beside half types in float32, as PyTorch's CUDA kernels take it."""
        return number_array(value, float32 if dtype in _HALVES else dtype)[()]

    # Memory

    def empty(self, shape: tuple[int, ...], dtype: dtype, strides: tuple[int, ...] | None, index: int | None) -> Any:
        if dtype not in HELD:
            _refuse_dtype(dtype)
        if index is not None and index != self.runtime.current_device():
            with on_device(index):
                return self._empty(tuple(shape), dtype, strides)
        return self._empty(tuple(shape), dtype, strides)

    def _empty(self, shape: tuple[int, ...], d: dtype, strides: tuple[int, ...] | None) -> Any:
        if len(shape) > _MOST_DIMENSIONS:
            raise RuntimeError(f"a tensor of {len(shape)} dimensions: CuPy's arrays have at most {_MOST_DIMENSIONS}")
        size = d.itemsize
        if strides is None:
            refuse_size(shape, size)
            memory = self.runtime.allocate(math.prod(shape) * size)
            return cupy.ndarray(shape, d.numpy_dtype, memory)
        refuse_size(shape, size, list(strides))
        nbytes = 0 if 0 in shape else size + sum((n - 1) * s * size for n, s in zip(shape, strides, strict=True))
        return on_memory(self.runtime.allocate(nbytes), shape, tuple(s * size for s in strides), d.numpy_dtype)

    def as_array(self, value: Any) -> Any:
        return value if isinstance(value, cupy.ndarray) else cupy.asarray(value)

    def copy(self, target: Any, source: Any) -> None:
        if target.size == 0:
            return
        if source.data.device_id != target.data.device_id:
            source = self.runtime.brought(source, target.data.device_id)
        with on_device(target.data.device_id):
            if target.dtype != source.dtype:
                target[...] = cast(source, target.dtype)
            elif target.dtype.kind == "V":
                carrier(target)[...] = carrier(source)
            else:
                target[...] = source

    def cast(self, array: Any, dtype: dtype) -> Any:
        if array.dtype is dtype.numpy_dtype:
            return array
        if dtype not in HELD:
            _refuse_dtype(dtype)
        with on_device(array.data.device_id):
            return cast(array, dtype.numpy_dtype)

    def contiguous(self, array: Any) -> Any:
        if array.flags.c_contiguous:
            return array
        with on_device(array.data.device_id):
            return cupy.ascontiguousarray(array)

    def is_contiguous(self, array: Any) -> bool:
        found: bool = array.flags.c_contiguous
        return found

    def owner(self, array: Any) -> Any:
        return flat_bytes(array)

    def offset(self, owner: Any, array: Any) -> int:
        return address_of(array) - address_of(owner)

    def as_strided(
        self, owner: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: dtype
    ) -> Any:
        if len(shape) > _MOST_DIMENSIONS:
            raise RuntimeError(f"a tensor of {len(shape)} dimensions: CuPy's arrays have at most {_MOST_DIMENSIONS}")
        return on_memory(owner.data + offset, tuple(shape), tuple(strides), dtype.numpy_dtype)

    def fill(self, array: Any, number: Any, dtype: dtype) -> None:
        if array.size:
            with on_device(array.data.device_id):
                if array.dtype.kind == "V":
                    carrier(array)[...] = numpy.asarray(number, array.dtype).view(numpy.uint16)[()]
                else:
                    array[...] = number if numpy.ndim(number) == 0 else numpy.asarray(number)[()]

    def count_nonzero(self, array: Any) -> int:
        with on_device(array.data.device_id):
            found = int(cupy.count_nonzero(array))
        raise_faults(array.data.device_id)
        return found

    def address(self, array: Any) -> int:
        return address_of(array)

    def index_of(self, array: Any) -> int:
        index: int = array.data.device_id
        return index

    # The way to and from the host: both wait, as copies of ordinary memory do.

    def from_host(self, array: numpy.ndarray, dtype: dtype, index: int | None) -> Any:
        made = self.empty(array.shape, dtype, None, index)
        self.runtime.write(made, array)
        return made

    def to_host(self, array: Any) -> numpy.ndarray:
        return self.runtime.read(array)

    # DLPack

    def to_dlpack(self, array: Any, dtype: dtype, max_version: tuple[int, int] | None) -> Any:
        from .interop import capsule  # lazy: few programs hand memory over

        return capsule(array, dtype, max_version)

    def from_dlpack(self, capsule: Any, index: int) -> tuple[Any, dtype]:
        from .interop import array_of  # lazy: few programs take memory

        return array_of(capsule, index)

    # Kernels

    def load(self, family: str) -> None:
        import importlib

        from . import shared

        for name in shared.room(family):
            importlib.import_module(f"{shared.__name__}.kernels.{name}")
        register_on_host(family)
        load_family("mt_backend_gpu.own", family)
