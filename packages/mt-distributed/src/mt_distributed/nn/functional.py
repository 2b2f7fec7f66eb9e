"""Collectives that gradients go through: all processes of a group call them, and all of them their backward.

A result on one process depends on tensors of others, so a backward is a collective, too: each is the transpose of its
forward, where the loss is the sum of all processes' losses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mt_core as mt
from mt_autograd.function import Function

from .. import distributed_c10d as dist
from ..reduce_ops import RedOpType, ReduceOp
from ..world import chosen, get_group_rank

__all__ = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "broadcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "scatter",
]


def _whole(tensor: mt.Tensor) -> mt.Tensor:
    """A contiguous copy, which a collective may write to."""
    return tensor.clone(memory_format=mt.contiguous_format)


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, tensor: mt.Tensor) -> mt.Tensor:
        ctx.src, ctx.group = src, group
        result = _whole(tensor)
        dist.broadcast(result, src, group=group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: mt.Tensor) -> Any:
        total = _Reduce.apply(ctx.src, RedOpType.SUM, ctx.group, grad)
        # Zeros elsewhere, yet out of `total`: a second backward is to come by on all processes.
        is_source = mt.tensor(ctx.group.rank() == get_group_rank(ctx.group, ctx.src), device=total.device)
        return None, None, mt.where(is_source, total, mt.zeros_like(total))


class _Reduce(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, op: Any, group: Any, tensor: mt.Tensor) -> mt.Tensor:
        ctx.dst, ctx.group = dst, group
        result = _whole(tensor)
        dist.reduce(result, dst, op=op, group=group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: mt.Tensor) -> Any:
        return None, None, None, _Broadcast.apply(ctx.dst, ctx.group, grad)


class _Gather(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, group: Any, tensor: mt.Tensor) -> Any:
        ctx.dst, ctx.group = dst, group
        parts = [mt.zeros_like(tensor, memory_format=mt.contiguous_format) for _ in range(group.size())]
        is_destination = group.rank() == get_group_rank(group, dst)
        dist.gather(tensor.contiguous(), parts if is_destination else None, dst, group=group)
        return tuple(parts)

    @staticmethod
    def backward(ctx: Any, *grads: mt.Tensor) -> Any:
        return None, None, _Scatter.apply(ctx.dst, ctx.group, *grads)


class _Scatter(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, *tensors: mt.Tensor) -> mt.Tensor:
        if any(tensor.shape != tensors[0].shape for tensor in tensors):
            raise ValueError("scatter needs tensors of one shape")
        ctx.src, ctx.group = src, group
        result = mt.zeros_like(tensors[0], memory_format=mt.contiguous_format)
        is_source = group.rank() == get_group_rank(group, src)
        parts = [tensor.contiguous() for tensor in tensors]
        dist.scatter(result, parts if is_source else None, src, group=group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: mt.Tensor) -> Any:
        return None, None, *_Gather.apply(ctx.src, ctx.group, grad)


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, tensor: mt.Tensor) -> mt.Tensor:
        ctx.op, ctx.group = op, group
        result = _whole(tensor)
        dist.all_reduce(result, op=op, group=group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: mt.Tensor) -> Any:
        return None, None, _AllReduce.apply(ctx.op, ctx.group, grad)


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, outputs: Sequence[mt.Tensor], *inputs: mt.Tensor) -> Any:
        ctx.group = group
        ctx.shapes = [tensor.shape for tensor in inputs]
        dist.all_to_all(list(outputs), [tensor.contiguous() for tensor in inputs], group=group)
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *grads: mt.Tensor) -> Any:
        like = grads[0]
        outputs = [mt.empty(shape, dtype=like.dtype, device=like.device) for shape in ctx.shapes]
        return None, None, *_AllToAll.apply(ctx.group, outputs, *grads)


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, tensor: mt.Tensor) -> Any:
        ctx.group = group
        tensor = tensor.contiguous()
        parts = [mt.empty_like(tensor) for _ in range(group.size())]
        dist.all_gather(parts, tensor, group=group)
        return tuple(parts)

    @staticmethod
    def backward(ctx: Any, *grads: mt.Tensor) -> Any:
        received = [mt.empty_like(grad, memory_format=mt.contiguous_format) for grad in grads]
        return None, mt.stack(_AllToAll.apply(ctx.group, received, *grads)).sum(0)


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, output: mt.Tensor, *inputs: mt.Tensor) -> mt.Tensor:
        ctx.group = group
        dist.reduce_scatter(output, [tensor.contiguous() for tensor in inputs], op=op, group=group)
        return output

    @staticmethod
    def backward(ctx: Any, grad: mt.Tensor) -> Any:
        return None, None, None, *_AllGather.apply(ctx.group, grad)


class _AllToAllSingle(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, output: mt.Tensor, outputs: Any, inputs: Any, tensor: mt.Tensor) -> mt.Tensor:
        ctx.group, ctx.rows, ctx.splits = group, tensor.shape, (outputs, inputs)
        dist.all_to_all_single(output, tensor.contiguous(), outputs, inputs, group=group)
        return output

    @staticmethod
    def backward(ctx: Any, grad: mt.Tensor) -> Any:
        received = mt.empty(ctx.rows, dtype=grad.dtype, device=grad.device)
        outputs, inputs = ctx.splits
        result = _AllToAllSingle.apply(ctx.group, received, inputs, outputs, grad)
        return None, None, None, None, result


def _refuse(op: Any, allowed: tuple[Any, ...], what: str, tensors: Sequence[mt.Tensor]) -> None:
    """Refuse reductions whose transpose is not what the backward computes."""
    if op not in allowed and mt.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        raise NotImplementedError(f"torch.distributed.nn.{what} with {op} has no derivative here; use SUM")


def broadcast(tensor: mt.Tensor, src: int, group: Any = None) -> mt.Tensor:
    """The tensor of the process `src`, on all; of one shape everywhere."""
    return _Broadcast.apply(src, chosen(group), tensor)


def gather(tensor: mt.Tensor, dst: int = 0, group: Any = None) -> tuple[mt.Tensor, ...]:
    """The tensors of all, on the process `dst`; zeros on the others."""
    return _Gather.apply(dst, chosen(group), tensor)


def scatter(tensors: Sequence[mt.Tensor], src: int = 0, group: Any = None) -> mt.Tensor:
    """Its own one of the tensors that the process `src` has, on each; all give tensors of one shape."""
    return _Scatter.apply(src, chosen(group), *tensors)


def reduce(tensor: mt.Tensor, dst: int, op: Any = ReduceOp.SUM, group: Any = None) -> mt.Tensor:
    """The tensors of all as one, on the process `dst`; the others get theirs back."""
    _refuse(op, (ReduceOp.SUM,), "reduce", [tensor])
    return _Reduce.apply(dst, op, chosen(group), tensor)


def reduce_scatter(
    output: mt.Tensor, input_list: Sequence[mt.Tensor], op: Any = ReduceOp.SUM, group: Any = None
) -> mt.Tensor:
    """Reduce the n-th tensors of all lists for the n-th process; written to `output`."""
    _refuse(op, (ReduceOp.SUM,), "reduce_scatter", input_list)
    return _ReduceScatter.apply(op, chosen(group), output, *input_list)


def all_gather(tensor: mt.Tensor, group: Any = None) -> tuple[mt.Tensor, ...]:
    """The tensors of all processes, on all; of one shape everywhere."""
    return _AllGather.apply(chosen(group), tensor)


def all_to_all(
    output_tensor_list: Sequence[mt.Tensor], input_tensor_list: Sequence[mt.Tensor], group: Any = None
) -> tuple[mt.Tensor, ...]:
    """Give the n-th tensor to the n-th process, and get one from each; written to `output_tensor_list`."""
    return _AllToAll.apply(chosen(group), output_tensor_list, *input_tensor_list)


def all_to_all_single(
    output: mt.Tensor,
    input: mt.Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
) -> mt.Tensor:
    """`all_to_all` of rows of one tensor; written to `output`."""
    return _AllToAllSingle.apply(chosen(group), output, output_split_sizes, input_split_sizes, input)


def all_reduce(tensor: mt.Tensor, op: Any = ReduceOp.SUM, group: Any = None) -> mt.Tensor:
    """The tensors of all processes as one, on all; `tensor` is not written to."""
    _refuse(op, (ReduceOp.SUM, ReduceOp.AVG), "all_reduce", [tensor])
    return _AllReduce.apply(op, chosen(group), tensor)
