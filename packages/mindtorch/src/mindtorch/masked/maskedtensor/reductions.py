"""The reductions of masked tensors that PyTorch names."""

from __future__ import annotations

from typing import Any

from mt_library import ops

__all__: list[str] = []

#: Reductions of the elements that are there.
REDUCE_NAMES: list[str] = "sum mean amin amax argmin argmax prod all norm var std".split()

NATIVE_REDUCE_FNS: list[Any] = [getattr(ops.aten, name) for name in REDUCE_NAMES]
