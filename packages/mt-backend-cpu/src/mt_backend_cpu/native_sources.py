"""Which sources a native library was built from. The build hook reads this file alone: it imports only Python's own."""

from __future__ import annotations

import hashlib
from pathlib import Path

__all__ = ["changed_since", "source_hash"]


def _files(sources: Path) -> list[Path]:
    return sorted(path for path in sources.rglob("*") if path.is_file())


def source_hash(sources: Path) -> str:
    """What a library is built from, names and contents, in a few digits."""
    digest = hashlib.sha256()
    for path in _files(sources):
        digest.update(path.relative_to(sources).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:20]


def changed_since(sources: Path, library: Path, built_from: str) -> bool:
    """Whether `library`, built from sources of the hash `built_from`, is older than `sources` and differs from them.

    The times of the files are asked first, so that a checkout whose library is up to date pays for no reading.
    """
    built = library.stat().st_mtime_ns
    newer = any(path.stat().st_mtime_ns > built for path in _files(sources))
    return newer and source_hash(sources) != built_from
