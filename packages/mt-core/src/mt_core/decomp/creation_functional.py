"""Operators that compute what others write, by writing to a copy; and a copy in page-locked memory."""

from __future__ import annotations

from typing import Any

from ..api import _functions as ops
from ..dispatch.memory import is_dense
from ..dispatch.registry import register_composite as composite
from ..formats import preserve_format
from ..pinned import pinned_copy
from ..plugins.runtime_access import accelerator_type


@composite("copy", explicit=True)
def copy(self: Any, src: Any, non_blocking: bool) -> Any:
    """self (any shape), src (broadcasts to it) -> as self."""
    return _as_laid_out(self).copy_(src, non_blocking)


def _as_laid_out(self: Any) -> Any:
    """A copy in the very strides of self, gaps included, unless several indices reach one element."""
    if is_dense(self):
        return self.clone(memory_format=preserve_format)
    return ops.empty_strided(tuple(self.shape), self.stride(), dtype=self.dtype, device=self.device)


@composite("zero", explicit=True)
def zero(self: Any) -> Any:
    return ops.zeros_like(self)


@composite("resize", explicit=True)
def resize(self: Any, size: Any, memory_format: Any) -> Any:
    return self.clone().resize_(size, memory_format=memory_format)


@composite("_pin_memory", explicit=True)
def _pin_memory(self: Any, device: Any) -> Any:
    """Any shape, on the CPU -> the same."""
    kind = accelerator_type()
    if device is not None and kind not in (None, device.type):
        raise RuntimeError(f"{device.type.upper()} device type not an accelerator.")
    return pinned_copy(self)
