"""Which observers watch the inputs and the weights of a layer."""

from __future__ import annotations

import enum
from collections import namedtuple
from typing import Any, TypeAlias

import mt_core as mt
from mt_nn.modules import Module

from .observer import (
    PlaceholderObserver,
    default_dynamic_quant_observer,
    default_observer,
    default_per_channel_weight_observer,
    default_weight_observer,
)

__all__ = [
    "QConfig", "QConfigAny", "QuantType", "default_dynamic_qconfig", "default_per_channel_qconfig", "default_qconfig",
    "float16_dynamic_qconfig", "float16_static_qconfig", "per_channel_dynamic_qconfig",
]  # fmt: skip


class QuantType(enum.IntEnum):
    """When scales are found: as inputs come, before, in training, or of weights alone."""

    DYNAMIC = 0
    STATIC = 1
    QAT = 2
    WEIGHT_ONLY = 3


class QConfig(namedtuple("QConfig", ["activation", "weight"])):
    """What makes the observers of inputs and of weights: classes, or what ``with_args`` returns; no observers."""

    __slots__ = ()

    def __new__(cls, activation: Any, weight: Any) -> QConfig:
        if isinstance(activation, Module) or isinstance(weight, Module):
            raise ValueError(
                "QConfig received observer instance, please pass observer class instead. Use "
                "MyObserver.with_args(x=1) to override arguments to constructor if needed"
            )
        return super().__new__(cls, activation, weight)


QConfigAny: TypeAlias = QConfig | None

default_qconfig = QConfig(default_observer, default_weight_observer)
default_per_channel_qconfig = QConfig(default_observer, default_per_channel_weight_observer)
default_dynamic_qconfig = QConfig(default_dynamic_quant_observer, default_weight_observer)
per_channel_dynamic_qconfig = QConfig(default_dynamic_quant_observer, default_per_channel_weight_observer)
float16_dynamic_qconfig = QConfig(
    PlaceholderObserver.with_args(dtype=mt.float16, is_dynamic=True), PlaceholderObserver.with_args(dtype=mt.float16)
)
float16_static_qconfig = QConfig(
    PlaceholderObserver.with_args(dtype=mt.float16), PlaceholderObserver.with_args(dtype=mt.float16)
)
