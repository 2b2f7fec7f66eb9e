"""Matrix products, attention, normalization, and tables of rows."""

from __future__ import annotations

from typing import Any

import mt_core as mt
from mt_core import Tensor

from ...._compound.layer import elements
from ..nested_tensor import RULES, NestedTensor, like, nested
from .padding import padded, rows_of_padded


@RULES.rule("linear")
def linear(overload: Any, input: Any, weight: Tensor, bias: Tensor | None) -> Any:
    if (
        not isinstance(input, NestedTensor)
        or input._array.ragged == input.dim() - 1
        or isinstance(weight, NestedTensor)
    ):
        raise ValueError(
            "NestedTensor linear_default(input: jt, weight: t, bias: t?): expected input to be a contiguous jagged "
            "layout NestedTensor"
        )
    return like(input, overload.call(elements(input), weight, bias))


@RULES.rule("matmul", "bmm")
def matmul(overload: Any, self: Any, other: Any) -> Any:
    if isinstance(self, NestedTensor) and isinstance(other, NestedTensor):
        found = _of_two(overload, self, other)
    elif isinstance(self, NestedTensor):
        found = _with_ordinary(overload, self, other)
    else:
        found = None
    if found is None:
        first = tuple(self.shape) if isinstance(self, NestedTensor) else self.shape
        raise RuntimeError(f"{overload.name}(): not supported between inputs of shapes {first} and {other.shape}")
    return found


def _with_ordinary(overload: Any, self: Any, other: Tensor) -> Any:
    """Of rows, or of all but the last two dimensions; None where there is no such product."""
    rank, ragged = self.dim(), self._array.ragged
    if ragged == rank - 1 or rank < 2:
        return None
    if other.dim() == 2 and overload.name == "matmul":
        return like(self, elements(self) @ other)
    if other.dim() == rank > 2 and other.shape[0] == self.shape[0] and ragged == rank - 2 and self._lengths is None:
        return rows_of_padded(self, padded(self, 0) @ other)
    return None


def _of_two(overload: Any, self: Any, other: Any) -> Any:
    """The ragged dimensions summed over, or rows by matrices for each component."""
    rank = self.dim()
    mine, theirs = self._array, other._array
    same = mine.shape[mine.ragged] == theirs.shape[theirs.ragged] and mine.lengths is None and rank == other.dim()
    if not same:
        return None
    if mine.ragged == rank - 1 and theirs.ragged == rank - 2 and rank > 2:
        return padded(self, 0) @ padded(other, 0)
    if mine.ragged == theirs.ragged < rank - 2:
        return like(self, elements(self) @ elements(other))
    return None


@RULES.rule("scaled_dot_product_attention")
def attention(
    overload: Any, query: Any, key: Any, value: Any, attn_mask: Any, dropout_p: float, is_causal: bool, scale: Any,
    enable_gqa: bool,
) -> Any:  # fmt: skip
    """Within each component: its queries ask its keys alone."""
    given = (query, key, value)
    if not all(isinstance(one, NestedTensor) for one in given):
        raise ValueError(
            "Expected query, key, and value to be nested tensors, but got query.is_nested: {}, key.is_nested: {}, and "
            "value.is_nested: {} instead.".format(*(one.is_nested for one in given))
        )
    if attn_mask is not None:
        raise ValueError("Masks are not yet supported!")
    for one in given:
        if one.dim() < 3 or one.dim() != query.dim() or one._array.ragged != one.dim() - 2:
            raise RuntimeError(
                "scaled_dot_product_attention(): expected nested tensors (components, ..., heads, ragged, size), but "
                f"got {tuple(one.shape)}"
            )
    if key.shape[key.dim() - 2] != value.shape[value.dim() - 2] or key.shape[0] != query.shape[0]:
        raise RuntimeError(
            "scaled_dot_product_attention(): key and value must have one ragged structure, and query as many "
            f"components; got {tuple(query.shape)}, {tuple(key.shape)} and {tuple(value.shape)}"
        )
    parts = [
        overload.call(*one, None, dropout_p, is_causal, scale, enable_gqa)
        for one in zip(query.unbind(), key.unbind(), value.unbind())
    ]
    at = query._array.ragged - 1
    # Rows in front, so that the heads of a row lie side by side in memory.
    data = mt.cat([part.movedim(at, 0) for part in parts]).movedim(0, at)
    if query._lengths is None:
        return like(query, data)
    lengths = query._lengths
    offsets = lengths.new_zeros(len(parts) + 1)
    offsets[1:] = lengths.cumsum(0)
    return nested(data, offsets, None, query._array.ragged)


def _refuse_ragged(self: Any, normalized_shape: Any) -> None:
    if self.dim() - len(normalized_shape) <= self._array.ragged:
        raise RuntimeError(
            f"Given normalized_shape={list(normalized_shape)}, expected input with shape "
            f"[*, {', '.join(map(str, normalized_shape))}], but got input of size{list(self._array.data.shape)}"
        )


@RULES.rule("layer_norm", "rms_norm", "native_layer_norm")
def normalized(overload: Any, self: Any, normalized_shape: Any, *args: Any) -> Any:
    _refuse_ragged(self, normalized_shape)
    made = overload.call(elements(self), normalized_shape, *args)
    return type(made)([like(self, one) for one in made]) if isinstance(made, tuple) else like(self, made)


@RULES.rule("embedding")
def embedding(overload: Any, weight: Any, indices: Any, *args: Any) -> Any:
    if isinstance(weight, NestedTensor):
        raise RuntimeError("embedding(): the table cannot be a NestedTensor")
    return like(indices, overload.call(weight, elements(indices), *args))


@RULES.rule("one_hot")
def one_hot(overload: Any, self: Any, num_classes: int) -> Any:
    return like(self, overload.call(elements(self), num_classes))
