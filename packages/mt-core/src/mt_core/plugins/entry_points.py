"""Entry points of the installed distributions, read from their metadata without `importlib.metadata`.

Importing `importlib.metadata` and its ``entry_points()`` cost more than everything else that ``import mindtorch`` does
beside NumPy. One pass over the ``*.dist-info/entry_points.txt`` on ``sys.path`` finds the same: the first
distribution of a name hides later ones, editable installs included. Archives on the path, and finders of other
packages that know distributions, are asked through `importlib.metadata`, as there is no other way to.
"""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

__all__ = ["EntryPoint", "GROUPS", "OWN_DISTRIBUTIONS", "all_entry_points", "read_groups", "third_parties_are_on"]

#: The groups that distributions take part by.
GROUPS = (
    "mindtorch.backends",
    "mindtorch.layers",
    "mindtorch.extensions",
    "mindtorch.compilers",
    "mindtorch.collectives",
    "mindtorch.bridges",
    "mindtorch.torch_names",
)
#: The distributions of this project, which ``MINDTORCH_PLUGINS=0`` leaves on.
OWN_DISTRIBUTIONS = frozenset(
    """
    mindtorch mt-autograd mt-backend-ascend mt-backend-cpu mt-backend-gpu mt-core mt-distributed mt-library mt-mindspore
    mt-nn mt-xla
    """.split()
)

#: Bytes read at once; hardly a file of entry points is longer.
_BLOCK = 1 << 16

_VALUE = re.compile(r"([\w.]+)\s*(?::\s*([\w.]+)\s*)?(?:\[.*\])?\s*\Z")


class EntryPoint(NamedTuple):
    """``name = value`` in a group of a distribution's metadata."""

    group: str
    name: str
    value: str
    distribution: str

    @property
    def is_own(self) -> bool:
        """Whether it belongs to a distribution of this project."""
        return self.distribution in OWN_DISTRIBUTIONS

    @property
    def module(self) -> str:
        """The module that the value names."""
        return self._parts()[0]

    @property
    def attr(self) -> str:
        """What the value names in the module; empty where it names the module itself."""
        return self._parts()[1] or ""

    def _parts(self) -> tuple[str, str | None]:
        match = _VALUE.match(self.value)
        if match is None:
            raise ValueError(f"the entry point '{self.name} = {self.value}' names no module")
        return match[1], match[2]

    def load(self) -> Any:
        """Import the module, and what the value names in it.

        Raises
        ------
        Exception
            Whatever the module raises; ImportError and AttributeError for names that do not exist.
        """
        import importlib  # lazy: only where something is loaded

        module = importlib.import_module(self.module)
        return functools.reduce(getattr, filter(None, self.attr.split(".")), module)


def third_parties_are_on() -> bool:
    """Whether plugins from outside of the project take part: unless ``MINDTORCH_PLUGINS`` is 0.

    Raises
    ------
    RuntimeError
        Where the variable is neither 0 nor 1.
    """
    value = os.environ.get("MINDTORCH_PLUGINS", "")
    if value not in ("", "0", "1"):
        raise RuntimeError(f"the environment variable MINDTORCH_PLUGINS must be 0 or 1, not '{value}'")
    return value != "0"


@functools.cache
def all_entry_points() -> dict[str, dict[str, list[EntryPoint]]]:
    """Group -> name -> entry points, of `GROUPS`; third parties' are left out where they are switched off."""
    found: dict[str, dict[str, list[EntryPoint]]] = {group: {} for group in GROUPS}
    everyone = third_parties_are_on()
    for point in read_groups(sys.path):
        if point.group in found and (everyone or point.is_own):
            found[point.group].setdefault(point.name, []).append(point)
    return found


def read_groups(path: Iterable[str]) -> Iterator[EntryPoint]:
    """Every entry point of a group named ``mindtorch.*``, of the distributions on a path, each distribution once."""
    seen: set[str] = set()
    for name, text in _distributions(path):
        if name not in seen:
            seen.add(name)
            if text and "mindtorch." in text:
                yield from _parse(text, name)


def _distributions(path: Iterable[str]) -> Iterator[tuple[str, str | None]]:
    """(normalized name, text of ``entry_points.txt`` or None) of every distribution, in the order of the path."""
    for entry in path:
        try:
            yield from _in_folder(entry)
        except NotADirectoryError:
            yield from _in_archive(entry)
        except OSError:  # a folder that does not exist, or cannot be read, holds nothing that could be imported
            continue
    yield from _of_other_finders()


def _in_folder(entry: str) -> Iterator[tuple[str, str | None]]:
    # Names are listed before files are read: a generator must not hold a folder open over its caller's work.
    eggs = ("egg-info",) if entry.endswith(".egg") else ()
    infos = [name for name in os.listdir(entry or ".") if name.endswith((".dist-info", ".egg-info"))]
    for name in infos:
        yield _normalized(name), _read(os.path.join(entry, name, "entry_points.txt"))
    if eggs:
        yield _normalized(os.path.basename(entry)), _read(os.path.join(entry, "EGG-INFO", "entry_points.txt"))


def _normalized(stem: str) -> str:
    """``toy-backend`` of ``Toy_Backend-1.0.dist-info``."""
    name = os.path.splitext(stem)[0].partition("-")[0]
    return re.sub(r"[-_.]+", "-", name).lower()


def _read(path: str) -> str | None:
    """The text of a small file; None where there is none. Objects of `open` would cost more than all else here."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        data = os.read(descriptor, _BLOCK)
        while len(data) % _BLOCK == 0 and (more := os.read(descriptor, _BLOCK)):
            data += more
    finally:
        os.close(descriptor)
    return data.decode("utf-8", "replace")


def _in_archive(entry: str) -> Iterator[tuple[str, str | None]]:
    from importlib.metadata import distributions  # lazy: slow, and rarely is an archive on the path

    for distribution in distributions(path=[entry]):
        yield _normalized(distribution.metadata["Name"].replace("-", "_")), distribution.read_text("entry_points.txt")


def _of_other_finders() -> Iterator[tuple[str, str | None]]:
    """Distributions that only a finder of another package knows."""
    for finder in sys.meta_path:
        find = getattr(finder, "find_distributions", None)
        # These two look where we have looked.
        if find is None or getattr(finder, "__name__", type(finder).__name__) in ("PathFinder", "MetadataPathFinder"):
            continue
        for distribution in find():
            name = distribution.metadata["Name"].replace("-", "_")
            yield _normalized(name), distribution.read_text("entry_points.txt")


def _parse(text: str, distribution: str) -> Iterator[EntryPoint]:
    group = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            group = line.strip("[]")
        elif "=" in line and not line.startswith("#") and group.startswith("mindtorch."):
            name, _, value = line.partition("=")
            yield EntryPoint(group, name.strip(), value.strip(), distribution)
