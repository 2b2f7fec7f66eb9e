"""Memory that is a mapped file: given by path, or made to be shared between processes."""

from __future__ import annotations

import atexit
import contextlib
import mmap
import os
import struct
import tempfile
import weakref

import numpy as np

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

__all__ = [
    "STRATEGIES",
    "DescriptorMapping",
    "NamedMapping",
    "anonymous_file",
    "close_mappings",
    "map_file",
    "mapping_class",
    "set_strategy",
    "strategy",
]


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


class DescriptorMapping:
    """A shared block that has no name: other processes are sent its descriptor, which is kept open for that."""

    def __init__(self, descriptor: int, nbytes: int) -> None:
        self.descriptor = descriptor
        self.nbytes = nbytes
        facts = os.fstat(descriptor)
        #: The same for every descriptor of this block, in every process.
        self.identity: tuple[int, int] | str = (facts.st_dev, facts.st_ino)

    @classmethod
    def created(cls, nbytes: int) -> DescriptorMapping:
        """A new block of zeros."""
        descriptor = anonymous_file()
        os.ftruncate(descriptor, nbytes)
        return cls(descriptor, nbytes)

    def memory(self) -> np.ndarray:
        """The block as a writable uint8 array."""
        return _mapped(self.descriptor, self.nbytes, mmap.ACCESS_WRITE)

    def __del__(self) -> None:
        if hasattr(self, "identity"):
            os.close(self.descriptor)


#: Bytes before the elements of a named block: how many storages and messages refer to it.
_COUNT = struct.Struct("<q")
_HEADER = 64


class NamedMapping:
    """A shared block that other processes open by its name. It counts who refers to it, and the last removes the name.

    A process that is killed leaves its reference, and with it the file.
    """

    def __init__(self, path: str, nbytes: int) -> None:
        self.path = self.identity = path
        self.nbytes = nbytes
        self._process = os.getpid()
        _open_mappings.add(self)

    @classmethod
    def created(cls, nbytes: int) -> NamedMapping:
        """A new block of zeros, with one reference.

        Raises
        ------
        NotImplementedError
            On Windows.
        """
        if fcntl is None:
            raise NotImplementedError("memory with a name is not shared on this platform, which has no locks of files")
        folder = _SHARED_FOLDER if os.path.isdir(_SHARED_FOLDER) else None
        descriptor, path = tempfile.mkstemp("", f"torch_{os.getpid()}_", folder)
        try:
            os.ftruncate(descriptor, _HEADER + nbytes)
            os.pwrite(descriptor, _COUNT.pack(1), 0)
        finally:
            os.close(descriptor)
        return cls(path, nbytes)

    @classmethod
    def opened(cls, path: str, nbytes: int) -> NamedMapping:
        """The block of a name, with a reference that is there already, of the message that brought the name.

        Raises
        ------
        RuntimeError
            If there is no such block of this size.
        """
        if not os.path.exists(path) or os.path.getsize(path) != _HEADER + nbytes:
            raise RuntimeError(f"unable to open shared memory object <{path}> of {nbytes} bytes")
        return cls(path, nbytes)

    def memory(self) -> np.ndarray:
        """The block as a writable uint8 array."""
        descriptor = os.open(self.path, os.O_RDWR)
        try:
            return _mapped(descriptor, _HEADER + self.nbytes, mmap.ACCESS_WRITE)[_HEADER:]
        finally:
            os.close(descriptor)

    def take_reference(self) -> None:
        """Count one more storage or message."""
        self._add(1)

    def drop_reference(self) -> None:
        """Count one less; the file goes with the last."""
        self._add(-1)

    def _add(self, change: int) -> None:
        descriptor = os.open(self.path, os.O_RDWR)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            count = _COUNT.unpack(os.pread(descriptor, _COUNT.size, 0))[0] + change
            os.pwrite(descriptor, _COUNT.pack(count), 0)
            if count <= 0:
                os.unlink(self.path)
        finally:
            os.close(descriptor)

    def close(self) -> None:
        """Give up this process's reference; what a forked child inherits is not its own."""
        if self._process == os.getpid():
            self._process = -1
            with contextlib.suppress(FileNotFoundError):  # removed by someone else
                self.drop_reference()

    __del__ = close


_SHARED_FOLDER = "/dev/shm"
_open_mappings: weakref.WeakSet[NamedMapping] = weakref.WeakSet()


@atexit.register
def close_mappings() -> None:
    """Give up all references of this process, which is about to end."""
    for mapping in list(_open_mappings):
        mapping.close()


STRATEGIES: dict[str, type[DescriptorMapping] | type[NamedMapping]] = {
    "file_descriptor": DescriptorMapping,
    "file_system": NamedMapping,
}
_strategy = "file_descriptor"


def mapping_class() -> type[DescriptorMapping] | type[NamedMapping]:
    """What memory that is shared from now on is held by."""
    return STRATEGIES[_strategy]


def strategy() -> str:
    """The name of the strategy by which memory is shared."""
    return _strategy


def set_strategy(name: str) -> None:
    """Share memory by another strategy from now on."""
    global _strategy
    _strategy = name
