"""Which dtypes an operator takes: its samples with another dtype in place of the first tensor's.

Which dtypes are refused is among an operator's facts (``check=``, ``dtypes=``), and PyTorch's words for it are part of
the oracle: `snapshots/make_accepted_dtypes.py` of the CPU backend asks PyTorch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import dtypes
from ..dispatch.registry import Overload
from ..dtypes import dtype
from ..tensor import Tensor
from .arguments import Arguments, tensors_in
from .oracle import host_elements
from .sample import TensorMaker, sample_functions

__all__ = ["ASKED", "calls_with"]

#: The dtypes that are asked for: those that people calculate in.
ASKED = (
    dtypes.bool, dtypes.uint8, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64,
    dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128,
)  # fmt: skip


def calls_with(overload: Overload, wanted: dtype) -> list[Any] | None:
    """The arguments of the operator's first sample in float32 (else of its first with a tensor), in another dtype.

    Tensors of the dtype that the first one has are of `wanted`; the others stay as they are. None where no sample has
    a tensor.
    """
    maker = TensorMaker("cpu")
    chosen: list[Any] | None = None
    for bound in _samples(overload, maker):
        first = next(iter(tensors_in(bound)), None)
        if first is not None and (chosen is None or first.dtype is dtypes.float32):
            chosen, before = bound, first.dtype
            if before is dtypes.float32:
                break
    return None if chosen is None else [_in(value, before, wanted, maker) for value in chosen]


def _samples(overload: Overload, maker: TensorMaker) -> Iterator[list[Any]]:
    for generate in sample_functions(overload):
        for sample in generate(maker):
            yield Arguments(overload, sample).bound


def _in(value: Any, before: dtype, wanted: dtype, maker: TensorMaker) -> Any:
    if isinstance(value, Tensor) and value.dtype is before:
        return maker.of(_values(host_elements(value), wanted), wanted)
    if isinstance(value, (list, tuple)):
        return type(value)(_in(item, before, wanted, maker) for item in value)
    return value


def _values(host: np.ndarray, wanted: dtype) -> np.ndarray:
    """Elements that the dtype holds: the real part of complex ones, the size of negative ones where it has no sign."""
    if wanted is dtypes.bool:
        return host != 0
    if host.dtype.kind == "c" and not wanted.is_complex:
        host = host.real
    return host if wanted.is_signed else np.abs(host)
