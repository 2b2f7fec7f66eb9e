"""The recording closures: which form an operator gets, and that forms which repeat lines repeat the same ones."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import pytest

import mt_autograd.recording as recording
import mt_core as mt
from mt_core.dispatch.registry import forget_all


def statements(name: str) -> list[str]:
    """The statements of the closure that a form makes, in order, without what makes it."""
    tree = ast.parse(inspect.getsource(getattr(recording, name)))
    closure = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "record")
    return [ast.unparse(node) for node in closure.body]


def test_the_unary_form_repeats_the_lines_of_the_first_form() -> None:
    """All but the call itself, in the same order."""
    unary, first = statements("record_unary")[1:], iter(statements("record_first")[1:])
    assert len(unary) > 10
    assert [line for line in unary if line not in first] == []  # `in` goes on where the last one was found


@pytest.mark.parametrize(
    "call, form",
    [
        (lambda x: mt.exp(x), "record_unary"),
        (lambda x: x * x, "record_binary"),
        (lambda x: x + x, "record_binary"),
        (lambda x: mt.div(x, x, rounding_mode=None), "record_binary"),
        (lambda x: x.sum(), "record_first"),
        (lambda x: mt.cat([x, x]), "record_any"),
        (lambda x: mt.where(x > 0, x, 1.0), "record_any"),
        (lambda x: x.max(0), "record_outputs"),
    ],
)
def test_each_operator_gets_the_shortest_form_that_fits(call: Any, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    for name in ("record_unary", "record_binary", "record_first", "record_any", "record_outputs"):
        monkeypatch.setattr(recording, name, _noting(made, name, getattr(recording, name)))
    forget_all()  # so that the closures are made anew
    call(mt.ones(3, requires_grad=True))
    assert form in made
    forget_all()


def _noting(made: list[str], name: str, form: Any) -> Any:
    def note(*args: Any) -> Any:
        made.append(name)
        return form(*args)

    return note
