"""Declarations refuse what they do not know: a misspelt fact would be a fact that nobody reads."""

from __future__ import annotations

from typing import Any

import pytest

from mt_core.declarations._declare import Declaration, Family
from mt_core.dispatch.registry import DECLARATIONS
from mt_core.schema import parse_schema

SCHEMA = "declared_wrongly(Tensor self, Scalar alpha) -> Tensor"
FAMILY = Family("unknown")


def _declarers() -> dict[str, Any]:
    def a_name(method: str) -> Any:
        return lambda **options: getattr(FAMILY, method)("declared_wrongly", **options)

    def a_schema(method: str) -> Any:
        return lambda **options: getattr(FAMILY, method)(SCHEMA, **options)

    return {
        **{method: a_name(method) for method in ("unary", "binary", "reduction")},
        **{method: a_schema(method) for method in ("elementwise", "view", "plain", "factory", "composite")},
        "alias": lambda **options: FAMILY.alias("declared_wrongly", "abs", **options),
        "Declaration": lambda **facts: Declaration(parse_schema(SCHEMA), "unknown", "plain", **facts),
    }


@pytest.fixture(autouse=True)
def _nothing_is_declared() -> Any:
    __import__("mt_core.declarations.elementwise")
    before = set(DECLARATIONS)
    yield
    assert set(DECLARATIONS) == before


@pytest.mark.parametrize("declarer", _declarers())
@pytest.mark.parametrize("typo", ["promotoin", "chekc", "docs", "out_overload", "tag", "inplace_function"])
def test_an_unknown_fact_is_refused_by_name(declarer: str, typo: str) -> None:
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{typo}'"):
        _declarers()[declarer](**{typo: "x"})


@pytest.mark.parametrize(
    ("fact", "wrong"),
    [
        ("variants", "function methd"),
        ("numbers", "slef"),
        ("promotes", "self beta"),
        ("number_signatures", {"s": True}),
    ],
)
def test_a_fact_about_what_is_not_there_is_refused(fact: str, wrong: Any) -> None:
    with pytest.raises(ValueError, match=f"declared_wrongly: {fact} names"):
        FAMILY.elementwise(SCHEMA, **{fact: wrong})
