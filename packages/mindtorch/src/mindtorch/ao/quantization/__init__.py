"""``torch.ao.quantization``: dynamic quantization of linear layers, and the observers that it uses.

What else PyTorch has here raises, naming itself, when it is asked for.
"""

from __future__ import annotations

from typing import Any

from .observer import (
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    NoopObserver,
    ObserverBase,
    PerChannelMinMaxObserver,
    PlaceholderObserver,
    UniformQuantizationObserverBase,
    default_dynamic_quant_observer,
    default_observer,
    default_per_channel_weight_observer,
    default_placeholder_observer,
    default_weight_observer,
)
from .qconfig import QConfig, default_dynamic_qconfig, float16_dynamic_qconfig, per_channel_dynamic_qconfig
from .quantize import quantize_dynamic
from .stubs import DeQuantStub, QuantStub, QuantWrapper

__all__ = [
    "DeQuantStub", "MinMaxObserver", "MovingAverageMinMaxObserver", "MovingAveragePerChannelMinMaxObserver",
    "NoopObserver", "ObserverBase", "PerChannelMinMaxObserver", "PlaceholderObserver", "QConfig", "QuantStub",
    "QuantWrapper", "UniformQuantizationObserverBase", "default_dynamic_qconfig", "default_dynamic_quant_observer",
    "default_observer", "default_per_channel_weight_observer", "default_placeholder_observer",
    "default_weight_observer", "float16_dynamic_qconfig", "per_channel_dynamic_qconfig", "quantize_dynamic",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Refuse what else PyTorch has here by name."""
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    raise AttributeError(
        f"torch.ao.quantization.{name} is not supported: there are quantize_dynamic for linear layers, and observers"
    )
