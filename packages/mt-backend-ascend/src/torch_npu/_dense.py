"""Activations, softmax, rotations, products and movements of torch_npu."""

from __future__ import annotations

from typing import Any

import mindtorch as torch

from ._declare import operator, unsupported

__all__ = [
    "fast_gelu", "npu_apply_rotary_pos_emb", "npu_bmmV2", "npu_broadcast", "npu_confusion_transpose", "npu_dtype_cast",
    "npu_fast_gelu", "npu_geglu", "npu_gelu", "npu_linear", "npu_max", "npu_min", "npu_mish", "npu_one_hot",
    "npu_rotary_mul", "npu_scaled_masked_softmax", "npu_silu", "npu_slice", "npu_sort_v2", "npu_swiglu",
    "npu_transpose",
]  # fmt: skip

F = torch.nn.functional


# Activations


@operator("npu_swiglu(Tensor self, int dim=-1) -> Tensor")
def npu_swiglu(self: Any, dim: int = -1) -> Any:
    """silu of the first half along a dimension, times the second half."""
    first, second = _halves("npu_swiglu", self, dim)
    return F.silu(first) * second


@operator("npu_geglu(Tensor self, int dim=-1, int approximate=1, bool activate_left=False) -> (Tensor, Tensor)")
def npu_geglu(self: Any, dim: int = -1, approximate: int = 1, activate_left: bool = False) -> tuple[Any, Any]:
    """One half along a dimension times gelu of the other, and that gelu; `approximate` 1: by tanh, 0: by erf."""
    first, second = _halves("npu_geglu", self, dim)
    if activate_left:
        first, second = second, first
    gate = F.gelu(second, approximate="tanh" if approximate else "none")
    return first * gate, gate


def _halves(name: str, self: Any, dim: int) -> Any:
    if self.shape[dim] % 2:
        raise RuntimeError(f"torch_npu.{name}: dimension {dim} of size {self.shape[dim]} has no halves")
    return self.chunk(2, dim)


def _fast_gelu(self: Any) -> Any:
    """x / (1 + exp(-1.702 x)), as on Atlas A2 and A3."""
    return self * torch.sigmoid(1.702 * self)


fast_gelu = operator("fast_gelu(Tensor self) -> Tensor")(_fast_gelu)
npu_fast_gelu = operator("npu_fast_gelu(Tensor self) -> Tensor")(_fast_gelu)


@operator("npu_gelu(Tensor self, *, str approximate='none') -> Tensor")
def npu_gelu(self: Any, *, approximate: str = "none") -> Any:
    """`torch.nn.functional.gelu`."""
    return F.gelu(self, approximate=approximate)


@operator("npu_silu(Tensor self) -> Tensor")
def npu_silu(self: Any) -> Any:
    """`torch.nn.functional.silu`."""
    return F.silu(self)


@operator("npu_mish(Tensor self) -> Tensor")
def npu_mish(self: Any) -> Any:
    """`torch.nn.functional.mish`."""
    return F.mish(self)


@operator("npu_scaled_masked_softmax(Tensor x, Tensor mask, Scalar scale=1, bool fixed_triu_mask=False) -> Tensor")
def npu_scaled_masked_softmax(x: Any, mask: Any, scale: Any = 1, fixed_triu_mask: bool = False) -> Any:
    """Softmax along the last dimension of x * scale, -10000 where the mask is true; calculated in float32."""
    if fixed_triu_mask:
        mask = torch.ones(mask.shape, dtype=torch.bool, device=mask.device).triu(1)
    return F.softmax((x.float() * scale).masked_fill(mask, -10000), dim=-1).to(x.dtype)


# Rotations


def _rotated(x: Any, mode: str) -> Any:
    if mode == "half":
        first, second = x.chunk(2, -1)
        return torch.cat((-second, first), dim=-1)
    if mode == "interleave":
        return torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).flatten(-2)
    raise RuntimeError(f"rotary_mode is 'half' or 'interleave', not {mode!r}")


@operator("npu_rotary_mul(Tensor self, Tensor r1, Tensor r2, str rotary_mode='half', Tensor? rotate=None) -> Tensor")
def npu_rotary_mul(self: Any, r1: Any, r2: Any, rotary_mode: str = "half", rotate: Any = None) -> Any:
    """self * r1 + rotation(self) * r2: the last dimension turned by halves, in pairs, or by a matrix `rotate`."""
    turned = _rotated(self, rotary_mode) if rotate is None else (self @ rotate).detach()
    return self * r1 + turned * r2


@operator(
    "npu_apply_rotary_pos_emb(Tensor query, Tensor key, Tensor cos, Tensor sin, str layout='BSND', "
    "str rotary_mode='half') -> (Tensor, Tensor)"
)
def npu_apply_rotary_pos_emb(
    query: Any, key: Any, cos: Any, sin: Any, layout: str = "BSND", rotary_mode: str = "half"
) -> tuple[Any, Any]:
    """query, key (B, S, N, D), cos, sin (B, S, 1, D) -> both, turned."""
    if layout != "BSND":
        unsupported("npu_apply_rotary_pos_emb", layout=layout)
    return tuple(t * cos + _rotated(t, rotary_mode) * sin for t in (query, key))  # type: ignore[return-value]


# Products and movements


@operator("npu_linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor")
def npu_linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """`torch.nn.functional.linear`."""
    return F.linear(input, weight, bias)


@operator("npu_bmmV2(Tensor self, Tensor mat2, int[] output_sizes) -> Tensor")
def npu_bmmV2(self: Any, mat2: Any, output_sizes: list[int]) -> Any:
    """`torch.matmul`, in the shape `output_sizes` where that is not empty."""
    made = torch.matmul(self, mat2)
    return made.reshape(output_sizes) if output_sizes else made


@operator("npu_confusion_transpose(Tensor self, int[] perm, int[] shape, bool transpose_first) -> Tensor")
def npu_confusion_transpose(self: Any, perm: list[int], shape: list[int], transpose_first: bool) -> Any:
    """Permuted, then reshaped; or the other way around. Row by row."""
    if transpose_first:
        return self.permute(perm).reshape(shape).clone(memory_format=torch.contiguous_format)
    return self.reshape(shape).permute(perm).clone(memory_format=torch.contiguous_format)


@operator("npu_transpose(Tensor self, int[] perm, bool require_contiguous=True) -> Tensor")
def npu_transpose(self: Any, perm: list[int], require_contiguous: bool = True) -> Any:
    """A permuted copy, row by row."""
    return self.permute(perm).clone(memory_format=torch.contiguous_format)


@operator("npu_broadcast(Tensor self, int[] size) -> Tensor")
def npu_broadcast(self: Any, size: list[int]) -> Any:
    """A copy in a larger shape."""
    return self.expand(size).clone(memory_format=torch.contiguous_format)


@operator("npu_slice(Tensor self, int[] offsets, int[] size) -> Tensor")
def npu_slice(self: Any, offsets: list[int], size: list[int]) -> Any:
    """A copy of the block of a size that begins at the offsets; -1 in `size` is the rest of a dimension."""
    for dim, (offset, count) in enumerate(zip(offsets, size, strict=True)):
        self = self.narrow(dim, offset, self.shape[dim] - offset if count == -1 else count)
    return self.clone(memory_format=torch.contiguous_format)


@operator("npu_one_hot(Tensor self, int num_classes=-1, int depth=1, Scalar on_value=1, Scalar off_value=0) -> Tensor")
def npu_one_hot(self: Any, num_classes: int = -1, depth: int = 1, on_value: Any = 1, off_value: Any = 0) -> Any:
    """self (*) of integers -> (*, depth) of float32: `on_value` at each index, `off_value` elsewhere."""
    if num_classes != -1:
        unsupported("npu_one_hot", num_classes=num_classes)
    chosen = self.unsqueeze(-1) == torch.arange(depth, device=self.device)
    made = torch.full(chosen.shape, float(off_value), device=self.device)
    return made.masked_fill(chosen, float(on_value))


@operator("npu_dtype_cast(Tensor self, ScalarType dtype) -> Tensor")
def npu_dtype_cast(self: Any, dtype: Any) -> Any:
    """A tensor in another dtype."""
    return self.to(dtype, copy=True)


@operator("npu_max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)")
def npu_max(self: Any, dim: int, keepdim: bool = False) -> tuple[Any, Any]:
    """The greatest along a dimension, and their places as int32."""
    values, indices = torch.max(self, dim, keepdim)
    return values, indices.to(torch.int32)


@operator("npu_min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)")
def npu_min(self: Any, dim: int, keepdim: bool = False) -> tuple[Any, Any]:
    """The least along a dimension, and their places as int32."""
    values, indices = torch.min(self, dim, keepdim)
    return values, indices.to(torch.int32)


@operator("npu_sort_v2(Tensor self, int dim=-1, bool descending=False) -> Tensor")
def npu_sort_v2(self: Any, dim: int = -1, descending: bool = False) -> Any:
    """Sorted values, without their places."""
    return torch.sort(self, dim, descending)[0]
