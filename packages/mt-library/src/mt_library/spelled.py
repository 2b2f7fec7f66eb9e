"""Operators that PyTorch's graphs name, and that programs here call in other words: ``torch.ops.aten.to.dtype``.

Each is written in functions and methods of tensors, and is defined when ``torch.ops`` is first asked for it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from mt_core import Tensor, functional
from mt_core.api import _functions as torch
from mt_core.dispatch.registry import Overload
from mt_core.dtypes import float32, float64
from mt_core.schema import parse_schema

from .dispatch_keys import ANY_DEVICE, AUTOGRAD_OF_ALL, COMPOSITE
from .registrations import define

__all__ = ["NAMES", "overloads_named"]


def _cast(self: Tensor, *target: Any, non_blocking: Any = False, copy: Any = False, memory_format: Any = None) -> Any:
    formats = {} if memory_format is None else {"memory_format": memory_format}
    return self.to(*target, non_blocking=non_blocking, copy=copy, **formats)


def _cast_to_layout(
    self: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None,
    non_blocking: Any = False, copy: Any = False, memory_format: Any = None,
) -> Any:  # fmt: skip
    if layout is not None and layout is not self.layout:
        raise NotImplementedError(f"aten::to.dtype_layout: from {self.layout} to {layout}")
    if pin_memory:
        raise NotImplementedError("aten::to.dtype_layout: pin_memory")
    place = self.device if device is None else device
    return _cast(
        self, place, self.dtype if dtype is None else dtype, non_blocking=non_blocking, copy=copy,
        memory_format=memory_format,
    )  # fmt: skip


def _norm(self: Tensor, p: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    return self.norm(2 if p is None else p, dim, keepdim, dtype=dtype)


def _attention(
    query: Tensor, key: Tensor, value: Tensor, dropout_p: float = 0.0, is_causal: bool = False, *,
    attn_mask: Any = None, scale: float | None = None,
) -> Any:  # fmt: skip
    """The mixed values, and the logarithms of the sums that the weights were divided by."""
    if dropout_p:
        raise NotImplementedError("aten::_scaled_dot_product_flash_attention_for_cpu: dropout")
    wide = query.to(float64 if query.dtype is float64 else float32)
    scores = wide @ key.to(wide.dtype).transpose(-2, -1) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        ones = torch.ones(scores.shape[-2:], dtype=scores.dtype, device=scores.device)
        scores = scores.masked_fill(ones.tril().logical_not(), float("-inf"))
    if attn_mask is not None:
        scores = scores + attn_mask
    mixed = scores.softmax(-1) @ value.to(wide.dtype)
    sums = scores.logsumexp(-1).transpose(1, 2).contiguous().transpose(1, 2)  # laid out by position, as by the kernel
    return mixed.to(query.dtype), sums


def _normalized(
    input: Tensor, weight: Any, bias: Any, running_mean: Tensor, running_var: Tensor, training: bool, momentum: float,
    eps: float,
) -> Any:  # fmt: skip
    """Batch normalization, and the running statistics after it, which are not written."""
    kept = running_mean.clone(), running_var.clone()
    return *torch.native_batch_norm(input, weight, bias, *kept, training, momentum, eps), *kept


def _stft(
    self: Tensor, n_fft: int, hop_length: Any = None, win_length: Any = None, window: Any = None,
    normalized: bool = False, *rest: Any, **named: Any,
) -> Any:  # fmt: skip
    options = dict(zip(("onesided", "return_complex", "align_to_window"), rest)) | named
    return self.stft(n_fft, hop_length, win_length, window, False, "reflect", normalized, **options)


def _convolution(input: Tensor, weight: Tensor, bias: Any, *geometry: Any) -> Any:
    return torch.convolution(input, weight, bias, *geometry[:6])


def _sequence(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda tensors: list(function(*tensors))


def _in_place(name: str) -> Callable[..., Any]:
    return lambda self, *others: getattr(self, name)(*others)


def _reversed(function: Callable[..., Any]) -> Callable[..., Any]:
    """Of a number and a tensor, what `function` gives for two tensors."""
    return lambda self, other: function(torch.scalar_tensor(self, dtype=other.dtype, device=other.device), other)


def _where(condition: Tensor, self: Any, other: Any) -> Any:
    return torch.where(condition, self, other)


_CAST = "bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)"
_FLASH = (
    "_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0.0, bool "
    "is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)"
)
_STFT = (
    "stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool "
    "normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor"
)
_CONVOLUTION = (
    "_convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, "
    "bool transposed, SymInt[] output_padding, SymInt groups, bool benchmark, bool deterministic, bool cudnn_enabled, "
    "bool allow_tf32) -> Tensor"
)

_OPERATORS: dict[str, Callable[..., Any]] = {
    f"to.dtype(Tensor(a) self, ScalarType dtype, {_CAST}": _cast,
    f"to.device(Tensor(a) self, Device device, ScalarType dtype, {_CAST}": _cast,
    f"to.other(Tensor(a) self, Tensor other, {_CAST}": _cast,
    "to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
    f"pin_memory=None, {_CAST}": _cast_to_layout,
    "type_as(Tensor self, Tensor other) -> Tensor": lambda self, other: self.type_as(other),
    "detach_(Tensor(a!) self) -> Tensor(a!)": _in_place("detach_"),
    "transpose_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)": _in_place("transpose_"),
    "einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor": (
        lambda equation, tensors, path=None: functional.einsum(equation, *tensors)
    ),
    "meshgrid(Tensor[] tensors) -> Tensor[]": lambda tensors: list(functional.meshgrid(*tensors, indexing="ij")),
    "meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]": (
        lambda tensors, indexing: list(functional.meshgrid(*tensors, indexing=indexing))
    ),
    "broadcast_tensors(Tensor[] tensors) -> Tensor[]": lambda tensors: list(functional.broadcast_tensors(*tensors)),
    "tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor": (
        lambda self, other, dims_self, dims_other: functional.tensordot(self, other, (dims_self, dims_other))
    ),
    "atleast_1d(Tensor self) -> Tensor": lambda self: functional.atleast_1d(self),
    "atleast_2d(Tensor self) -> Tensor": lambda self: functional.atleast_2d(self),
    "atleast_3d(Tensor self) -> Tensor": lambda self: functional.atleast_3d(self),
    "atleast_1d.Sequence(Tensor[] tensors) -> Tensor[]": lambda tensors: list(functional.atleast_1d(*tensors)),
    "atleast_2d.Sequence(Tensor[] tensors) -> Tensor[]": lambda tensors: list(functional.atleast_2d(*tensors)),
    "atleast_3d.Sequence(Tensor[] tensors) -> Tensor[]": lambda tensors: list(functional.atleast_3d(*tensors)),
    "cartesian_prod(Tensor[] tensors) -> Tensor": lambda tensors: functional.cartesian_prod(*tensors),
    "block_diag(Tensor[] tensors) -> Tensor": lambda tensors: functional.block_diag(*tensors),
    "where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor": _where,
    "where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor": _where,
    "where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor": _where,
    "norm.Scalar(Tensor self, Scalar p=2) -> Tensor": _norm,
    "norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor": _norm,
    "norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor": _norm,
    "norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) -> Tensor": _norm,
    "div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor": (
        lambda self, other, rounding_mode: self.div(other, rounding_mode=rounding_mode)
    ),
    "floor_divide.Scalar(Tensor self, Scalar other) -> Tensor": lambda self, other: self.floor_divide(other),
    "numpy_T(Tensor(a) self) -> Tensor(a)": lambda self: self.T,
    "mT(Tensor(a) self) -> Tensor(a)": lambda self: self.mT,
    "mH(Tensor(a) self) -> Tensor(a)": lambda self: self.mH,
    "matrix_H(Tensor(a) self) -> Tensor(a)": lambda self: self.H,
    _STFT: _stft,
    _FLASH: _attention,
    _CONVOLUTION: _convolution,
    "_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor": lambda self, indices: self[tuple(
        slice(None) if index is None else index for index in indices
    )],
    **{
        f"{name}.{overload}(Tensor self, {kind} other) -> Tensor": getattr(torch, function)
        for name, function in (
            ("__and__", "bitwise_and"), ("__or__", "bitwise_or"), ("__xor__", "bitwise_xor"),
            ("__lshift__", "bitwise_left_shift"), ("__rshift__", "bitwise_right_shift"),
        )
        for overload, kind in (("Tensor", "Tensor"), ("Scalar", "Scalar"))
    },
    **{
        f"{name}.Scalar_Tensor(Scalar self, Tensor other) -> Tensor": _reversed(getattr(torch, name))
        for name in ("bitwise_and", "bitwise_or", "bitwise_xor")
    },
}  # fmt: skip

#: Operators that graphs without writes hold as a whole.
_WHOLE: dict[str, Callable[..., Any]] = {
    "_native_batch_norm_legit_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor "
    "running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor running_mean_out, "
    "Tensor running_var_out)": _normalized,
}

_by_name: dict[str, list[str]] = {}
for _schema in (*_OPERATORS, *_WHOLE):
    _by_name.setdefault(_schema.partition("(")[0].partition(".")[0], []).append(_schema)
#: Names of which an overload is here.
NAMES = frozenset(_by_name)


@functools.cache
def overloads_named(name: str) -> dict[str, Overload]:
    """The overloads of a name that are here."""
    found = {}
    for schema in _by_name[name]:
        operator = define(parse_schema(f"aten::{schema}"))
        if schema in _WHOLE:
            for key in (ANY_DEVICE, AUTOGRAD_OF_ALL):
                operator.enter(key, _WHOLE[schema])
        else:
            operator.enter(COMPOSITE, _OPERATORS[schema])
        found[operator.overload.overload_name] = operator.overload
    return found
