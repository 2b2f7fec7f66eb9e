"""``torch.func.rearrange``: dimensions by name, and PyTorch's refusals."""

from __future__ import annotations

from typing import Any

import pytest

import mindtorch as torch
from mindtorch._functorch.rearrange import DimensionBindError
from mindtorch.func import rearrange, vmap

X = torch.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize(("pattern", "sizes", "expected"), [
    ("a b c -> c b a", {}, X.permute(2, 1, 0)),
    ("a b c -> (c b) a", {}, X.permute(2, 1, 0).reshape(12, 2)),
    ("a b c->b c a 1", {}, X.permute(1, 2, 0).reshape(3, 4, 2, 1)),
    ("a b c -> () (a 1 b) c", {}, X.view(1, 6, 4)),
    ("... c -> c ...", {}, X.permute(2, 0, 1)),
    ("a ... -> (... a)", {}, X.permute(1, 2, 0).reshape(24)),
    ("a b c ... -> ... a (b c)", {}, X.view(2, 12)),
    ("... (x y) -> x ... y", {"x": 2}, X.view(2, 3, 2, 2).permute(2, 0, 1, 3)),
    ("a (b n) (c m) -> (m a) n b c", {"b": 3, "m": 2},
     X.view(2, 3, 1, 2, 2).permute(4, 0, 2, 1, 3).reshape(4, 1, 3, 2)),
    ("a_1 B c -> a_1 (B) c", {"B": 3}, X),
    ("a 1 c -> c a", {}, X.sum(1).t().contiguous()),
])  # fmt: skip
def test_a_pattern_says_where_dimensions_go(pattern: str, sizes: dict[str, int], expected: Any) -> None:
    made = rearrange(X, pattern, **sizes)
    assert made.shape == expected.shape and made.stride() == expected.stride() and torch.equal(made, expected)
    is_view = made.untyped_storage().data_ptr() == X.untyped_storage().data_ptr()
    assert is_view is (expected.untyped_storage().data_ptr() == X.untyped_storage().data_ptr())


@pytest.mark.parametrize(("pattern", "sizes", "error", "words"), [
    ("a b c", {}, ValueError, "Pattern must contain a single '->' separator"),
    ("a b -> b a", {}, ValueError, "Number of dimensions in pattern (2) must be equal to the number"),
    ("a b c d ... -> ...  a b c d", {}, ValueError, "Number of dimensions in pattern (4) must be less than"),
    ("a b c -> a b d", {}, ValueError, "Identifiers only on one side of rearrange expression (should be on both): {"),
    ("a b c -> a b c", {"z": 1}, ValueError, "Identifiers not found in rearrange expression: {'z'}"),
    ("a a c -> a c", {}, ValueError, "Indexing expression contains duplicate dimension 'a'"),
    ("(a b c -> a b c", {}, ValueError, "Imbalanced parentheses in expression: '(a b c '"),
    ("a b c) -> a b c", {}, ValueError, "Brackets are not balanced"),
    ("((a b) c) d -> a b c d", {}, ValueError, "Axis composition is one-level (brackets inside brackets not allowed)"),
    ("a b c -> ...", {}, ValueError, "Ellipsis found in right side, but not left side of a pattern a b c -> ..."),
    ("(...) a -> a ...", {}, ValueError, "Ellipsis is parenthesis in the left side is not allowed: (...) a -> a ..."),
    ("... ... -> ...", {}, ValueError, "Expression may contain dots only inside ellipsis (...); only one ellipsis"),
    ("a .. -> a", {}, ValueError, "Expression may contain dots only inside ellipsis (...)"),
    ("a-b c -> c", {}, ValueError, "Unknown character '-'"),
    ("a 1b c -> a c", {}, ValueError, "Invalid axis identifier: 1b\nnot a valid python identifier"),
    ("a b_ c -> a c", {}, ValueError, "Invalid axis identifier: b_\naxis name should should not start or end with"),
    ("a b c -> a b c 0", {}, ValueError, "Anonymous axis should have positive length, not 0"),
    ("a b c -> a b c 2", {}, ValueError, "rearrange only supports unnamed axes of size 1"),
    ("a (b d) c -> a b c d", {"b": 1.0}, TypeError, "rearrange axis lengths must be integers, got: <class 'float'>"),
    ("(x y) b c -> x y b c", {}, DimensionBindError, "cannot infer the sizes of two dimensions at once d0 and d1"),
    ("a b (x y) -> a b x y", {"x": 3}, DimensionBindError,
     "inferred dimension does not evenly fit into larger dimension: 4 vs (3, '?')"),
    ("... (x y) c -> ... x y c", {"x": 3, "y": 3}, DimensionBindError,
     "Dimension sizes to do not match (3 != 9) when matching dimension pack (d1, d2)"),
    ("a b c -> a b c", {"b": 2}, DimensionBindError,
     "Dimension sizes to do not match (3 != 2) when matching dimension pack (d1,)"),
])  # fmt: skip
def test_what_is_refused(pattern: str, sizes: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        rearrange(X, pattern, **sizes)
    assert type(caught.value) is error and str(caught.value).startswith(words)


def test_names_that_are_discouraged_warn() -> None:
    with pytest.warns(RuntimeWarning, match="axes names that are keywords: for"):
        rearrange(X, "for b c -> c b for")
    with pytest.warns(FutureWarning, match="discouraged to use 'axis' as an axis name"):
        rearrange(X, "axis b c -> c b axis")


def test_sequences_are_stacked_and_transforms_see_through() -> None:
    assert torch.equal(
        rearrange([X, X + 1], "n a b c -> c (a n b)"), torch.stack([X, X + 1]).permute(3, 1, 0, 2).flatten(1)
    )
    x = X.clone().requires_grad_()
    rearrange(x, "a b c -> (c a) b").backward(torch.arange(24.0).view(8, 3))
    assert torch.equal(x.grad, torch.arange(24.0).view(4, 2, 3).permute(1, 2, 0))
    split = vmap(lambda v: rearrange(v, "(a k) b -> (b k) a", k=3))(X)
    assert torch.equal(split, X.view(2, 1, 3, 4).permute(0, 3, 2, 1).reshape(2, 12, 1))
    number = torch.tensor(1.0)
    assert rearrange(number, "->") is number
