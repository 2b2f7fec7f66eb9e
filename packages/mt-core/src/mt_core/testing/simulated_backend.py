"""A backend of several devices with a runtime: the host plays a device that does its work late.

Its arrays are NumPy arrays in memory that `SimulatedRuntime` hands out. A kernel does not calculate when it is called:
it allocates the result, and gives the calculation to the current stream. It has a handful of kernels, enough to see in
which order work was done, and no kernels for random numbers, which are drawn on the host instead
(`mt_core.contract_kernels.random`).
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import dlpack
from ..devices import backend_key
from ..dispatch.registry import register_kernel
from ..plugins.discovery import register_backend
from ..plugins.protocols import CONTRACT
from ..plugins.runtime_access import checked_index
from .simulated_runtime import Block, SimulatedRuntime

__all__ = ["SimulatedArray", "SimulatedBackend", "simulated_devices"]


class SimulatedArray:
    """Elements in device memory; only the device's own tasks may look at `host` before it is synchronized."""

    __slots__ = ("block", "host")

    def __init__(self, block: Block, host: np.ndarray) -> None:
        self.block = block
        self.host = host

    shape = property(lambda self: self.host.shape)
    strides = property(lambda self: self.host.strides)
    dtype = property(lambda self: self.host.dtype)
    itemsize = property(lambda self: self.host.itemsize)
    ndim = property(lambda self: self.host.ndim)
    size = property(lambda self: self.host.size)


@contextlib.contextmanager
def simulated_devices(device_type: str = "sim", *, with_runtime: bool = True) -> Iterator[SimulatedBackend]:
    """Two idle devices for the length of the context; outside of it, none of the type can be used."""
    backend = _registered(device_type, with_runtime)
    memory = backend._memory
    memory.start_afresh()
    backend.devices = memory.devices
    try:
        yield backend
    finally:
        memory.start_afresh()
        backend.devices = 0


@functools.cache
def _registered(device_type: str, with_runtime: bool) -> SimulatedBackend:
    """One backend for each type in a process: tensors and resolved calls may outlive a test."""
    backend = SimulatedBackend(device_type, SimulatedRuntime() if with_runtime else None)
    register_backend(backend)
    return backend


class SimulatedBackend:
    """Follows `mt_core.plugins.protocols.Backend`, with a `runtime`.

    Parameters
    ----------
    device_type
        The name of the devices.
    runtime
        A `SimulatedRuntime`, or None for a backend that has none; its arrays are made by a private one then.
    """

    contract = CONTRACT
    array_type = SimulatedArray
    #: DLPack's number for memory of devices that it does not know (``kDLExtDev``).
    dlpack_type = 12

    def __init__(self, device_type: str, runtime: SimulatedRuntime | None) -> None:
        self.device_type = device_type
        self.runtime = runtime
        self._memory = runtime or SimulatedRuntime()
        #: How many devices take part; a test that is done with them sets 0.
        self.devices = self._memory.devices

    def device_count(self) -> int:
        return self.devices

    def diagnose(self) -> list[tuple[str, str]]:
        return [(self.device_type, f"{self.devices} devices, simulated on the host")]

    # Memory

    def _give(self, index: int, task: Callable[[], None]) -> None:
        self._memory.current_stream(index).give(task)

    def _new(self, shape: tuple[int, ...], d: np.dtype, strides: tuple[int, ...] | None, index: int) -> SimulatedArray:
        """Uninitialized; strides in bytes."""
        if strides is None:
            strides = np.ndarray(shape, d).strides
        block = self._memory.allocate(_extent(shape, strides, d.itemsize), index)
        return SimulatedArray(block, _on_bytes(block.flat, shape, strides, 0, d))

    def empty(
        self, shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...] | None, index: int | None
    ) -> SimulatedArray:
        in_bytes = None if strides is None else tuple(s * dtype.itemsize for s in strides)
        return self._new(tuple(shape), dtype.numpy_dtype, in_bytes, self._index(index))

    def _index(self, index: int | None) -> int:
        """A device that is there, the current one for None."""
        return self._memory.current_device() if index is None else checked_index(self.device_type, index)

    def as_array(self, value: Any) -> SimulatedArray:
        return value if isinstance(value, SimulatedArray) else self._from_host(np.asarray(value), None)

    def copy(self, target: SimulatedArray, source: SimulatedArray) -> None:
        to, from_ = target.host, source.host
        self._give(target.block.device_index, lambda: np.copyto(to, from_, casting="unsafe"))

    def cast(self, array: SimulatedArray, dtype: Any) -> SimulatedArray:
        return array if array.dtype == dtype.numpy_dtype else self._copied(array, dtype.numpy_dtype)

    def contiguous(self, array: SimulatedArray) -> SimulatedArray:
        return array if array.host.flags.c_contiguous else self._copied(array, array.dtype)

    def _copied(self, array: SimulatedArray, d: np.dtype) -> SimulatedArray:
        made = self._new(array.shape, d, None, array.block.device_index)
        self.copy(made, array)
        return made

    def owner(self, array: SimulatedArray) -> SimulatedArray:
        return SimulatedArray(array.block, array.block.flat)

    def offset(self, owner: SimulatedArray, array: SimulatedArray) -> int:
        return self.address(array) - self.address(owner) if owner.size else 0

    def as_strided(
        self, owner: SimulatedArray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: Any
    ) -> SimulatedArray:
        return SimulatedArray(owner.block, _on_bytes(owner.host, shape, strides, offset, dtype.numpy_dtype))

    def address(self, array: SimulatedArray) -> int:
        return int(array.host.__array_interface__["data"][0])

    def index_of(self, array: SimulatedArray) -> int:
        return array.block.device_index

    # The way to and from the host: both wait for the current stream, as copies of ordinary memory do.

    def from_host(self, array: np.ndarray, dtype: Any, index: int | None) -> SimulatedArray:
        return self._from_host(array, index)

    def _from_host(self, array: np.ndarray, index: int | None) -> SimulatedArray:
        made = self._new(array.shape, array.dtype, None, self._index(index))
        staged, memory = array.copy(), made.host
        self._give(made.block.device_index, lambda: np.copyto(memory, staged))
        return made

    def to_host(self, array: SimulatedArray) -> np.ndarray:
        self._memory.current_stream(array.block.device_index).synchronize()
        return array.host.copy()

    # DLPack

    def to_dlpack(self, array: SimulatedArray, dtype: Any, max_version: tuple[int, int] | None) -> Any:
        place = (self.dlpack_type, array.block.device_index)
        return dlpack.host_capsule(array.host, dtype, max_version, place)

    def from_dlpack(self, capsule: Any, index: int) -> tuple[SimulatedArray, Any]:
        host, dtype = dlpack.host_array(capsule)
        first = np.lib.stride_tricks.as_strided(host, (min(1, host.size),), (host.itemsize,)).view(np.uint8)
        memory = np.lib.stride_tricks.as_strided(first, (_extent(host.shape, host.strides, host.itemsize),), (1,))
        return SimulatedArray(Block(index, memory.size, memory), host), dtype

    # Kernels

    def load(self, family: str) -> None:
        key = backend_key(self.device_type)
        for name, function in _KERNELS.items():
            register_kernel(key, (name,), self._queued(function), half="native")

    def _queued(self, function: Callable[..., Any]) -> Callable[..., SimulatedArray]:
        """The kernel that allocates what `function` would return and gives the calculation to the current stream."""

        def kernel(*args: Any) -> SimulatedArray:
            hosts = [a.host if isinstance(a, SimulatedArray) else a for a in args]
            index = next(a.block.device_index for a in args if isinstance(a, SimulatedArray))
            result = function(*(_without_elements(h) for h in hosts))
            made = self._new(result.shape, result.dtype, None, index)
            memory = made.host
            self._give(index, lambda: np.copyto(memory, function(*hosts)))
            return made

        return kernel


def _without_elements(value: Any) -> Any:
    """An array of the same shape and dtype on one element's memory, for the result's shape and dtype."""
    if not isinstance(value, np.ndarray):
        return value
    return np.broadcast_to(np.ones((), value.dtype), value.shape)


def _extent(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> int:
    """Bytes from the first element to the end of the last."""
    return 0 if 0 in shape else itemsize + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))


def _on_bytes(
    memory: np.ndarray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, d: np.dtype
) -> np.ndarray:
    if 0 in shape:  # NumPy checks strides against the buffer even where there is nothing to reach
        return np.lib.stride_tricks.as_strided(np.ndarray((0,), d, memory, min(offset, memory.size)), shape, strides)
    return np.ndarray(shape, d, memory, offset, strides)


def _add(self: Any, other: Any, alpha: Any) -> Any:
    return np.add(self, np.multiply(other, np.asarray(alpha).astype(self.dtype)))


def _sub(self: Any, other: Any, alpha: Any) -> Any:
    return np.subtract(self, np.multiply(other, np.asarray(alpha).astype(self.dtype)))


_KERNELS: dict[str, Callable[..., Any]] = {
    "add.Tensor": _add, "sub.Tensor": _sub, "mul.Tensor": np.multiply, "div.Tensor": np.divide, "neg": np.negative,
    "exp": np.exp, "mm": np.matmul,
}  # fmt: skip
