"""Matrix products."""

from __future__ import annotations

from typing import Any

from mt_core import Tensor

from ..layouts import contiguous_layout
from ..strided_tensor import RULES, StridedNestedTensor, around, buffer, components, joined


@RULES.rule("linear")
def linear(overload: Any, input: Any, weight: Any, bias: Any) -> Any:
    if not isinstance(input, StridedNestedTensor):
        raise RuntimeError("Linear does not support nested weight when input is an ordinary tensor.")
    if isinstance(weight, StridedNestedTensor):
        raise RuntimeError("Linear does not support nested weight when input is a nested tensor.")
    placed = input._array.placed
    if not placed.is_contiguous():
        raise RuntimeError("for now linear only supports contiguous nested tensor")
    if input.dim() != 3 or weight.dim() != 2:
        raise RuntimeError(
            "Linear requires nested_tensor.dim == 3 and dense_matrix.dim == 2. Nested tensor dim: "
            f"{input.dim()}. Dense tensor dim: {weight.dim()}"
        )
    last = placed.regular(1)
    if last is None:
        other = next(n for n in placed.at(1) if n != placed.sizes[0][1])
        raise RuntimeError(
            "Expected all tensors in nested tensor to have the same trailing dimension, instead last dimension equals: "
            f"{other}"
        )
    if last != weight.shape[1]:
        raise RuntimeError(
            "Shape mismatch for NestedTensor Linear: Expected input's (a nested tensor) 'last_dim' to equal "
            f"'weight.size(1), but got: last_dim = {last}, and weight.size(1) = {weight.shape[1]}"
        )
    made = overload.call(buffer(input).reshape(-1, last), weight, bias)
    sizes = [(size[0], weight.shape[0]) for size in placed.sizes]
    return around(made.reshape(-1), contiguous_layout(sizes))


def _count(one: Any) -> int:
    return len(one._array.placed.sizes) if isinstance(one, StridedNestedTensor) else one.shape[0]


def _parts(one: Any) -> Any:
    return components(one) if isinstance(one, StridedNestedTensor) else one.unbind(0)


@RULES.rule("bmm")
def bmm(overload: Any, self: Any, mat2: Any) -> Any:
    for name, one in (("batch1", self), ("batch2", mat2)):
        if one.dim() != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")
    if _count(self) != _count(mat2):
        raise RuntimeError(
            f"Expected size for the 1st dimension of batch2 tensor to be: {_count(self)} but got: {_count(mat2)}."
        )
    made = []
    for which, (a, b) in enumerate(zip(_parts(self), _parts(mat2), strict=True)):
        if a.shape[1] != b.shape[0]:
            raise RuntimeError(
                f"{which}-th nested matrices in batch cannot be multiplied ({a.shape[0]}x{a.shape[1]} and "
                f"{b.shape[0]}x{b.shape[1]})"
            )
        made.append(a @ b)
    return joined(made)


@RULES.rule("matmul")
def matmul(overload: Any, self: Any, other: Any) -> Any:
    nested = [isinstance(one, StridedNestedTensor) for one in (self, other)]
    if nested == [True, False] and self.dim() > 3 and other.dim() == 2 and self.is_contiguous():
        return _broadcast(self, other)
    if not all(nested):
        which = "nested self and non-nested" if nested[0] else "non-nested self and nested"
        raise RuntimeError(f"Expected both to be nested, but got a {which} other")
    for name, one in (("1st", self), ("2nd", other)):
        if one.dim() < 3:
            raise RuntimeError(
                f"matmul: For nested tensors, only inputs with >= 3 dims are currently supported. {name} input has "
                f"rank: {one.dim()}"
            )
    if self.dim() != other.dim():
        raise RuntimeError("matmul: both inputs must have the same rank")
    mine, theirs = self._array.placed, other._array.placed
    if len(mine.sizes) != len(theirs.sizes):
        raise RuntimeError(
            "matmul: Expected size for the 1st dimension of 2nd input tensor to be: "
            f"{len(mine.sizes)} but got: {len(theirs.sizes)}."
        )
    for d in range(mine.rank - 2):
        if mine.at(d) != theirs.at(d):
            raise RuntimeError(
                "matmul: For nested tensors, batch dimensions must have the same sizes, no broadcasting is currently "
                f"performed. Got batch shapes for self {mine.at(d)} and batch shapes for mat2 {theirs.at(d)}"
            )
    if mine.at(-1) != theirs.at(-2):
        raise RuntimeError(
            "matmul: Nested tensors cannot be matrix multiplied, last dimension of self has sizes"
            f"{_column(mine.at(-1))}"
            f"second last dimension of mat2 has sizes{_column(theirs.at(-2))}"
        )
    return joined([a @ b for a, b in zip(components(self), components(other), strict=True)])


def _column(sizes: tuple[int, ...]) -> str:
    """A tensor of sizes as PyTorch's messages show it."""
    return "".join(f" {n}\n" for n in sizes) + f"[ torch.LongTensor{{{len(sizes)}}} ]"


def _broadcast(self: Any, other: Tensor) -> Any:
    return joined([part @ other for part in components(self)])
