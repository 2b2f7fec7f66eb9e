"""Shape rules of softmax and its relatives."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..dispatch.registry import register_shape_rule as shape_rule
from ..spec import Spec
from ..tensor import wrap_dim
from .activation import require_float


def _rule(name: str) -> None:
    @shape_rule(f"_{name}")
    def forward(self: Any, dim: int, half_to_float: bool) -> Spec:
        """self (*) -> (*), normalized along `dim`."""
        at = wrap_dim(dim, self.dim())
        if half_to_float:
            raise RuntimeError("softmax with half to float conversion is not supported on CPU")
        if self.numel():  # nothing is answered without a kernel
            require_float(self.dtype, _kernel(name, at, self.dim()))
        return Spec(self.shape, self.dtype)

    @shape_rule(f"_{name}_backward_data")
    def backward(grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Spec:
        """grad_output (*), output (*) -> (*)."""
        if grad_output.shape != output.shape:
            raise RuntimeError(
                "Expected tensor for argument #1 'grad' to have same size as tensor for argument #2 'output'; but "
                f"{list(grad_output.shape)} does not equal {list(output.shape)} (while checking arguments for "
                f"{name}_backward)"
            )
        at = wrap_dim(dim, output.dim())
        require_float(output.dtype, _kernel(f"{name}_backward", at, output.dim()))
        return Spec(output.shape, output.dtype)


def _kernel(name: str, at: int, ndim: int) -> str:
    """PyTorch has one kernel for the last dimension and one for the others."""
    return f"{name}_lastdim_kernel_impl" if at == max(ndim, 1) - 1 else f"{name}_kernel_impl"


_rule("softmax")
_rule("log_softmax")


@shape_rule("_masked_softmax")
def masked_softmax(self: Any, mask: Any, dim: int | None, mask_type: int | None) -> Spec:
    """self (*), mask (*) of bool -> (*); for self (B, H, L, L) mask may be (L, L) or (B, L), as `mask_type` says."""
    if mask.dtype is not dtypes.bool:
        raise RuntimeError("Mask should be a boolean tensor")
    if mask.shape != self.shape:
        check_mask(self, mask, mask_type)
    require_float(self.dtype, "masked_softmax")
    return Spec(self.shape, self.dtype)


def check_mask(self: Any, mask: Any, mask_type: int | None) -> None:
    """Refuse a mask of another shape that does not fit a tensor (batch, heads, length, length) as its type says."""
    if mask_type is None:
        raise RuntimeError("Mask Type should be defined")
    if mask_type not in (0, 1, 2):
        raise RuntimeError("Mask Type should be 0 (src_mask) or 1 (src_key_padding_mask), or 2 (default_mask)")
    if mask_type == 2 or self.dim() != 4 or mask.dim() != 2:
        raise RuntimeError("For mask_type == 2 mask shape should match input shape")
    batch, _, length, _ = self.shape
    if mask_type == 0 and mask.shape != (length, length):
        raise RuntimeError("For mask_type == 0 mask shape should be (L, L)")
    if mask_type == 1 and mask.shape != (batch, length):
        raise RuntimeError("For mask_type == 1 mask shape should be (B, L)")


@shape_rule("_masked_softmax_backward")
def masked_softmax_backward(grad_output: Any, output: Any, mask: Any, dim: int | None) -> Spec:
    """grad_output (*), output (*), mask (*) -> (*)."""
    if grad_output.shape != mask.shape:
        raise RuntimeError("Mask shape should match grad shape")
    return Spec(output.shape, output.dtype)
