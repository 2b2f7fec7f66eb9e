"""Operators on tensors that PyTorch has in its interpreter alone, and what programs ask tensors and the process."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from mt_core import Tensor, device, formats, is_grad_enabled, tensor
from mt_core.autograd_state import set_grad_enabled
from mt_core.random import manual_seed
from mt_library import ops

from ...amp.autocast_mode import is_autocast_cpu_enabled, is_autocast_enabled
from .formats import as_dtype, as_memory_format, number_of_dtype, number_of_layout
from .table import ANYWHERE, enter
from .types import BOOL, DEVICE, FLOAT, INT, NONE, NUMBER, STR, TENSOR, UNKNOWN, Type, list_of, optional

__all__ = ["ATTRIBUTES", "PRIMITIVES"]


def _tensor(data: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    return tensor(data, dtype=as_dtype(dtype), device=device, requires_grad=requires_grad)  # type: ignore[no-any-return]


def _as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    if isinstance(data, Tensor):
        return data.to(device=device or data.device, dtype=as_dtype(dtype) or data.dtype)
    return _tensor(data, dtype, device)


def _to(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """``Tensor.to`` of a dtype's number, a device, a tensor, or these by name."""
    for name, change in (("dtype", as_dtype), ("memory_format", as_memory_format)):
        if name in kwargs:
            kwargs[name] = change(kwargs[name])
    for absent in ("layout", "pin_memory"):
        kwargs.pop(absent, None)
    args = tuple(a for a in args if a is not None) if args and args[0] is None else args
    placed: list[Any] = list(args)
    if placed and isinstance(placed[0], (device, str)) and len(placed) > 1 and type(placed[1]) is int:
        placed[1] = as_dtype(placed[1])
    elif placed and type(placed[0]) is int:
        placed[0] = as_dtype(placed[0])
    while placed and placed[-1] is None:
        placed.pop()
    if placed and type(placed[0]) is bool:
        return x.clone() if len(placed) > 1 and placed[1] else x
    if len(placed) > 1 and placed[1] is None:
        del placed[1]
    if placed and type(placed[-1]) is int:
        kwargs["memory_format"] = as_memory_format(placed.pop())
    return x.to(*placed, **{k: v for k, v in kwargs.items() if v is not None})


def _size(x: Tensor, dim: int | None = None) -> Any:
    return list(x.shape) if dim is None else x.size(dim)


def _stride(x: Tensor, dim: int | None = None) -> Any:
    return list(x.stride()) if dim is None else x.stride(dim)


def _implicit(kind: Callable[[Any], Any]) -> Any:
    def convert(x: Tensor) -> Any:
        if x.requires_grad:
            raise RuntimeError("Cannot input a tensor that requires grad as a scalar argument")
        if x.dim() != 0:
            raise RuntimeError(f"Cannot input a tensor of dimension other than 0 as a scalar argument (got {x.dim()})")
        return kind(x.item())

    return convert


def _warn(message: str, stacklevel: int = 2) -> None:
    warnings.warn(message, UserWarning, stacklevel=3)


def _set_grad_enabled(mode: bool) -> None:
    set_grad_enabled(mode)


def _manual_seed(seed: int) -> None:
    manual_seed(seed)


def _number_to_tensor(number: Any) -> Tensor:
    return tensor(number)  # type: ignore[no-any-return]


def _tolist(x: Tensor) -> Any:
    return x.tolist()


def _grad_sum_to_size(x: Tensor, size: list[int] | None) -> Tensor:
    return x if size is None else x.sum_to_size(size)


def _convolution_mode(
    x: Tensor, weight: Tensor, bias: Tensor | None, stride: list[int], padding: str, dilation: list[int], groups: int
) -> Tensor:
    """A convolution with its padding by name."""
    operator = {3: ops.aten.conv1d, 4: ops.aten.conv2d, 5: ops.aten.conv3d}[weight.dim()]
    return operator.padding(x, weight, bias, stride, padding, dilation, groups)  # type: ignore[no-any-return]


def _is_on(kind: str) -> Callable[[Tensor], bool]:
    return lambda x: x.device.type == kind


def _size_type(types: list[Type]) -> Type:
    return list_of(INT) if len(types) == 1 else INT


enter(ANYWHERE, {"tensor": _tensor, "as_tensor": _as_tensor, "to": _to, "_list_to_tensor": _tensor}, TENSOR)
enter(ANYWHERE, {"cpu": lambda x: x.cpu(), "cuda": lambda x: x.cuda(), "numpy_T": lambda x: x.T}, TENSOR)
enter(ANYWHERE, {"mT": lambda x: x.mT, "mH": lambda x: x.mH, "matrix_H": lambda x: x.H}, TENSOR)
enter(ANYWHERE, {"requires_grad_": lambda x, flag=True: x.requires_grad_(flag)}, TENSOR)
enter(ANYWHERE, {"_shape_as_tensor": lambda x: tensor(list(x.shape)), "_grad_sum_to_size": _grad_sum_to_size}, TENSOR)
enter(ANYWHERE, {"size": _size, "stride": _stride, "sym_size": _size, "sym_stride": _stride}, _size_type)
enter(ANYWHERE, {"item": lambda x: x.item()}, NUMBER)
enter(ANYWHERE, {"_tensor_to_list": _tolist}, list_of(INT))
enter(
    ANYWHERE, {"dim": lambda x: x.dim(), "numel": lambda x: x.numel(), "element_size": lambda x: x.element_size()}, INT
)
enter(ANYWHERE, {"storage_offset": lambda x: x.storage_offset(), "get_device": lambda x: x.get_device()}, INT)
enter(ANYWHERE, {"is_floating_point": lambda x: x.is_floating_point(), "is_complex": lambda x: x.is_complex()}, BOOL)
enter(ANYWHERE, {"is_nonzero": bool, "is_grad_enabled": is_grad_enabled, "is_scripting": lambda: True}, BOOL)
enter(
    ANYWHERE,
    {
        "_get_tracing_state": lambda: False,
        "is_autocast_enabled": is_autocast_enabled,
        "is_autocast_cpu_enabled": is_autocast_cpu_enabled,
    },
    BOOL,
)
enter(
    ANYWHERE,
    {"set_grad_enabled": _set_grad_enabled, "warn": _warn, "manual_seed": _manual_seed},
    NONE,
)
enter(ANYWHERE, {"_convolution_mode": _convolution_mode}, TENSOR)
enter(ANYWHERE, {"IntImplicit": _implicit(int)}, INT)
enter(ANYWHERE, {"FloatImplicit": _implicit(float)}, FLOAT)
enter(ANYWHERE, {"ScalarImplicit": _implicit(lambda value: value)}, NUMBER)
enter(ANYWHERE, {"wait": lambda future: future.wait()}, lambda types: types[0].parts[0] if types[0].parts else UNKNOWN)
enter(ANYWHERE, {"device": lambda *args: device(*args)}, DEVICE)
enter(ANYWHERE, {"has_torch_function": lambda *args: False}, BOOL)
enter(ANYWHERE, {"backward": lambda x, *args: x.backward(*args)}, NONE)

#: What ``ops.prim`` has, and ``ops.aten`` not.
PRIMITIVES: dict[str, Any] = {}
enter(PRIMITIVES, {"NumToTensor": _number_to_tensor, "data": lambda x: x.detach()}, TENSOR)
enter(PRIMITIVES, {"dtype": lambda x: number_of_dtype(x.dtype), "layout": lambda x: number_of_layout(x.layout)}, INT)
enter(PRIMITIVES, {"device": lambda x: x.device}, DEVICE)
enter(PRIMITIVES, {"is_cuda": lambda x: x.is_cuda, "requires_grad": lambda x: x.requires_grad}, BOOL)
enter(PRIMITIVES, {"is_cpu": lambda x: x.device.type == "cpu", "is_meta": lambda x: x.is_meta}, BOOL)
enter(PRIMITIVES, {"is_sparse": lambda x: x.is_sparse, "is_sparse_csr": lambda x: x.layout is formats.sparse_csr}, BOOL)
enter(
    PRIMITIVES,
    {f"is_{kind}": _is_on(kind) for kind in "mps xpu xla ipu vulkan mtia maia".split()},
    BOOL,
)
enter(PRIMITIVES, {"is_quantized": lambda x: x.is_quantized, "is_nested": lambda x: x.is_nested}, BOOL)
enter(PRIMITIVES, {"is_mkldnn": lambda x: False}, BOOL)
enter(PRIMITIVES, {"grad": lambda x: x.grad}, optional(TENSOR))
enter(PRIMITIVES, {"itemsize": lambda x: x.element_size(), "nbytes": lambda x: x.numel() * x.element_size()}, INT)
enter(PRIMITIVES, {"type": lambda d: d.type}, STR)
enter(PRIMITIVES, {"index": lambda d: d.index}, optional(INT))
enter(PRIMITIVES, {"name": lambda x: None}, optional(STR))
enter(PRIMITIVES, {"rangelist": lambda n: list(range(n))}, list_of(INT))
enter(PRIMITIVES, {"unchecked_unwrap_optional": lambda x: x, "unchecked_cast": lambda x: x}, lambda types: types[0])
enter(PRIMITIVES, {"tolist": _tolist})
enter(PRIMITIVES, {"EnumName": lambda e: e.name}, STR)
enter(PRIMITIVES, {"EnumValue": lambda e: e.value})
enter(PRIMITIVES, {"AutogradAdd": lambda a, b: a + b}, TENSOR)

#: Members of tensors and devices that code may ask for by name -> the primitive.
ATTRIBUTES = {
    "dtype": "dtype", "device": "device", "layout": "layout", "is_cuda": "is_cuda", "requires_grad": "requires_grad",
    "grad": "grad", "data": "data", "is_sparse": "is_sparse", "is_cpu": "is_cpu", "is_meta": "is_meta",
    "is_quantized": "is_quantized", "itemsize": "itemsize", "nbytes": "nbytes", "type": "type", "index": "index",
}  # fmt: skip
