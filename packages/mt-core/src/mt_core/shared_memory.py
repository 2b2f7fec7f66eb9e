"""Storages whose memory is a mapped file: given by path, or made to be shared between processes."""

from __future__ import annotations

import mmap
import os
import tempfile
from typing import Any

import numpy as np

from .block import move_block

__all__ = ["map_file", "move_to_shared_memory"]


def map_file(path: str, shared: bool, nbytes: int) -> np.ndarray:
    """The first `nbytes` bytes of a file (0: all of it) as a writable uint8 array.

    Parameters
    ----------
    shared
        Whether writes reach the file, which then grows to `nbytes` if it is shorter and is made if it does not exist;
        otherwise they stay in this process's memory.

    Raises
    ------
    RuntimeError
        If the file cannot be opened, or is too short and not shared.
    """
    flags = (os.O_RDWR | os.O_CREAT) if shared else os.O_RDONLY
    try:
        descriptor = os.open(path, flags | getattr(os, "O_BINARY", 0), 0o600)
    except OSError as error:
        mode = "read-write" if shared else "read-only"
        raise RuntimeError(f"unable to open file <{path}> in {mode} mode: {error.strerror} ({error.errno})") from error
    try:
        size = os.fstat(descriptor).st_size
        if size < nbytes:
            if not shared:
                raise RuntimeError(f"file <{path}> size <{size}> is smaller than the required mapping size <{nbytes}>")
            os.ftruncate(descriptor, nbytes)
        return _mapped(descriptor, nbytes or size, mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY)
    finally:
        os.close(descriptor)


def _mapped(descriptor: int, nbytes: int, access: int) -> np.ndarray:
    if not nbytes:
        return np.empty(0, np.uint8)
    return np.frombuffer(mmap.mmap(descriptor, nbytes, access=access), np.uint8)


def anonymous_file() -> int:
    """A descriptor of a new, empty file that has no name and ends with its last descriptor."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("mindtorch", os.MFD_CLOEXEC)
    with tempfile.TemporaryFile() as file:  # already without a name, or gone when closed
        return os.dup(file.fileno())


class _Mapping:
    """Keeps the descriptor of a shared block open, for sending it to other processes."""

    def __init__(self, descriptor: int, nbytes: int) -> None:
        self.descriptor = descriptor
        self.nbytes = nbytes

    def __del__(self) -> None:
        os.close(self.descriptor)


def move_to_shared_memory(storage: Any) -> None:
    """Put the bytes of a CPU storage into memory that other processes can map; nothing if they already are.

    Child processes that are forked share it as it is. Sent through `multiprocessing`, the storage arrives as the same
    memory rather than as a copy.

    Raises
    ------
    NotImplementedError
        For storages of other devices.
    """
    if storage.is_shared():
        return
    if storage.device.type != "cpu":
        raise NotImplementedError(f"share_memory_ is not available for '{storage.device.type}' storages")
    nbytes = storage.nbytes()
    descriptor = anonymous_file()
    os.ftruncate(descriptor, nbytes)
    memory = _mapped(descriptor, nbytes, mmap.ACCESS_WRITE)
    memory[...] = storage._host_bytes()
    move_block(storage._block, memory)
    _mark_shared(storage, _Mapping(descriptor, nbytes))


def _mark_shared(storage: Any, mapping: _Mapping) -> None:
    storage._block.attributes.update(mapping=mapping, resizable=False)
    _register_with_multiprocessing()


def _register_with_multiprocessing() -> None:
    from multiprocessing.reduction import ForkingPickler

    from .storage import UntypedStorage

    ForkingPickler.register(UntypedStorage, _reduce_for_process)


def _reduce_for_process(storage: Any) -> Any:
    mapping = storage._block.attributes.get("mapping")
    if mapping is None:
        return storage.__reduce_ex__(2)
    from multiprocessing.reduction import DupFd

    return _attach, (DupFd(mapping.descriptor), mapping.nbytes)


def _attach(duplicate: Any, nbytes: int) -> Any:
    from .storage import UntypedStorage

    descriptor = duplicate.detach()
    storage = UntypedStorage._over_numpy(_mapped(descriptor, nbytes, mmap.ACCESS_WRITE))
    _mark_shared(storage, _Mapping(descriptor, nbytes))
    return storage
