"""``torch.utils.dlpack``: exchanging tensors with other libraries without copying."""

from __future__ import annotations

from mt_core.dlpack import DLDeviceType as DLDeviceType
from mt_core.interop import from_dlpack as from_dlpack
from mt_core.interop import to_dlpack as to_dlpack

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]
