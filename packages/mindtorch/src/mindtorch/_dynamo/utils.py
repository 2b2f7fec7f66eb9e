"""``torch._dynamo.utils``: what was captured, counted."""

from __future__ import annotations

import collections
from typing import Any

from mt_core import Tensor, empty_strided, no_grad
from mt_core import device as torch_device
from mt_core.hollow import is_hollow

__all__ = ["clone_input", "counters", "is_compile_supported"]

#: Kind -> name -> how often: ``stats`` (graphs and the calls in them) and ``graph_break`` (by reason).
counters: collections.defaultdict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)


def is_compile_supported(device_type: Any) -> bool:
    """Whether ``torch.compile`` is made use of by libraries for devices of a type, or its name: for the CPU alone."""
    return torch_device(device_type).type == "cpu"


def clone_input(x: Tensor, *, dtype: Any = None) -> Tensor:
    """A leaf with the elements and strides of `x` and none of its history, which requires grad where `x` does.

    Of a tensor whose elements overlap, the strides are row-major.
    """
    overlaps = any(step == 0 and size > 1 for step, size in zip(x.stride(), x.shape))
    with no_grad():
        if overlaps or is_hollow(x):
            copied = x.detach().clone().to(dtype or x.dtype)
        else:
            copied = empty_strided(x.shape, x.stride(), dtype=dtype or x.dtype, device=x.device).copy_(x)
    return copied.requires_grad_(x.requires_grad)
