"""Derivatives of copies, and of operators that overwrite a tensor."""

from __future__ import annotations

from ..rules import derivative, non_differentiable, takes_inference, zero

derivative("clone", self=lambda grad: grad)
# The engine converts a gradient to the dtype of the argument, not to its device.
derivative("_to_copy", self=lambda grad, self_device: grad.to(self_device))
takes_inference("clone", "_to_copy")
derivative("copy_", node="torch::autograd::CopyBackwards", self=zero, src=lambda grad, src_device: grad.to(src_device))
derivative("fill_.Scalar", node="FillBackward2", self=zero)
derivative("fill_.Tensor", node="FillBackward3", self=zero, value=lambda grad: grad.sum())
derivative("zero_", self=zero)
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
