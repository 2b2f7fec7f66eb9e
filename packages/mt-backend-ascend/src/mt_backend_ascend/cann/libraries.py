"""Finding and loading CANN's shared libraries."""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Iterator
from pathlib import Path

from mt_core.plugins.discovery import PluginError

__all__ = ["FOLDERS", "HOMES", "candidates", "home", "load", "version", "versions_of"]

#: Variables that CANN's ``set_env.sh`` sets to its folder.
HOMES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")
#: Below it, the folders with shared libraries.
FOLDERS = ("lib64", "aarch64-linux/lib64", "x86_64-linux/lib64")
#: Below it, files that tell the version.
_VERSIONS = ("version.cfg", "version.info", "compiler/version.info", "runtime/version.info")


def home() -> Path | None:
    """CANN's folder, as its ``set_env.sh`` names it; None where it was not sourced."""
    return next((Path(os.environ[name]) for name in HOMES if os.environ.get(name)), None)


def versions_of(folder: Path) -> dict[str, str]:
    """The files below CANN's folder that tell its version, and what stands in them."""
    return {part: (folder / part).read_text(errors="replace") for part in _VERSIONS if (folder / part).is_file()}


def version() -> str:
    """CANN's version, or what keeps it from being told."""
    folder = home()
    if folder is None:
        return f"none of {' and '.join(HOMES)} is set"
    for text in versions_of(folder).values():
        found = re.search(r"^\w*version\w*\s*=\s*\[?([\w.:-]+)", text, re.IGNORECASE | re.MULTILINE)
        if found is not None:
            return found.group(1)
    return f"not told by any of {', '.join(_VERSIONS)} below {folder}"


def candidates(name: str) -> Iterator[str]:
    """What to hand to the loader for a library, the most particular first."""
    folder = home()
    places = [] if folder is None else [folder / part / name for part in FOLDERS]
    yield from (str(place) for place in places if place.exists())
    yield name


def load(name: str) -> ctypes.CDLL:
    """A library of CANN's, whose symbols those loaded later see.

    Raises
    ------
    PluginError
        Naming the library, or the one that it needs itself, and the remedy.
    """
    failures = []
    for place in candidates(name):
        try:
            return ctypes.CDLL(place, mode=ctypes.RTLD_GLOBAL)
        except OSError as error:
            failures.append(str(error))
    raise PluginError(
        f"CANN's {name} cannot be loaded: {'; '.join(failures)}. Install CANN and run `source <CANN>/set_env.sh`, "
        "which sets ASCEND_HOME_PATH and LD_LIBRARY_PATH"
    )
