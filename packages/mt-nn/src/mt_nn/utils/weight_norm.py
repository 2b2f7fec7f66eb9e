"""Weight normalization by a hook. `parametrizations.weight_norm` is its successor."""

import warnings
from typing import Any, TypeVar

import mt_core as mt
from mt_core import Tensor
from mt_core.api._functions import _weight_norm

from ..modules.module import Module
from ..parameter import Parameter, UninitializedParameter

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]

_Module = TypeVar("_Module", bound=Module)


class WeightNorm:
    """Computes a weight from its magnitude ``<name>_g`` and direction ``<name>_v`` before every call of a module."""

    name: str
    dim: int

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Tensor:
        """The weight, from its magnitude and direction."""
        magnitude, direction = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return _weight_norm(direction, magnitude, self.dim)

    @staticmethod
    def apply(module: Module, name: str, dim: int | None) -> "WeightNorm":
        """Split a weight of a module, and register the hook that joins it again."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, WeightNorm) and hook.name == name:
                raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
        function = WeightNorm(name, dim)
        weight = getattr(module, name)
        if isinstance(weight, UninitializedParameter):
            raise ValueError(
                "The module passed to `WeightNorm` can't have uninitialized parameters. Make sure to run the dummy "
                "forward before applying weight normalization"
            )
        del module._parameters[name]
        module.register_parameter(name + "_g", Parameter(mt.norm_except_dim(weight, 2, function.dim).data))
        module.register_parameter(name + "_v", Parameter(weight.data))
        setattr(module, name, function.compute_weight(module))
        module.register_forward_pre_hook(function)
        return function

    def remove(self, module: Module) -> None:
        """Make the weight an ordinary parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[self.name + "_g"]
        del module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: _Module, name: str = "weight", dim: int | None = 0) -> _Module:
    """Learn the magnitude and the direction of a weight apart. Deprecated for `parametrizations.weight_norm`."""
    warnings.warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=2,
    )
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: _Module, name: str = "weight") -> _Module:
    """Undo `weight_norm`, keeping the weight's value."""
    for hook_id, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[hook_id]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
