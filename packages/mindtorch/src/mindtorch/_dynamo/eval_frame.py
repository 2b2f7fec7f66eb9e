"""``torch._dynamo.eval_frame``: what ``torch.compile`` makes of a module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mt_nn.modules.module import Module

__all__ = ["CompiledOnce", "OptimizedModule"]


class CompiledOnce:
    """A program that a compiler is given at the first call, as PyTorch compiles then; later calls run what it returned.

    A copy compiles anew: what a compiler returns belongs to the program that it was given.
    """

    def __init__(
        self, program: Callable[..., Any], compile_program: Callable[[Callable[..., Any]], Callable[..., Any]]
    ) -> None:
        self.program = program
        self.compile_program = compile_program
        self.compiled: Callable[..., Any] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program, compiled now if it was not."""
        if self.compiled is None:
            self.compiled = self.compile_program(self.program)
        return self.compiled(*args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "compiled": None}


class OptimizedModule(Module):
    """A module around another, `_orig_mod`, whose attributes are its own; parameters are named ``_orig_mod.*``."""

    def __init__(self, mod: Module, compile_program: Callable[..., Callable[..., Any]] | None = None) -> None:
        super().__init__()
        self.__dict__["_run"] = mod if compile_program is None else CompiledOnce(mod, compile_program)
        self._modules["_orig_mod"] = mod
        del self.__dict__["training"]  # it is the wrapped module's

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the wrapped module, its hooks and those of this one included."""
        return super().__call__(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the wrapped module, or what a compiler has made of it."""
        return self._run(*args, **kwargs)

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
