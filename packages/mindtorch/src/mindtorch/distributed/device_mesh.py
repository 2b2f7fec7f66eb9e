"""``torch.distributed.device_mesh``: ranks in several dimensions, which are not supported."""

from __future__ import annotations

from .._unsupported import unsupported_class, unsupported_function

__all__ = ["DeviceMesh", "init_device_mesh"]

_REMEDY = "torch.distributed.new_subgroups_by_enumeration makes the groups of its dimensions."

DeviceMesh = unsupported_class("torch.distributed.device_mesh.DeviceMesh", _REMEDY)
init_device_mesh = unsupported_function("torch.distributed.device_mesh.init_device_mesh", _REMEDY)
