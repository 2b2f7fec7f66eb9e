"""Whether ``vmap`` of an operator gives what a Python loop over its lanes gives, on the operator's samples."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..autograd_state import no_grad
from ..dispatch.registry import Overload, find_overload
from ..tensor import Tensor
from ..transforms.vmapping import vmap
from .arguments import REFUSALS, Arguments, tensors_in, written_positions
from .oracle import Outcome, Value, assert_agrees, host_elements
from .sample import (
    TensorMaker,
    declared_operators,
    has_values,
    hidden_writes,
    is_random,
    public_results,
    reads_memory,
    sample_functions,
)

__all__ = ["Checked", "batchable_operators", "check_batching"]

#: How many lanes there are where there is one level.
LANES = 3
#: What PyTorch warns of where an operator is called once for each lane.
_LOOPED = "There is a performance drop"

#: Where a tensor stands in a call: position of the argument, and index in it where it is a list.
Slot = tuple[int, int | None]
#: Elements of a result, and their dtype's name.
Element = tuple[np.ndarray, str]
#: One level of ``vmap``: each tensor that is batched -> along which dimension.
Level = dict[Slot, int]


class Checked(NamedTuple):
    """What a check of an operator came across.

    Attributes
    ----------
    cases, refused : int
        How many there were, and how many of them ``vmap`` alone refused.
    looped : bool
        Whether the operator was called lane by lane.
    """

    cases: int
    looped: bool
    refused: int


def batchable_operators(family: str | None = None) -> list[str]:
    """Names of the operators that `check_batching` has something to say of."""
    found = (o for o in declared_operators() if family in (None, o.declaration.family))
    return [o.name for o in found if _is_asked(o)]


def _is_asked(overload: Overload) -> bool:
    takes_tensors = any(argument.is_tensor for argument in overload.schema.arguments)
    return (
        takes_tensors and overload.declaration.form != "out" and bool(sample_functions(overload))
        and not is_random(overload.name)  # which the samples say
    )  # fmt: skip


def check_batching(name: str, *, samples: int | None = 3, may_refuse: bool = False) -> Checked:
    """Compare ``vmap`` of an operator with a loop, each tensor batched alone and all together, and two levels.

    Parameters
    ----------
    samples
        How many are taken, such that differ in the number of dimensions first; None for all of them, and for every
        dimension that a tensor may be batched along.
    may_refuse : bool
        Let ``vmap`` refuse what the operator itself does not: what reads elements that differ between lanes.

    Raises
    ------
    AssertionError
        Where values, dtypes or shapes differ, or only one of both ways is refused.
    """
    overload, cases, looped, refused = find_overload(name), 0, False, 0
    with no_grad():
        for lanes in _chosen(overload, samples):
            for levels in _cases(overload, lanes[0], every=samples is None):
                case = _Case(overload, lanes, levels)
                cases += 1
                try:
                    looped |= case.check()
                except _Refused as refusal:
                    if not may_refuse:
                        raise AssertionError(f"{case}: {refusal}") from refusal
                    refused += 1
    return Checked(cases, looped, refused)


class _Refused(Exception):
    """Raised where ``vmap`` refuses a call that every lane takes."""


# Arguments


def _chosen(overload: Overload, count: int | None) -> list[list[list[Any]]]:
    """The arguments of each lane, for some samples."""
    made = [_bound(overload, seed) for seed in range(LANES)]
    found = list(zip(*made, strict=True))
    if count is not None:
        found = sorted(found, key=_first_of_kind())[:count]
    return [list(lanes) if _alike(lanes) else [lanes[0]] * LANES for lanes in found]


def _bound(overload: Overload, seed: int) -> list[list[Any]]:
    arguments_of = find_overload(overload.declaration.functional or overload.name)
    generators = sample_functions(overload)
    return [
        Arguments(arguments_of, sample).bound
        for generate in generators
        for sample in generate(TensorMaker("cpu", seed=seed))
    ]


def _first_of_kind() -> Callable[[Sequence[list[Any]]], int]:
    """A sort key: how many samples with tensors of such numbers of dimensions, and such kinds, came before."""
    seen: dict[Any, int] = {}

    def key(lanes: Sequence[list[Any]]) -> int:
        tensors = [value for _, value in _slots(lanes[0])]
        kind = tuple((t.dim(), t._dtype.is_complex, t._dtype.is_floating_point) for t in tensors)
        seen[kind] = seen.get(kind, -1) + 1
        return seen[kind]

    return key


def _alike(lanes: Sequence[list[Any]]) -> bool:
    """Whether lanes differ in the elements of their tensors alone."""
    shapes = [[(slot, t.shape, t._dtype) for slot, t in _slots(bound)] for bound in lanes]
    others = [repr([_without_tensors(value) for value in bound]) for bound in lanes]
    return all(s == shapes[0] for s in shapes) and all(o == others[0] for o in others)


def _without_tensors(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_without_tensors(item) for item in value]
    return None if isinstance(value, Tensor) else value


def _slots(bound: list[Any]) -> list[tuple[Slot, Tensor]]:
    """The tensors of a call, and where they stand."""
    found: list[tuple[Slot, Tensor]] = []
    for position, value in enumerate(bound):
        if isinstance(value, Tensor):
            found.append(((position, None), value))
        elif isinstance(value, (list, tuple)):
            found += [((position, i), item) for i, item in enumerate(value) if isinstance(item, Tensor)]
    return found


def _at(bound: list[Any], slot: Slot) -> Tensor:
    position, index = slot
    found: Tensor = bound[position] if index is None else bound[position][index]
    return found


def _replaced(bound: list[Any], tensors: dict[Slot, Tensor]) -> list[Any]:
    """The arguments with other tensors in some places."""
    made = [list(value) if isinstance(value, (list, tuple)) else value for value in bound]
    for (position, index), tensor in tensors.items():
        if index is None:
            made[position] = tensor
        else:
            made[position][index] = tensor
    return made


# Cases


def _cases(overload: Overload, bound: list[Any], every: bool) -> Iterator[list[Level]]:
    """What is batched along which dimension, levels outermost first."""
    ranks = {slot: tensor.dim() for slot, tensor in _slots(bound)}
    if not ranks:
        return
    alone = [(slot,) for slot in itertools.islice(ranks, 4)] if len(ranks) > 1 else []
    for group in [tuple(ranks), *alone]:
        widest = 0 if _reads_memory(overload) else max(ranks[slot] for slot in group)
        for dim in range(widest + 1) if every else {0: 0, widest: 0}:
            yield [{slot: min(dim, ranks[slot]) for slot in group}]
    ends = dict.fromkeys(ranks, 0) if _reads_memory(overload) else dict(ranks)
    yield [ends, dict.fromkeys(ranks, 0)]
    if len(ranks) > 1:
        first, *rest = ranks
        yield [{first: 0}, {slot: ranks[slot] for slot in rest}]
        yield [{slot: ranks[slot] for slot in rest}, {first: 0}]


def _reads_memory(overload: Overload) -> bool:
    """Whether what an operator gives depends on where a lane lies in memory."""
    return reads_memory(overload.declaration.functional or overload.name)


class _Case:
    """An operator's arguments for each lane, and what ``vmap`` hides of them."""

    def __init__(self, overload: Overload, lanes: list[list[Any]], levels: list[Level]) -> None:
        self.overload = overload
        self.lanes = lanes
        self.levels = levels
        self.size = LANES if len(levels) == 1 else 2
        self.slots = [slot for slot, _ in _slots(lanes[0]) if any(slot in level for level in levels)]
        #: Whether what is written stays where it is: what becomes a view of itself does not.
        self.keeps_geometry = True
        everywhere = [slot for slot in self.slots if all(slot in level for level in levels)]
        self.written = [slot for slot in everywhere if slot[0] in self._writes()]

    def __repr__(self) -> str:
        shapes = [f"{t._dtype}{list(t.shape)}" if isinstance(t, Tensor) else repr(t) for t in self.lanes[0]]
        return f"{self.overload.name}({', '.join(shapes)}), batched {self.levels}"

    def _writes(self) -> set[int]:
        arguments = self.overload.schema.arguments
        hidden = {i for i, a in enumerate(arguments) if a.name in hidden_writes(self.overload.name)}
        return {*written_positions(self.overload), *hidden}

    def check(self) -> bool:
        """Compare both ways; whether there was a loop in the first."""
        if self._writes_shared():
            self._check_refused("what all lanes share was written to")
            return False
        try:
            expected = self._expected(self.levels, ())
        except REFUSALS as refusal:
            self._check_refused(repr(refusal))
            return False
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                got = self._mapped()
            except REFUSALS as refusal:
                if self._writes_list_partly():
                    return False
                raise _Refused(f"{type(refusal).__name__}: {refusal}") from refusal
        assert_agrees(_outcome(self.overload, got), _outcome(self.overload, expected), repr(self))
        return any(_LOOPED in str(warning.message) for warning in caught)

    def _writes_shared(self) -> bool:
        """Whether a level hides a dimension of others, and none of the first argument, which is written.

        What else operators write, running statistics, they write in some cases only.
        """
        arguments = self.overload.schema.arguments
        written = [slot for slot, _ in _slots(self.lanes[0]) if arguments[slot[0]].writes and slot == (0, None)]
        return bool(written) and any(slot not in level for level in self.levels for slot in written)

    def _writes_list_partly(self) -> bool:
        """Whether some of a list of written tensors are shared: which of the others differ is not for all to say."""
        arguments = self.overload.schema.arguments
        written = [slot for slot, _ in _slots(self.lanes[0]) if arguments[slot[0]].writes and slot[1] is not None]
        return any(slot not in level for level in self.levels for slot in written)

    def _check_refused(self, reason: str) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._mapped()
        except REFUSALS:
            return
        raise AssertionError(f"vmap accepts {self!r}, where: {reason}")

    def _mapped(self) -> list[Element]:
        given = {slot: self._stacked(slot, self.levels, 0) for slot in self.slots}
        function: Callable[..., Any] = self._called
        for level in reversed(self.levels):
            function = vmap(function, in_dims=tuple(level.get(slot) for slot in self.slots))
        results = list(function(*given.values()))
        written = [self._front(given[slot], slot) for slot in self.written if self.keeps_geometry]
        return [_elements(tensor) for tensor in results + written]

    def _called(self, *tensors: Tensor) -> Any:
        given = dict(zip(self.slots, tensors, strict=True))
        kept = {slot: t.clone() for slot, t in _slots(self.lanes[0]) if slot not in given and slot[0] in self._writes()}
        result = self.overload.call(*_replaced(self.lanes[0], {**kept, **given}))
        return tuple(tensors_in(public_results(self.overload.name, [result])))

    def _stacked(self, slot: Slot, levels: list[Level], lane: int) -> Tensor:
        if not levels:
            return _at(self.lanes[lane], slot).clone()
        if slot not in levels[0]:
            return self._stacked(slot, levels[1:], lane)
        parts = [self._stacked(slot, levels[1:], lane + i) for i in range(self.size)]
        return find_overload("stack").call(parts, levels[0][slot])

    def _lane_of(self, slot: Slot, indices: tuple[int, ...]) -> Tensor:
        """A lane of what is given to ``vmap``, with the strides that it has there."""
        if _reads_memory(self.overload):
            return _at(self.lanes[self._lane(slot, indices)], slot).contiguous().clone()
        tensor = self._front(self._stacked(slot, self.levels, 0), slot)
        for i, level in zip(indices, self.levels, strict=True):
            tensor = tensor.select(0, i) if slot in level else tensor
        return tensor

    def _front(self, tensor: Tensor, slot: Slot) -> Tensor:
        """A tensor that was given, with what is hidden of it in front."""
        for count, level in enumerate(level for level in self.levels if slot in level):
            tensor = tensor.movedim(level[slot] + count, count)
        return tensor

    def _expected(self, levels: list[Level], indices: tuple[int, ...]) -> list[Element]:
        if levels:
            columns = [self._expected(levels[1:], (*indices, i)) for i in range(self.size)]
            return [(np.stack([a for a, _ in column]), column[0][1]) for column in zip(*columns, strict=True)]
        tensors = {slot: self._lane_of(slot, indices) for slot in self.slots}
        given = [(slot, tensors[slot].detach()) for slot in self.written]
        results = list(self._called(*tensors.values()))
        self.keeps_geometry = all(_geometry(tensors[slot]) == _geometry(before) for slot, before in given)
        written = [tensors[slot] for slot in self.written if self.keeps_geometry]
        return [_elements(tensor) for tensor in results + written]

    def _lane(self, slot: Slot, indices: tuple[int, ...]) -> int:
        return sum(i for i, level in zip(indices, self.levels, strict=True) if slot in level)


# Results


def _geometry(tensor: Tensor) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return tuple(tensor.shape), tensor.stride()


def _elements(tensor: Tensor) -> Element:
    return host_elements(tensor), str(tensor.dtype).removeprefix("torch.")


def _outcome(overload: Overload, results: list[Element]) -> Outcome:
    layouts = tuple([list(array.shape), dtype, None] for array, dtype in results)
    values = tuple(Value(*result) for result in results) if has_values(overload.name) else ()
    return Outcome(layouts=layouts, values=values)
