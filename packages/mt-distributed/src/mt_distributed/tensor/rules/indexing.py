"""Indexing: dimensions that are not indexed may be split; rows of an embedding may lie on several ranks."""

from __future__ import annotations

from ..placement_types import Shard
from ..strategies import Call, Strategy, rule
from ._common import SUM, R, along, dims_of, everywhere


@rule("embedding")
def embedded(call: Call) -> list[Strategy]:
    found = [everywhere(call), Strategy((Shard(call.ndim(1)),), (Shard(1), R))]
    return found + [Strategy((Shard(dim),), (R, Shard(dim))) for dim in range(call.ndim(1))]


@rule("embedding_dense_backward")
def embedding_gradient(call: Call) -> list[Strategy]:
    found = [everywhere(call), Strategy((Shard(1),), (Shard(call.ndim(1)), R))]
    if not call.args.get("scale_grad_by_freq"):
        found += [Strategy((SUM,), (Shard(dim), Shard(dim))) for dim in range(call.ndim(1))]
        found.append(Strategy((SUM,), (SUM, R)))
    return found


@rule("gather", "scatter", "scatter_add")
def gathered(call: Call) -> list[Strategy]:
    at = call.args["dim"] % max(call.ndim(), 1)
    shapes = [call.shape(index) for index in range(len(call.tensors))]
    free = [
        dim
        for dim in range(call.ndim())
        if dim != at and all(len(shape) == len(shapes[0]) and shape[dim] == shapes[0][dim] for shape in shapes)
    ]
    return along(call, set(range(call.ndim())) - set(free))


@rule("index_select")
def rows_selected(call: Call) -> list[Strategy]:
    at = dims_of(call.args["dim"], call.ndim())
    return [everywhere(call)] + [
        Strategy((Shard(dim),), (Shard(dim), R)) for dim in range(call.ndim()) if dim not in at
    ]


@rule("index_add", "index_copy")
def rows_added(call: Call) -> list[Strategy]:
    at = dims_of(call.args["dim"], call.ndim())
    return [everywhere(call)] + [
        Strategy((Shard(dim),), (Shard(dim), R, Shard(dim))) for dim in range(call.ndim()) if dim not in at
    ]


@rule("index", "index_put", "_index_put_impl", "index_fill", "take", "masked_scatter")
def whole(call: Call) -> list[Strategy]:
    return [everywhere(call)]
