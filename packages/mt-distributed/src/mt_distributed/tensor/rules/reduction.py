"""Reductions: split dimensions that remain stay split; along those that go, each rank reduces its part."""

from __future__ import annotations

from ..placement_types import Partial, Placement, Shard, _NormPartial, _StridedShard
from ..strategies import Call, Strategy, rule
from ._common import SUM, along, dims_of, everywhere

#: Operator -> what is left to be done along a dimension that is reduced; None for what cannot be done in parts.
_LEFT: dict[str, str | None] = {
    "sum": "sum", "nansum": "sum", "mean": "avg", "prod": "product", "amax": "max", "amin": "min", "max": "max",
    "min": "min", "any": "sum", "all": "product", "var": None, "std": None, "var_mean": None, "std_mean": None,
    "logsumexp": None, "argmax": None, "argmin": None, "median": None, "nanmedian": None, "mode": None, "norm": None,
    "count_nonzero": "sum", "linalg_vector_norm": "norm", "kthvalue": None, "aminmax": None,
}  # fmt: skip
_RESULTS = {"var_mean": 2, "std_mean": 2, "median.dim": 2, "nanmedian.dim": 2, "mode": 2, "max.dim": 2, "min.dim": 2,
            "kthvalue": 2, "aminmax": 2}  # fmt: skip


def _kept(dim: int, reduced: set[int], keepdim: bool) -> Shard:
    return Shard(dim if keepdim else dim - sum(1 for other in reduced if other < dim))


def _left(call: Call, name: str, dim: int) -> Placement | None:
    kind = _LEFT[name]
    if kind is None or call.name in ("max.dim", "min.dim"):
        return None
    if kind in ("max", "min", "norm") and not call.is_filled(0, dim):
        return None  # of no elements there is no extreme
    if kind == "avg":
        return Partial("avg") if call.is_even(0, dim) else None
    if kind == "norm":
        order = call.args.get("ord", 2)
        if order == 0:
            return SUM
        return _NormPartial(order if order != 2 else 2) if order > 0 else None
    return Partial(kind)


@rule(*_LEFT)
def reduced(call: Call) -> list[Strategy]:
    name = call.name.partition(".")[0]
    results = _RESULTS.get(call.name, _RESULTS.get(name, 1))
    if len(call.tensors) > 1:
        return [everywhere(call, results)]
    dims = dims_of(call.args.get("dim"), call.ndim())
    keepdim = bool(call.args.get("keepdim", False))
    found = [everywhere(call, results)]
    for dim in range(call.ndim()):
        if dim not in dims:
            found.append(Strategy((_kept(dim, dims, keepdim),) * results, (Shard(dim),)))
            continue
        left = _left(call, name, dim)
        if left is not None:
            found.append(Strategy((left,) * results, (Shard(dim),)))
    now = call.tensors[0].placements[call.at]
    if isinstance(now, _StridedShard):
        found += _strided(call, name, now, dims, keepdim)
    if name in ("sum", "mean"):
        if type(now) is Partial and now.reduce_op in ("sum", "avg"):
            found.append(Strategy((now,), (now,)))
    return found


def _strided(call: Call, name: str, now: _StridedShard, dims: set[int], keepdim: bool) -> list[Strategy]:
    """Where parts come in another order: sums and norms of parts are sums and norms of the whole still."""
    if now.dim not in dims:
        kept = _StridedShard(_kept(now.dim, dims, keepdim).dim, split_factor=now.split_factor)
        return [Strategy((kept,) * _RESULTS.get(call.name, _RESULTS.get(name, 1)), (now,))]
    is_norm = _LEFT[name] == "norm" and 0 < call.args.get("ord", 2) < float("inf")
    if _LEFT[name] in ("sum", "product") or is_norm:
        left = _left(call, name, now.dim)
        return [] if left is None else [Strategy((left,), (now,))]
    return []


@rule("cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "sort", "argsort", "topk", "_softmax", "_log_softmax",
      "flip", "softmax", "log_softmax")  # fmt: skip
def along_one(call: Call) -> list[Strategy]:
    dims = call.args.get("dim", call.args.get("dims", -1))
    results = 2 if call.name.partition(".")[0] in ("sort", "topk", "cummax", "cummin") else 1
    return along(call, dims_of(dims, call.ndim()), results)


@rule("_softmax_backward_data", "_log_softmax_backward_data")
def softmax_backward(call: Call) -> list[Strategy]:
    return along(call, dims_of(call.args["dim"], call.ndim()))


@rule("tril", "triu")
def triangle(call: Call) -> list[Strategy]:
    ndim = call.ndim()
    return along(call, {ndim - 1, ndim - 2})
