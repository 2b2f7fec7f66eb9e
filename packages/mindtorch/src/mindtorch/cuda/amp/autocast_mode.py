"""``torch.cuda.amp.autocast_mode``: the older names of ``torch.autocast`` for CUDA."""

from __future__ import annotations

from typing import Any

import mt_core

from ...amp import autocast as _autocast
from ...amp import custom_bwd as _custom_bwd
from ...amp import custom_fwd as _custom_fwd
from ...amp.older_names import warn_of_older_name

__all__ = ["autocast", "custom_bwd", "custom_fwd"]


class autocast(_autocast):
    """``torch.autocast("cuda")``."""

    def __init__(self, enabled: bool = True, dtype: Any = mt_core.float16, cache_enabled: bool = True) -> None:
        warn_of_older_name("cuda", "autocast")
        super().__init__("cuda", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


def custom_fwd(fwd: Any = None, *, cast_inputs: Any = None) -> Any:
    """``torch.amp.custom_fwd(device_type="cuda")``."""
    warn_of_older_name("cuda", "custom_fwd")
    return _custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Any) -> Any:
    """``torch.amp.custom_bwd(device_type="cuda")``."""
    warn_of_older_name("cuda", "custom_bwd")
    return _custom_bwd(bwd, device_type="cuda")
