"""The operators of ``torch.ops._c10d_functional``: collectives on groups that are named, with new results.

An operator begins its collective, and ``wait_tensor`` waits for it. The backward of each is its transpose where the
loss is the sum of all ranks' losses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mt_core as mt
from mt_library.library import Library
from mt_library.ops import ops
from mt_library.registration_functions import register_autograd, register_fake

from ..options import AllgatherOptions, AllreduceOptions, AllToAllOptions, BroadcastOptions, ReduceScatterOptions
from ..reduce_ops import ReduceOp
from ..world import world
from .waiting import finish, note

__all__ = ["group_named", "reduction_named"]

_REDUCTIONS = {
    "sum": ReduceOp.SUM,
    "avg": ReduceOp.AVG,
    "product": ReduceOp.PRODUCT,
    "min": ReduceOp.MIN,
    "max": ReduceOp.MAX,
    "band": ReduceOp.BAND,
    "bor": ReduceOp.BOR,
    "bxor": ReduceOp.BXOR,
}


def group_named(name: str) -> Any:
    """The process group of a name.

    Raises
    ------
    RuntimeError
        Where there is none.
    """
    found = world.names.get(name)
    if found is None:
        raise RuntimeError(f"Could not resolve the process group registered under the name {name}")
    return found


def reduction_named(name: str) -> Any:
    """The reduction of a name: ``"sum"``.

    Raises
    ------
    RuntimeError
        Where there is none.
    """
    if name.lower() not in _REDUCTIONS:
        raise RuntimeError(f"Unrecognized reduce_op: {name}")
    return _REDUCTIONS[name.lower()]


_library = Library("_c10d_functional", "DEF")
_autograd_library = Library("_c10d_functional_autograd", "DEF")


def _rows(tensor: mt.Tensor, rows: int) -> mt.Tensor:
    return tensor.new_empty((rows, *tensor.shape[1:]))


def _define(schema: str, kernel: Callable[..., Any], fake: Callable[..., Any]) -> None:
    name = schema.partition("(")[0]
    _library.define(schema)
    _library.impl(name, kernel, "CPU")
    register_fake(f"_c10d_functional::{name}", fake)


def _all_reduce(input: mt.Tensor, reduce_op: str, group_name: str) -> mt.Tensor:
    return _all_reduce_(input.clone(memory_format=mt.contiguous_format), reduce_op, group_name)


def _all_reduce_(input: mt.Tensor, reduce_op: str, group_name: str) -> mt.Tensor:
    options = AllreduceOptions(reduceOp=reduction_named(reduce_op), asyncOp=True)
    note(input, group_named(group_name).allreduce([input], options))
    return input


def _all_gather_into_tensor(input: mt.Tensor, group_size: int, group_name: str) -> mt.Tensor:
    return _all_gather_into_tensor_out(
        input, group_size, group_name, out=_rows(input, group_size * input.shape[0] if input.ndim else group_size)
    )


def _all_gather_into_tensor_out(input: mt.Tensor, group_size: int, group_name: str, *, out: mt.Tensor) -> mt.Tensor:
    note(out, group_named(group_name)._allgather_base(out, input.contiguous(), AllgatherOptions(asyncOp=True)))
    return out


def _reduce_scatter_tensor(input: mt.Tensor, reduce_op: str, group_size: int, group_name: str) -> mt.Tensor:
    out = _reduce_scatter_shape(input, reduce_op, group_size, group_name)
    options = ReduceScatterOptions(reduceOp=reduction_named(reduce_op), asyncOp=True)
    note(out, group_named(group_name)._reduce_scatter_base(out, input.contiguous(), options))
    return out


def _reduce_scatter_shape(input: mt.Tensor, reduce_op: str, group_size: int, group_name: str) -> mt.Tensor:
    return _rows(input, input.shape[0] // group_size)


def _all_to_all_single(
    input: mt.Tensor, output_split_sizes: Sequence[int], input_split_sizes: Sequence[int], group_name: str
) -> mt.Tensor:
    out = _rows(input, sum(output_split_sizes))
    work = group_named(group_name).alltoall_base(
        out, input.contiguous(), list(output_split_sizes), list(input_split_sizes), AllToAllOptions(asyncOp=True)
    )
    note(out, work)
    return out


def _broadcast(input: mt.Tensor, src: int, group_name: str) -> mt.Tensor:
    return _broadcast_(input.clone(memory_format=mt.contiguous_format), src, group_name)


def _broadcast_(input: mt.Tensor, src: int, group_name: str) -> mt.Tensor:
    options = BroadcastOptions(rootRank=src, asyncOp=True)
    note(input, group_named(group_name).broadcast([input], options))
    return input


def _wait_tensor(tensor: mt.Tensor) -> mt.Tensor:
    finish(tensor)
    return tensor


def _each(kernel: Callable[..., mt.Tensor]) -> Callable[..., list[mt.Tensor]]:
    return lambda inputs, *args: [kernel(tensor, *args) for tensor in inputs]


def _like(input: mt.Tensor, *args: Any) -> mt.Tensor:
    return mt.empty_like(input, memory_format=mt.contiguous_format)


def _gathered(input: mt.Tensor, group_size: int, group_name: str) -> mt.Tensor:
    return _rows(input, group_size * input.shape[0] if input.ndim else group_size)


def _exchanged(input: mt.Tensor, outputs: Sequence[int], inputs: Sequence[int], group_name: str) -> mt.Tensor:
    return _rows(input, sum(outputs))


_define("all_reduce(Tensor input, str reduce_op, str group_name) -> Tensor", _all_reduce, _like)
_define("all_reduce_(Tensor(a!) input, str reduce_op, str group_name) -> Tensor(a!)", _all_reduce_, lambda x, *_: x)
_define(
    "all_reduce_coalesced(Tensor[] inputs, str reduce_op, str group_name) -> Tensor[]", _each(_all_reduce), _each(_like)
)
_define(
    "all_gather_into_tensor(Tensor input, int group_size, str group_name) -> Tensor", _all_gather_into_tensor, _gathered
)
_define(
    "all_gather_into_tensor_out(Tensor input, int group_size, str group_name, *, Tensor(a!) out) -> Tensor(a!)",
    _all_gather_into_tensor_out,
    lambda input, group_size, group_name, *, out: out,
)
_define(
    "all_gather_into_tensor_coalesced(Tensor[] inputs, int group_size, str group_name) -> Tensor[]",
    _each(_all_gather_into_tensor),
    _each(_gathered),
)
_define(
    "reduce_scatter_tensor(Tensor input, str reduce_op, int group_size, str group_name) -> Tensor",
    _reduce_scatter_tensor,
    _reduce_scatter_shape,
)
_define(
    "reduce_scatter_tensor_coalesced(Tensor[] inputs, str reduce_op, int group_size, str group_name) -> Tensor[]",
    _each(_reduce_scatter_tensor),
    _each(_reduce_scatter_shape),
)
_ALL_TO_ALL = (
    "all_to_all_single(Tensor input, SymInt[] output_split_sizes, SymInt[] input_split_sizes, str group_name) -> Tensor"
)
_define(_ALL_TO_ALL, _all_to_all_single, _exchanged)
_define("broadcast(Tensor input, int src, str group_name) -> Tensor", _broadcast, _like)
_define("broadcast_(Tensor(a!) input, int src, str group_name) -> Tensor(a!)", _broadcast_, lambda x, *_: x)
_define("wait_tensor(Tensor tensor) -> Tensor", _wait_tensor, lambda x: x)

_own = ops._c10d_functional


def _waited(tensor: mt.Tensor) -> mt.Tensor:
    return _own.wait_tensor(tensor)  # type: ignore[no-any-return]


def _only_sums(what: str, reduce_op: str) -> None:
    if reduce_op.lower() != "sum":
        raise RuntimeError(f"{what} backward only supports 'sum' reduction, got '{reduce_op}'")


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    ctx.arguments = inputs[1:]


def _all_reduce_backward(ctx: Any, grad: mt.Tensor) -> Any:
    reduce_op, group_name = ctx.arguments
    _only_sums("all_reduce", reduce_op)
    return _waited(_own.all_reduce(grad.contiguous(), "sum", group_name)), None, None


def _all_gather_backward(ctx: Any, grad: mt.Tensor) -> Any:
    size, group_name = ctx.arguments
    return _waited(_own.reduce_scatter_tensor(grad.contiguous(), "sum", size, group_name)), None, None


def _reduce_scatter_backward(ctx: Any, grad: mt.Tensor) -> Any:
    reduce_op, size, group_name = ctx.arguments
    _only_sums("reduce_scatter_tensor", reduce_op)
    return _waited(_own.all_gather_into_tensor(grad.contiguous(), size, group_name)), None, None, None


def _all_to_all_backward(ctx: Any, grad: mt.Tensor) -> Any:
    outputs, inputs, group_name = ctx.arguments
    back = _waited(_own.all_to_all_single(grad.contiguous(), inputs, outputs, group_name))
    return back, None, None, None


def _broadcast_backward(ctx: Any, grad: mt.Tensor) -> Any:
    src, group_name = ctx.arguments
    total = _waited(_own.all_reduce(grad.contiguous(), "sum", group_name))
    return (total if group_named(group_name).rank() == src else mt.zeros_like(total)), None, None


for _name, _backward in {
    "all_reduce": _all_reduce_backward,
    "all_gather_into_tensor": _all_gather_backward,
    "reduce_scatter_tensor": _reduce_scatter_backward,
    "all_to_all_single": _all_to_all_backward,
    "broadcast": _broadcast_backward,
}.items():
    register_autograd(f"_c10d_functional::{_name}", _backward, setup_context=_keep)
register_autograd("_c10d_functional::wait_tensor", lambda ctx, grad: grad)

for _schema in (
    "all_gather_into_tensor(Tensor input, int group_size, str group_name) -> Tensor",
    "reduce_scatter_tensor(Tensor input, str reduce_op, int group_size, str group_name) -> Tensor",
    _ALL_TO_ALL,
):
    _autograd_library.define(_schema)
    _autograd_library.impl(_schema.partition("(")[0], getattr(_own, _schema.partition("(")[0]))
