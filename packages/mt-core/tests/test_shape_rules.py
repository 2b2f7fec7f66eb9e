"""Every shape rule says its shapes, in named dimensions."""

from __future__ import annotations

import importlib
import pkgutil
import re

import pytest

import mt_core
import mt_core.shape_rules
from mt_core.dispatch.registry import SHAPE_RULES

for _module in pkgutil.iter_modules(mt_core.shape_rules.__path__):
    importlib.import_module(f"mt_core.shape_rules.{_module.name}")


@pytest.mark.parametrize("operator", sorted(SHAPE_RULES))
def test_a_rule_says_its_shapes(operator: str) -> None:
    said = SHAPE_RULES[operator].__doc__ or ""
    arguments, arrow, result = said.partition("->")
    assert arrow, "write `self (N, C), weight (C,) -> (N,)` under the rule's head"
    assert re.search(r"\(.*\)|view|like|without|shape|tensors", result), "the result has no shape"
    assert not arguments.strip() or re.search(r"\(|tensors", arguments), "the arguments have no shapes"


def test_boundaries_agree_in_all_dimensions_but_the_last() -> None:
    rows = mt_core.arange(24.0).reshape(2, 3, 4)
    assert mt_core.searchsorted(rows, mt_core.ones(2, 3, 5)).shape == (2, 3, 5)
    for shape in ((2, 5, 6), (2, 1, 4), (5, 3, 4), (3, 4)):
        with pytest.raises(RuntimeError, match="first N-1 dimensions"):
            mt_core.searchsorted(rows, mt_core.ones(shape))


@pytest.mark.parametrize(("order", "allowed"), [(0.0, True), (0.5, True), (1.0, True), (-0.5, False)])
def test_norms_of_nothing_need_an_identity(order: float, allowed: bool) -> None:
    nothing = mt_core.ones(0, 3)
    if allowed:
        assert mt_core.linalg_vector_norm(nothing, order, 0).tolist() == [0, 0, 0]
    else:
        with pytest.raises(RuntimeError, match="does not have an identity"):
            mt_core.linalg_vector_norm(nothing, order, 0)


@pytest.mark.parametrize(
    ("d", "asked", "words"),
    [
        ("float64", "float32", r"dtype of the input \(Double\) should be convertible without narrowing .* \(Float\)"),
        ("complex128", "complex64", "convertible without narrowing"),
        ("float32", "int64", "dtype should be floating point or complex, but got Long"),
        ("complex64", "float32", "dtype should be complex for complex inputs, but got Float"),
        ("float32", "complex64", "dtype should be real for real inputs, but got ComplexFloat"),
    ],
)
def test_norms_are_not_taken_in_a_lesser_dtype(d: str, asked: str, words: str) -> None:
    x = mt_core.ones(2, dtype=getattr(mt_core, d))
    with pytest.raises(RuntimeError, match=words):
        mt_core.linalg_vector_norm(x, 2, dtype=getattr(mt_core, asked))
    assert mt_core.linalg_vector_norm(mt_core.ones(4), 2, dtype=mt_core.float64).item() == 2
