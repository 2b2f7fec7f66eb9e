"""Indexing: dimensions that are not indexed may be split; rows of an embedding may lie on several ranks."""

from __future__ import annotations

import mt_core as mt

from ..placement_types import Placement, Shard
from ..spec import DTensorSpec
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


@rule("index")
def indexed(call: Call) -> list[Strategy]:
    """Dimensions that are not indexed may be split, where all ranks have all indices; or what indexes, as one."""
    found = [everywhere(call)]
    indices = call.args["indices"]
    at = [dim for dim, one in enumerate(indices) if one is not None]
    if any(_is_mask(indices[dim]) for dim in at):
        return found
    width = max(len(indices[dim].tensor_meta.shape) for dim in at)
    # Indices beside one another give their dimensions in their place, others in front.
    first = at[0] if at == list(range(at[0], at[-1] + 1)) else 0
    rest: tuple[Placement, ...] = (R,) * len(at)
    for dim in range(call.ndim()):
        if dim not in at:
            before = dim - sum(1 for one in at if one < dim)
            found.append(Strategy((Shard(before if before < first else before + width),), (Shard(dim), *rest)))
    if len(at) == 1:
        found += [Strategy((Shard(first + dim),), (R, Shard(dim))) for dim in range(width)]
    return found


def _is_mask(spec: DTensorSpec) -> bool:
    return spec.tensor_meta.dtype in (mt.bool, mt.uint8)


@rule("index_put", "_index_put_impl", "index_fill", "take", "masked_scatter")
def whole(call: Call) -> list[Strategy]:
    return [everywhere(call)]
