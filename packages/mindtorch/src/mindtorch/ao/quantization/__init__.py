"""``torch.ao.quantization``: dynamic quantization of linear layers, and the observers that it uses.

What else PyTorch has here can be imported, and raises, naming itself, when it is called.
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
from .qconfig import (
    QConfig,
    QConfigAny,
    QuantType,
    default_dynamic_qconfig,
    default_per_channel_qconfig,
    default_qconfig,
    float16_dynamic_qconfig,
    float16_static_qconfig,
    per_channel_dynamic_qconfig,
)
from .quantize import quantize_dynamic
from .refused import stand_in
from .stubs import DeQuantStub, QuantStub, QuantWrapper

__all__ = [
    "DeQuantStub", "MinMaxObserver", "MovingAverageMinMaxObserver", "MovingAveragePerChannelMinMaxObserver",
    "NoopObserver", "ObserverBase", "PerChannelMinMaxObserver", "PlaceholderObserver", "QConfig", "QConfigAny",
    "QuantStub", "QuantType",
    "QuantWrapper", "UniformQuantizationObserverBase", "default_dynamic_qconfig", "default_dynamic_quant_observer",
    "default_observer", "default_per_channel_qconfig", "default_per_channel_weight_observer",
    "default_placeholder_observer", "default_qconfig", "default_weight_observer", "float16_dynamic_qconfig",
    "float16_static_qconfig", "per_channel_dynamic_qconfig", "quantize_dynamic",
]  # fmt: skip


# PyTorch's function, not the module of its name that stands beside this file.
globals()["quantize"] = stand_in("quantize")


def __getattr__(name: str) -> Any:
    """What stands for PyTorch's other functions and classes."""
    found = stand_in(name)
    if found is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found  # one object, whoever asks
    return found
