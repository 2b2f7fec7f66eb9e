"""What the exam compares results with: another device, or results that PyTorch gave and a file holds.

An `Outcome` is what one call gave, in a form that does not depend on where it ran: the layout of every tensor, and
values as host arrays. Values are the elements, unless the operator's result is not unique (a singular vector has any
sign); then they are what `comparable` makes of it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from .. import dtypes
from ..devices import backend_key, device
from ..dispatch.dispatcher import backend_for
from ..dispatch.registry import Overload
from ..tensor import Tensor
from .arguments import REFUSALS, Arguments, call_with, samples_on, tensors_in
from .sample import Sample, comparable_form, has_values, hidden_writes, public_results, start_streams

__all__ = [
    "DeviceReference",
    "Outcome",
    "Reference",
    "StoredReference",
    "Value",
    "assert_agrees",
    "assert_same_strides",
    "fingerprint",
    "layout_of",
    "outcome",
    "values_of",
]

#: dtype -> relative and absolute tolerance; what is not listed is exact.
TOLERANCES = {
    "float64": (1e-9, 1e-10),
    "complex128": (1e-9, 1e-10),
    "float32": (1e-4, 1e-5),
    "complex64": (1e-4, 1e-5),
    "bfloat16": (2e-2, 1e-2),
    "float16": (5e-3, 2e-3),
}
#: How many times its own error against float64 a reference may be missed by, beyond the tolerance.
WIDENING = 4
_WIDE = {"float32": "float64", "float16": "float64", "bfloat16": "float64", "complex64": "complex128"}


class Value(NamedTuple):
    """Elements of one result; `rounding` is how far they are from what float64 gives, at most."""

    elements: np.ndarray
    dtype: str
    rounding: float = 0.0


class Outcome(NamedTuple):
    """What one call gave.

    Attributes
    ----------
    refusal : str
        Type of the error and first line of its text, where the call was refused; then there is nothing else.
    layouts
        Per result, and per argument that the call wrote: shape, dtype and strides, or for what is no tensor its type.
    values
        What elements, or what is made of them, are compared.
    """

    refusal: str = ""
    layouts: tuple[Any, ...] = ()
    values: tuple[Value, ...] = ()


class Reference(Protocol):
    """Where expected outcomes come from; `same_streams` says whether random operators draw the same numbers."""

    same_streams: bool

    def expected(self, overload: Overload, *, strided: bool, elements: bool) -> Sequence[Outcome]:
        """One per sample, in their order; with elements, or layouts alone."""
        ...

    def widened(self, overload: Overload, index: int, outcome: Outcome) -> Outcome:
        """A sample's outcome with its error against float64, where that was not measured before."""
        ...


# Reading results


def layout_of(shape: Sequence[int], dtype: str, strides: Sequence[int]) -> list[Any]:
    """Shape, dtype and strides as they are compared: strides of dimensions without a second element say nothing."""
    said = None if math.prod(shape) == 0 else [s if n > 1 else None for n, s in zip(shape, strides, strict=True)]
    return [list(shape), dtype, said]


def host_elements(tensor: Tensor) -> np.ndarray:
    """A copy of a tensor's elements, conjugated and negated where it only says that they are."""
    plain = tensor.resolve_conj().resolve_neg()
    return np.array(backend_for(backend_key(plain.device.type)).to_host(plain._array))


def outcome(overload: Overload, arguments: Arguments, result: Any, *, elements: bool = True) -> Outcome:
    """What a call returned and wrote, with the elements or without."""
    leaves = [*public_results(overload.name, _leaves(result)), *_leaves(written_by(overload, arguments.bound))]
    layouts = tuple(_layout(leaf) for leaf in leaves)
    if not elements or not has_values(overload.name):
        return Outcome(layouts=layouts)
    found = [(host_elements(t), _name(t.dtype)) if isinstance(t, Tensor) else _number(t) for t in leaves]
    given = [host_elements(a) if isinstance(a, Tensor) else a for a in arguments.bound]
    return Outcome(layouts=layouts, values=tuple(values_of(overload.name, given, found)))


def written_by(overload: Overload, bound: Sequence[Any]) -> list[Any]:
    """The arguments that a call writes: those the schema marks, and those PyTorch's schema keeps silent about."""
    hidden = hidden_writes(overload.name)
    return [v for a, v in zip(overload.schema.arguments, bound, strict=True) if a.writes or a.name in hidden]


def values_of(name: str, arguments: Sequence[Any], found: Sequence[tuple[np.ndarray, str] | None]) -> Iterator[Value]:
    """What of an operator's results is compared: (elements, dtype) as they are, or made comparable."""
    results = [item for item in found if item is not None]
    form = comparable_form(name)
    if form is None:
        yield from (Value(*item) for item in results)
        return
    coarsest = max((d for _, d in results if d in TOLERANCES), key=lambda d: TOLERANCES[d][0], default="float64")
    for made in form([_wide(a) for a in arguments], [_wide(array) for array, _ in results]):
        array = np.asarray(made)
        name = _of_kind(coarsest, array.dtype.kind) if array.dtype.kind in "fc" else str(array.dtype)
        yield Value(array.astype(_numpy_dtype(name)), name)


def _of_kind(name: str, kind: str) -> str:
    """The real or complex dtype ("f" or "c") of the same precision."""
    pairs = [("float32", "complex64"), ("float64", "complex128")]
    table = dict(pairs) if kind == "c" else {c: r for r, c in pairs}
    return table.get(name, name)


def _wide(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.kind == "c":
        return value.astype(np.complex128)
    return value if value.dtype.kind in "biu" else value.astype(np.float64)


def _leaves(result: Any) -> list[Any]:
    if isinstance(result, (list, tuple)):
        return [leaf for item in result for leaf in _leaves(item)]
    return [result]


def _name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def _layout(leaf: Any) -> Any:
    if isinstance(leaf, Tensor):
        return layout_of(leaf.shape, _name(leaf.dtype), leaf.stride())
    return type(leaf).__name__ if isinstance(leaf, (bool, int, float, complex)) else str(leaf)


def _number(leaf: Any) -> tuple[np.ndarray, str] | None:
    if not isinstance(leaf, (bool, int, float, complex)):
        return None
    array = np.asarray(leaf)
    return array, str(array.dtype)


def fingerprint(tensors: Sequence[np.ndarray]) -> float:
    """A number that tells whether a stored result belongs to these inputs."""
    total = 0.0
    for position, array in enumerate(tensors):
        wide = _wide(np.asarray(array)).reshape(-1)
        wide = np.abs(wide) if wide.dtype.kind == "c" else wide.astype(np.float64)
        weights = 1.0 + (np.arange(wide.size) + position) % 7
        total += float(np.sum(np.where(np.isfinite(wide), wide, 1.0) * weights))
    return float(f"{total:.5g}")


def inputs_of(arguments: Arguments) -> list[np.ndarray]:
    return [host_elements(t) for t in tensors_in(arguments.bound)]


# Comparing


def assert_agrees(got: Outcome, expected: Outcome, what: str) -> None:
    """The outcome is the expected one but for strides, to the tolerance of its dtypes.

    Raises
    ------
    AssertionError
        Where it is not, with the words in which it differs.
    """
    kind, _, _ = expected.refusal.partition(":")
    assert got.refusal.partition(":")[0] == kind, (
        f"{what}: {got.refusal or 'accepted'}, where the reference has {expected.refusal or 'a result'}"
    )
    shapes, wanted = list(map(_shape_and_dtype, got.layouts)), list(map(_shape_and_dtype, expected.layouts))
    assert shapes == wanted, f"{what}: {shapes}, where the reference has {wanted}"
    assert len(got.values) == len(expected.values), f"{what}: {len(got.values)} values, not {len(expected.values)}"
    for ours, theirs in zip(got.values, expected.values, strict=True):
        _assert_close(ours.elements, theirs, what)


def assert_same_strides(got: Outcome, expected: Outcome, what: str) -> None:
    """The layouts are the expected ones, to the strides."""
    assert list(got.layouts) == list(expected.layouts), (
        f"{what}: {got.layouts}, where the reference has {expected.layouts}"
    )


def _shape_and_dtype(layout: Any) -> Any:
    return layout[:2] if isinstance(layout, list) else layout


def _assert_close(got: np.ndarray, expected: Value, what: str) -> None:
    assert got.shape == expected.elements.shape, f"{what}: shape {got.shape}, not {expected.elements.shape}"
    if expected.dtype not in TOLERANCES:
        np.testing.assert_array_equal(got, expected.elements, err_msg=what)
        return
    relative, absolute = TOLERANCES[expected.dtype]
    wide = np.complex128 if expected.dtype.startswith("complex") else np.float64
    np.testing.assert_allclose(
        np.asarray(got, wide), np.asarray(expected.elements, wide), rtol=relative,
        atol=absolute + WIDENING * expected.rounding, equal_nan=True, err_msg=what,
    )  # fmt: skip


# References


class DeviceReference:
    """The outcomes on another device, the CPU unless told; its own error is measured where a result misses it."""

    same_streams = False

    def __init__(self, device_type: str = "cpu") -> None:
        self.device_type = device_type

    def expected(self, overload: Overload, *, strided: bool, elements: bool) -> list[Outcome]:
        given = samples_on(overload, self.device_type, strided=strided)
        return [run_sample(overload, sample, self.device_type, elements=elements) for sample in given]

    def widened(self, overload: Overload, index: int, outcome: Outcome) -> Outcome:
        precise = list(samples_on(overload, self.device_type, precise=True))
        if index >= len(precise):
            return outcome  # with gaps in memory: without elements
        return with_rounding(outcome, run_sample(overload, precise[index], self.device_type))


def with_rounding(found: Outcome, precise: Outcome) -> Outcome:
    """The outcome with its values' errors, measured against the same call in float64."""
    if len(found.values) != len(precise.values):
        return found
    pairs = zip(found.values, precise.values, strict=True)
    return found._replace(values=tuple(a._replace(rounding=_rounding(a, b)) for a, b in pairs))


def _rounding(value: Value, precise: Value) -> float:
    """Largest error of the finite elements; none is granted where float64 takes another turn (a step, a branch)."""
    if value.dtype not in _WIDE or value.elements.shape != precise.elements.shape or not value.elements.size:
        return 0.0
    wide = np.complex128 if value.dtype.startswith("complex") else np.float64
    with np.errstate(all="ignore"):
        errors = np.abs(np.asarray(value.elements, wide) - np.asarray(precise.elements, wide))
        scale = np.max(np.abs(np.asarray(value.elements, wide)), initial=0, where=np.isfinite(errors))
    error = float(np.max(errors, initial=0, where=np.isfinite(errors)))
    relative, absolute = TOLERANCES[value.dtype]
    return error if error <= 25 * (absolute + relative * scale) else 0.0


def run_sample(overload: Overload, sample: Sample, device_type: str, *, elements: bool = True) -> Outcome:
    """The outcome of one sample; random operators start from one seed."""
    arguments = Arguments(overload, sample)
    start_streams()
    try:
        with device(device_type):
            result = call_with(overload, arguments.bound, device_type)
    except REFUSALS as refusal:
        return Outcome(refusal=refusal_text(refusal))
    return outcome(overload, arguments, result, elements=elements)


def refusal_text(refusal: Exception) -> str:
    return f"{type(refusal).__name__}: {(str(refusal).splitlines() or [''])[0]}"


class StoredReference:
    """Outcomes from a folder with one file per operator family, as ``make_samples.py`` writes them.

    Raises
    ------
    AssertionError
        From `expected`, when the files do not hold these samples: they are to be made again.
    """

    same_streams = True

    def __init__(self, folder: Path, remedy: str) -> None:
        self.folder = folder
        self.remedy = remedy
        self._families: dict[str, dict[str, Any]] = {}

    def recorded(self, overload: Overload) -> list[list[bool] | None]:
        """Per sample, which of its tensors require grad when all inputs do; None where PyTorch refuses."""
        return [entry["recorded"] for entry in self._family(overload.family).get(overload.name, ())]

    def expected(self, overload: Overload, *, strided: bool, elements: bool) -> list[Outcome]:
        stored = self._family(overload.family).get(overload.name)
        assert stored is not None, f"no stored results for {overload.name}: {self.remedy}"
        plain = list(samples_on(overload, "cpu"))
        described = [[repr(s), fingerprint(inputs_of(Arguments(overload, s)))] for s in plain]
        same = len(stored) == len(described) and all(
            entry["sample"] == text and math.isclose(entry["inputs"], number, rel_tol=1e-3, abs_tol=1e-3)  # type: ignore[arg-type]
            for entry, (text, number) in zip(stored, described, strict=True)
        )
        assert same, f"the stored results for {overload.name} are of other samples: {self.remedy}"
        return [_stored_outcome(entry, strided, elements) for entry in stored]

    def widened(self, overload: Overload, index: int, outcome: Outcome) -> Outcome:
        """The outcome itself: its error was stored with it."""
        return outcome

    def _family(self, family: str) -> dict[str, Any]:
        if family not in self._families:
            self._families[family] = read_family(self.folder / f"{family}.npz")
        return self._families[family]


def _stored_outcome(entry: dict[str, Any], strided: bool, elements: bool) -> Outcome:
    said = entry["strided"] if strided else entry
    return Outcome(said.get("refusal", ""), tuple(said.get("layouts", ())), tuple(entry["values"]) if elements else ())


def read_family(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Operator -> its samples' outcomes; no operators where there is no file."""
    if not path.is_file():
        return {}
    with np.load(path) as file:
        index, memory = json.loads(file["index"].tobytes()), file["elements"].tobytes()
    for entry in (entry for entries in index.values() for entry in entries):
        entry["values"] = [_stored_value(memory, *place) for place in entry.get("values", ())]
        entry["strided"] = entry.get("strided") or {k: entry[k] for k in ("refusal", "layouts") if k in entry}
    return index


def _stored_value(memory: bytes, start: int, shape: list[int], dtype: str, rounding: float) -> Value:
    kind = _numpy_dtype(dtype)
    array = np.frombuffer(memory, kind, math.prod(shape), start).reshape(shape)
    return Value(array, dtype, rounding)


def _numpy_dtype(name: str) -> np.dtype:
    ours = getattr(dtypes, name, None)
    return np.dtype(name) if ours is None else ours.numpy_dtype
