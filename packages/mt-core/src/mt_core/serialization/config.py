"""Settings of ``torch.save`` and ``torch.load``: byte order, memory mapping, alignment, and `skip_data`."""

import enum
import mmap
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = [
    "LoadEndianness",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "skip_data",
]

#: What `mmap.MAP_SHARED` and `mmap.MAP_PRIVATE` are where Python's `mmap` has neither (Windows).
MAP_SHARED: int = getattr(mmap, "MAP_SHARED", 1)
MAP_PRIVATE: int = getattr(mmap, "MAP_PRIVATE", 2)


class LoadEndianness(enum.Enum):
    """Byte order assumed for files that do not record theirs."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


class _LoadConfig:
    """``torch.utils.serialization.config.load``."""

    def __init__(self) -> None:
        self.mmap = False
        self.endianness: LoadEndianness | None = None
        self.mmap_flags = MAP_PRIVATE


class _SaveConfig:
    """``torch.utils.serialization.config.save``."""

    def __init__(self) -> None:
        self.compute_crc32 = True
        self.storage_alignment = 64


load = _LoadConfig()
save = _SaveConfig()


class _SkipState(threading.local):
    def __init__(self) -> None:
        self.skip_data = False


_skip_state = _SkipState()


def get_default_load_endianness() -> LoadEndianness | None:
    """The byte order assumed for files that do not record theirs."""
    return load.endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Set the byte order assumed for files that do not record theirs.

    Raises
    ------
    TypeError
        If `endianness` is neither a `LoadEndianness` nor None.
    """
    if not isinstance(endianness, LoadEndianness) and endianness is not None:
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    load.endianness = endianness


def get_default_mmap_options() -> int:
    """The flags with which ``torch.load(..., mmap=True)`` maps a file."""
    return load.mmap_flags


class set_default_mmap_options:
    """Set the flags of ``torch.load(..., mmap=True)``; as a context manager, until its end.

    Parameters
    ----------
    flags
        ``mmap.MAP_PRIVATE`` (writes to the tensors stay in memory, the default) or ``mmap.MAP_SHARED`` (they reach the
        file).
    """

    def __init__(self, flags: int) -> None:
        if flags not in (MAP_PRIVATE, MAP_SHARED):
            raise ValueError(
                f"Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or "
                f"mmap.MAP_SHARED, but got {flags}"
            )
        self.prev = load.mmap_flags
        load.mmap_flags = flags

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc_info: object) -> None:
        load.mmap_flags = self.prev


def get_crc32_options() -> bool:
    """Whether checksums were asked for; see `set_crc32_options`."""
    return save.compute_crc32


def set_crc32_options(compute_crc32: bool) -> None:
    """Say whether ``torch.save`` need compute the archive's checksums.

    Python's `zipfile`, which writes the archive, always computes them, so files are complete either way; ``torch.load``
    does not read them.
    """
    save.compute_crc32 = compute_crc32


@contextmanager
def skip_data(materialize_fake_tensors: bool = False) -> Iterator[None]:
    """Leave out the bytes of storages: ``torch.save`` writes zeros for them, ``torch.load`` leaves memory as it is.

    Raises
    ------
    NotImplementedError
        For `materialize_fake_tensors`: there are no fake tensors; use the meta device.
    """
    if materialize_fake_tensors:
        raise NotImplementedError(
            "skip_data(materialize_fake_tensors=True) is not supported: mindtorch has no fake tensors; "
            "load with map_location='meta' instead"
        )
    previous = _skip_state.skip_data
    _skip_state.skip_data = True
    try:
        yield
    finally:
        _skip_state.skip_data = previous


def is_skipping_data() -> bool:
    """Whether this thread is inside `skip_data`."""
    return _skip_state.skip_data


def is_byteswapped(recorded: bytes | None) -> bool:
    """Whether numbers in a file whose ``byteorder`` record is `recorded` (None: it has none) must be swapped here.

    Raises
    ------
    RuntimeError
        If the record names no byte order.
    """
    if recorded is not None:
        if recorded not in (b"little", b"big"):
            raise RuntimeError(f"Unknown endianness type: {recorded.decode(errors='replace'):.40} (record byteorder)")
        return recorded.decode() != sys.byteorder
    if load.endianness in (None, LoadEndianness.NATIVE):
        return False
    return load.endianness.name.lower() != sys.byteorder
