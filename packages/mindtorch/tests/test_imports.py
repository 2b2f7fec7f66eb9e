"""Imports run one way, and an import inside a function says why it is there.

The whole graph counts, what functions import included: an import that is moved into a function to please Python hides a
circle, and whether its name exists, from every tool.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

#: Distribution -> those of ours that it may import.
MAY_IMPORT = {
    "mt_core": (),
    "mt_autograd": ("mt_core",),
    "mt_backend_cpu": ("mt_core",),
    "mt_nn": ("mt_core", "mt_autograd"),
    "mt_library": ("mt_core", "mt_autograd"),
    "mt_distributed": ("mt_core", "mt_autograd", "mt_nn", "mt_library"),
    "mindtorch": ("mt_core", "mt_autograd", "mt_nn", "mt_library", "mt_distributed"),
}
#: What its tests may import beside it: what it stands on, and for kernels the gradients that they must have.
TESTS_MAY_IMPORT = {**MAY_IMPORT, "mt_backend_cpu": ("mt_core", "mt_autograd")}
#: What an import by a name in quotes of what stands above must say behind it.
UPWARD = "# upward: "


@dataclass(frozen=True)
class Import:
    """One name that a module imports."""

    file: Path
    line: int
    module: str
    name: str | None
    in_function: bool
    text: str
    reason: str

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}: {self.text.strip()}"


def imports_of(file: Path, module: str, source: str) -> Iterator[Import]:
    """What a module imports, wherever; what only type checkers see is left out."""
    lines = source.splitlines()
    package = module.split(".") if file.name == "__init__.py" else module.split(".")[:-1]

    def walk(node: ast.AST, in_function: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                for other in child.orelse:
                    yield from walk(other, in_function)
            elif isinstance(child, ast.Import | ast.ImportFrom):
                for alias in child.names:
                    target, name = _target(child, alias.name, package)
                    yield Import(
                        file, child.lineno, target, name, in_function, lines[child.lineno - 1], _reason(child, lines)
                    )
            else:
                is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
                yield from walk(child, in_function or is_function)

    return walk(ast.parse(source), False)


def _reason(statement: ast.stmt, lines: list[str]) -> str:
    """The comment behind a statement, or else the one above it."""
    behind = lines[(statement.end_lineno or statement.lineno) - 1].partition("#")[2]
    above = lines[statement.lineno - 2].strip()
    return behind.strip() or (above[1:].strip() if above.startswith("#") else "")


def _target(statement: ast.Import | ast.ImportFrom, name: str, package: list[str]) -> tuple[str, str | None]:
    if isinstance(statement, ast.Import):
        return name, None
    above = package[: len(package) - statement.level + 1] if statement.level else []
    return ".".join([*above, *([statement.module] if statement.module else [])]), name


@cache
def modules_of(distribution: str) -> dict[str, Path]:
    """Every module of a distribution and its file."""
    sources = Path(__file__).parents[2] / distribution.replace("_", "-") / "src"
    if str(sources) not in sys.path:  # mt-distributed need not be installed beside mindtorch
        sys.path.append(str(sources))
    spec = importlib.util.find_spec(distribution)
    assert spec is not None
    assert spec.origin is not None
    root = Path(spec.origin).parent
    found = {}
    for file in sorted(root.rglob("*.py")):
        if "_stand_in" in file.parts:
            continue
        parts = file.relative_to(root.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


@cache
def all_imports(distribution: str) -> list[tuple[str, Import]]:
    return [
        (module, found)
        for module, file in modules_of(distribution).items()
        for found in imports_of(file, module, file.read_text(encoding="utf-8"))
    ]


def graph(distribution: str, imports: list[tuple[str, Import]]) -> dict[str, set[str]]:
    """Module -> the modules of the same distribution that it imports."""
    modules = modules_of(distribution)
    edges: dict[str, set[str]] = {module: set() for module in modules}
    for module, found in imports:
        whole = f"{found.module}.{found.name}"
        target = whole if found.name is not None and whole in modules else found.module
        if target in modules and target != module:
            edges[module].add(target)
    return edges


def circle(edges: dict[str, set[str]]) -> list[str] | None:
    """One way round in a graph, or None where there is none."""
    finished: set[str] = set()
    for start in edges:
        path: list[str] = []
        stack = [(start, iter(sorted(edges[start])))] if start not in finished else []
        path.extend(node for node, _ in stack)
        while stack:
            node, targets = stack[-1]
            target = next((t for t in targets if t not in finished), None)
            if target is None:
                finished.add(node)
                stack.pop()
                path.pop()
            elif target in path:
                return [*path[path.index(target) :], target]
            else:
                stack.append((target, iter(sorted(edges[target]))))
                path.append(target)
    return None


#: What a function asks for, and says how to install where it is missing.
OPTIONAL = {"PIL", "matplotlib", "moviepy", "mpi4py", "tabulate", "tensorboard"}


@pytest.mark.parametrize("distribution", MAY_IMPORT)
def test_imports_make_no_circle(distribution: str) -> None:
    assert circle(graph(distribution, all_imports(distribution))) is None


@pytest.mark.parametrize("distribution", MAY_IMPORT)
def test_imports_in_functions_say_why(distribution: str) -> None:
    silent = [i.place for _, i in all_imports(distribution) if i.in_function and len(i.reason.split()) < 3]
    assert silent == []


@pytest.mark.parametrize("distribution", MAY_IMPORT)
def test_what_functions_import_exists(distribution: str) -> None:
    missing = []
    for _, found in all_imports(distribution):
        if found.in_function and found.module not in OPTIONAL:
            try:
                module = importlib.import_module(found.module)
            except ModuleNotFoundError as error:
                if error.name not in OPTIONAL:
                    raise
                continue
            if found.name is not None and not hasattr(module, found.name):
                if importlib.util.find_spec(f"{found.module}.{found.name}") is None:
                    missing.append(found.place)
    assert missing == []


@pytest.mark.parametrize("distribution", MAY_IMPORT)
def test_distributions_import_only_what_they_stand_on(distribution: str) -> None:
    allowed = {distribution, *MAY_IMPORT[distribution]}
    tops = {(i.module.partition(".")[0], i.place) for _, i in all_imports(distribution)}
    assert [place for top, place in tops if top in MAY_IMPORT and top not in allowed] == []


@pytest.mark.parametrize("distribution", MAY_IMPORT)
def test_names_in_quotes_are_no_way_around(distribution: str) -> None:
    allowed = {distribution, *MAY_IMPORT[distribution]}
    wrong = []
    for file in modules_of(distribution).values():
        source = file.read_text(encoding="utf-8")
        lines = source.splitlines()
        for line, top in imported_by_name(source):
            place = f"{file}:{line}: {lines[line - 1].strip()}"
            if top in MAY_IMPORT and top not in allowed and UPWARD not in place:
                wrong.append(place)
    assert wrong == []


@pytest.mark.parametrize("distribution", MAY_IMPORT)
def test_tests_import_nothing_from_above(distribution: str) -> None:
    allowed = {distribution, *TESTS_MAY_IMPORT[distribution]}
    folder = Path(__file__).parents[2] / distribution.replace("_", "-") / "tests"
    wrong = []
    for file in folder.rglob("*.py"):
        source = file.read_text(encoding="utf-8")
        found = {i.module.partition(".")[0] for i in imports_of(file, file.stem, source)}
        found.update(top for _, top in imported_by_name(source))
        # The programs that tests run in processes of their own are text.
        found.update(re.findall(r"^(?:import|from) (\w+)", source, re.MULTILINE))
        wrong += [f"{file.name}: {top}" for top in found if top in MAY_IMPORT and top not in allowed]
    assert wrong == []


def imported_by_name(source: str) -> Iterator[tuple[int, str]]:
    """(line, top package) of every ``import_module("...")``."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and node.args and ast.unparse(node.func).endswith("import_module"):
            name = node.args[0]
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                yield node.lineno, name.value.partition(".")[0]


def test_the_tests_see_what_they_are_for(tmp_path: Path) -> None:
    lines = ("from .c import d", "import numpy  # it is big", "# it is small", "import os")
    source = "from . import b\n\ndef f():\n" + "".join(f"    {line}\n" for line in lines)
    first, second, third, fourth = imports_of(tmp_path / "a.py", "top.a", source)
    assert (first.module, first.name, first.in_function) == ("top", "b", False)
    assert (second.module, second.name, second.in_function, second.reason) == ("top.c", "d", True, "")
    assert (third.module, third.reason) == ("numpy", "it is big")
    assert (fourth.module, fourth.reason) == ("os", "it is small")
    assert list(imported_by_name('x = 1\nimportlib.import_module("a.b")\n')) == [(2, "a")]
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) is None
