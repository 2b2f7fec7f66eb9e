"""``torch.utils.deterministic``: whether deterministic algorithms fill memory that has no values."""

from __future__ import annotations

import sys
from types import ModuleType

from mt_core.determinism import DETERMINISM
from mt_core.state import settle

__all__ = ["fill_uninitialized_memory"]

#: Read and set through the module's class.
fill_uninitialized_memory: bool


class _Deterministic(ModuleType):
    """The module itself; `fill_uninitialized_memory` is a setting that takes effect when it is set."""

    @property
    def fill_uninitialized_memory(self) -> bool:
        """Whether ``torch.empty`` and its like fill what they make with NaN, or the largest number."""
        return DETERMINISM.fills_memory

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise RuntimeError(f"expected a bool, but got {type(mode).__name__}")
        settle()
        DETERMINISM.fills_memory = mode


sys.modules[__name__].__class__ = _Deterministic
