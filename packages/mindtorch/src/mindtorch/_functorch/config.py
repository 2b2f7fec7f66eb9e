"""``torch._functorch.config``: settings, which are read when an operator is called."""

from __future__ import annotations

import sys
from types import ModuleType

from mt_library.custom_ops import ALIASING


class _Config(ModuleType):
    """The settings as attributes."""

    @property
    def check_custom_op_aliasing(self) -> bool:
        """Whether the results of custom operators are checked for memory that they share."""
        return ALIASING.checked

    @check_custom_op_aliasing.setter
    def check_custom_op_aliasing(self, checked: bool) -> None:
        ALIASING.checked = checked


sys.modules[__name__].__class__ = _Config
