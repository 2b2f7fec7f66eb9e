"""The device type ``xla``."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

import mt_core as mt
from mt_core.checks.memory import refuse_size
from mt_core.devices import backend_key
from mt_core.meta_array import contiguous_strides
from mt_core.plugins.protocols import CONTRACT
from mt_core.plugins.runtime_access import checked_index

from ..calls import NotLowered, jax_dtype
from ..diagnose import lines
from .array import Box, XlaArray, fresh, put, read, write
from .kernels import register_lowerings
from .runtime import XlaRuntime
from .sharding import devices, mesh_sharding

__all__ = ["XlaBackend"]

_BYTE = np.dtype(np.uint8)
_NATIVE = (
    mt.bool, mt.uint8, mt.uint16, mt.uint32, mt.uint64, mt.int8, mt.int16, mt.int32, mt.int64, mt.float16,
    mt.bfloat16, mt.float32, mt.float64, mt.complex64, mt.complex128,
)  # fmt: skip


class XlaBackend:
    """A `mt_core.plugins.protocols.Backend` over jax: arrays are windows of mutable boxes around its arrays."""

    contract = CONTRACT
    device_type = "xla"
    array_type = XlaArray
    native = frozenset(_NATIVE)
    weak_numbers = True
    numpy_errors = False
    fills_by_copying = True

    @functools.cached_property
    def runtime(self) -> XlaRuntime:
        """Current device, synchronization, what the devices are."""
        return XlaRuntime()

    def device_count(self) -> int:
        return len(devices())

    def diagnose(self) -> list[tuple[str, str]]:
        return lines()

    def number(self, value: Any, dtype: Any) -> Any:
        """Numbers reach kernels as Python's, and programs as inputs."""
        return value.item() if isinstance(value, np.generic) else value

    def _dtype(self, dtype: Any) -> np.dtype:
        try:
            return np.dtype(jax_dtype(dtype))
        except NotLowered as error:
            raise NotImplementedError(f"device 'xla' has no tensors of {dtype}: {error}") from error

    def _index(self, index: int | None) -> int:
        return self.runtime.current_device() if index is None else checked_index("xla", index)

    def empty(self, shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...] | None, index: int | None) -> XlaArray:
        d, shape = self._dtype(dtype), tuple(shape)
        refuse_size(shape, d.itemsize, None if strides is None else list(strides))
        size = d.itemsize
        in_bytes = contiguous_strides(shape, size) if strides is None else tuple([s * size for s in strides])
        extent = 0 if 0 in shape else 1 + sum((n - 1) * (s // size) for n, s in zip(shape, in_bytes, strict=True))
        return XlaArray(Box(None, self._index(index), (extent, d)), shape, in_bytes, 0, d)

    def as_array(self, value: Any) -> XlaArray:
        if isinstance(value, XlaArray):
            return value
        return fresh(put(np.asarray(value), self._index(None)), self._index(None))

    def copy(self, target: XlaArray, source: XlaArray) -> None:
        write(target, read(source))

    def fill(self, array: XlaArray, number: Any, dtype: Any) -> None:
        write(array, np.asarray(number if hasattr(number, "dtype") else np.array(number)))

    def cast(self, array: XlaArray, dtype: Any) -> XlaArray:
        d = self._dtype(dtype)
        if array.dtype == d:
            return array
        made = self.empty(array.shape, dtype, None, array.box.index)
        write(made, read(array))
        return made

    def is_contiguous(self, array: XlaArray) -> bool:
        return array.is_row_major

    def contiguous(self, array: XlaArray) -> XlaArray:
        if array.is_row_major:
            return array
        return fresh(read(array), array.box.index)

    def owner(self, array: XlaArray) -> XlaArray:
        return XlaArray(array.box, (array.box.nbytes,), (1,), 0, _BYTE)

    def offset(self, owner: XlaArray, array: XlaArray) -> int:
        return array.offset - owner.offset

    def as_strided(
        self, owner: XlaArray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: Any
    ) -> XlaArray:
        return XlaArray(owner.box, tuple(shape), tuple(strides), owner.offset + offset, self._dtype(dtype))

    def view(
        self, array: XlaArray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: Any
    ) -> XlaArray:
        d = self._dtype(dtype)
        size = d.itemsize
        return XlaArray(array.box, tuple(shape), tuple([s * size for s in strides]), offset * size, d)

    def from_host(self, array: np.ndarray, dtype: Any, index: int | None) -> XlaArray:
        place = self._index(index)
        return fresh(put(np.asarray(array, self._dtype(dtype)), place), place)

    def to_host(self, array: XlaArray) -> np.ndarray:
        return np.array(read(array), order="C")

    def memory_of(self, array: XlaArray) -> Box:
        """The box, which all arrays on its memory refer to."""
        return array.box

    def is_spread(self, array: XlaArray) -> bool:
        """Whether an array's memory is spread over several devices."""
        return array.box.sharding is not None

    def spread(self, array: XlaArray, ranks: np.ndarray, split: Sequence[int | None]) -> None:
        """Spread the memory of an array that is all of it over the devices of a mesh (`mesh_sharding`)."""
        if not array.is_whole:
            raise NotImplementedError("device 'xla' spreads whole tensors over a mesh, and no views")
        value = read(array)
        array.box.buffer = jax.device_put(value, mesh_sharding(ranks, split, array.shape))

    def address(self, array: XlaArray) -> int:
        return (array.box.number << 40) + array.offset

    def index_of(self, array: XlaArray) -> int:
        return array.box.index

    def load(self, family: str) -> None:
        register_lowerings(backend_key(self.device_type), family)
