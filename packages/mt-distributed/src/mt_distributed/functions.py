"""The collectives of ``torch.distributed``: arguments are checked here, and groups do the rest.

Each returns `Work` with ``async_op=True``, and None otherwise, once it is done; ranks that are not in the group get
None at once.
"""

import warnings
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from mt_core import Tensor
from mt_core.api._functions import view_as_real

from .coalescing import collected
from .options import (
    AllgatherOptions,
    AllreduceCoalescedOptions,
    AllreduceOptions,
    AllToAllOptions,
    BarrierOptions,
    BroadcastOptions,
    GatherOptions,
    ReduceOptions,
    ReduceScatterOptions,
    ScatterOptions,
)
from .process_group import ProcessGroup
from .reduce_ops import RedOpType, ReduceOp, kind_of
from .work import Work
from .world import _rank_not_in_group, chosen, get_group_rank

__all__ = [
    "all_gather",
    "all_gather_coalesced",
    "all_gather_into_tensor",
    "all_gather_single",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "broadcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_single",
    "reduce_scatter_tensor",
    "scatter",
    "supports_complex",
]


def supports_complex(reduceOp: Any) -> bool:
    """Whether a reduction has a meaning for complex numbers."""
    return kind_of(reduceOp)[0] in (RedOpType.SUM, RedOpType.AVG, RedOpType.PREMUL_SUM)


def check_tensor(given: Any, name: str) -> None:
    """Refuse what is no tensor."""
    if not isinstance(given, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n"
            f"             but got {type(given)} instead."
        )


def check_tensors(given: Any, name: str) -> None:
    """Refuse what is no list of tensors."""
    if not isinstance(given, (list, tuple)) or not all(isinstance(tensor, Tensor) for tensor in given):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n"
            f"             but got {type(given)} instead."
        )


def one_dtype(*tensors: Any) -> None:
    """Refuse tensors of several dtypes."""
    flat = [one for given in tensors for one in (given if isinstance(given, (list, tuple)) else [given])]
    if not flat:
        return
    first = flat[0].dtype
    for tensor in flat:
        if tensor.dtype != first:
            raise ValueError(f"Invalid usage of tensors with different dtypesFound {first} and  {tensor.dtype}")


def rank_in(group: ProcessGroup, global_rank: int | None, group_rank: int | None, default: int | None = None) -> int:
    """The rank in a group that is meant, given there or in the world.

    Raises
    ------
    ValueError
        When both are given, or neither.
    """
    if group_rank is not None:
        if global_rank is not None:
            raise ValueError("Can't specify both group_rank and global_rank")
        if not 0 <= group_rank < group.size():
            raise ValueError(f"Group rank {group_rank} is not part of group {group}")
        return group_rank
    if global_rank is None:
        global_rank = default
    if global_rank is None:
        raise ValueError("Must specify global_rank or group_rank")
    found = get_group_rank(group, global_rank)
    if not 0 <= found < group.size():
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return found


def _warn_outside(what: str) -> None:
    warnings.warn(f"Running {what} on global rank which does not belong to the given group.", stacklevel=3)


def _real(tensor: Any) -> Any:
    """A complex tensor as pairs of real numbers."""
    if not tensor.is_complex():
        return tensor
    return view_as_real(tensor)


def done(work: Work, async_op: bool) -> Work | None:
    """The work, or None once it is done."""
    if async_op:
        return work
    work.wait()
    return None


def _future(work: Work, async_op: bool) -> Any:
    """The future of work, as older functions give it; None once it is done."""
    if async_op:
        return work.get_future()
    work.wait()
    return None


def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Any:
    """Give every rank the tensor of rank `src` (of the world), in place."""
    check_tensor(tensor, "tensor")
    if _rank_not_in_group(group):
        return _warn_outside("broadcast")
    pg = chosen(group)
    options = BroadcastOptions(rootRank=rank_in(pg, src, group_src), asyncOp=async_op)
    return done(pg.broadcast([tensor], options), async_op)


def all_reduce(
    tensor: Tensor, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False
) -> Any:
    """Reduce the tensors of all ranks, in place on all of them."""
    check_tensor(tensor, "tensor")
    if _rank_not_in_group(group):
        return _warn_outside("all_reduce")
    if tensor.is_complex():
        if not supports_complex(op):
            raise ValueError(f"all_reduce does not support {op} on complex tensors")
        tensor = _real(tensor)
    pg = chosen(group)
    kind_of(op)
    if collected(pg, "all_reduce", tensor, op=op):
        return None
    return done(pg.allreduce([tensor], AllreduceOptions(reduceOp=op, asyncOp=async_op)), async_op)


def all_reduce_coalesced(
    tensors: Sequence[Tensor], op: Any = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False
) -> Any:
    """`all_reduce` of several tensors of one dtype at once."""
    given = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    check_tensors(given, "tensor")
    one_dtype(given)
    if _rank_not_in_group(group):
        return _warn_outside("all_reduce_coalesced")
    if any(tensor.is_complex() for tensor in given) and not supports_complex(op):
        raise ValueError(f"all_reduce does not support {op} on complex tensors")
    pg = chosen(group)
    options = AllreduceCoalescedOptions(reduceOp=op, asyncOp=async_op)
    return _future(pg.allreduce_coalesced([_real(tensor) for tensor in given], options), async_op)


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Any:
    """Reduce the tensors of all ranks, in place on rank `dst` (of the world)."""
    check_tensor(tensor, "tensor")
    if _rank_not_in_group(group):
        return _warn_outside("reduce")
    if tensor.is_complex() and not supports_complex(op):
        raise ValueError(f"reduce does not support {op} on complex tensors")
    pg = chosen(group)
    options = ReduceOptions(reduceOp=op, rootRank=rank_in(pg, dst, group_dst), asyncOp=async_op)
    return done(pg.reduce([_real(tensor)], options), async_op)


def all_gather(
    tensor_list: list[Tensor], tensor: Tensor, group: ProcessGroup | None = None, async_op: bool = False
) -> Any:
    """Every rank's tensor, into the tensors of a list."""
    check_tensors(tensor_list, "tensor_list")
    check_tensor(tensor, "tensor")
    one_dtype(tensor_list, tensor)
    if _rank_not_in_group(group):
        return _warn_outside("all_gather")
    pg = chosen(group)
    if len(tensor_list) != pg.size():
        raise ValueError(
            "ProcessGroupGloo::allgather: invalid output tensor list at index 0 "
            f"(expected length {pg.size()}, got {len(tensor_list)})"
        )
    options = AllgatherOptions(asyncOp=async_op)
    return done(pg.allgather([list(map(_real, tensor_list))], [_real(tensor)], options), async_op)


def all_gather_coalesced(
    output_tensor_lists: list[list[Tensor]],
    input_tensor_list: list[Tensor],
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Any:
    """Every rank's tensors, into a list of tensors for each rank."""
    if _rank_not_in_group(group):
        return _warn_outside("all_gather_coalesced")
    check_tensors(input_tensor_list, "input_tensor_list")
    if not isinstance(output_tensor_lists, list):
        raise RuntimeError("Invalid function argument: output_tensor_lists should be a list")
    for tensors in output_tensor_lists:
        check_tensors(tensors, "output_tensor_lists")
    options = AllgatherOptions(asyncOp=async_op)
    lists = [list(map(_real, tensors)) for tensors in output_tensor_lists]
    return _future(chosen(group).allgather_coalesced(lists, list(map(_real, input_tensor_list)), options), async_op)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: ProcessGroup | None = None, async_op: bool = False
) -> Any:
    """Every rank's tensor, into one: behind one another, or stacked.

    Parameters
    ----------
    output_tensor
        With as many elements as all inputs have together.
    """
    check_tensor(input_tensor, "input_tensor")
    check_tensor(output_tensor, "output_tensor")
    if _rank_not_in_group(group):
        return _warn_outside("all_gather_into_tensor")
    pg = chosen(group)
    if output_tensor.dtype != input_tensor.dtype:
        raise TypeError("output tensor must have the same type as input tensor")
    if output_tensor.numel() != input_tensor.numel() * pg.size():
        raise ValueError("output tensor size must be equal to world_size times input tensor size")
    if collected(pg, "all_gather_into_tensor", input_tensor, output=output_tensor):
        return None
    options = AllgatherOptions(asyncOp=async_op)
    return done(pg._allgather_base(_real(output_tensor), _real(input_tensor), options), async_op)


def all_gather_single(
    output_tensor: Tensor, input_tensor: Tensor, group: ProcessGroup | None = None, async_op: bool = False
) -> Any:
    """`all_gather_into_tensor` by its other name."""
    return all_gather_into_tensor(output_tensor, input_tensor, group, async_op)


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Any:
    """Every rank's tensor, into a list on rank `dst` (of the world; 0 where none is named)."""
    check_tensor(tensor, "tensor")
    gather_list = gather_list or []
    check_tensors(gather_list, "gather_list")
    one_dtype(tensor, gather_list)
    if _rank_not_in_group(group):
        return _warn_outside("gather")
    pg = chosen(group)
    root = rank_in(pg, dst, group_dst, default=0)
    if pg.rank() == root and not gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    if pg.rank() != root and gather_list:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    options = GatherOptions(rootRank=root, asyncOp=async_op)
    return done(pg.gather([list(map(_real, gather_list))], [_real(tensor)], options), async_op)


def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Any:
    """A tensor for each rank, from the list of rank `src` (of the world; 0 where none is named)."""
    check_tensor(tensor, "tensor")
    scatter_list = scatter_list or []
    check_tensors(scatter_list, "scatter_list")
    one_dtype(tensor, scatter_list)
    if _rank_not_in_group(group):
        return _warn_outside("scatter")
    pg = chosen(group)
    root = rank_in(pg, src, group_src, default=0)
    if pg.rank() == root and not scatter_list:
        raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
    if pg.rank() != root and scatter_list:
        raise ValueError("Argument ``scatter_list`` must NOT be specified on non-source ranks.")
    options = ScatterOptions(rootRank=root, asyncOp=async_op)
    return done(pg.scatter([_real(tensor)], [list(map(_real, scatter_list))], options), async_op)


def reduce_scatter(
    output: Tensor,
    input_list: list[Tensor],
    op: Any = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Any:
    """Reduce lists of one tensor for each rank, and give each rank its one."""
    check_tensor(output, "output")
    check_tensors(input_list, "input_list")
    one_dtype(output, input_list)
    if _rank_not_in_group(group):
        return _warn_outside("reduce_scatter")
    _refuse_complex(output, op)
    pg = chosen(group)
    options = ReduceScatterOptions(reduceOp=op, asyncOp=async_op)
    return done(pg.reduce_scatter([_real(output)], [list(map(_real, input_list))], options), async_op)


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False
) -> Any:
    """Reduce tensors of one part for each rank, and give each rank its part."""
    check_tensor(output, "output")
    check_tensor(input, "input")
    if _rank_not_in_group(group):
        return _warn_outside("reduce_scatter_tensor")
    _refuse_complex(output, op)
    pg = chosen(group)
    if output.dtype != input.dtype:
        raise TypeError("input tensor must be the same type as the output tensor.")
    if input.numel() != output.numel() * pg.size():
        raise ValueError("input tensor must be the same size as output size times world size")
    if collected(pg, "reduce_scatter_tensor", input, output=output, op=op):
        return None
    options = ReduceScatterOptions(reduceOp=op, asyncOp=async_op)
    return done(pg._reduce_scatter_base(_real(output), _real(input), options), async_op)


def reduce_scatter_single(
    output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False
) -> Any:
    """`reduce_scatter_tensor` by its other name."""
    return reduce_scatter_tensor(output, input, op, group, async_op)


def _refuse_complex(tensor: Tensor, op: Any) -> None:
    if tensor.is_complex() and not supports_complex(op):
        # Gloo's words: it prints the number of the reduction as a letter.
        raise RuntimeError(f"all_reduce does not support{chr(kind_of(op)[0])}on complex tensors")


def all_to_all(
    output_tensor_list: list[Tensor],
    input_tensor_list: list[Tensor],
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Any:
    """Give each rank a tensor of a list, and get one from each; they may differ in size."""
    if _rank_not_in_group(group):
        return _warn_outside("all_to_all")
    check_tensors(output_tensor_list, "output_tensor_list")
    check_tensors(input_tensor_list, "input_tensor_list")
    one_dtype(output_tensor_list, input_tensor_list)
    pg = chosen(group)
    outputs, inputs = list(map(_real, output_tensor_list)), list(map(_real, input_tensor_list))
    return done(pg.alltoall(outputs, inputs, AllToAllOptions(asyncOp=async_op)), async_op)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: list[int] | None = None,
    input_split_sizes: list[int] | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Any:
    """Give each rank rows of a tensor, and get rows from each: as many for each, or as many as the lists say."""
    if _rank_not_in_group(group):
        return _warn_outside("all_to_all_single")
    check_tensor(output, "output")
    check_tensor(input, "input")
    one_dtype(output, input)
    pg = chosen(group)
    options = AllToAllOptions(asyncOp=async_op)
    splits = (output_split_sizes or [], input_split_sizes or [])
    return done(pg.alltoall_base(_real(output), _real(input), *splits, options), async_op)


def barrier(
    group: ProcessGroup | None = None,
    async_op: bool = False,
    device_ids: list[int] | None = None,
    timeout: timedelta | None = None,
) -> Any:
    """Wait until all ranks have come here."""
    if _rank_not_in_group(group):
        return _warn_outside("barrier")
    options = BarrierOptions(asyncOp=async_op)
    if timeout is not None:
        options.timeout = timeout
    if device_ids is not None:
        if not isinstance(device_ids, list):
            raise TypeError("Invalid function argument: device_ids type should be List[int]")
        if chosen(group).name() != "nccl":
            raise RuntimeError(
                f"Function argument device_ids not supported for the selected backend {chosen(group).name()}"
            )
    return done(chosen(group).barrier(options), async_op)
