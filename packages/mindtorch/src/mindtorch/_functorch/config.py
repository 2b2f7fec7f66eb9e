"""``torch._functorch.config``: settings, which are read when an operator is called."""

from __future__ import annotations

import sys
from types import ModuleType

from mt_library.custom_ops import ALIASING

from .._subclasses._devices import SETTINGS


class _Config(ModuleType):
    """The settings as attributes."""

    @property
    def check_custom_op_aliasing(self) -> bool:
        """Whether the results of custom operators are checked for memory that they share."""
        return ALIASING.checked

    @check_custom_op_aliasing.setter
    def check_custom_op_aliasing(self, checked: bool) -> None:
        ALIASING.checked = checked

    @property
    def fake_tensor_allow_meta(self) -> bool:
        """Whether there are fake tensors of the device meta."""
        return SETTINGS.allows_meta

    @fake_tensor_allow_meta.setter
    def fake_tensor_allow_meta(self, allowed: bool) -> None:
        SETTINGS.allows_meta = allowed

    @fake_tensor_allow_meta.deleter
    def fake_tensor_allow_meta(self) -> None:
        SETTINGS.allows_meta = True

    @property
    def fake_tensor_propagate_real_tensors(self) -> bool:
        """Whether fake tensors of modes that are made from now on carry real ones along."""
        return SETTINGS.propagates_real

    @fake_tensor_propagate_real_tensors.setter
    def fake_tensor_propagate_real_tensors(self, propagated: bool) -> None:
        SETTINGS.propagates_real = propagated

    @fake_tensor_propagate_real_tensors.deleter
    def fake_tensor_propagate_real_tensors(self) -> None:
        SETTINGS.propagates_real = False


sys.modules[__name__].__class__ = _Config
