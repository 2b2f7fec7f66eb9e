"""Factories with a layout of their own, on any backend."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..dispatch.registry import register_contract_kernel as contract_kernel
from ..factories import check_options
from ..tensor import Tensor
from .creation import allocate, unwritten

Ints = tuple[int, ...]


@contract_kernel("empty_permuted")
def empty_permuted(size: Ints, physical_layout: Ints, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Tensor:
    """-> size, laid out in the order of `physical_layout`; elements mean nothing."""
    check_options(layout, pin_memory)
    if len(size) != len(physical_layout):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = "
            f"{len(size)} is not equal to len(physical_layout) = {len(physical_layout)}"
        )
    for d in physical_layout:
        if not 0 <= d < len(size):
            raise RuntimeError(
                f"Dimension out of range (expected to be between 0 and {len(size) - 1}, but got {d} at index "
                f"{physical_layout.index(d)}).  NB: negative dims not currently supported; file an issue if you "
                "want it."
            )
    if len(set(physical_layout)) != len(physical_layout):
        raise RuntimeError("Duplicate dim not allowed")
    for n in size:
        if n < 0:
            ordered = [size[d] for d in physical_layout]
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {ordered}")
    strides = [0] * len(size)
    step = 1
    for d in reversed(physical_layout):
        strides[d] = step
        step *= max(size[d], 1)
    return unwritten(allocate(size, dtype or dtypes.get_default_dtype(), device, tuple(strides)))
