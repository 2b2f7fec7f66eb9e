"""Changing the memory format of convolutions' weights."""

from typing import TypeVar

import mt_core as mt

from ..modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]

_Module = TypeVar("_Module", bound=Module)


def convert_conv2d_weight_memory_format(module: _Module, memory_format: mt.memory_format) -> _Module:
    """Give the weight of every 2-d convolution below a module another memory format; nothing else changes."""
    return _convert(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module: _Module, memory_format: mt.memory_format) -> _Module:
    """Give the weight of every 3-d convolution below a module another memory format; nothing else changes."""
    return _convert(module, memory_format, (Conv3d, ConvTranspose3d))


def _convert(module: _Module, memory_format: mt.memory_format, classes: tuple[type[Module], ...]) -> _Module:
    for submodule in module.modules():
        if isinstance(submodule, classes):
            submodule.weight.data = submodule.weight.detach().clone(memory_format=memory_format)
    return module
