"""Memory that is a mapped file: given by path, or made to be shared between processes."""

from __future__ import annotations

import mmap
import os
import tempfile

import numpy as np

__all__ = ["Mapping", "anonymous_file", "map_file", "shared_copy"]


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


class Mapping:
    """Keeps the descriptor of a shared block open, for sending it to other processes."""

    def __init__(self, descriptor: int, nbytes: int) -> None:
        self.descriptor = descriptor
        self.nbytes = nbytes

    def memory(self) -> np.ndarray:
        """The block as a writable uint8 array."""
        return _mapped(self.descriptor, self.nbytes, mmap.ACCESS_WRITE)

    def __del__(self) -> None:
        os.close(self.descriptor)


def shared_copy(content: np.ndarray) -> tuple[np.ndarray, Mapping]:
    """A copy of a uint8 array in memory that other processes can map, and the mapping that lets them."""
    descriptor = anonymous_file()
    os.ftruncate(descriptor, content.nbytes)
    mapping = Mapping(descriptor, content.nbytes)
    memory = mapping.memory()
    memory[...] = content
    return memory, mapping
