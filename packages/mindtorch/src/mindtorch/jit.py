"""``torch.jit``: TorchScript, which is not supported; marks for it are accepted, since they mean nothing without it."""

from __future__ import annotations

import builtins
import os
import warnings
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

from ._unsupported import refusal, unsupported_class, unsupported_function

__all__ = [
    "Attribute",
    "CompilationUnit",
    "Error",
    "Final",
    "Future",
    "ScriptFunction",
    "ScriptModule",
    "TracerWarning",
    "annotate",
    "export",
    "fork",
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "optimize_for_inference",
    "save",
    "script",
    "script_if_tracing",
    "trace",
    "trace_module",
    "unused",
    "wait",
]

T = TypeVar("T")

_REMEDY = "Run the program as ordinary Python."

Error = RuntimeError
CompilationUnit = unsupported_class("torch.jit.CompilationUnit", _REMEDY)
Future = unsupported_class("torch.jit.Future", _REMEDY)
RecursiveScriptModule = unsupported_class("torch.jit.RecursiveScriptModule", _REMEDY)
ScriptFunction = unsupported_class("torch.jit.ScriptFunction", _REMEDY)
ScriptModule = unsupported_class("torch.jit.ScriptModule", _REMEDY)
TracedModule = unsupported_class("torch.jit.TracedModule", _REMEDY)
TopLevelTracedModule = unsupported_class("torch.jit.TopLevelTracedModule", _REMEDY)

fork = unsupported_function("torch.jit.fork", _REMEDY)
freeze = unsupported_function("torch.jit.freeze", _REMEDY)
load = unsupported_function("torch.jit.load", "Save the weights as a state_dict with torch.save, and load them so.")
optimize_for_inference = unsupported_function("torch.jit.optimize_for_inference", _REMEDY)
save = unsupported_function("torch.jit.save", "Save the state_dict with torch.save.")
trace = unsupported_function("torch.jit.trace", _REMEDY)
trace_module = unsupported_function("torch.jit.trace_module", _REMEDY)
wait = unsupported_function("torch.jit.wait", _REMEDY)


def script(obj: T, *args: Any, **kwargs: Any) -> T:
    """Compile a function, class or module to TorchScript.

    With the environment variable ``PYTORCH_JIT=0`` it returns the object as it is, as in PyTorch.

    Raises
    ------
    NotImplementedError
        Without it.
    """
    if os.environ.get("PYTORCH_JIT", "1") == "0":
        return obj
    raise refusal("torch.jit.script", "Set the environment variable PYTORCH_JIT=0 to run what it decorates as Python.")


def is_scripting() -> bool:
    """Whether this code is being compiled to TorchScript."""
    return False


def is_tracing() -> bool:
    """Whether this code is being traced to TorchScript."""
    return False


def script_if_tracing(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function when it is first called while tracing; nothing is traced, so it stays as it is."""
    return fn


#: What marks leave on functions, for whoever compiles them.
_LEAVE_AS_PYTHON = "ignore (leave as a call to Python, cannot be torch.jit.save'd)"
_REPLACE_BY_ERROR = "unused (ignored and replaced with raising of an exception)"
_COMPILE_ALWAYS = "export (compile this function even if nothing calls it)"


def _marked(fn: T, modifier: str) -> T:
    fn._torchscript_modifier = modifier  # type: ignore[attr-defined]
    return fn


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Mark a method to be left as Python in TorchScript, which all of them are.

    Parameters
    ----------
    drop
        The method, or else whether it is to be left out as by `unused`, which is deprecated.

    Raises
    ------
    RuntimeError
        For anything else.
    """
    if callable(drop):
        return _marked(drop, _LEAVE_AS_PYTHON)
    if not builtins.isinstance(drop, bool):
        raise RuntimeError(f"Argument to @torch.jit.ignore must be a bool or a function but got {drop}")
    on_export = kwargs.get("drop_on_export")
    if drop or on_export:
        _warn_of_dropping("drop_on_export=True" if on_export else "True")
    modifier = _REPLACE_BY_ERROR if drop or on_export else _LEAVE_AS_PYTHON
    return lambda fn: _marked(fn, modifier)


def _warn_of_dropping(option: str) -> None:
    warnings.warn(
        f"ignore({option}) has been deprecated. TorchScript will now drop the function call on compilation. "
        "Use torch.jit.unused now. {}",
        FutureWarning,
        stacklevel=3,
    )


def unused(fn: T) -> T:
    """Mark a method or property to be left out of TorchScript; as Python it runs."""
    if not builtins.isinstance(fn, property):
        return _marked(fn, _REPLACE_BY_ERROR)
    for part in (fn.fget, fn.fset):
        if part is not None:
            _marked(part, _REPLACE_BY_ERROR)
    return fn


def export(fn: T) -> T:
    """Mark a method to be compiled to TorchScript together with its module."""
    return _marked(fn, _COMPILE_ALWAYS)


class TracerWarning(Warning):
    """What PyTorch's tracer of TorchScript warns with; programs name it in filters of warnings."""


def interface(obj: T) -> T:
    """Mark a class as an interface for TorchScript."""
    return obj


def annotate(the_type: Any, the_value: T) -> T:
    """The value; the type is for TorchScript."""
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """``isinstance`` for types with parameters, such as ``list[int]``, of which the parameters are not looked at."""
    targets: tuple[Any, ...] = target_type if builtins.isinstance(target_type, tuple) else (target_type,)
    return any(builtins.isinstance(obj, getattr(target, "__origin__", target)) for target in targets)


class Attribute(Generic[T]):
    """A value with a type for TorchScript."""

    def __init__(self, value: T, type: Any) -> None:
        self.value = value
        self.type = type
