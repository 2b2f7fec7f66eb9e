"""``torch.npu.amp``: the names of ``torch.amp`` for programs that are written for device ``npu``."""

from __future__ import annotations

from typing import Any

import mindtorch as torch
from mindtorch.amp.autocast_mode import autocast as _autocast
from mindtorch.amp.grad_scaler import GradScaler as _GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


class autocast(_autocast):
    """``torch.autocast("npu")``, in float16 where no dtype is given."""

    def __init__(self, enabled: bool = True, dtype: Any = torch.float16, cache_enabled: bool = True) -> None:
        super().__init__("npu", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(_GradScaler):
    """``torch.amp.GradScaler("npu")``.

    Raises
    ------
    NotImplementedError
        For ``dynamic=False``, a scale that is never looked at.
    """

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        dynamic: bool = True,
        enabled: bool = True,
    ) -> None:
        if not dynamic:
            raise NotImplementedError("torch.npu.amp.GradScaler(dynamic=False) is not supported by mindtorch.")
        super().__init__("npu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def custom_fwd(fwd: Any = None, *, cast_inputs: Any = None) -> Any:
    """``torch.amp.custom_fwd(device_type="npu")``."""
    return torch.amp.custom_fwd(fwd, device_type="npu", cast_inputs=cast_inputs)


def custom_bwd(bwd: Any) -> Any:
    """``torch.amp.custom_bwd(device_type="npu")``."""
    return torch.amp.custom_bwd(bwd, device_type="npu")
