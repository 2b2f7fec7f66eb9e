"""Tells two runs of a program apart: fields that differ, the worst first to be believed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .machine import Notes
from .sights import Sight, elements_of

__all__ = ["HARD", "RARE", "Difference", "close", "compare", "differences_between", "group_of"]

#: dtype -> relative and absolute tolerance; those of eight bits get the coarsest, integers and bool none.
TOLERANCES = {
    "float64": (1e-7, 1e-9),
    "complex128": (1e-7, 1e-9),
    "float32": (2e-4, 2e-5),
    "complex64": (2e-4, 2e-5),
    "float16": (1e-2, 4e-3),
    "bfloat16": (4e-2, 3e-2),
}
COARSEST = (0.13, 0.1)

#: Fields after whose difference the rest of a program says nothing.
HARD = frozenset(
    "missing raises accepts lacks elements dtype shape class kind requires_grad number sequence shares is ends".split()
)
#: Fields that may differ in one program of a thousand; the rest in one of a hundred.
RARE = frozenset("version strides offset is_view is_leaf inference lazy type".split())
_MISSING = frozenset(("AttributeError", "NotImplementedError", "ModuleNotFoundError"))


class Difference(NamedTuple):
    """What differs: `field`, on the line of this number, of the variable `name`."""

    field: str
    line: int
    name: str
    wanted: Any
    got: Any


def group_of(field: str) -> str:
    """How much a difference weighs: "hard", "rare" or "words"."""
    return "hard" if field in HARD else "rare" if field in RARE else "words"


def compare(wanted: list[Notes], got: list[Notes] | None) -> list[Difference]:
    """The differences of a program, each soft field once, up to the first hard one; `got` is None where it ended."""
    if got is None:
        return [Difference("ends", len(wanted) - 1, "process", "goes on", "ended")]
    found: dict[str, Difference] = {}
    for number, (before, after) in enumerate(zip(wanted, got, strict=True)):
        for difference in _of_lines(number, before, after):
            found.setdefault(difference.field, difference)
            if difference.field in HARD:
                return list(found.values())
    return list(found.values())


def _of_lines(number: int, wanted: Notes, got: Notes) -> Iterator[Difference]:
    named, ours = dict(wanted), dict(got)
    error, our_error = named.get("error"), ours.get("error")
    if error is None and our_error is not None:
        field = "missing" if our_error["type"] in _MISSING and "grad" not in our_error["text"] else "raises"
        yield Difference(field, number, "error", None, _said(our_error))
    elif error is not None and our_error is None:
        yield Difference("accepts", number, "error", _said(error), None)
    for name, sight in wanted:
        if name not in ours:
            yield Difference("lacks", number, name, name, None)
            return
        for field, a, b in differences_between(sight, ours[name]):
            yield Difference(field, number, name, a, b)


def _said(error: Sight) -> str:
    return f"{error['type']}: {error['text']}"


def differences_between(wanted: Sight, got: Sight) -> Iterator[tuple[str, Any, Any]]:
    """(field, wanted, got) of each that differs."""
    if wanted == got:
        return
    kind = wanted["kind"]
    if kind != got["kind"]:
        yield "kind", _short(wanted), _short(got)
    elif kind in ("sequence", "dict"):
        yield from _of_items(wanted, got)
    elif kind == "number":
        yield from _of_numbers(wanted, got)
    else:
        yield from (d for field in wanted if (d := _of_field(field, wanted, got)) is not None)


def _of_items(wanted: Sight, got: Sight) -> Iterator[tuple[str, Any, Any]]:
    of = "class" if wanted["kind"] == "sequence" else "keys"
    if wanted[of] != got[of] or len(wanted["items"]) != len(got["items"]):
        yield "sequence", [wanted[of], len(wanted["items"])], [got[of], len(got["items"])]
        return
    for a, b in zip(wanted["items"], got["items"], strict=True):
        yield from differences_between(a, b)


def _of_numbers(wanted: Sight, got: Sight) -> Iterator[tuple[str, Any, Any]]:
    a, b = (complex(sight["is"]) for sight in (wanted, got))
    if wanted["type"] != got["type"]:
        yield "number", wanted["type"], got["type"]
    elif a != b and not (wanted["type"] != "int" and np.allclose(b, a, 1e-4, 1e-5, equal_nan=True)):
        yield "number", wanted["is"], got["is"]


def _of_field(field: str, wanted: Sight, got: Sight) -> tuple[str, Any, Any] | None:
    a, b = wanted[field], got[field]
    if a == b or field == "text" and _plain(a) == _plain(b) or field == "is" and _plain(str(a)) == _plain(str(b)):
        return None
    if field != "elements":
        return field, a, b
    if [wanted["dtype"], wanted["shape"]] != [got["dtype"], got["shape"]] or a is None or b is None:
        return None  # told by dtype and shape
    x, y = elements_of(wanted), elements_of(got)
    return None if close(wanted["dtype"], x, y) else (field, x[:8].tolist(), y[:8].tolist())


def close(dtype: str, wanted: np.ndarray, got: np.ndarray) -> bool:
    """Equal to the tolerance of the dtype; rounding of a sum is measured by the size of its neighbours."""
    if wanted.dtype.kind in "iub":
        return bool((wanted == got).all())
    finite = np.isfinite(wanted) & np.isfinite(got)
    if not _same_kinds(wanted[~finite], got[~finite]):
        return False
    a, b = (array[finite].astype(np.complex128 if array.dtype.kind == "c" else np.float64) for array in (wanted, got))
    relative, absolute = TOLERANCES.get(dtype, COARSEST)
    scale = max(float(np.median(np.abs(a))), 1.0) if a.size else 1.0
    return bool((np.abs(a - b) <= relative * np.abs(a) + absolute * scale).all())


def _same_kinds(wanted: np.ndarray, got: np.ndarray) -> bool:
    """NaN where NaN is wanted, infinity of the same sign where infinity; of complex numbers any that is not finite."""
    if wanted.dtype.kind == "c":
        return bool((np.isnan(wanted) == np.isnan(got)).all())
    return bool(np.array_equal(wanted, got, equal_nan=True))


def _plain(text: str) -> str:
    text = re.sub(r"0x[0-9a-f]+", "0x", text)
    return re.sub(r"\b(mindtorch|mt_core|mt_autograd|mt_nn)\.", "torch.", text)


def _short(sight: Sight) -> str:
    return repr(sight)[:300]
