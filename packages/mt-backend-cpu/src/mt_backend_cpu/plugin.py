"""The CPU backend: NumPy arrays as tensors' memory."""

from __future__ import annotations

import math
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np

from mt_core.checks.memory import refuse_size, unmakeable
from mt_core.dispatch.elementwise import number_array
from mt_core.dispatch.registry import load_family
from mt_core.dtypes import dtype
from mt_core.errors import NoMemory
from mt_core.plugins.protocols import CONTRACT

from .convert import cast
from .copying import LARGE, copied
from .memory import address_of, flat_bytes, fresh, memory_of, nothing_at

__all__ = ["CpuBackend", "backend"]

_asarray = np.asarray


class CpuBackend:
    """A `mt_core.plugins.protocols.Backend` over NumPy."""

    contract = CONTRACT
    device_type = "cpu"
    array_type = np.ndarray

    #: In C, without a frame: it is asked of every result.
    is_contiguous = staticmethod(attrgetter("flags.c_contiguous"))

    def number(self, value: Any, dtype: dtype) -> np.ndarray:
        return number_array(value, dtype)

    memory_of = staticmethod(memory_of)

    def count_nonzero(self, array: np.ndarray) -> int:
        return int(np.count_nonzero(array))

    def fill(self, array: np.ndarray, number: Any, dtype: dtype) -> None:
        array[...] = number

    def zeros(self, shape: tuple[int, ...], dtype: dtype) -> np.ndarray:
        try:
            return fresh.zeros(shape, dtype.numpy_dtype)
        except ValueError as error:
            raise unmakeable(shape, error, dtype.itemsize) from None
        except MemoryError:
            raise NoMemory(math.prod(shape) * dtype.itemsize) from None

    @cached_property
    def executors(self) -> Any:
        from .executors import executors  # lazy: the first kernel loads the library, not the first mention of the CPU

        return executors

    def device_count(self) -> int:
        return 1

    def diagnose(self) -> list[tuple[str, str]]:
        from .diagnose import lines  # lazy: only `mindtorch doctor` asks

        return lines()

    def set_num_threads(self, count: int) -> bool:
        from .native import library  # lazy: a program that leaves threads alone loads it with its first kernel

        if library is None:
            return False
        library.set_num_threads(count)
        return True

    def empty(
        self, shape: tuple[int, ...], dtype: dtype, strides: tuple[int, ...] | None, index: int | None
    ) -> np.ndarray:
        if strides is None:
            try:
                return fresh.empty(shape, dtype.numpy_dtype)
            except ValueError as error:
                raise unmakeable(shape, error, dtype.itemsize) from None
            except MemoryError:
                raise NoMemory(math.prod(shape) * dtype.itemsize) from None
        if not shape:
            return np.empty((), dtype.numpy_dtype)
        order = sorted(range(len(shape)), key=lambda i: (-strides[i], -shape[i], i))
        try:
            dense = fresh.empty([shape[i] for i in order], dtype.numpy_dtype).transpose(np.argsort(order))
        except MemoryError:
            raise NoMemory(math.prod(shape) * dtype.itemsize) from None
        in_bytes = tuple(s * dtype.itemsize for s in strides)
        if dense.strides == in_bytes:
            return dense
        return _with_strides(shape, dtype, in_bytes)

    def as_array(self, value: Any) -> np.ndarray:
        return _asarray(value)

    def copy(self, target: np.ndarray, source: np.ndarray) -> None:
        if target.dtype is not source.dtype:
            source = cast(source, target.dtype)
        if target.size < LARGE or target.shape != source.shape or not copied(target, source):
            target[...] = source

    def cast(self, array: np.ndarray, dtype: dtype) -> np.ndarray:
        return array if array.dtype is dtype.numpy_dtype else cast(array, dtype.numpy_dtype)

    def contiguous(self, array: np.ndarray) -> np.ndarray:
        if array.flags.c_contiguous:
            return array
        if array.size >= LARGE:
            made = fresh.empty(array.shape, array.dtype)
            if copied(made, array):
                return made
        return np.ascontiguousarray(array)

    def owner(self, array: np.ndarray) -> np.ndarray:
        return flat_bytes(array)

    def offset(self, owner: np.ndarray, array: np.ndarray) -> int:
        return address_of(array) - address_of(owner)

    def as_strided(
        self, owner: np.ndarray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: dtype
    ) -> np.ndarray:
        if 0 in shape:
            return nothing_at(owner, offset, shape, strides, dtype.itemsize).view(dtype.numpy_dtype)
        try:
            return np.ndarray(shape, dtype.numpy_dtype, owner, offset, strides)
        except ValueError as error:
            raise unmakeable(shape, error, dtype.itemsize, is_view=True) from None

    def from_host(self, array: np.ndarray, dtype: dtype, index: int | None) -> np.ndarray:
        return array

    def to_host(self, array: np.ndarray) -> np.ndarray:
        return array

    def address(self, array: np.ndarray) -> int:
        return address_of(array)

    def index_of(self, array: np.ndarray) -> None:
        return None

    def load(self, family: str) -> None:
        load_family("mt_backend_cpu.kernels", family)
        load_family("mt_backend_cpu.native", family)  # entered last, so asked first


def _with_strides(shape: tuple[int, ...], d: dtype, strides: tuple[int, ...]) -> np.ndarray:
    """Memory for strides, in bytes, that leave gaps or overlap (``empty_strided``)."""
    if 0 in shape:
        return nothing_at(np.empty(0, np.uint8), 0, shape, strides, d.itemsize).view(d.numpy_dtype)
    refuse_size(shape, d.itemsize, [s // d.itemsize for s in strides])
    nbytes = d.itemsize + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    return np.ndarray(shape, d.numpy_dtype, fresh.empty(nbytes, np.uint8), 0, strides)


backend = CpuBackend()
