"""The docstrings of Python's own standard library, read from its sources.

Modules written in Python are parsed, not imported, so that nothing runs. A few modules written in C, which have no
source to parse, are safe to import and are asked for their docstrings.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

COMPILED_MODULES = ("builtins", "cmath", "itertools", "math", "sys", "time", "zlib")

# Folders of the standard library that hold tests, programs, other people's packages, or what recent releases dropped.
SKIPPED = set("dist-packages distutils ensurepip idlelib lib2to3 site-packages test tests turtledemo".split())

MIN_WORDS = 4

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Entry(NamedTuple):
    """A documented function, method or class: its dotted name and its docstring."""

    name: str
    docstring: str

    @property
    def module(self) -> str:
        """The top-level module: `json` for `json.decoder.JSONDecoder`."""
        return self.name.partition(".")[0]

    @property
    def is_top_level(self) -> bool:
        """Whether it stands in a top-level module and in no class: `json.dumps`."""
        return self.name.count(".") == 1

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return self.docstring.partition("\n")[0]


def collect() -> list[Entry]:
    """All public documented functions, methods and classes, sorted by name; equal docstrings are kept once."""
    sources = (entry for path in source_files() for entry in parsed_entries(path))
    compiled = (entry for name in COMPILED_MODULES for entry in compiled_entries(name))
    by_docstring: dict[str, Entry] = {}
    for entry in sorted([*sources, *compiled]):
        if len(entry.docstring.split()) >= MIN_WORDS:
            by_docstring.setdefault(entry.docstring, entry)
    return list(by_docstring.values())


def library() -> Path:
    """The directory of the standard library."""
    return Path(sysconfig.get_path("stdlib"))


def source_files() -> Iterator[Path]:
    """Every Python source of the standard library that holds neither tests nor private modules."""
    for path in sorted(library().rglob("*.py")):
        parts = path.relative_to(library()).parts
        if SKIPPED.isdisjoint(parts) and public_name(parts[0].removesuffix(".py")):
            yield path


def public_name(module: str) -> str | None:
    """The name that users import: `decimal` for `_pydecimal`, None for private modules and what is no module."""
    module = module.removeprefix("_py")
    return module if module in sys.stdlib_module_names and not module.startswith("_") else None


def module_name(path: Path) -> str:
    """The dotted name of the module that a source file holds."""
    first, *rest = path.relative_to(library()).with_suffix("").parts
    return ".".join([public_name(first) or first, *(part for part in rest if part != "__init__")])


def parsed_entries(path: Path) -> Iterator[Entry]:
    """The documented definitions of one source file."""
    try:
        tree = ast.parse(path.read_bytes())
    except SyntaxError:  # some releases ship templates and deliberately broken files
        return
    yield from definitions(tree.body, module_name(path))


def definitions(body: Iterable[ast.stmt], prefix: str) -> Iterator[Entry]:
    """The documented public definitions in a module's or a class's body, and in the bodies of its classes."""
    for node in body:
        if not isinstance(node, Definition) or node.name.startswith("_"):
            continue
        name = f"{prefix}.{node.name}"
        docstring = ast.get_docstring(node)
        if docstring:
            yield Entry(name, docstring)
        if isinstance(node, ast.ClassDef):
            yield from definitions(node.body, name)


def compiled_entries(module: str) -> Iterator[Entry]:
    """The documented functions and classes of a module written in C, and the methods of its classes."""
    yield from members(importlib.import_module(module), module, deep=True)


def members(owner: object, prefix: str, deep: bool) -> Iterator[Entry]:
    """The documented public routines and classes in a namespace; with `deep`, also those of its classes."""
    for attribute, value in sorted(vars(owner).items()):
        is_class = inspect.isclass(value)
        if attribute.startswith("_") or not (is_class or inspect.isroutine(value)):
            continue
        name = f"{prefix}.{attribute}"
        docstring = inspect.getdoc(value)
        if docstring:
            yield Entry(name, docstring)
        if is_class and deep:
            yield from members(value, name, deep=False)
