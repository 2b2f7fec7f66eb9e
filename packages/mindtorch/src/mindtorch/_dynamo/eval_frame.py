"""``torch._dynamo.eval_frame``: what ``torch.compile`` makes of a module."""

from __future__ import annotations

from typing import Any

from mt_nn.modules.module import Module

__all__ = ["OptimizedModule"]


class OptimizedModule(Module):
    """A module around another, `_orig_mod`, whose attributes are its own; parameters are named ``_orig_mod.*``."""

    def __init__(self, mod: Module) -> None:
        super().__init__()
        self._modules["_orig_mod"] = mod
        del self.__dict__["training"]  # it is the wrapped module's

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the wrapped module, its hooks and those of this one included."""
        return super().__call__(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the wrapped module."""
        return self._orig_mod(*args, **kwargs)

    @property
    def training(self) -> bool:
        """Whether the wrapped module is in training mode."""
        return self._orig_mod.training

    @training.setter
    def training(self, value: bool) -> None:
        if "_orig_mod" in self.__dict__.get("_modules", ()):
            self._orig_mod.training = value

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        return getattr(self._orig_mod, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "training" or "_orig_mod" not in self.__dict__.get("_modules", ()):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._orig_mod)})
