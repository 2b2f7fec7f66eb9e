"""Which proxy stands for a tensor while operators are traced, and what its node is told of the tensor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mt_core import Tensor, pytree
from mt_core.api import _functions as ops
from mt_core.autograd_state import no_grad
from mt_core.python_dispatch import without_modes
from mt_core.symbolic import has_symbols, is_symbolic

from ..._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from ..passes.shape_prop import _extract_tensor_metadata
from ..proxy import Proxy
from ._symbolic_slots import note_layout

__all__ = [
    "Tracked", "get_proxy_slot", "has_proxy_slot", "set_meta", "set_proxy_slot", "track_tensor", "track_tensor_tree",
]  # fmt: skip

_MISSING = object()


@dataclass
class Tracked:
    """A proxy, and a tensor with the elements where they are known."""

    proxy: Proxy
    constant: Tensor | None


def has_proxy_slot(obj: Tensor, tracer: Any) -> bool:
    """Whether a tracer knows a tensor."""
    return obj in tracer.tensor_tracker


def get_proxy_slot(
    obj: Any, tracer: Any, default: Any = _MISSING, transform: Callable[[Any], Any] = lambda tracked: tracked
) -> Any:
    """What a tracer knows of a tensor, changed by `transform`; of others, `default`.

    Raises
    ------
    RuntimeError
        For a tensor that is not known, without a default.
    """
    found = tracer.tensor_tracker.get(obj)
    if found is not None:
        return transform(found)
    if default is _MISSING:
        raise RuntimeError(f"{obj} ({type(obj)}) is not tracked with proxy for {tracer}")
    return default


def set_proxy_slot(obj: Tensor, tracer: Any, proxy: Any) -> None:
    """Have a tracer know a tensor by a proxy (a `Tracked`)."""
    tracer.tensor_tracker[obj] = proxy


def set_meta(proxy: Proxy, value: Any) -> Proxy:
    """Tell the node of a proxy what its value looks like (``meta["val"]``, ``meta["tensor_meta"]``)."""
    with without_modes(), no_grad():
        proxy.node.meta["val"] = _described(value)
    if isinstance(value, Tensor):
        # The formats of symbolic sizes would have to be guarded.
        has_numbers = not has_symbols((*value.shape, *value.stride()))
        proxy.node.meta["tensor_meta"] = _extract_tensor_metadata(value, has_numbers)
    return proxy


def _described(value: Any) -> Any:
    """A value with fake tensors in place of tensors, which keep no memory."""
    if isinstance(value, FakeTensor):
        return value.detach()
    if isinstance(value, Tensor):
        return _empty_like(value)
    if isinstance(value, (list, tuple)):
        items = [_described(item) for item in value]
        return items if isinstance(value, list) else tuple(items)
    return value


def _empty_like(value: Tensor) -> FakeTensor:
    """A fake tensor of the layout of a real one, on memory of its own."""
    with FakeTensorMode():
        return ops.empty_strided(value.size(), value.stride(), dtype=value.dtype, device=value.device)  # type: ignore[return-value]


def track_tensor(tensor: Tensor, proxy: Proxy, *, constant: Tensor | None, tracer: Any) -> None:
    """Have a tracer know a tensor by a proxy."""
    set_proxy_slot(tensor, tracer, Tracked(proxy, constant))
    slots = getattr(tracer, "symbolic_slots", None)
    if slots is not None and isinstance(tensor, FakeTensor):
        note_layout(slots, tensor, proxy)


def track_tensor_tree(inner_res: Any, proxy_res: Any, *, constant: Any, tracer: Any) -> Any:
    """Have a tracer know the tensors of a result, those in sequences by the items of its proxy."""
    _track(inner_res, proxy_res, constant, tracer)
    return inner_res


def _track(value: Any, proxy: Any, constant: Any, tracer: Any) -> None:
    if isinstance(value, Tensor):
        track_tensor(value, proxy, constant=constant, tracer=tracer)
        set_meta(proxy, value)
    elif isinstance(value, (list, tuple)):
        if isinstance(proxy, Proxy):
            set_meta(proxy, value)
        for i, item in enumerate(value):
            _track(item, proxy[i], None if constant is None else constant[i], tracer)
    elif isinstance(value, dict):
        for key, item in value.items():
            _track(item, proxy[key], None if constant is None else constant[key], tracer)
    elif isinstance(proxy, Proxy) and not pytree.tree_is_leaf(value):
        raise NotImplementedError(f"results of the class {type(value).__name__} cannot be traced")
    elif isinstance(proxy, Proxy) and value is not None:
        set_meta(proxy, value)
        if is_symbolic(value) and tracer is not None:
            tracer.symbolic_slots.enter(value, proxy)
