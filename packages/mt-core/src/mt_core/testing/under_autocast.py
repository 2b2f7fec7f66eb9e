"""Samples of operators as arguments of calls under autocast: in float32, in bfloat16, in both in turn."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, islice
from typing import Any

from .. import dtypes
from ..dispatch.registry import Overload
from ..tensor_types import tensors_in
from .arguments import Arguments, samples_on
from .sample import Sample

__all__ = ["KINDS", "retyped", "sample_in_float32"]

#: Kind of arguments -> the dtypes that the float32 tensors of a sample take in turn.
KINDS = {
    "float32": ("float32",),
    "bfloat16": ("bfloat16",),
    "float64": ("float64",),
    "float32 first": ("float32", "bfloat16"),
    "bfloat16 first": ("bfloat16", "float32"),
}


def sample_in_float32(overload: Overload) -> Sample | None:
    """The first sample on the CPU, among a few, with a float32 tensor; None where there is none."""
    for sample in islice(samples_on(overload, "cpu"), 6):
        if any(t._dtype is dtypes.float32 for t in tensors_in(list(Arguments(overload, sample).bound))):
            return sample
    return None


def retyped(values: Sequence[Any], tensor_type: Any, float32: Any, wanted: Sequence[Any]) -> list[Any]:
    """Arguments whose float32 tensors, in lists too, are of the wanted dtypes in turn."""
    turns = cycle(wanted)

    def one(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [one(item) for item in value]
        return value.to(next(turns)) if isinstance(value, tensor_type) and value.dtype == float32 else value

    return [one(value) for value in values]
