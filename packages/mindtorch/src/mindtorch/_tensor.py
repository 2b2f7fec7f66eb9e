"""``torch._tensor``: the class of tensors, and the function that pickles call to make one of a subclass."""

from __future__ import annotations

from mt_core.serialization.rebuild import _rebuild_from_type_v2 as _rebuild_from_type_v2
from mt_core.tensor import Tensor as Tensor

__all__: list[str] = []
