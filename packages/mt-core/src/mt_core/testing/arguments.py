"""A sample's arguments, bound to an operator's schema, and what is asked of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import tensor_types
from ..api.binder import bind_schema
from ..devices import backend_key
from ..dispatch.dispatcher import backend_for
from ..dispatch.registry import Overload
from ..tensor import Tensor
from .sample import Sample, TensorMaker, hidden_writes, sample_functions

__all__ = [
    "HOLDS_NONE",
    "REFUSALS",
    "Arguments",
    "call_with",
    "samples_on",
    "state_of",
    "tensors_in",
    "written_positions",
]

#: What PyTorch raises for arguments it refuses; a sample may be refused for some of its dtypes.
REFUSALS = (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError)

#: In what refuses a sample of a dtype that a device does not hold.
HOLDS_NONE = "holds no tensors of"


class Arguments:
    """A sample's arguments in the schema's order."""

    def __init__(self, overload: Overload, sample: Sample) -> None:
        self.bound = bind_schema(overload.schema, sample.args, sample.kwargs)
        hidden = hidden_writes(overload.name)
        self.may_change = {i for i, a in enumerate(overload.schema.arguments) if a.writes or a.name in hidden}

    def snapshot(self, calculates: bool) -> list[Any]:
        """Versions and elements of the arguments that the operator does not write."""
        self.calculates = calculates
        return [state_of(v, calculates) for i, v in enumerate(self.bound) if i not in self.may_change]

    def check_unharmed(self, before: list[Any]) -> None:
        assert self.snapshot(self.calculates) == before, "an argument was changed that the schema does not write"


def samples_on(
    overload: Overload, device_type: str, *, strided: bool = False, precise: bool = False, index: int | None = None
) -> Iterator[Sample]:
    """An operator's samples, made on a device; `precise` takes floating point in double precision.

    Tensors of a dtype that the device does not hold are on the meta device: `call_with` refuses them.
    """
    for generate in sample_functions(overload):
        yield from generate(TensorMaker(device_type, strided=strided, precise=precise, index=index))


def call_with(overload: Overload, bound: list[Any], device_type: str) -> Any:
    """An operator's result, of a sample's arguments on a device.

    Raises
    ------
    NotImplementedError
        Where the device does not hold tensors of an argument's dtype, so that one on the meta device stands for it.
    """
    if device_type != "meta":
        for tensor in tensors_in(bound):
            if tensor.device.type == "meta":
                raise NotImplementedError(f"device {device_type!r} {HOLDS_NONE} {tensor.dtype}")
    return overload.call(*bound)


def state_of(value: Any, calculates: bool) -> Any:
    """What must stay: version, layout and bytes of a tensor, or of those in a list."""
    if isinstance(value, Tensor):
        backend = backend_for(backend_key(value.device.type))
        reads = calculates and value.device.type != "meta"
        elements = np.asarray(backend.to_host(value._array)).tobytes() if reads else b""
        return value._version, tuple(value.shape), value.stride(), elements
    return [state_of(v, calculates) for v in value] if isinstance(value, (list, tuple)) else value


def tensors_in(result: Any) -> list[Tensor]:
    """The tensors of a result or of an argument list, in order."""
    return list(tensor_types.tensors_in(result))


def written_positions(overload: Overload) -> list[int]:
    """Positions of the arguments that the schema writes."""
    return [i for i, a in enumerate(overload.schema.arguments) if a.writes]
