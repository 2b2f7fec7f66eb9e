"""``loss_parallel``: cross entropy of logits whose classes are split over ranks, which are not put together for it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import mt_core as mt
from mt_library.ops import ops

from .._api import DTensor, respecified
from ..placement_types import Replicate, Shard
from ..spec import DTensorSpec, TensorMeta, sharded_extent
from ..special import in_mesh, switched

__all__ = ["loss_parallel"]

_collectives = ops._c10d_functional
_NONE, _MEAN = 0, 1


@contextlib.contextmanager
def loss_parallel() -> Iterator[None]:
    """Within, ``cross_entropy`` of a `DTensor` whose class dimension is split works on the parts; so does its backward.

    The target is the same on all ranks, and so is the loss.
    """
    before = switched.handlers
    switched.handlers = _HANDLERS
    try:
        yield
    finally:
        switched.handlers = before


def _split_along(tensor: DTensor, dim: int) -> list[int]:
    """The dimensions of the mesh that split a dimension of the tensor."""
    return [at for at, placement in enumerate(tensor.placements) if placement == Shard(dim)]


def _reduced(local: mt.Tensor, tensor: DTensor, dims: list[int], op: str) -> mt.Tensor:
    for at in dims:
        name = tensor.device_mesh.get_group(at).group_name
        local = _collectives.wait_tensor(_collectives.all_reduce(local.contiguous(), op, name))
    return local


def _alone(tensor: DTensor, dim: int) -> DTensor:
    """The tensor split along one dimension at most."""
    kept = [placement if placement == Shard(dim) else Replicate() for placement in tensor.placements]
    return respecified(tensor, kept)


def _log_softmax(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given, dim, to_float = args
    dim %= given.ndim
    dims = _split_along(given, dim)
    if not dims:
        return NotImplemented
    x = given._local_tensor.to(mt.float32) if to_float else given._local_tensor
    low = float("-inf")
    top = x.amax(dim, keepdim=True) if x.shape[dim] else x.new_full(_one_at(x, dim), low)
    shifted = x - _reduced(top, given, dims, "max")
    total = _reduced(shifted.exp().sum(dim, keepdim=True), given, dims, "sum")
    return _like(given, shifted - total.log())


def _one_at(x: mt.Tensor, dim: int) -> list[int]:
    return [1 if at == dim else size for at, size in enumerate(x.shape)]


def _like(given: DTensor, local: mt.Tensor) -> DTensor:
    meta = TensorMeta(given._spec.shape, given._spec.stride, local.dtype)
    return DTensor(local, DTensorSpec(given.device_mesh, given.placements, meta))


def _log_softmax_backward(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    grad, output, dim, dtype = args
    dim %= output.ndim
    dims = _split_along(output, dim)
    if not dims:
        return NotImplemented
    local = respecified(grad, output.placements)._local_tensor
    total = _reduced(local.sum(dim, keepdim=True), output, dims, "sum")
    return _like(output, (local - output._local_tensor.exp() * total).to(dtype))


def _places(x: DTensor, target: Any, func: Any) -> tuple[DTensor, mt.Tensor, mt.Tensor, mt.Tensor]:
    """(x split by classes alone, the targets, their places in this rank's part, whether they are there)."""
    own = _alone(x, 1)
    everywhere = [Replicate()] * x.device_mesh.ndim
    # The target may be an ordinary tensor: it is the same on all ranks.
    labels = respecified(target, everywhere)._local_tensor if isinstance(target, DTensor) else target
    size, offset = sharded_extent(own._spec, 1)
    inside = (labels >= offset) & (labels < offset + size)
    return own, labels, (labels - offset).clamp(0, max(size - 1, 0)), inside


def _row_weights(func: Any, weight: Any, labels: mt.Tensor, ignored: int, like: mt.Tensor, mesh: Any) -> mt.Tensor:
    weights = like.new_ones(labels.shape)
    if weight is not None:
        whole = in_mesh(func, weight, mesh) if isinstance(weight, DTensor) else weight
        if isinstance(whole, DTensor):
            whole = respecified(whole, [Replicate()] * mesh.ndim)._local_tensor
        weights = whole[labels.clamp(0, whole.shape[0] - 1)]
    return weights.masked_fill(labels == ignored, 0)


def _nll_loss(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    x, target, weight, reduction, ignored = args
    dims = _split_along(x, 1) if x.ndim == 2 else []
    if not dims:
        return NotImplemented
    own, labels, places, inside = _places(x, target, func)
    local = own._local_tensor
    if local.shape[1]:
        picked = local.gather(1, places.unsqueeze(1)).squeeze(1).masked_fill(~inside, 0)
    else:
        picked = local.new_zeros(labels.shape)
    rows = _reduced(picked, own, dims, "sum")
    weights = _row_weights(func, weight, labels, ignored, local, x.device_mesh)
    losses, total = -rows * weights, weights.sum()
    if reduction == _NONE:
        return _everywhere(x, losses), _everywhere(x, total.new_zeros(()))
    loss = losses.sum()
    return _everywhere(x, loss / total if reduction == _MEAN else loss), _everywhere(x, total)


def _everywhere(x: DTensor, local: mt.Tensor) -> DTensor:
    mesh = x.device_mesh
    meta = TensorMeta(local.shape, tuple(local.stride()), local.dtype)
    return DTensor(local, DTensorSpec(mesh, (Replicate(),) * mesh.ndim, meta))


def _nll_loss_backward(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    grad, x, target, weight, reduction, ignored, total = args
    if x.ndim != 2 or not _split_along(x, 1):
        return NotImplemented
    mesh = x.device_mesh
    own, labels, places, inside = _places(x, target, func)
    local = own._local_tensor
    everywhere = [Replicate()] * mesh.ndim
    coming = respecified(grad, everywhere)._local_tensor
    weights = _row_weights(func, weight, labels, ignored, local, mesh)
    if reduction == _MEAN:
        coming = coming / respecified(total, everywhere)._local_tensor
    rows = (-coming * weights).expand(labels.shape).masked_fill(~inside, 0)
    made = mt.zeros_like(local)
    if local.shape[1]:
        made = made.scatter(1, places.unsqueeze(1), rows.unsqueeze(1))
    return _like(own, made)


_HANDLERS: dict[str, Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]] = {
    "aten._log_softmax.default": _log_softmax,
    "aten._log_softmax_backward_data.default": _log_softmax_backward,
    "aten.nll_loss_forward.default": _nll_loss,
    "aten.nll_loss_backward.default": _nll_loss_backward,
}
