"""Views: a split dimension stays split where its parts are parts of the result."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..placement_types import Placement, Shard
from ..strategies import Call, Strategy, rule
from ._common import along, dims_of, everywhere


def _kept(call: Call, pairs: Sequence[tuple[int, int]], results: int = 1) -> list[Strategy]:
    """Each (dimension of the argument, dimension of the result) may be split; what is linear goes through."""
    found = [everywhere(call, results)]
    found += [Strategy((Shard(after),) * results, (Shard(before),)) for before, after in pairs]
    now = call.tensors[0].placements[call.at]
    return [*found, Strategy((now,) * results, (now,))] if now.is_partial() else found


@rule("t")
def turned(call: Call) -> list[Strategy]:
    return _kept(call, [(dim, call.ndim() - 1 - dim) for dim in range(call.ndim())])


@rule("transpose", "swapaxes", "swapdims")
def transposed(call: Call) -> list[Strategy]:
    ndim = max(call.ndim(), 1)
    one, other = call.args["dim0"] % ndim, call.args["dim1"] % ndim
    places = {one: other, other: one}
    return _kept(call, [(dim, places.get(dim, dim)) for dim in range(call.ndim())])


@rule("permute")
def permuted(call: Call) -> list[Strategy]:
    return _kept(call, [(dim % call.ndim(), at) for at, dim in enumerate(call.args["dims"])])


@rule("unsqueeze")
def unsqueezed(call: Call) -> list[Strategy]:
    new = call.args["dim"] % (call.ndim() + 1)
    return _kept(call, [(dim, dim + (dim >= new)) for dim in range(call.ndim())])


def squeezed_dims(call: Call) -> tuple[int, ...]:
    """Dimensions of the whole that a squeeze leaves out."""
    asked = call.args.get("dim")
    if asked is not None and not isinstance(asked, int) and len(asked) == 0:
        return ()
    return tuple(dim for dim in sorted(dims_of(asked, call.ndim())) if call.shape()[dim] == 1)


@rule("squeeze")
def squeezed(call: Call) -> list[Strategy]:
    gone = squeezed_dims(call)
    left = [dim for dim in range(call.ndim()) if dim not in gone]
    return _kept(call, [(dim, at) for at, dim in enumerate(left)])


@rule("expand")
def expanded(call: Call) -> list[Strategy]:
    more = len(call.args["size"]) - call.ndim()
    return _kept(call, [(dim, dim + more) for dim in range(call.ndim()) if call.shape()[dim] != 1])


@rule("view", "_unsafe_view", "_reshape_alias", "reshape")
def reshaped(call: Call) -> list[Strategy]:
    if call.name == "view.dtype":
        return _kept(call, [(dim, dim) for dim in range(call.ndim() - 1)])
    shape = call.shape()
    return _kept(call, _matched(call, shape, _resolved(call.args["size"], shape)))


def _resolved(size: Sequence[int], shape: Sequence[int]) -> list[int]:
    if -1 not in size:
        return list(size)
    known = math.prod(one for one in size if one != -1)
    return [math.prod(shape) // known if one == -1 else one for one in size]


def _matched(call: Call, shape: Sequence[int], wanted: Sequence[int]) -> list[tuple[int, int]]:
    """Dimensions whose parts are parts of the result: the first of those that become others, if it can be divided."""
    found: list[tuple[int, int]] = []
    for before, after in _groups(shape, wanted):
        if not before or not after:
            continue
        first, to = before[0], after[0]
        alone = len(before) == 1 and len(after) == 1
        parts = call.parts_before(0, first) * call.count
        if alone or (shape[first] % parts == 0 and wanted[to] % parts == 0):
            found.append((first, to))
    return found


def _groups(shape: Sequence[int], wanted: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """The smallest runs of dimensions with as many elements, those of one index left out."""
    found: list[tuple[list[int], list[int]]] = []
    olds = [dim for dim, size in enumerate(shape) if size != 1]
    news = [dim for dim, size in enumerate(wanted) if size != 1]
    while olds and news:
        before, after = [olds.pop(0)], [news.pop(0)]
        left, right = shape[before[0]], wanted[after[0]]
        while left != right:
            if left < right and olds:
                before.append(olds.pop(0))
                left *= shape[before[-1]]
            elif right < left and news:
                after.append(news.pop(0))
                right *= wanted[after[-1]]
            else:
                return found
        found.append((before, after))
    return found


@rule("select")
def selected(call: Call) -> list[Strategy]:
    gone = call.args["dim"] % call.ndim()
    return _kept(call, [(dim, dim - (dim > gone)) for dim in range(call.ndim()) if dim != gone])


@rule("slice", "narrow")
def sliced(call: Call) -> list[Strategy]:
    cut, size = call.args["dim"] % call.ndim(), call.shape()[call.args["dim"]]
    start, end = call.args.get("start") or 0, call.args.get("end")
    whole = call.name.startswith("slice") and start == 0 and (end is None or end >= size) and call.args["step"] == 1
    return _kept(call, [(dim, dim) for dim in range(call.ndim()) if dim != cut or whole])


@rule("split", "split_with_sizes", "chunk", "tensor_split")
def divided(call: Call) -> list[Strategy]:
    cut = call.args["dim"] % call.ndim()
    return _kept(call, [(dim, dim) for dim in range(call.ndim()) if dim != cut])


@rule("unbind")
def unbound(call: Call) -> list[Strategy]:
    gone = call.args["dim"] % call.ndim()
    return _kept(call, [(dim, dim - (dim > gone)) for dim in range(call.ndim()) if dim != gone])


@rule("cat")
def joined(call: Call) -> list[Strategy]:
    ndim = call.ndim()
    found = along(call, {call.args["dim"] % ndim})
    return found + _partial(call)


@rule("stack")
def stacked(call: Call) -> list[Strategy]:
    new = call.args["dim"] % (call.ndim() + 1)
    found = [everywhere(call)]
    for dim in range(call.ndim()):
        found.append(Strategy((Shard(dim + (dim >= new)),), (Shard(dim),) * len(call.tensors)))
    return found + _partial(call)


def _partial(call: Call) -> list[Strategy]:
    now: Placement = call.tensors[0].placements[call.at]
    return [Strategy((now,), (now,) * len(call.tensors))] if now.is_partial() else []


@rule("repeat")
def repeated(call: Call) -> list[Strategy]:
    counts = call.args["repeats"]
    more = len(counts) - call.ndim()
    return _kept(call, [(dim, dim + more) for dim in range(call.ndim()) if counts[dim + more] == 1])


@rule("roll")
def rolled(call: Call) -> list[Strategy]:
    return along(call, dims_of(call.args["dims"], call.ndim()))


@rule("diagonal", "as_strided", "unfold", "repeat_interleave")
def whole(call: Call) -> list[Strategy]:
    return [everywhere(call)]
