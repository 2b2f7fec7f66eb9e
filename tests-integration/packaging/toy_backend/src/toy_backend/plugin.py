"""The device: strided arrays of a type of its own, in memory that NumPy holds."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["ToyArray", "ToyBackend", "backend"]


class ToyArray:
    """A block of the device's memory. Only this package looks into `block`."""

    __slots__ = ("block",)

    def __init__(self, block: np.ndarray) -> None:
        self.block = block

    shape = property(lambda self: self.block.shape)
    strides = property(lambda self: self.block.strides)
    dtype = property(lambda self: self.block.dtype)
    itemsize = property(lambda self: self.block.itemsize)
    ndim = property(lambda self: self.block.ndim)
    size = property(lambda self: self.block.size)


def block_of(array: Any) -> np.ndarray:
    """The memory of an array; a number arrives as a Python number, or as a scalar of NumPy's."""
    return array.block if isinstance(array, ToyArray) else np.asarray(array)


class ToyBackend:
    """Follows `mt_core.plugins.protocols.Backend`."""

    contract = 2
    device_type = "toy"
    array_type = ToyArray

    def device_count(self) -> int:
        return 1

    def diagnose(self) -> list[tuple[str, str]]:
        return [("toy", "one device in perfect working order")]

    def empty(self, shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...] | None, index: int | None) -> ToyArray:
        if strides is None:
            return ToyArray(np.empty(shape, dtype.numpy_dtype))
        extent = 0 if 0 in shape else 1 + sum((n - 1) * stride for n, stride in zip(shape, strides))
        in_bytes = tuple(stride * dtype.itemsize for stride in strides)
        return ToyArray(np.ndarray(shape, dtype.numpy_dtype, np.empty(extent, dtype.numpy_dtype), 0, in_bytes))

    def as_array(self, value: Any) -> ToyArray:
        return value if isinstance(value, ToyArray) else ToyArray(np.asarray(value))

    def copy(self, target: ToyArray, source: ToyArray) -> None:
        np.copyto(target.block, block_of(source), casting="unsafe")

    def cast(self, array: ToyArray, dtype: Any) -> ToyArray:
        return array if array.dtype == dtype.numpy_dtype else ToyArray(block_of(array).astype(dtype.numpy_dtype))

    def contiguous(self, array: ToyArray) -> ToyArray:
        return array if array.block.flags.c_contiguous else ToyArray(np.ascontiguousarray(array.block))

    def owner(self, array: ToyArray) -> ToyArray:
        whole = array.block
        while isinstance(whole.base, np.ndarray):
            whole = whole.base
        return ToyArray(whole.reshape(-1).view(np.uint8))

    def offset(self, owner: ToyArray, array: ToyArray) -> int:
        return self.address(array) - self.address(owner)

    def as_strided(
        self, owner: ToyArray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: Any
    ) -> ToyArray:
        return ToyArray(np.ndarray(shape, dtype.numpy_dtype, owner.block, offset, strides))

    def from_host(self, array: np.ndarray, dtype: Any, index: int | None) -> ToyArray:
        return ToyArray(array.copy())

    def to_host(self, array: ToyArray) -> np.ndarray:
        return array.block.copy()

    def address(self, array: ToyArray) -> int:
        return array.block.__array_interface__["data"][0]

    def index_of(self, array: ToyArray) -> int | None:
        return None

    def load(self, family: str) -> None:
        from toy_backend import kernels

        kernels.register()


backend = ToyBackend()
