"""Kernels compute; the words of what they refuse are the core's, so that every backend says the same."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mt_backend_cpu.kernels
import mt_core as torch
from mt_core.api import _functions as ops

FOLDER = Path(mt_backend_cpu.kernels.__path__[0])


def own_words(source: str) -> Iterator[str]:
    """``raise Error("words")`` in a kernel's file."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            yield ast.unparse(node.exc)


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.py")), ids=lambda file: file.stem)
def test_kernels_have_no_words_of_their_own(file: Path) -> None:
    assert list(own_words(file.read_text(encoding="utf-8"))) == []


def test_words_are_seen() -> None:
    assert list(
        own_words(
            inspect.cleandoc("""
        def f():
            raise IndexError(f"index {i}")
        def g(error):
            raise error
    """)
        )
    ) == ["IndexError(f'index {i}')"]


X = torch.arange(6.0).reshape(2, 3)


def at(*values: int) -> Any:
    return torch.tensor(list(values))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: X[at(0, 2)], IndexError, "index 2 is out of bounds for dimension 0 with size 2"),
        (lambda: X[:, at(-4)], IndexError, "index -4 is out of bounds for dimension 0 with size 3"),
        (lambda: X.clone().index_put_((at(5),), at(1).float()), IndexError, "index 5 is out of bounds for dimension 0"),
        (lambda: X.gather(1, at(3, 3).reshape(2, 1)), RuntimeError, "index 3 is out of bounds for dimension 1"),
        (lambda: X.scatter(0, at(-1).reshape(1, 1), 1.0), RuntimeError, "index -1 is out of bounds for dimension 0"),
        (lambda: X.index_select(0, at(2)), IndexError, "^index out of range in self$"),
        (lambda: X.index_add(0, at(-1), X[:1]), RuntimeError, "^index -1 is out of bounds for dimension 0 with"),
        (lambda: X.index_add(0, at(-1), X[:1], alpha=2), IndexError, "^index out of range in self$"),
        (
            lambda: X.index_copy(0, at(2), X[:1]),
            IndexError,
            r"^index_copy_\(\): index 2 is out of bounds for dimension 0 with size 2$",
        ),
        (lambda: X.index_fill(0, at(2), 1), IndexError, "^index 2 is out of bounds for dimension 0 with size 2$"),
        (lambda: X.index_fill(0, at(-3), 1), IndexError, "^index -3 is out of bounds for dimension 0 with size 2$"),
        (lambda: ops.embedding(X, at(1, 2)), IndexError, "^index out of range in self$"),
        (lambda: X.take(at(6)), IndexError, "tried to access index 6 on a tensor of 6 elements"),
        (lambda: X.take(at(0, -7)), IndexError, "tried to access index -7 on a tensor of 6 elements"),
        (lambda: X.masked_scatter(X >= 0, at(1, 2).float()), RuntimeError, "Number of elements of source < number"),
        (lambda: at(1, 2) // at(1, 0), RuntimeError, "^ZeroDivisionError$"),
        (lambda: torch.bincount(at(1, -1)), RuntimeError, "bincount only supports 1-d non-negative integral inputs"),
        (lambda: torch.histc(X, 3, 2, 1), RuntimeError, "max must be larger than min"),
        (lambda: torch.histc(X / 0, 3), RuntimeError, "is not finite"),
        (lambda: torch.poisson(X - 1), RuntimeError, "expected rate to be non-negative"),
        (lambda: torch.poisson(X + float("inf")), RuntimeError, "expected rate to be finite"),
        (lambda: torch.multinomial(X - 3, 1), RuntimeError, "contains either `inf`, `nan` or element < 0"),
        (lambda: torch.multinomial(X * 0, 2, True), RuntimeError, "sum of probabilities <= 0"),
        (lambda: torch.multinomial(X - 3, 2, True), RuntimeError, "probability entry < 0"),
        (lambda: X.clone().bernoulli_(X), RuntimeError, "Expected p_in >= 0 && p_in <= 1"),
        (lambda: ops.linalg_eig(X[:, :2] / 0), RuntimeError, "should not contain infs or NaNs"),
        (lambda: ops.linalg_inv(X[:, :2] * 0), RuntimeError, "linalg.inv: The diagonal element 1 is zero"),
    ],
)  # fmt: skip
def test_what_is_refused_is_pytorchs(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words) as refused:
        call()
    assert refused.value.__context__ is None or error is RuntimeError


def test_negative_indices_count_back_where_they_do_in_pytorch() -> None:
    assert X.index_fill(0, at(-1), 9).tolist() == [[0, 1, 2], [9, 9, 9]]
    assert X.take(at(-1)).item() == 5


@pytest.mark.parametrize("place", [1, -1, 2])
def test_a_number_has_one_place(place: int) -> None:
    with pytest.raises(IndexError, match="index out of range in self"):
        torch.tensor(1.0).index_select(0, torch.tensor([place]))
    assert torch.tensor(1.0).index_select(0, torch.tensor([0])).tolist() == 1.0
