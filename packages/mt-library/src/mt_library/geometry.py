"""The operators by which a class of tensors is asked for sizes, strides, device and layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mt_core.dispatch.registry import Overload
from mt_core.formats import channels_last, channels_last_3d, contiguous_format
from mt_core.schema import parse_schema

from .dispatch_keys import ANY_DEVICE
from .registrations import Operator, define
from .tags import Tag

__all__ = ["NAMES", "overload_named"]


def _is_like(tensor: Any, memory_format: Any = contiguous_format) -> bool:
    return tensor.is_contiguous(memory_format=memory_format)  # type: ignore[no-any-return]


def _is_dense(tensor: Any) -> bool:
    """Whether the elements fill a stretch of memory without gaps, whatever the order of the dimensions."""
    expected = 1
    for step, size in sorted(zip(tensor.stride(), tensor.shape)):
        if size == 1:
            continue
        if step != expected:
            return False
        expected *= size
    return True


def _strides_like(tensor: Any, memory_format: Any = contiguous_format) -> bool:
    """Whether the strides are in the order of a memory format."""
    if memory_format not in (channels_last, channels_last_3d):
        return False
    return tensor.dim() == (4 if memory_format is channels_last else 5) and _is_like(tensor, memory_format)


_OPERATORS: dict[str, Callable[..., Any]] = {
    "aten::sym_size(Tensor self) -> SymInt[]": lambda tensor: list(tensor.shape),
    "aten::sym_size.int(Tensor self, int dim) -> SymInt": lambda tensor, dim: tensor.size(dim),
    "aten::size(Tensor self) -> int[]": lambda tensor: list(tensor.shape),
    "aten::size.int(Tensor self, int dim) -> int": lambda tensor, dim: tensor.size(dim),
    "aten::sym_stride(Tensor self) -> SymInt[]": lambda tensor: list(tensor.stride()),
    "aten::sym_stride.int(Tensor self, int dim) -> SymInt": lambda tensor, dim: tensor.stride(dim),
    "aten::stride(Tensor self) -> int[]": lambda tensor: list(tensor.stride()),
    "aten::stride.int(Tensor self, int dim) -> int": lambda tensor, dim: tensor.stride(dim),
    "aten::dim(Tensor self) -> int": lambda tensor: tensor.dim(),
    "aten::numel(Tensor self) -> int": lambda tensor: tensor.numel(),
    "aten::sym_numel(Tensor self) -> SymInt": lambda tensor: tensor.numel(),
    "aten::storage_offset(Tensor self) -> int": lambda tensor: tensor.storage_offset(),
    "aten::sym_storage_offset(Tensor self) -> SymInt": lambda tensor: tensor.storage_offset(),
    "aten::is_contiguous(Tensor self) -> bool": _is_like,
    "aten::is_contiguous.memory_format(Tensor self, MemoryFormat memory_format) -> bool": _is_like,
    "aten::is_strides_like_format(Tensor self, MemoryFormat memory_format) -> bool": _strides_like,
    "aten::is_non_overlapping_and_dense(Tensor self) -> bool": _is_dense,
    "prim::device(Tensor a) -> Device": lambda tensor: tensor.device,
    "prim::layout(Tensor a) -> Layout": lambda tensor: tensor.layout,
}


def _defined(schema: str, kernel: Callable[..., Any]) -> tuple[str, Operator]:
    operator = define(parse_schema(schema), (Tag["core"],) if schema.startswith("aten::sym_") else ())
    operator.enter(ANY_DEVICE, kernel)
    return operator.overload.qualified_name, operator


_defined_here = dict(_defined(schema, kernel) for schema, kernel in _OPERATORS.items())
#: Namespace and name of each, without overloads.
NAMES = frozenset(name.partition(".")[0] for name in _defined_here)


def overload_named(name: str) -> Overload:
    """One of these operators."""
    return _defined_here[name].overload
