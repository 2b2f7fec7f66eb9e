"""``torch.jit.freeze``: a module as it is now, of which nothing can be seen or trained."""

from __future__ import annotations

import copy
from typing import Any, NoReturn

from ._script import RecursiveScriptModule, ScriptModule, warn_deprecated

__all__ = ["freeze", "optimize_for_inference"]

_INSTEAD = "Please use `torch.compile` instead."


class _Frozen(RecursiveScriptModule):
    """Calls a copy of a module that was made when it was frozen, and has no parameters itself."""

    def __init__(self, module: ScriptModule, preserved: list[str]) -> None:
        super().__init__()
        copied = copy.deepcopy(module).requires_grad_(False)
        self.__dict__.update(_hidden=copied, _preserved=preserved, _name=module.original_name)
        self.training = False
        for name in preserved:
            self._preserve(name, getattr(copied, name))

    def _preserve(self, name: str, value: Any) -> None:
        # Methods of the copy work on the copy, and are no parts of this module.
        self.__dict__[name] = value

    @property
    def original_name(self) -> str:
        """The name of the frozen module's class."""
        name: str = self._name
        return name

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the frozen module computes."""
        return self._hidden(*args, **kwargs)

    def train(self, mode: bool = True) -> Any:
        """It stays in eval mode, which is what was frozen."""
        if mode:
            _refuse_training()
        return self


def _refuse_training() -> NoReturn:
    raise RuntimeError("a frozen module has no training mode")


def freeze(
    mod: ScriptModule,
    preserved_attrs: list[str] | None = None,
    optimize_numerics: bool = True,
    preserve_parameters: bool = False,
) -> Any:
    """A scripted module as it is now: later changes of its tensors are not seen, and it has no parameters to train.

    Parameters
    ----------
    preserved_attrs
        Attributes and methods that can still be asked for.
    optimize_numerics
        Whether PyTorch may compute in another order. Here nothing changes what is computed.
    preserve_parameters
        Not supported.

    Raises
    ------
    RuntimeError
        For modules that are not scripted, or in training mode.
    NotImplementedError
        For `preserve_parameters`.
    """
    warn_deprecated("freeze", _INSTEAD)
    if preserve_parameters:
        raise NotImplementedError("torch.jit.freeze(preserve_parameters=True) is not supported by mindtorch.")
    return _frozen(mod, preserved_attrs)


def _frozen(mod: Any, preserved_attrs: list[str] | None) -> Any:
    if not isinstance(mod, ScriptModule):
        raise RuntimeError(
            "Freezing expects a ScriptModule as input. Please use torch.jit.script or torch.jit.trace to script your "
            "'nn.Module'."
        )
    if mod.training:
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval() on your module "
            "before freezing."
        )
    return _Frozen(mod, list(preserved_attrs or ()))


def optimize_for_inference(mod: ScriptModule, other_methods: list[str] | None = None) -> Any:
    """A scripted module as `freeze` makes it; what is frozen already is returned.

    Parameters
    ----------
    other_methods
        Methods beside ``forward`` that can still be called.

    Raises
    ------
    RuntimeError
        For modules that are not scripted.
    """
    warn_deprecated("optimize_for_inference", _INSTEAD)
    if not isinstance(mod, ScriptModule):
        raise RuntimeError(
            "optimize_for_inference expects a ScriptModule as input. Please use torch.jit.script or torch.jit.trace "
            "to script your 'nn.Module'."
        )
    return mod if isinstance(mod, _Frozen) else _frozen(mod.eval(), other_methods)
