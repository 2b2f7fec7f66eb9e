"""Compiled kernels on disk: keyed by everything that they depend on, written whole or not at all, checked when read."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from .nvrtc import Compiled

__all__ = ["cached", "folder", "key_of", "read", "write"]

MAGIC = b"mindtorch kernel 1\n"


def folder() -> Path:
    """Where compiled kernels are kept: below ``MINDTORCH_CACHE_DIR``, or the platform's folder for caches."""
    named = os.environ.get("MINDTORCH_CACHE_DIR")
    if named:
        return Path(named) / "cuda"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "mindtorch" / "cuda"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mindtorch" / "cuda"


def key_of(source: str, expressions: Sequence[str], options: Sequence[str], *versions: object) -> str:
    """The name of an entry: it changes with the source, the instances, the options and every version given."""
    text = json.dumps([source, list(expressions), list(options), list(map(str, versions))])
    return hashlib.sha256(text.encode()).hexdigest()


def write(key: str, compiled: Compiled) -> None:
    """Keep an entry. Where the folder cannot be written, the kernel serves this process alone."""
    head = json.dumps({"names": compiled.names, "log": compiled.log}).encode()
    payload = len(head).to_bytes(8, "little") + head + compiled.image
    try:
        folder().mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder(), delete=False) as file:
            file.write(MAGIC + hashlib.sha256(payload).digest() + payload)
        os.replace(file.name, folder() / key)
    except OSError:  # read-only or full
        return


def read(key: str) -> Compiled | None:
    """An entry; None where there is none, or it is not what was written."""
    try:
        data = (folder() / key).read_bytes()
    except OSError:  # absent, or unreadable
        return None
    start = len(MAGIC) + 32
    payload = data[start:]
    if data[: len(MAGIC)] != MAGIC or hashlib.sha256(payload).digest() != data[len(MAGIC) : start]:
        return None
    end = 8 + int.from_bytes(payload[:8], "little")
    head = json.loads(payload[8:end])
    return Compiled(payload[end:], head["names"], head["log"])


def cached(key: str, build: Callable[[], Compiled]) -> Compiled:
    """The entry of a key, built where there is none that is whole."""
    found = read(key)
    if found is None:
        found = build()
        write(key, found)
    return found
