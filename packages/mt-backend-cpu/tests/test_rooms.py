"""Kernels do arithmetic: shapes and composites are the core's, and are not asked again."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import mt_backend_cpu.kernels
import mt_backend_cpu.native
import mt_core.decomp

ROOM = Path(mt_backend_cpu.kernels.__path__[0])
NATIVE = Path(mt_backend_cpu.native.__path__[0])
COMPOSITES = Path(mt_core.decomp.__path__[0])
#: Families by NumPy's own loops alone, which the library only calls (`native/python/loops.cpp`).
LOOPS = {f"elementwise_{part}" for part in ("bitwise", "power", "rounding", "transcendental")}
#: Folder of C++ -> families that have no file there: they only move memory, by the functions of views, or call loops.
MOVES: dict[str, set[str]] = {"kernels": {"creation", "view_join", *LOOPS}, "python": LOOPS}
MODULES = sorted([*ROOM.glob("*.py"), *NATIVE.glob("*.py")])


@pytest.mark.parametrize("path", MODULES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_no_kernel_repeats_a_shape_rule(path: Path) -> None:
    imported = {n.module for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.ImportFrom) and n.module}
    assert not {m for m in imported if m.startswith(("mt_core.shape_rules", "mt_core.decomp", "mt_core.tensor"))}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_no_kernel_takes_an_error_for_an_answer(path: Path) -> None:
    """A kernel that fails is a mistake, never the sign to go another way.

    LAPACK reports by raising; and NumPy finds an index out of range, which is then said in PyTorch's words.
    """
    handled = [ast.unparse(h.type) for h in ast.walk(ast.parse(path.read_text())) if isinstance(h, ast.ExceptHandler)]
    assert set(handled) <= {"np.linalg.LinAlgError", "IndexError"}


def registered(tree: ast.AST) -> list[ast.FunctionDef]:
    """The functions under a decorator that registers a kernel."""
    words = ("kernel(", "fused(", "short_view(")
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return [f for f in functions if any(ast.unparse(d).startswith(words) for d in f.decorator_list)]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_kernel_says_its_shapes(path: Path) -> None:
    silent = [f.name for f in registered(ast.parse(path.read_text())) if "->" not in (ast.get_docstring(f) or "")]
    assert silent == []


def test_native_kernels_stand_beside_those_that_they_stand_in_for() -> None:
    """A family's native kernels, their C++, and NumPy's or the composites are found under one name."""
    written = {path.stem for path in NATIVE.glob("*.py")} - {"__init__"}
    assert written <= {path.stem for path in (*ROOM.glob("*.py"), *COMPOSITES.glob("*.py"))}
    sources = Path(__file__).parents[1] / "native"
    for folder in ("kernels", "python"):
        assert written - MOVES[folder] == written & {path.stem for path in (sources / folder).glob("*.cpp")}
