"""Composites make their tensors where their arguments are."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from pathlib import Path

import pytest

import mt_core as torch
import mt_core.decomp
from mt_core.dispatch.registry import DECLARATIONS
from mt_core.testing.sample import declared_operators

FOLDER = Path(mt_core.decomp.__path__[0])


def factories() -> set[str]:
    """Python names of what makes a tensor without being given one."""
    declared_operators()
    return {
        declaration.schema.name
        for declaration in DECLARATIONS.values()
        if declaration.kind == "factory" and not any(a.is_tensor for a in declaration.schema.arguments)
    } | {"tensor"}


def makers(source: str, names: set[str]) -> Iterator[ast.Call]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called.removeprefix("ops.") in names and not hasattr(builtins, called):
                yield node


def homeless(source: str) -> list[str]:
    """Calls of factories that do not say where: they would make tensors on the default device."""
    return [
        ast.unparse(call)
        for call in makers(source, factories())
        if not any(k.arg in ("device", None) for k in call.keywords) and not any(map(_is_splat, call.args))
    ]


def _is_splat(argument: ast.expr) -> bool:
    return isinstance(argument, ast.Starred)


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.py")), ids=lambda file: file.stem)
def test_composites_say_where_they_make_tensors(file: Path) -> None:
    assert homeless(file.read_text(encoding="utf-8")) == []


def test_a_factory_without_a_place_is_seen() -> None:
    assert homeless("ops.zeros((3,), dtype=d)\nops.ones((3,), device=x.device)\nops.full(*made)") == [
        "ops.zeros((3,), dtype=d)"
    ]


@pytest.mark.parametrize("d", [torch.float32, torch.float16])
def test_what_draws_or_looks_at_elements_has_a_shape_without_any(d: torch.dtype) -> None:
    x = torch.ones(2, 3, dtype=d, device="meta")
    assert torch.rrelu(x, training=True).shape == x.shape and torch.rrelu(x, training=True).dtype is d
    assert torch.rrelu_(x, training=True) is x and x._version == 1
    indices = torch.zeros(4, dtype=torch.int64, device="meta")
    assert torch.embedding_renorm_(x, indices, 1.0, 2.0) is x and x._version == 2
