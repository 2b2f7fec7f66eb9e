"""``torch.cpu.amp`` and ``torch.cuda.amp``: what they warn of."""

import warnings
from typing import ClassVar

from .grad_scaler import GradScaler

__all__ = ["OlderGradScaler", "warn_of_older_name"]


def warn_of_older_name(device_type: str, name: str) -> None:
    """Say that a name of ``torch.DEVICE.amp`` has given way to ``torch.amp``'s."""
    instead = f"torch.amp.{name}('{device_type}', args...)"
    if name.startswith("custom"):
        instead = f"torch.amp.{name}(args..., device_type='{device_type}')"
    text = f"`torch.{device_type}.amp.{name}(args...)` is deprecated. Please use `{instead}` instead."
    warnings.warn(text, FutureWarning, stacklevel=3)


class OlderGradScaler(GradScaler):
    """``torch.amp.GradScaler`` of one device type, which a subclass names."""

    device_type: ClassVar[str]

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        warn_of_older_name(self.device_type, "GradScaler")
        super().__init__(self.device_type, init_scale, growth_factor, backoff_factor, growth_interval, enabled)
