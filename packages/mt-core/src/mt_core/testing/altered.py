"""Altered calls: samples with one argument at a time of another rank, size, dtype or value.

Most of them are refused, and PyTorch says in which words; the others are accepted, and PyTorch says with which shapes.
Which alterations an argument has room for follows from its type in the schema and from the sample's value.
"""

from __future__ import annotations

import gzip
import json
import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from .. import dtypes
from ..autograd_state import no_grad
from ..dispatch.registry import Overload, find_overload
from ..dtypes import dtype
from ..schema import Argument
from ..tensor import Tensor
from .arguments import REFUSALS, Arguments, samples_on, tensors_in, written_positions
from .oracle import Outcome, run_sample
from .sample import Sample, TensorMaker, hidden_writes

__all__ = [
    "Altered",
    "Differences",
    "StoredCalls",
    "altered_calls",
    "check_altered",
    "differences_of",
    "has_altered_calls",
    "outcome_in_words",
]

#: Dtypes that a tensor is given in place of its own, one of each kind.
OTHER_DTYPES = (dtypes.bool, dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64, dtypes.complex64)
#: What numbers and sizes are given in place of the sample's.
OTHER_INTEGERS = (-100, -2, -1, 0, 1, 100)
OTHER_FLOATS = (-1.0, 0.0, 2.0, math.nan)
OTHER_NUMBERS = (-1, 2.5, True, 1j)
#: Indices beyond any dimension of a sample.
FAR = (-100, 100)

#: What makes another value of one, for a sample on the device of a maker.
Alteration = tuple[str, Callable[[TensorMaker, Any], Any]]


class Altered(NamedTuple):
    """A call in words, and the sample of it."""

    words: str
    sample: Sample


def has_altered_calls(overload: Overload) -> bool:
    """Whether an operator's calls are altered: private ones do not check what their callers have checked.

    Neither do derivatives of operators; and what reads memory by strides may read beyond it. Of in-place and ``out=``
    forms, what they write is altered alone.
    """
    name = overload.schema.name
    private = name.startswith(("_", "native_")) or "backward" in name or "as_strided" in name
    return not private


def altered_calls(overload: Overload, device_type: str) -> Iterator[Altered]:
    """Every alteration of the operator's samples that `_bases` chooses, or of what a form writes."""
    if overload.declaration.form == "out":
        return _altered_outs(overload, device_type)
    if overload.declaration.form == "inplace":
        return _altered(overload, device_type, _bases(overload)[:1], written_positions(overload))
    return _altered(overload, device_type, _bases(overload), range(len(overload.schema.arguments)))


def _altered_outs(overload: Overload, device_type: str) -> Iterator[Altered]:
    """The first sample with an ``out=`` of another dtype, or of a dimension more; others are as the result is."""
    functional = find_overload(overload.declaration.functional or "")
    arguments = overload.schema.arguments
    given = next(iter(samples_on(functional, "cpu")), None)
    results = [] if given is None else _results(functional, given)
    start = len(arguments) - len(results)
    for place, result in enumerate(results):
        for words, change in _of_outs(result):
            bound = _bound(functional, device_type, 0)
            named = dict(zip((a.name for a in functional.schema.arguments), bound, strict=True))
            make = TensorMaker(device_type)
            outs = [make(*r.shape, dtype=r.dtype) for r in results]
            outs[place] = change(make, outs[place])
            call = [named[a.name] for a in arguments[:start]] + outs
            yield Altered(f"0 {arguments[start + place].name}: {words}", _as_sample(arguments, call))


def _results(functional: Overload, sample: Sample) -> list[Tensor]:
    """What a sample gives on the CPU; nothing where it is refused."""
    with no_grad():
        try:
            return tensors_in(functional.call(*Arguments(functional, sample).bound))
        except REFUSALS:
            return []


def _of_outs(result: Tensor) -> Iterator[Alteration]:
    shape = tuple(result.shape)
    yield f"shape {[2, *shape]}", partial(_elements, (2, *shape), result.dtype)
    for d in OTHER_DTYPES:
        if d is not result.dtype:
            yield f"dtype {d}", partial(_elements, shape, d)


def _altered(overload: Overload, device_type: str, bases: Iterable[int], positions: Iterable[int]) -> Iterator[Altered]:
    arguments = overload.schema.arguments
    for number in bases:
        plain = _bound(overload, device_type, number)
        for position in positions:
            argument = arguments[position]
            for words, change in _alterations(argument, plain[position]):
                # Made anew where the call writes its arguments.
                bound = _bound(overload, device_type, number) if _writes(overload) else list(plain)
                bound[position] = change(TensorMaker(device_type), bound[position])
                yield Altered(f"{number} {argument.name}: {words}", _as_sample(arguments, bound))


def _bases(overload: Overload) -> list[int]:
    """Numbers of the samples that are altered: the first, and the one that gives most arguments."""
    given = [Arguments(overload, sample).bound for sample in samples_on(overload, "meta")]
    counts = [sum(value is not None for value in bound) for bound in given]
    return sorted({0, counts.index(max(counts))}) if counts else []


def _bound(overload: Overload, device_type: str, number: int) -> list[Any]:
    """The arguments of one sample."""
    sample = next(islice(samples_on(overload, device_type), number, None))
    return list(Arguments(overload, sample).bound)


def _writes(overload: Overload) -> bool:
    return overload.schema.is_mutable or bool(hidden_writes(overload.name))


def _as_sample(arguments: list[Argument], bound: list[Any]) -> Sample:
    positional = [v for a, v in zip(arguments, bound, strict=True) if not a.kwarg_only]
    return Sample(tuple(positional), {a.name: v for a, v in zip(arguments, bound, strict=True) if a.kwarg_only})


# Alterations


def _alterations(argument: Argument, value: Any) -> Iterator[Alteration]:
    """What the value of an argument may be replaced by."""
    if argument.optional and value is not None:
        yield "None", partial(_given, None)
    if isinstance(value, (list, tuple)):
        yield from _of_lists(argument, list(value))
    elif isinstance(value, Tensor):
        yield from _of_tensors(value)
    elif argument.type in OTHERS and value is not None and not argument.is_list:
        yield from _replaced(OTHERS[argument.type], value)


def _replaced(others: tuple[Any, ...], value: Any) -> Iterator[Alteration]:
    for other in others:
        if type(other) is not type(value) or other != value:
            yield repr(other), partial(_given, other)


def _given(value: Any, make: TensorMaker, old: Any) -> Any:
    return value


#: Type of an argument -> values in place of the sample's.
OTHERS: dict[str, tuple[Any, ...]] = {
    "int": OTHER_INTEGERS,
    "SymInt": OTHER_INTEGERS,
    "float": OTHER_FLOATS,
    "Scalar": OTHER_NUMBERS,
    "bool": (True, False),
    "str": ("nonsense",),
    "ScalarType": OTHER_DTYPES,
}


def _of_tensors(value: Tensor) -> Iterator[Alteration]:
    """Other ranks, sizes, dtypes; for integers, which are mostly indices, also what lies far outside."""
    shape, of = tuple(value.shape), value.dtype
    for other in _other_shapes(shape):
        yield f"shape {list(other)}", partial(_elements, other, of)
    for d in OTHER_DTYPES:
        if d is not of:
            yield f"dtype {d}", partial(_elements, shape, d)
    if of is dtypes.int64:
        for far in FAR:
            yield f"filled with {far}", partial(_filled, shape, far)


def _filled(shape: tuple[int, ...], number: int, make: TensorMaker, old: Any) -> Tensor:
    return make.ints(*shape, low=number, high=number + 1)


def _elements(shape: tuple[int, ...], of: dtype, make: TensorMaker, old: Any) -> Tensor:
    """Integers that are small enough to be indices of most things."""
    return make.ints(*shape, high=2, dtype=of) if of.is_integral else make(*shape, dtype=of, low=0.25, high=1)


def _other_shapes(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """A dimension more, one less, none; each dimension one larger, and the ends empty."""
    yield (2, *shape)
    yield (1, 1, *shape)
    for rank in range(len(shape)):
        yield shape[len(shape) - rank :]
    for dim, size in enumerate(shape):
        yield (*shape[:dim], size + 1, *shape[dim + 1 :])
    for dim in {0, len(shape) - 1} if shape else ():
        yield (*shape[:dim], 0, *shape[dim + 1 :])


def _of_lists(argument: Argument, value: list[Any]) -> Iterator[Alteration]:
    """Shorter and longer lists, and every alteration of the first item and the last."""
    yield "[]", lambda make, old: []
    if len(value) > 1:
        yield "without the last", lambda make, old: list(old)[:-1]
        yield "the first twice", lambda make, old: [old[0], *list(old)[:-1]]
    if value:
        yield "one more", lambda make, old: [*old, old[-1]]
    for place in {0, len(value) - 1} if value else ():
        for words, change in _alterations_of_item(argument, value[place]):
            yield f"[{place}] {words}", partial(_with_item, place, change)


def _alterations_of_item(argument: Argument, value: Any) -> Iterator[Alteration]:
    if isinstance(value, Tensor):
        yield from _of_tensors(value)
    elif argument.type in OTHERS and value is not None:
        yield from _replaced(OTHERS[argument.type], value)


def _with_item(place: int, change: Callable[[TensorMaker, Any], Any], make: TensorMaker, old: Any) -> list[Any]:
    items = list(old)
    items[place] = change(make, items[place])
    return items


# What PyTorch says


def outcome_of(overload: Overload, sample: Sample, device_type: str) -> str | list[Any]:
    """What a call gives on a device, in words; also where it ends in an error that is no refusal."""
    try:
        return outcome_in_words(run_sample(overload, sample, device_type, elements=False))
    except Exception as error:  # noqa: BLE001 - it is a difference, and said
        return f"({type(error).__name__}: {error})"


def outcome_in_words(found: Outcome) -> str | list[Any]:
    """A refusal's words, or the shapes and dtypes of what was returned and written."""
    return found.refusal or [layout[:2] if isinstance(layout, list) else layout for layout in found.layouts]


class StoredCalls:
    """Outcomes of altered calls from a folder with a file per operator family, as ``make_altered.py`` writes them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._families: dict[str, dict[str, dict[str, Any]]] = {}

    def of(self, overload: Overload) -> dict[str, Any]:
        """Words of a call -> its outcome; without those whose outcome PyTorch leaves open."""
        return self._family(overload.family).get(overload.name, {})

    def _family(self, family: str) -> dict[str, dict[str, Any]]:
        if family not in self._families:
            path = self.folder / f"{family}.json.gz"
            packed = gzip.decompress(path.read_bytes()) if path.is_file() else b"{}"
            self._families[family] = json.loads(packed)
        return self._families[family]


#: How an outcome differs from PyTorch's, and where -> operator -> the words of the calls that do.
Differences = dict[str, dict[str, list[str]]]


def difference(got: str | list[Any], wanted: str | list[Any]) -> str:
    """How an outcome differs from PyTorch's: in one word, the worst first; nothing where it does not."""
    if got == wanted:
        return ""
    if isinstance(wanted, list):
        return "refused" if isinstance(got, str) else "shapes"
    if isinstance(got, list):
        return "accepted"
    return "words" if got.partition(":")[0] == wanted.partition(":")[0] else "type"


def differences_of(overload: Overload, stored: StoredCalls) -> Iterator[tuple[str, str, str]]:
    """Of every altered call that differs: how and where, the words of the call, and what is said instead."""
    expected = stored.of(overload)
    with no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call, on_meta in zip(altered_calls(overload, "cpu"), altered_calls(overload, "meta"), strict=True):
            if call.words not in expected:
                continue
            wanted = expected[call.words]
            got = outcome_of(overload, call.sample, "cpu")
            if how := difference(got, wanted):
                yield how, call.words, f"{got}, where PyTorch says {wanted}"
            said = outcome_of(overload, on_meta.sample, "meta")
            how = difference(said, wanted)
            # What is wrong on the CPU is wrong there for the same reason, and counted once.
            if how and how != difference(got, wanted) and not _needs_elements(said, wanted):
                yield f"{how} on meta", call.words, f"{said}, where PyTorch says {wanted} on the CPU"


def _needs_elements(said: str | list[Any], wanted: str | list[Any]) -> bool:
    """Whether the meta device has no elements to refuse or count, or the CPU alone has no kernel for a dtype."""
    return isinstance(wanted, str) and isinstance(said, list) or isinstance(said, str) and "meta" in said.lower()


def check_altered(operator: str, stored: StoredCalls, known: Differences) -> None:
    """See that the altered calls of an operator are refused and accepted as by PyTorch, on the CPU and on meta.

    Raises
    ------
    AssertionError
        Where one differs that is not known to, or one that is known to does not.
    """
    found = {(how, words): said for how, words, said in differences_of(find_overload(operator), stored)}
    listed = {(how, words) for how, calls in known.items() for words in calls.get(operator, ())}
    new = [f"{operator}, {words} ({how}): {said}" for (how, words), said in found.items() if (how, words) not in listed]
    assert not new, f"{len(new)} altered calls have another outcome than in PyTorch: " + "; ".join(new[:5])
    gone = sorted(listed - set(found))
    assert not gone, f"{operator}: no difference is left in {gone[:5]}: remove it from the known ones"
