"""Derivatives of views that copy, of writing to a window of a copy, and of parts that count as tensors of their own."""

from __future__ import annotations

from typing import Any

from mt_core.declarations.view_copy import COPIES, copy_name
from mt_core.dispatch.registry import find_overload

from ..rules import camel_case, derivative, find_rule, forward_rule, real_only, same_derivative
from .view import slice_backward

Tensor = Any


def _node_name(view: str) -> str:
    """``TransposeBackward0_copy``: the view's node, marked."""
    rule = find_rule(find_overload(view))
    return f"{rule.node_name if rule is not None else camel_case(view)}_copy"


for _view in COPIES:
    if _view not in ("lift_fresh", "detach"):  # which are no nodes, while the copies are
        same_derivative(copy_name(_view), find_overload(_view), _node_name(_view))
derivative("lift_fresh_copy", self=lambda grad: grad, node="LiftFreshBackward0_copy")
real_only("select_copy.int", "slice_copy.Tensor", "view_as_complex_copy", "_conj_copy", "_neg_view_copy")
same_derivative("unsafe_split.Tensor", find_overload("split.Tensor"))
same_derivative("unsafe_split_with_sizes", find_overload("split_with_sizes"))
derivative(
    "_reshape_alias_copy", self=lambda grad, self_spec: grad.reshape(self_spec.shape), node="ReshapeAliasBackward0_copy"
)
derivative(
    "narrow_copy",
    self=lambda grad, self_spec, dim, start, length: narrow_backward(grad, self_spec, dim, start, length),
)


def narrow_backward(grad: Tensor, self_spec: Any, dim: int, start: int, length: int) -> Tensor:
    """Gradient of the tensor of which a stretch was copied."""
    begin = start + self_spec.shape[dim] if start < 0 else start
    return slice_backward(grad, self_spec, dim, begin, begin + length, 1)


forward_rule(
    "linear",
    "_conj_copy", "_neg_view_copy", "_reshape_alias_copy", "diagonal_copy", "expand_copy", "narrow_copy",
    "permute_copy", "select_copy.int", "slice_copy.Tensor", "split_copy.Tensor", "split_with_sizes_copy",
    "squeeze_copy", "squeeze_copy.dim", "squeeze_copy.dims", "t_copy", "transpose_copy.int", "unbind_copy.int",
    "unfold_copy", "unsafe_split.Tensor", "unsafe_split_with_sizes", "unsqueeze_copy", "view_as_complex_copy",
    "view_as_real_copy", "view_copy", "alias_copy",
)  # fmt: skip
