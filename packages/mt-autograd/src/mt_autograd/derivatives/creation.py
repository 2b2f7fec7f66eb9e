"""Derivatives of copies, and of operators that overwrite a tensor."""

from __future__ import annotations

from typing import Any

from ..rules import (
    derivative,
    end_at_integers,
    forward_rule,
    non_differentiable,
    refuse_integers,
    takes_inference,
    zero,
)
from ..validation import refuse_integers as refuse_integer_gradients


def _converted(grad: Any, device: Any, dtype: Any) -> Any:
    """A gradient in the dtype and on the device of what was copied, also where its leaf takes any dtype."""
    if grad.is_complex() and not dtype.is_complex:
        grad = grad.real
    refuse_integer_gradients(dtype)
    return grad.to(device, dtype)


derivative("clone", self=lambda grad: grad)
derivative("_pin_memory", self=lambda grad: grad)
derivative("_to_copy", self=lambda grad, self_device, self_spec: _converted(grad, self_device, self_spec.dtype))
takes_inference("clone", "_to_copy")
derivative(
    "copy_",
    node="torch::autograd::CopyBackwards",
    self=zero,
    src=lambda grad, src_device, src_spec: _converted(grad, src_device, src_spec.dtype),
)
end_at_integers("copy_", "_to_copy")
derivative("copy", self=zero, src=lambda grad, src_device, src_spec: _converted(grad, src_device, src_spec.dtype))
end_at_integers("copy")
derivative("zero", self=zero)
derivative("fill.Scalar", self=zero)
derivative("fill.Tensor", self=zero, value=lambda grad: grad.sum())
refuse_integers("fill.Tensor")
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

forward_rule("linear", "_to_copy", "clone", "_pin_memory")
forward_rule({"self": lambda t: None, "src": lambda t: t}, "copy_", "copy")
