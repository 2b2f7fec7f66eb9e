"""Derivatives of copies, and of operators that overwrite a tensor."""

from __future__ import annotations

from ..rules import derivative, non_differentiable, zero

derivative("clone", self=lambda grad: grad)
derivative("copy_", node="torch::autograd::CopyBackwards", self=zero, src=lambda grad: grad)
derivative("fill_.Scalar", node="FillBackward2", self=zero)
derivative("fill_.Tensor", node="FillBackward3", self=zero, value=lambda grad: grad.sum())
derivative("zero_", self=zero)
# The engine converts the gradient back to the dtype and device of the argument.
derivative("_to_copy", self=lambda grad: grad)
non_differentiable(
    "empty_like",
    "zeros_like",
    "ones_like",
    "full_like",
    "new_empty",
    "new_zeros",
    "new_ones",
    "new_full",
    "new_empty_strided",
)
