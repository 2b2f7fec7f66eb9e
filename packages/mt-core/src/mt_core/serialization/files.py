"""Opening what ``torch.save`` and ``torch.load`` are given, and replacing a file only when the new one is complete.

The new file is written beside the old one under a name of its own and takes its place at the end. Its writer holds a
lock on it: what a process left that was killed while writing has no lock any more, and the next save into that folder
removes it.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any

try:
    import fcntl
except ImportError:  # Windows, where a file that is open cannot be removed: that is the lock
    fcntl = None  # type: ignore[assignment]

__all__ = ["Output", "is_path", "opened", "written"]

_TEMPORARY = re.compile(r"\.[0-9a-f]{16}\.mindtorch-save")


def is_path(f: Any) -> bool:
    """Whether `f` names a file rather than being one."""
    return isinstance(f, (str, os.PathLike))


@contextmanager
def opened(f: Any) -> Iterator[IO[bytes]]:
    """A file to read from: the one at a path, or `f` itself, which must be seekable.

    Raises
    ------
    AttributeError
        If `f` is neither a path nor a seekable file.
    """
    if is_path(f):
        with open(f, "rb") as file:
            yield file
        return
    for method in ("seek", "tell"):
        if not hasattr(f, method):
            raise AttributeError(
                f"'{type(f).__name__}' object has no attribute '{method}'. You can only torch.load from a file that is "
                "seekable. Please pre-load the data into a buffer like io.BytesIO and try to load from it instead."
            )
    yield f


class Output:
    """Takes the consecutive pieces of a file.

    Parameters
    ----------
    write
        Writes bytes-like objects, and may say how many bytes it has written.
    resumes
        Whether the rest is offered again where only a part was written, as operating systems do near their limits;
        otherwise that is an error.
    """

    def __init__(self, write: Any, resumes: bool) -> None:
        self._write = write
        self._resumes = resumes

    def write(self, data: Any) -> int:
        """Write all of `data`.

        Raises
        ------
        RuntimeError
            If only a part was written.
        """
        rest = memoryview(data).cast("B") if memoryview(data).nbytes else memoryview(b"")
        total = rest.nbytes
        while rest.nbytes:
            count = self._write(rest)
            if not isinstance(count, int) or count >= rest.nbytes:
                break
            if not self._resumes or count <= 0:
                raise RuntimeError(
                    f"the file is not complete: its write() took {max(count, 0)} of {rest.nbytes} bytes. Pass a "
                    "buffered file, whose write() takes all it is given"
                )
            rest = rest[count:]
        return total


@contextmanager
def written(f: Any) -> Iterator[Output]:
    """An output to `f` itself, or to a file that takes the place of the one at a path when the block ends well.

    Raises
    ------
    AttributeError
        If `f` is neither a path nor has a ``write`` method.
    RuntimeError
        If the path's directory does not exist, or nothing can be written there, or ``write`` says that it wrote less
        than it was given.
    """
    if is_path(f):
        with _file_at(os.fspath(f)) as descriptor:
            yield Output(lambda data: os.write(descriptor, data), resumes=True)
        return
    if not callable(getattr(f, "write", None)):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    yield Output(f.write, resumes=False)
    flush = getattr(f, "flush", None)
    if flush is not None:
        flush()


@contextmanager
def _file_at(path: str) -> Iterator[int]:
    """A descriptor of the file at `path`, or of one that replaces it when the block ends and vanishes if it raises."""
    target = os.path.realpath(path)  # what a symbolic link points to is replaced, not the link
    parent = os.path.dirname(target)
    if not os.path.isdir(parent):
        raise RuntimeError(f"Parent directory {os.path.dirname(path)} does not exist.")
    present = _status_of(target)
    if present is not None and not stat.S_ISREG(present.st_mode):
        # A pipe or device can only be written to; a directory refuses by itself.
        writing = _in_place(target)
    elif present is not None and present.st_nlink > 1:
        _warn_in_place(target, "it has several hard links")
        writing = _in_place(target)
    else:
        writing = _replacement(parent, target, present)
    with writing as descriptor:
        yield descriptor


def _status_of(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _warn_in_place(path: str, reason: str) -> None:
    warnings.warn(
        f"{path} is written in place, since {reason}: if saving is interrupted, neither the old nor the new content is "
        "whole",
        stacklevel=8,
    )


@contextmanager
def _in_place(path: str) -> Iterator[int]:
    descriptor = _open_or_explain(path, os.O_WRONLY)
    try:
        yield descriptor
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.ftruncate(descriptor, os.lseek(descriptor, 0, os.SEEK_CUR))
    finally:
        os.close(descriptor)


@contextmanager
def _replacement(parent: str, target: str, present: os.stat_result | None) -> Iterator[int]:
    try:
        descriptor, temporary = _new_temporary(parent)
    except PermissionError as error:
        if present is None:
            raise _cannot_open(target, error) from error
        _warn_in_place(target, "no file can be made in its folder")
        with _in_place(target) as descriptor:
            yield descriptor
        return
    except OSError as error:
        raise _cannot_open(target, error) from error
    _remove_abandoned(parent)
    with os.fdopen(descriptor, "wb", buffering=0) as file:
        try:
            yield descriptor
            os.fsync(descriptor)
            if present is not None:
                _take_over(descriptor, temporary, present)
            _close_on_windows(file)
            os.replace(temporary, target)
        except BaseException:
            _close_on_windows(file)
            os.unlink(temporary)
            raise


def _close_on_windows(file: IO[bytes]) -> None:
    """There a file is moved and removed only when it is closed; elsewhere it keeps its lock until then."""
    if fcntl is None:
        file.close()


def _new_temporary(parent: str) -> tuple[int, str]:
    """A new file in a folder, locked: (descriptor, path)."""
    while True:
        path = os.path.join(parent, f".{secrets.token_hex(8)}.mindtorch-save")
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        if fcntl is not None:
            with suppress(OSError):  # a file system without locks: nobody can tell there that a writer is dead
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            if not os.fstat(descriptor).st_nlink:  # another save held it for abandoned before it was locked
                os.close(descriptor)
                continue
        return descriptor, path


def _remove_abandoned(folder: str) -> None:
    """Remove what processes left that were killed while saving: files of our names that nobody has locked."""
    with os.scandir(folder) as entries:
        paths = [entry.path for entry in entries if _TEMPORARY.fullmatch(entry.name)]
    for path in paths:
        with suppress(OSError):  # in use, gone by now, or another user's
            _remove_unlocked(path)


def _remove_unlocked(path: str) -> None:
    if fcntl is None:
        os.unlink(path)
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(path)
    finally:
        os.close(descriptor)


def _take_over(descriptor: int, path: str, present: os.stat_result) -> None:
    """Give the new file the owner, as far as that is permitted, and the mode of the one that it replaces."""
    if hasattr(os, "fchown"):
        for owner in (present.st_uid, -1):
            with suppress(PermissionError):
                os.fchown(descriptor, owner, present.st_gid)
                break
    os.chmod(path, stat.S_IMODE(present.st_mode))


def _cannot_open(path: str, error: OSError) -> RuntimeError:
    return RuntimeError(f"open file failed with strerror: {error.strerror}: {path}")


def _open_or_explain(path: str, flags: int) -> int:
    try:
        return os.open(path, flags | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise _cannot_open(path, error) from error
