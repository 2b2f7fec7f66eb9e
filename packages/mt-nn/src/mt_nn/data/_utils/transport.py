"""Batches on their way from a worker to the main process.

What a batch is made of is pickled; the elements of its tensors and arrays travel beside the pickle in one block of
shared memory, which the receiver maps instead of reading it. Small batches, and all on platforms that cannot hand a
file from process to process, are sent as bytes.
"""

import io
import mmap
import os
import pickle
import struct
from multiprocessing import reduction
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

import mt_core as mt
from mt_core.keys import CONJUGATE, CPU, NEGATIVE
from mt_core.process_sharing import check_has_no_history
from mt_core.shared_memory import anonymous_file
from mt_core.tensor import from_array

__all__ = ["discard", "receive", "send"]

#: Below this many bytes a copy through the pipe is cheaper than a mapping.
_INLINE_BYTES = 1 << 15
#: Elements begin at multiples of this, for the sake of vector instructions.
_ALIGNMENT = 64
_HEADER = struct.Struct("<?q")
_CAN_SEND_FILES = os.name == "posix" and reduction.HAVE_SEND_HANDLE


class _Pickler(reduction.ForkingPickler):
    """A pickler that keeps elements of arrays and tensors out of the pickle."""

    def __init__(self, file: Any, buffers: list[pickle.PickleBuffer]) -> None:
        super().__init__(file, 5, True, buffers.append)

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, mt.Tensor):
            check_has_no_history(value)
            if type(value) is mt.Tensor and _is_plain(value):
                return _rebuild_tensor, _description(value)
            if value.__dict__:
                return value.__reduce_ex__(5)  # with its attributes, which are lost where memory is shared
        return NotImplemented


def _is_plain(tensor: mt.Tensor) -> bool:
    """Whether shape, dtype and elements are all there is: no attributes, no lazy bits, no memory shared on purpose."""
    keys = tensor._keys
    if not keys & CPU or keys & (CONJUGATE | NEGATIVE) or tensor.__dict__:
        return False
    return tensor._cell is None or not tensor.is_shared()


def _description(tensor: mt.Tensor) -> tuple[Any, ...]:
    # A copy in the order of the strides has no gaps: of a view only its own elements are sent.
    array = tensor._array
    dense = array if array.flags.c_contiguous or array.flags.f_contiguous else array.copy(order="K")
    elements = dense.transpose(np.argsort([-step for step in dense.strides], kind="stable"))
    buffer = pickle.PickleBuffer(elements.reshape(-1).view(np.uint8))
    return buffer, dense.dtype, dense.shape, dense.strides, tensor.dtype, tensor.requires_grad


def _rebuild_tensor(
    buffer: Any,
    storage_type: np.dtype,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: mt.dtype,
    requires_grad: bool,
) -> mt.Tensor:
    array = np.ndarray(shape, storage_type, buffer, 0, strides)
    return from_array(array, dtype).requires_grad_(requires_grad)


def send(connection: Connection, value: Any) -> None:
    """Send a value; everything that can fail to be pickled fails here, before the first byte is sent."""
    file = io.BytesIO()
    buffers: list[pickle.PickleBuffer] = []
    _Pickler(file, buffers).dump(value)
    parts = [file.getbuffer(), *(buffer.raw() for buffer in buffers)]
    sizes = [part.nbytes for part in parts]
    shared = _CAN_SEND_FILES and sum(sizes) > _INLINE_BYTES
    header = _HEADER.pack(shared, len(sizes)) + struct.pack(f"<{len(sizes)}q", *sizes)
    if shared:
        _send_mapped(connection, header, parts)
    else:
        connection.send_bytes(header + _joined(parts))


def _starts(sizes: list[int]) -> tuple[list[int], int]:
    """Where each part begins, and where the last one ends."""
    starts, end = [], 0
    for size in sizes:
        starts.append(end)
        end += -(-size // _ALIGNMENT) * _ALIGNMENT
    return starts, end


def _joined(parts: list[memoryview]) -> bytes:
    starts, end = _starts([part.nbytes for part in parts])
    joined = bytearray(end)
    for start, part in zip(starts, parts, strict=True):
        joined[start : start + part.nbytes] = part
    return bytes(joined)


def _send_mapped(connection: Connection, header: bytes, parts: list[memoryview]) -> None:
    descriptor = anonymous_file()
    try:
        starts, end = _starts([part.nbytes for part in parts])
        os.ftruncate(descriptor, end)
        for start, part in zip(starts, parts, strict=True):
            _write_all(descriptor, part, start)
        connection.send_bytes(header)
        reduction.send_handle(connection, descriptor, 0)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, part: memoryview, start: int) -> None:
    while part.nbytes:
        written = os.pwrite(descriptor, part, start)
        part, start = part[written:], start + written


def receive(connection: Connection) -> Any:
    """The value that the other side sent.

    Raises
    ------
    EOFError
        Where the other side has closed its end.
    """
    message = connection.recv_bytes()
    shared, count = _HEADER.unpack_from(message)
    sizes = list(struct.unpack_from(f"<{count}q", message, _HEADER.size))
    starts, end = _starts(sizes)
    if shared:
        memory = memoryview(_map(reduction.recv_handle(connection), end))
    else:
        memory = memoryview(bytearray(memoryview(message)[_HEADER.size + 8 * count :]))
    pickled, *buffers = [memory[start : start + size] for start, size in zip(starts, sizes, strict=True)]
    return pickle.loads(pickled, buffers=buffers)


def discard(connection: Connection) -> None:
    """Take a value off the connection without looking at it."""
    shared, _ = _HEADER.unpack_from(connection.recv_bytes())
    if shared:
        os.close(reduction.recv_handle(connection))


def _map(descriptor: int, nbytes: int) -> mmap.mmap:
    try:
        return mmap.mmap(descriptor, nbytes)
    finally:
        os.close(descriptor)
