"""Sources that are fetched: an archive is unpacked, and what is in it compared with the names that git gives to it."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import tarfile
import urllib.request
from pathlib import Path
from typing import Any

__all__ = ["SourceError", "fetch", "tree_name"]


class SourceError(Exception):
    """A source that is not what it is said to be."""


def tree_name(folder: Path) -> str:
    """The name that git gives to a folder: a hash of the names, modes and contents of what is in it."""
    entries = []
    for entry in folder.iterdir():
        if entry.is_symlink():
            mode, content = b"120000", _blob_name(os.fsencode(os.readlink(entry)))
        elif entry.is_dir():
            mode, content = b"40000", bytes.fromhex(tree_name(entry))
        else:
            mode = b"100755" if entry.stat().st_mode & 0o100 else b"100644"
            content = _blob_name(entry.read_bytes())
        name = os.fsencode(entry.name)
        # git sorts folders as though their names ended in a slash.
        entries.append((name + b"/" * (mode == b"40000"), mode + b" " + name + b"\0" + content))
    return _hashed(b"tree", b"".join(entry for _, entry in sorted(entries))).hex()


def _blob_name(content: bytes) -> bytes:
    return _hashed(b"blob", content)


def _hashed(kind: bytes, content: bytes) -> bytes:
    return hashlib.sha1(kind + b" %d\0" % len(content) + content).digest()


def fetch(name: str, source: dict[str, Any], into: Path, archive: Path | None = None) -> Path:
    """The folder with a source, fetched unless it is there.

    Parameters
    ----------
    name
        What the folder is called.
    source
        Its `url`, and its `folders` and `files` with their names in git.
    into
        The folder in which sources lie.
    archive
        A gzipped or plain tar that was fetched by other means; its members may lie under one folder.

    Raises
    ------
    SourceError
        Where a folder or file is not the one that is asked for.
    """
    names = hashlib.sha256(repr((sorted(source["folders"].items()), sorted(source["files"].items()))).encode())
    folder = into / f"{name}-{names.hexdigest()[:12]}"
    if folder.is_dir():
        return folder
    part = folder.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    if archive is None:
        with urllib.request.urlopen(source["url"], timeout=60) as response:
            packed = response.read()
    else:
        packed = archive.read_bytes()
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        tar.extractall(part, filter="data")
    root = part
    while not all((root / wanted).exists() for wanted in source["folders"]):
        inside = [entry for entry in root.iterdir() if entry.is_dir()]
        if len(inside) != 1:
            raise SourceError(f"{name}: the archive has no {' and '.join(source['folders'])}")
        root = inside[0]
    named = [(wanted, expected, tree_name(root / wanted)) for wanted, expected in source["folders"].items()]
    for wanted, expected in source["files"].items():
        named.append((wanted, expected, _blob_name((root / wanted).read_bytes()).hex()))
    for wanted, expected, found in named:
        if found != expected:
            raise SourceError(f"{name}: {wanted} is {found} in git's names, but {expected} was asked for")
    root.rename(folder)
    shutil.rmtree(part, ignore_errors=True)
    return folder
