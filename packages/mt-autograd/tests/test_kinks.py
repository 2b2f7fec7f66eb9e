"""Where functions are not smooth, first and second derivatives are those of PyTorch (snapshots/make_kinks.py)."""

from __future__ import annotations

import importlib.util
import json
import math
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import mt_autograd
from mt_core.testing.namespace import namespace

HERE = Path(__file__).parent / "snapshots"
_spec = importlib.util.spec_from_file_location("kinks", HERE / "kinks.py")
kinks = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(kinks)
EXPECTED = json.loads((HERE / "kinks.json").read_text(encoding="utf-8"))

#: What is not as in PyTorch: how its name begins -> why.
DIFFERENT = {
    "hardsigmoid(x)": "the slope is constant: its derivative is 0 here, and PyTorch refuses it",
    "lgamma(x)": "PyTorch's second derivative is rounded to 1e-10 and finite at poles",
    "soft_margin_loss(x": "at the infinities PyTorch divides inf by inf",
    "binary_cross_entropy(x.sigmoid()": "PyTorch adds 1e-12 to the denominator of the second derivative",
    "cdist(x": "PyTorch has no second derivative, and NaN between equal infinities",
    "pdist(": "as above",
    "multi_margin_loss(": "PyTorch has no second derivative",
    "cosine_embedding_loss(x[None], 2 * x[None], ones[:1]) of [0.0, 0.0": "4e12 in other roundings",
}


@cache
def found() -> dict[str, list[Any]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kinks.outcomes(namespace(autograd=mt_autograd))


def agree(a: Any, b: Any) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(agree, a, b))
    if isinstance(a, str) or isinstance(b, str):
        return bool(a == b)
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)


def test_every_function_is_recorded() -> None:
    assert list(found()) == list(EXPECTED)


def is_different(words: str) -> bool:
    return any(words.startswith(start) for start in DIFFERENT)


@pytest.mark.parametrize("words", [words for words in EXPECTED if not is_different(words)])
def test_same_slopes_as_pytorch(words: str) -> None:
    assert agree(found()[words], EXPECTED[words]), f"{found()[words]}\nPyTorch: {EXPECTED[words]}"


@pytest.mark.parametrize("start", DIFFERENT)
def test_what_is_named_as_different_is_so(start: str) -> None:
    named = [words for words in EXPECTED if words.startswith(start)]
    assert not all(agree(found()[words], EXPECTED[words]) for words in named)


@pytest.mark.parametrize("start", ["multi_margin_loss(", "multilabel_margin_loss("])
def test_first_slopes_at_the_margin_are_pytorchs(start: str) -> None:
    for words in EXPECTED:
        if words.startswith(start):
            assert agree(found()[words][0], EXPECTED[words][0]), words
