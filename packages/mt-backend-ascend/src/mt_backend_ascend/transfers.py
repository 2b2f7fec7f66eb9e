"""Copies of memory: host to device, back, and between and within devices, given to the current stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from mt_core.meta_array import contiguous_strides

from .device_array import DeviceArray

if TYPE_CHECKING:
    from .runtime import AscendRuntime

__all__ = ["from_pageable", "from_pinned", "moved", "to_pageable", "to_pinned"]

#: aclrtMemcpyKind (acl/acl_rt.h).
TO_DEVICE, TO_HOST, WITHIN = 1, 2, 3


def _address(array: numpy.ndarray) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def from_pageable(runtime: AscendRuntime, target: DeviceArray, source: numpy.ndarray) -> None:
    """Copy a row-major host array, which may be changed afterwards, to a row-major array of the device.

    The stream is waited for first: what it was given may still use the memory that the array lies on.
    """
    if target.nbytes:
        runtime.current_stream(target.block.device_index).synchronize()
        runtime.driver.call("aclrtMemcpy", target.address, target.nbytes, _address(source), source.nbytes, TO_DEVICE)


def to_pageable(runtime: AscendRuntime, source: DeviceArray) -> numpy.ndarray:
    """A host array of the elements of a row-major array; waits for the current stream."""
    made = numpy.empty(source.shape, source.dtype)
    if source.nbytes:
        runtime.current_stream(source.block.device_index).synchronize()
        runtime.driver.call("aclrtMemcpy", _address(made), made.nbytes, source.address, source.nbytes, TO_HOST)
    return made


def moved(runtime: AscendRuntime, target: DeviceArray, source: DeviceArray) -> None:
    """Copy a row-major array to another of the same size, within a device or between two.

    The current stream of the target's device does it. Between devices, the core lets it wait for the source's; the
    source's memory is kept until it is done.
    """
    if not target.nbytes:
        return
    index, other = target.block.device_index, source.block.device_index
    if index != other:
        runtime.enable_peer(index, other)
    stream = runtime.current_stream(index)
    runtime.record_stream(source, stream)
    _given(runtime, target.address, source.address, target.nbytes, WITHIN, stream)


def from_pinned(runtime: AscendRuntime, target: DeviceArray, source: numpy.ndarray) -> None:
    """Give the current stream the copy of a pinned array to an array of the device."""
    if not target.is_row_major:
        room = _row_major_like(runtime, target)
        from_pinned(runtime, room, source)
        runtime.copier.copy(target, room)
        return
    if not source.flags.c_contiguous:
        staged = runtime.pin(source.nbytes).view(source.dtype).reshape(source.shape)
        staged[...] = source
        source = staged
    stream = runtime.current_stream(target.block.device_index)
    if target.nbytes:
        _given(runtime, target.address, _address(source), target.nbytes, TO_DEVICE, stream)
        runtime.pinned.used(source, stream)


def to_pinned(runtime: AscendRuntime, target: numpy.ndarray, source: DeviceArray) -> None:
    """Give the current stream the copy of an array of the device to a pinned one."""
    if not target.flags.c_contiguous:  # the device writes the host's memory row by row: this waits
        staged = runtime.pin(target.nbytes).view(target.dtype).reshape(target.shape)
        to_pinned(runtime, staged, source)
        runtime.current_stream(source.block.device_index).synchronize()
        target[...] = staged
        return
    if not source.is_row_major:
        room = _row_major_like(runtime, source)
        runtime.copier.copy(room, source)
        source = room
    stream = runtime.current_stream(source.block.device_index)
    if source.nbytes:
        _given(runtime, _address(target), source.address, source.nbytes, TO_HOST, stream)
        runtime.pinned.used((target, source), stream)


def _row_major_like(runtime: AscendRuntime, array: DeviceArray) -> DeviceArray:
    index, steps = array.block.device_index, contiguous_strides(array.shape, array.itemsize)
    return DeviceArray(runtime.allocate(array.nbytes, index), array.shape, steps, 0, array.dtype)


def _given(runtime: AscendRuntime, to: int, of: int, nbytes: int, kind: int, stream: Any) -> None:
    runtime.driver.bind(stream.device_index)
    runtime.driver.call("aclrtMemcpyAsync", to, nbytes, of, nbytes, kind, stream.native)
    runtime.driver.launched(stream.native)
