"""Tensors whose class is asked for sizes, strides, device or layout (``dispatch_sizes_strides_policy``).

The members of a tensor that tell of them are called everywhere, so they carry no question. When the first such tensor
turns up in a process (`ask_of`), their bodies are exchanged for ones that look whether a tensor is of this kind; the
function objects stay what they are. A class answers through ``__torch_dispatch__``, which is handed ``aten.sym_size``
and its like; None stands for what the tensor was made with.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from .dispatch.dispatcher import layer_for
from .dispatched_members import exchange, is_handled
from .formats import contiguous_format
from .keys import PYTHON
from .size import Size
from .tensor import Tensor, no_dimensions, wrap_dim

__all__ = ["ask_of"]

#: Identity of a tensor -> what its class is asked for, of ``sizes strides device layout``.
_asked: dict[int, frozenset[str]] = {}
_FACTS = {None: (), "strides": ("strides",), "sizes": ("sizes", "strides")}
_MEMBERS: dict[Any, tuple[str, Callable[..., Any]]] = {}


def ask_of(tensor: Any, policy: str | None, device: bool, layout: bool) -> None:
    """Have a tensor's class asked.

    Raises
    ------
    RuntimeError
        For another policy than ``sizes`` and ``strides``.
    """
    if policy not in _FACTS:
        raise RuntimeError(f"Unknown sizes_strides_policy: {policy}")
    facts = frozenset((*_FACTS[policy], *(["device"] if device else []), *(["layout"] if layout else [])))
    if facts:
        _exchange_members()
        _asked[id(tensor)] = facts
        weakref.finalize(tensor, _asked.pop, id(tensor), None).atexit = False


def _answer(tensor: Any, operator: str, *args: Any) -> Any:
    """What the class of a tensor says to ``"aten::sym_size"`` and the like."""
    return layer_for(PYTHON).ask(operator, tensor, *args)


def _member(fact: str, function: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: what a member does for a tensor whose class is asked for a fact; it is handed what it does else."""

    def enter(asks: Callable[..., Any]) -> Callable[..., Any]:
        _MEMBERS[function] = fact, asks
        return asks

    return enter


@_member("sizes", Tensor.size)
def _size(plain: Any, self: Any, dim: int | None = None) -> Any:
    if dim is None:
        return _shape(plain, self)
    rank = self.dim()
    if not rank:
        raise no_dimensions(dim)
    return _shape(plain, self)[wrap_dim(dim, rank)]


@_member("sizes", Tensor.shape.fget)  # type: ignore[attr-defined]
def _shape(plain: Any, self: Any) -> Any:
    found = _answer(self, "aten::sym_size")
    return plain(self) if found is None else Size(found)


@_member("sizes", Tensor.dim)
def _dim(plain: Any, self: Any) -> int:
    found = _answer(self, "aten::dim")
    if not isinstance(found, int):
        raise RuntimeError(f"dim returned invalid type {type(found).__name__}, expected int")
    return found


_member("sizes", Tensor.ndim.fget)(_dim)  # type: ignore[attr-defined]


@_member("sizes", Tensor.numel)
def _numel(plain: Any, self: Any) -> Any:
    found = _answer(self, "aten::sym_numel")
    return plain(self) if found is None else found


@_member("sizes", Tensor.storage_offset)
def _storage_offset(plain: Any, self: Any) -> Any:
    found = _answer(self, "aten::sym_storage_offset")
    return plain(self) if found is None else found


@_member("sizes", Tensor.data_ptr)
def _data_ptr(plain: Any, self: Any) -> Any:
    """Of a tensor without elements it is 0, so that their number is asked for."""
    return 0 if _answer(self, "aten::numel") == 0 or _is_without_memory(self) else plain(self)


def _is_without_memory(tensor: Any) -> bool:
    return hasattr(tensor._array, "elements_for")


@_member("strides", Tensor.stride)
def _stride(plain: Any, self: Any, dim: int | None = None) -> Any:
    found = _answer(self, "aten::sym_stride")
    if found is None:
        return plain(self, dim)
    return tuple(found) if dim is None else found[wrap_dim(dim, len(found))]


@_member("strides", Tensor.is_contiguous)
def _is_contiguous(plain: Any, self: Any, memory_format: Any = contiguous_format) -> bool:
    if memory_format is contiguous_format:
        found = _answer(self, "aten::is_contiguous")
    else:
        found = _answer(self, "aten::is_contiguous.memory_format", memory_format)
    return bool(plain(self, memory_format) if found is None else found)


@_member("strides", Tensor.contiguous)
def _contiguous(plain: Any, self: Any, memory_format: Any = contiguous_format) -> Any:
    return self if self.is_contiguous(memory_format=memory_format) else self.clone(memory_format=memory_format)


@_member("sizes", Tensor.nbytes.fget)  # type: ignore[attr-defined]
def _nbytes(plain: Any, self: Any) -> Any:
    found = _answer(self, "aten::numel")
    return plain(self) if found is None else found * self.element_size()


@_member("sizes", Tensor.__len__)
def _length(plain: Any, self: Any) -> int:
    if not self.dim():
        raise TypeError("len() of a 0-d tensor")
    return self.shape[0]  # type: ignore[no-any-return]


@_member("device", Tensor.device.fget)  # type: ignore[attr-defined]
def _device(plain: Any, self: Any) -> Any:
    found = _answer(self, "prim::device")
    return plain(self) if found is None else found


@_member("layout", Tensor.layout.fget)  # type: ignore[attr-defined]
def _layout(plain: Any, self: Any) -> Any:
    found = _answer(self, "prim::layout")
    return plain(self) if found is None else found


def _exchange_members() -> None:
    """Let the members ask from now on, once."""
    while _MEMBERS:
        function, (fact, asks) = _MEMBERS.popitem()
        exchange(function, asks, _is_asked_for(fact))


def _is_asked_for(fact: str) -> Callable[[Any], bool]:
    def is_asked(tensor: Any) -> bool:
        facts = _asked.get(id(tensor))
        return facts is not None and fact in facts and is_handled(tensor)

    return is_asked
