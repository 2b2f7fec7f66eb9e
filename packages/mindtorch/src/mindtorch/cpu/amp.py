"""``torch.cpu.amp``: the older names of ``torch.amp`` for the CPU."""

from typing import Any

import mt_core

from ..amp import GradScaler as _GradScaler
from ..amp import autocast as _autocast
from ..amp.older_names import warn_of_older_name

__all__ = ["GradScaler", "autocast"]


class autocast(_autocast):
    """``torch.autocast("cpu")``."""

    def __init__(self, enabled: bool = True, dtype: Any = mt_core.bfloat16, cache_enabled: bool = True) -> None:
        warn_of_older_name("cpu", "autocast")
        super().__init__("cpu", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(_GradScaler):
    """``torch.amp.GradScaler("cpu")``."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        warn_of_older_name("cpu", "GradScaler")
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
