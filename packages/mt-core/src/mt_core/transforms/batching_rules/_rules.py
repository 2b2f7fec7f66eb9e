"""How batching rules are entered and found, and the shapes in which they recur."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from ...dispatch.registry import Overload, find_overload, is_loaded, load_family
from ...promotion import result_type_of
from ...tensor import wrap_dim
from ..batched import Lanes

__all__ = [
    "DRAWS",
    "LOOPED",
    "Batch",
    "batching_rule",
    "behind",
    "draws",
    "enter_rule",
    "find_rule",
    "leading",
    "of_dynamic_shape",
    "one_lane",
    "over_all",
    "over_dims",
    "pointwise",
    "rows_of",
    "shifted_dims",
    "trailing",
    "withdraw_rule",
]

#: Rule of one operator: (batch, arguments) -> results, the batch dimension in front.
Rule = Callable[..., Any]

RULES: dict[str, Rule] = {}
#: Operators that are called once for each lane, although they have parts.
LOOPED: set[str] = set()
#: Operators that draw random numbers: their rules are asked even where no argument is batched.
DRAWS: set[str] = set()


class Batch:
    """What a rule is told besides the arguments.

    Attributes
    ----------
    size : int
        The number of lanes.
    overload : Overload
        The operator that is carried out.
    randomness : str
        What the user said of random numbers: ``error``, ``different``, ``same``.
    """

    __slots__ = ("size", "overload", "randomness")

    def __init__(self, size: int, overload: Overload, randomness: str) -> None:
        self.size = size
        self.overload = overload
        self.randomness = randomness


def batching_rule(*names: str) -> Callable[[Rule], Rule]:
    """Decorator: enter a rule for operators, by their full names.

    Raises
    ------
    ValueError
        Of an operator that has one.
    """

    def enter(rule: Rule) -> Rule:
        for name in names:
            if name in RULES:
                raise ValueError(f"{name} has a batching rule already")
            RULES[name] = rule
        return rule

    return enter


def draws(overload: Overload) -> bool:
    """Whether an operator draws random numbers, so that a level's randomness decides."""
    return _looked_up(overload)[0]


def find_rule(overload: Overload) -> Rule | None:
    """The rule entered for an operator, its family loaded first; else what its declaration says."""
    return _looked_up(overload)[1]


def enter_rule(name: str, rule: Rule) -> None:
    """Have a rule answer for an operator, in place of the one that did."""
    RULES[name] = rule
    _known.clear()


def withdraw_rule(name: str) -> None:
    """Forget the rule of an operator, where there is one."""
    RULES.pop(name, None)
    _known.clear()


#: Operator -> what `_looked_up` found once its family was loaded. Only `enter_rule` and `withdraw_rule` change it then.
_known: dict[Overload, tuple[bool, Rule | None]] = {}


def _looked_up(overload: Overload) -> tuple[bool, Rule | None]:
    known = _known.get(overload)
    if known is not None:
        return known
    load_family(__package__, overload.family)
    rule = RULES.get(overload.name)
    if rule is None and overload.declaration.kind == "elementwise" and overload.declaration.form != "out":
        rule = pointwise
    found = overload.name in DRAWS, rule
    if is_loaded(__package__, overload.family):
        _known[overload] = found
    return found


# Recurring shapes


def pointwise(batch: Batch, *args: Any) -> Any:
    """An elementwise operator: dimensions are lined up behind the batch dimension.

    A tensor that has no dimension but the hidden one counts as one without dimensions in type promotion.
    """
    tensors = [a for a in args if isinstance(a, Lanes)]
    if len(tensors) == 1 and not batch.overload.schema.is_mutable:
        (alone,) = tensors
        made = batch.overload.call(*[a.value if a is alone else a for a in args])
        if isinstance(made, tuple):
            return made.__class__([Lanes(part, alone.dim) for part in made])
        return Lanes(made, alone.dim)
    rank = max(lanes.rank for lanes in tensors)
    wanted = _common_dtype(batch.overload, args) if _needs_cast(tensors) else None
    if batch.overload.schema.is_mutable:
        return _pointwise_in_place(batch, args, rank, wanted)
    return batch.overload.call(*(_lined_up(a, rank, wanted) for a in args))


def _pointwise_in_place(batch: Batch, args: tuple[Any, ...], rank: int, wanted: Any) -> Any:
    """What is written stays as it is: a tensor with more dimensions does not fit it."""
    first, *others = args
    if first.rank < rank:
        batch.overload.call(*(one_lane(a) if isinstance(a, Lanes) else a for a in args))
    return batch.overload.call(first.front(), *(_lined_up(a, rank, wanted) for a in others))


def _needs_cast(tensors: list[Lanes]) -> bool:
    hidden_only = any(lanes.dim is not None and not lanes.rank for lanes in tensors)
    return hidden_only and len({lanes.value._dtype for lanes in tensors}) > 1


class _Seen:
    """A tensor as type promotion sees it: dtype and number of dimensions."""

    __slots__ = ("_array", "_dtype")

    class _Rank:
        __slots__ = ("ndim",)

        def __init__(self, ndim: int) -> None:
            self.ndim = ndim

    def __init__(self, lanes: Lanes) -> None:
        self._array = self._Rank(lanes.rank)
        self._dtype = lanes.value._dtype


def _common_dtype(overload: Overload, args: tuple[Any, ...]) -> Any:
    promotes = overload.declaration.promotes
    named = zip(overload.schema.arguments, args, strict=True)
    counted = [a for argument, a in named if (argument.name in promotes if promotes else isinstance(a, Lanes))]
    return result_type_of(_Seen(a) if isinstance(a, Lanes) else a for a in counted)


def _lined_up(argument: Any, rank: int, wanted: Any) -> Any:
    if not isinstance(argument, Lanes):
        return argument
    value = argument.at_rank(rank)
    is_cast = wanted is not None and argument.dim is not None and not argument.rank
    return value.to(wanted) if is_cast and value._dtype.category > 0 else value


def leading(*names: str) -> None:
    """Operators whose leading dimensions are a batch already: the hidden dimension becomes one more of them.

    Every tensor gets it, also one that all lanes share.
    """

    def rule(batch: Batch, *args: Any) -> Any:
        return batch.overload.call(*(a.spread(batch.size) if isinstance(a, Lanes) else a for a in args))

    for name in names:
        batching_rule(name)(rule)


def over_dims(*names: str, dims: Iterable[str] = ("dim",)) -> None:
    """Operators of one tensor that are told dimensions: these are counted behind the batch dimension.

    No dimensions, where the operator takes that for all of them, are all that the function sees. Of a tensor without
    dimensions, dimension 0 is one of size 1.
    """
    chosen = tuple(dims)
    for name in names:
        batching_rule(name)(_over_dims(chosen))


def _over_dims(dims: tuple[str, ...]) -> Rule:
    def rule(batch: Batch, self: Lanes, *rest: Any) -> Any:
        arguments = batch.overload.schema.arguments[1:]
        shifted = [
            shifted_dims(value, self.rank) if argument.name in dims else value
            for argument, value in zip(arguments, rest, strict=True)
        ]
        if self.rank:
            return batch.overload.call(self.front(), *shifted)
        result = batch.overload.call(self.front().unsqueeze(-1), *shifted)
        return without_last(result)

    return rule


def without_last(result: Any) -> Any:
    """Results of what was a tensor without dimensions, less the one that it was given."""
    if isinstance(result, (tuple, list)):
        return tuple(without_last(item) for item in result)
    return result.squeeze(-1) if result.dim() > 1 else result


def shifted_dims(dims: Any, rank: int) -> Any:
    """Dimensions, or one, counted behind the batch dimension; None is all that the function sees.

    Raises
    ------
    IndexError
        As the operator itself would, of what the function sees.
    """
    if dims is None or isinstance(dims, (tuple, list)) and not dims:
        return list(range(1, max(rank, 1) + 1))
    if isinstance(dims, (tuple, list)):
        return [shifted_dims(dim, rank) for dim in dims]
    return wrap_dim(dims, rank) + 1


def behind(dim: int, rank: int) -> int:
    """A dimension that the function sees, counted behind the batch dimension; `rank` is what it sees of them."""
    return wrap_dim(dim, rank) + 1


def one_lane(lanes: Lanes) -> Any:
    """A tensor with the layout of one lane and no elements, to hear from an operator why it refuses such."""
    return lanes.value.new_empty(lanes.shape, device="meta")


def trailing(*names: str, rank: int) -> None:
    """Operators of the last `rank` dimensions, whatever stands before them: the hidden dimension does too."""

    def rule(batch: Batch, *args: Any) -> Any:
        if any(a.rank < rank for a in args if isinstance(a, Lanes)):
            batch.overload.call(*(one_lane(a) if isinstance(a, Lanes) else a for a in args))
        return batch.overload.call(*(a.spread(batch.size) if isinstance(a, Lanes) else a for a in args))

    for name in names:
        batching_rule(name)(rule)


def over_all(name: str, by: str, *leading_arguments: Any) -> None:
    """An operator that takes all elements of a tensor as one row: one of rows, `by`, does the same for each lane.

    Its arguments are the rows (N, *), `leading_arguments` and what the first operator has behind its tensor.
    """

    def rule(batch: Batch, self: Lanes, *rest: Any) -> Any:
        if 0 in self.shape:
            batch.overload.call(one_lane(self), *rest)
        result = find_overload(by).call(rows_of(self), *leading_arguments, *rest)
        return result[0] if isinstance(result, tuple) else result

    batching_rule(name)(rule)


def rows_of(lanes: Lanes) -> Any:
    """The elements of each lane in one row: (batch, elements)."""
    return lanes.front().reshape(lanes.value.shape[lanes.dim or 0], math.prod(lanes.shape))


def of_dynamic_shape(*names: str) -> None:
    """Operators whose results differ in shape between lanes: refused in PyTorch's words."""

    def rule(batch: Batch, *args: Any) -> Any:
        raise RuntimeError(
            "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over "
            f"{batch.overload.qualified_name}. Please file an issue at https://github.com/pytorch/pytorch/issues if "
            "you need this feature."
        )

    for name in names:
        batching_rule(name)(rule)
