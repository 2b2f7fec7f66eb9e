"""``torch.jit.annotations``: types for the annotations of programs that TorchScript compiles; Python ignores them."""

from __future__ import annotations

from typing import Any, Dict, List, Tuple  # noqa: UP035 - programs import them from here

from .._jit_internal import BroadcastingList1, BroadcastingList2, BroadcastingList3

__all__ = ["Any", "BroadcastingList1", "BroadcastingList2", "BroadcastingList3", "Dict", "List", "Tuple"]
