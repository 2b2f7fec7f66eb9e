"""Opening what ``torch.save`` and ``torch.load`` are given, and replacing a file only when the new one is complete."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

__all__ = ["is_path", "opened", "written"]


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


@contextmanager
def written(f: Any) -> Iterator[IO[bytes]]:
    """A file to write to: `f` itself, or one that takes the place of the file at a path when the block ends well.

    Raises
    ------
    AttributeError
        If `f` is neither a path nor has a ``write`` method.
    RuntimeError
        If the path's directory does not exist, or nothing can be written there.
    """
    if is_path(f):
        with _replacement(os.fspath(f)) as file:
            yield file
        return
    if not callable(getattr(f, "write", None)):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    yield f
    flush = getattr(f, "flush", None)
    if flush is not None:
        flush()


@contextmanager
def _replacement(path: str) -> Iterator[IO[bytes]]:
    """A new file that replaces the one at `path` when the block ends, and vanishes if it raises."""
    target = os.path.realpath(path)  # what a symbolic link points to is replaced, not the link
    parent = os.path.dirname(target)
    if not os.path.isdir(parent):
        raise RuntimeError(f"Parent directory {os.path.dirname(path)} does not exist.")
    mode = _mode_of(target)
    if mode is not None and not stat.S_ISREG(mode):
        # A pipe or device can only be written to; a directory refuses by itself.
        with _open_or_explain(target, os.O_WRONLY) as file:
            yield file
        return
    temporary = os.path.join(parent, f".{os.path.basename(target)[:100]}.{secrets.token_hex(8)}.tmp")
    with _open_or_explain(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as file:
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            file.close()
            os.unlink(temporary)
            raise
    if mode is not None:
        os.chmod(temporary, stat.S_IMODE(mode))
    os.replace(temporary, target)


def _mode_of(path: str) -> int | None:
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


def _open_or_explain(path: str, flags: int) -> IO[bytes]:
    try:
        return os.fdopen(os.open(path, flags | getattr(os, "O_BINARY", 0), 0o666), "wb")
    except OSError as error:
        raise RuntimeError(f"open file failed with strerror: {error.strerror}: {path}") from error
