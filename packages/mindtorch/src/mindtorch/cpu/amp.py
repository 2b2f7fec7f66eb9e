"""``torch.cpu.amp``: the older names of ``torch.amp`` for the CPU."""

from typing import Any

import mt_core

from ..amp import autocast as _autocast
from ..amp.older_names import OlderGradScaler, warn_of_older_name

__all__ = ["GradScaler", "autocast"]


class autocast(_autocast):
    """``torch.autocast("cpu")``."""

    def __init__(self, enabled: bool = True, dtype: Any = mt_core.bfloat16, cache_enabled: bool = True) -> None:
        warn_of_older_name("cpu", "autocast")
        super().__init__("cpu", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(OlderGradScaler):
    """``torch.amp.GradScaler("cpu")``."""

    device_type = "cpu"
