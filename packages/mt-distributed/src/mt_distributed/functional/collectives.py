"""The functions of ``torch.distributed._functional_collectives``: new results, waited for when they are used.

A group is a process group, its name, a list of ranks that have one, a `DeviceMesh` of one dimension, or a pair of
a mesh and one of its dimensions. While a program is written down as a graph, the waiting is part of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mt_core as mt
from mt_core.keys import PROFILED
from mt_core.python_dispatch import has_modes
from mt_core.state import tls
from mt_library.ops import ops

from ..device_mesh import DeviceMesh
from ..process_group import ProcessGroup
from ..world import get_process_group_ranks, world
from . import operators  # noqa: F401 - it enters the operators
from .operators import group_named
from .waiting import AsyncCollectiveTensor

__all__ = [
    "all_gather_into_tensor_coalesced",
    "all_gather_tensor",
    "all_gather_tensor_autograd",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all_single",
    "all_to_all_single_autograd",
    "broadcast",
    "permute_tensor",
    "reduce_scatter_tensor",
    "reduce_scatter_tensor_autograd",
    "reduce_scatter_tensor_coalesced",
    "wait_tensor",
]

_own = ops._c10d_functional


def name_of_group(group: Any) -> str:
    """The name of the group that is meant.

    Raises
    ------
    ValueError
        For what means no group.
    """
    if isinstance(group, str):
        return group
    if isinstance(group, DeviceMesh):
        assert group.ndim == 1, "Only 1D mesh is supported, pass in (DeviceMesh, int) together if mesh > 1D"
        return str(group.get_group().group_name)
    if isinstance(group, ProcessGroup):
        return group.group_name
    if isinstance(group, tuple) and len(group) == 2 and isinstance(group[0], DeviceMesh) and isinstance(group[1], int):
        return str(group[0].get_group(group[1]).group_name)
    if isinstance(group, (list, tuple)):
        wanted = list(group[0]) if group and isinstance(group[0], (list, tuple)) else list(group)
        for known in world.entries:
            if get_process_group_ranks(known) == wanted:
                return str(known.group_name)
        raise ValueError(f"there is no process group of the ranks {wanted}")
    raise ValueError(f"Unsupported group type: {type(group)}, {group}")


def _given(group: Any) -> tuple[str, int]:
    name = name_of_group(group)
    return name, group_named(name).size()


def _awaited(tensor: mt.Tensor) -> Any:
    """A result to be waited for when it is used; waited for now where a mode or a layer writes the program down."""
    if has_modes() or tls.include & ~PROFILED or tls.transforms or type(tensor) is not mt.Tensor:
        return _own.wait_tensor(tensor)
    return AsyncCollectiveTensor(tensor)


def wait_tensor(tensor: mt.Tensor) -> mt.Tensor:
    """A result, once it is there."""
    if isinstance(tensor, AsyncCollectiveTensor):
        return tensor.wait()
    return _own.wait_tensor(tensor)  # type: ignore[no-any-return]


def _usable(tensor: Any) -> Any:
    return tensor.trigger_wait() if isinstance(tensor, AsyncCollectiveTensor) else tensor


def all_reduce(self: mt.Tensor, reduceOp: str, group: Any, tag: str = "") -> mt.Tensor:
    """The reduction of all ranks' tensors; `reduceOp` is ``"sum"``, ``"avg"``, ``"max"`` ..."""
    return _awaited(_own.all_reduce(self, reduceOp.lower(), _given(group)[0]))


def broadcast(self: mt.Tensor, src: int, group: Any, tag: str = "") -> mt.Tensor:
    """The tensor of rank `src` of the group."""
    return _awaited(_own.broadcast(self, src, _given(group)[0]))


def all_gather_tensor(self: mt.Tensor, gather_dim: int, group: Any, tag: str = "") -> mt.Tensor:
    """All ranks' tensors, of one shape, one after another along a dimension."""
    self = _usable(self)
    name, size = _given(group)
    at = _dimension(gather_dim, self.ndim)
    gathered = _awaited(_own.all_gather_into_tensor(self.contiguous(), size, name))
    if at == 0 or size == 1:
        return gathered
    return mt.cat(list(mt.chunk(_usable(gathered), size, 0)), at)


def all_gather_tensor_autograd(self: mt.Tensor, gather_dim: int, group: Any, tag: str = "") -> mt.Tensor:
    """`all_gather_tensor`: both have gradients."""
    return all_gather_tensor(self, gather_dim, group, tag)


def reduce_scatter_tensor(self: mt.Tensor, reduceOp: str, scatter_dim: int, group: Any, tag: str = "") -> mt.Tensor:
    """This rank's part, along a dimension, of the reduction of all ranks' tensors.

    Raises
    ------
    AssertionError
        Where the dimension cannot be divided evenly.
    """
    self = _usable(self)
    name, size = _given(group)
    at = _dimension(scatter_dim, self.ndim)
    assert self.shape[at] % size == 0, (
        f"input dimension {at} ({self.shape[at]} must be a multiple of group_size {size})"
    )
    if at != 0:
        self = mt.cat(list(mt.chunk(self, size, at)))
    return _awaited(_own.reduce_scatter_tensor(self.contiguous(), reduceOp.lower(), size, name))


def reduce_scatter_tensor_autograd(
    self: mt.Tensor, reduceOp: str, scatter_dim: int, group: Any, tag: str = ""
) -> mt.Tensor:
    """`reduce_scatter_tensor`: both have gradients."""
    return reduce_scatter_tensor(self, reduceOp, scatter_dim, group, tag)


def all_to_all_single(
    self: mt.Tensor,
    output_split_sizes: Sequence[int] | None,
    input_split_sizes: Sequence[int] | None,
    group: Any,
    tag: str = "",
) -> mt.Tensor:
    """Rows for each rank, and from each: as many for all, or as many as the lists say.

    Raises
    ------
    AssertionError
        Where only one of the lists is given, or rows cannot be divided evenly.
    """
    name, size = _given(group)
    assert (output_split_sizes is None) == (input_split_sizes is None), (
        "output_split_sizes and input_split_sizes must either be specified together or both set to None"
    )
    if output_split_sizes is None or input_split_sizes is None:
        assert self.shape[0] % size == 0, f"input dimension 0 ({self.shape[0]} must be a multiple of group_size {size})"
        output_split_sizes = input_split_sizes = [self.shape[0] // size] * size
    return _awaited(_own.all_to_all_single(self, list(output_split_sizes), list(input_split_sizes), name))


def all_to_all_single_autograd(
    self: mt.Tensor,
    output_split_sizes: Sequence[int] | None,
    input_split_sizes: Sequence[int] | None,
    group: Any,
    tag: str = "",
) -> mt.Tensor:
    """`all_to_all_single`: both have gradients."""
    return all_to_all_single(self, output_split_sizes, input_split_sizes, group, tag)


def permute_tensor(self: mt.Tensor, src_dst: Sequence[int], group: Any, tag: str = "") -> mt.Tensor:
    """Another rank's tensor: rank r sends its own to rank ``src_dst[r]``.

    Raises
    ------
    AssertionError
        For what is no permutation of the group's ranks.
    """
    name, size = _given(group)
    assert sorted(src_dst) == list(range(size)), f"src_dst must be a permutation of the {size} ranks, got {src_dst}"
    rank = group_named(name).rank()
    rows = self.numel()
    given, got = [0] * size, [0] * size
    given[src_dst[rank]] = rows
    got[list(src_dst).index(rank)] = rows
    return _usable(all_to_all_single(self.reshape(-1), got, given, name)).reshape(self.shape)


def all_reduce_coalesced(self: Sequence[mt.Tensor], reduceOp: str, group: Any, tag: str = "") -> list[mt.Tensor]:
    """`all_reduce` of each of several tensors."""
    return [_awaited(one) for one in _own.all_reduce_coalesced(list(self), reduceOp.lower(), _given(group)[0])]


def all_gather_into_tensor_coalesced(self: Sequence[mt.Tensor], group: Any, tag: str = "") -> list[mt.Tensor]:
    """`all_gather_tensor` along the first dimension of each of several tensors."""
    name, size = _given(group)
    return [_awaited(one) for one in _own.all_gather_into_tensor_coalesced(list(self), size, name)]


def reduce_scatter_tensor_coalesced(
    inputs: Sequence[mt.Tensor], reduceOp: str, scatter_dim: Sequence[int], group: Any, tag: str = ""
) -> list[mt.Tensor]:
    """`reduce_scatter_tensor` of each of several tensors.

    Raises
    ------
    AssertionError
        Where a dimension cannot be divided evenly.
    """
    name, size = _given(group)
    parts: list[mt.Tensor] = []
    for tensor, dim in zip(inputs, scatter_dim, strict=True):
        at = _dimension(dim, tensor.ndim)
        assert tensor.shape[at] % size == 0, (
            f"input dimension {at} ({tensor.shape[at]} must be a multiple of group_size {size} for tensor at index "
            f"{len(parts)}"
        )
        parts.append(tensor if at == 0 else mt.cat(list(mt.chunk(tensor, size, at))))
    return [_awaited(one) for one in _own.reduce_scatter_tensor_coalesced(parts, reduceOp.lower(), size, name)]


def _dimension(dim: int, ndim: int) -> int:
    if not -ndim <= dim < ndim:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {dim})")
    return dim % ndim
