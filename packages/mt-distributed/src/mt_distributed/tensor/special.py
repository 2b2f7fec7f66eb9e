"""Operators that are more than one run on what a rank has; NotImplemented where the rule serves after all."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import mt_core as mt
from mt_library.ops import ops

from ._api import DTensor, respecified
from .placement_types import Partial, Placement, Replicate, Shard
from .spec import DTensorSpec, TensorMeta, sharded_extent

__all__ = ["handler_for", "in_mesh", "switched"]

Handler = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]


class _Switched(threading.local):
    def __init__(self) -> None:
        self.handlers: dict[str, Handler] = {}


#: What a context manager of this thread has put in the place of rules.
switched = _Switched()


def handler_for(func: Any) -> Handler | None:
    """What carries an operator out otherwise than by a rule alone; None for most."""
    name = str(func)
    if name in switched.handlers:
        return switched.handlers[name]
    if name.startswith("aten._foreach_"):
        return _each
    return _HANDLERS.get(name)


def _each(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An operator on lists, as that on their members, one by one."""
    _, name, _ = str(func).split(".")
    name = name.removeprefix("_foreach_")
    count = len(args[0])
    if name == "norm":
        order = args[1] if len(args) > 1 else kwargs.get("ord", 2)
        dtype = kwargs.get("dtype")
        return [ops.aten.linalg_vector_norm.default(one, order, dtype=dtype) for one in args[0]]
    packet = getattr(ops.aten, {"maximum": "maximum", "minimum": "minimum"}.get(name, name), None)
    if packet is None:
        raise NotImplementedError(f"Operator {func} does not have a sharding strategy registered.")

    def member(value: Any, at: int) -> Any:
        return value[at] if isinstance(value, (list, tuple)) and len(value) == count else value

    results = [
        packet(*(member(value, at) for value in args), **{key: member(value, at) for key, value in kwargs.items()})
        for at in range(count)
    ]
    return None if name.endswith("_") else results


def _item(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor = args[0]
    whole = respecified(tensor, [Replicate()] * tensor.device_mesh.ndim)
    return func(whole._local_tensor)


def mixed(func: Any) -> RuntimeError:
    """The error for ordinary tensors beside distributed ones."""
    return RuntimeError(
        f"{func} got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before calling "
        "distributed operators!"
    )


def in_mesh(func: Any, tensor: mt.Tensor, mesh: Any) -> DTensor:
    """A tensor among the arguments: ordinary ones of one element are taken to be the same on all ranks."""
    if isinstance(tensor, DTensor):
        return tensor
    if tensor.numel() == 1 and tensor.ndim <= 1:
        meta = TensorMeta(tensor.shape, tensor.stride(), tensor.dtype)
        return DTensor(tensor, DTensorSpec(mesh, (Replicate(),) * mesh.ndim, meta))
    raise mixed(func)


def _equal(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    one, other = args
    if not (isinstance(one, DTensor) and isinstance(other, DTensor)):
        raise mixed(func)
    if one.shape != other.shape:
        return False
    everywhere = [Replicate()] * one.device_mesh.ndim
    return func(respecified(one, everywhere)._local_tensor, respecified(other, everywhere)._local_tensor)


def _same_size(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return tuple(args[0].shape) == tuple(args[1].shape)


def _embedding(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Rows that another rank has are zeros here, and the ranks' results are to be added."""
    weight, indices = args[0], args[1]
    rows = [at for at, placement in enumerate(weight.placements) if placement == Shard(0)]
    if not rows:
        return NotImplemented
    mesh = weight.device_mesh
    indices = in_mesh(func, indices, mesh)
    wanted: list[Placement] = []
    found: list[Placement] = []
    lies: list[Placement] = []
    for at in range(mesh.ndim):
        splits, index = weight.placements[at], indices.placements[at]
        if at in rows:
            wanted.append(Replicate())
            found.append(Partial("sum"))
            lies.append(Shard(0))
        elif splits == Shard(1):
            wanted.append(Replicate())
            found.append(Shard(indices.ndim))
            lies.append(splits)
        else:
            wanted.append(Replicate() if index.is_partial() else index)
            found.append(wanted[-1])
            lies.append(Replicate())
    local, own = respecified(indices, wanted)._local_tensor, respecified(weight, lies)
    size, offset = sharded_extent(own._spec, 0)
    outside = (local < offset) | (local >= offset + size)
    shifted = (local - offset).masked_fill(outside, 0)
    if size == 0:
        result = own._local_tensor.new_zeros((*local.shape, own._local_tensor.shape[1]))
    else:
        result = func(own._local_tensor, shifted, *args[2:], **kwargs).masked_fill(outside.unsqueeze(-1), 0)
    shape = mt.Size((*indices.shape, weight.shape[1]))
    meta = TensorMeta(shape, tuple(mt.empty(shape, device="meta").stride()), weight.dtype)
    return DTensor(result, DTensorSpec(mesh, tuple(found), meta))


_HANDLERS: dict[str, Handler] = {
    "aten._local_scalar_dense.default": _item,
    "aten.equal.default": _equal,
    "aten.is_same_size.default": _same_size,
    "aten.embedding.default": _embedding,
}
