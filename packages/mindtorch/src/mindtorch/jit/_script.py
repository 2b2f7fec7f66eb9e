"""Modules and functions that PyTorch would compile to TorchScript: they run the Python that they were made of."""

from __future__ import annotations

import copy
import inspect
import os
import pickle
import warnings
from collections.abc import Callable
from enum import Enum
from typing import Any, Generic, NoReturn, TypeVar

from mt_core.overriding import handed_over, must_ask
from mt_nn import Module
from mt_nn.parameter import is_lazy

from .._unsupported import refusal, unsupported_function

__all__ = [
    "Attribute", "Error", "RecursiveScriptModule", "ScriptFunction", "ScriptModule", "ScriptWarning", "interface",
    "script", "script_method",
]  # fmt: skip

T = TypeVar("T")

_NO_ARCHIVE = "There is no TorchScript to be shown or saved: save the state_dict with torch.save."


class Error(Exception):
    """What PyTorch raises for errors inside of TorchScript. Here such code is Python, and raises what it raises."""


class ScriptWarning(Warning):
    """What PyTorch's compiler of TorchScript warns with; programs name it in filters of warnings."""


class Attribute(Generic[T]):
    """A value with a type for TorchScript."""

    def __init__(self, value: T, type: Any) -> None:
        self.value = value
        self.type = type


def warn_deprecated(name: str, instead: str = "Please switch to `torch.compile` or `torch.export`.") -> None:
    """PyTorch's warning for a function of ``torch.jit``, at the line that called it."""
    warnings.warn(f"`torch.jit.{name}` is deprecated. {instead}", DeprecationWarning, stacklevel=3)


def _refusing(name: str) -> property:
    """A property that says that there is no TorchScript."""

    def refuse(self: Any) -> NoReturn:
        raise refusal(f"torch.jit.{name}", _NO_ARCHIVE)

    refuse.__doc__ = f"Raises NotImplementedError: there is no TorchScript. PyTorch's ``{name.rpartition('.')[2]}``."
    return property(refuse)


class ScriptModule(Module):
    """A module that PyTorch would compile; its methods stay Python.

    What shows or saves TorchScript raises `NotImplementedError`.
    """

    code = _refusing("ScriptModule.code")
    code_with_constants = _refusing("ScriptModule.code_with_constants")
    graph = _refusing("ScriptModule.graph")
    inlined_graph = _refusing("ScriptModule.inlined_graph")
    save = unsupported_function("torch.jit.ScriptModule.save", _NO_ARCHIVE)
    save_to_buffer = unsupported_function("torch.jit.ScriptModule.save_to_buffer", _NO_ARCHIVE)
    define = unsupported_function("torch.jit.ScriptModule.define", _NO_ARCHIVE)
    get_debug_state = unsupported_function("torch.jit.ScriptModule.get_debug_state", _NO_ARCHIVE)

    @property
    def original_name(self) -> str:
        """The name of the class that it was made of."""
        return type(self).__name__

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise RuntimeError(
            f"Tried to serialize object __torch__.{self.original_name} which does not have a __getstate__ method "
            "defined!"
        )

    def __copy__(self) -> Any:
        made = self.__class__.__new__(self.__class__)
        made.__dict__.update(self.__dict__)
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        made = self.__class__.__new__(self.__class__)
        memo[id(self)] = made
        for name, value in self.__dict__.items():
            made.__dict__[name] = copy.deepcopy(value, memo)
        return made


class RecursiveScriptModule(ScriptModule):
    """What `script` makes of a module: one with the same tensors and attributes, which runs the same Python.

    Its class derives from this one and from the class of the module.
    """

    _original_class: type = Module

    @property
    def original_name(self) -> str:
        """The name of the module's class."""
        return self._original_class.__name__

    def _get_name(self) -> str:
        return "RecursiveScriptModule"

    def extra_repr(self) -> str:
        """The name of the module's class."""
        return f"original_name={self.original_name}"


def _scripted(module: Module, memo: dict[Any, Any]) -> Any:
    """The module as a scripted one, its parts too; what is met twice is made once."""
    if isinstance(module, ScriptModule):
        return module
    if id(module) not in memo:
        cls = type(module)
        own = _class_of_kept(cls, memo)
        made: Module = own.__new__(own)  # type: ignore[call-overload]
        memo[id(module)] = made
        made.__dict__.update({name: _kept(value, module, made) for name, value in module.__dict__.items()})
        for name, child in module._modules.items():
            made._modules[name] = child if child is None else _scripted(child, memo)
    return memo[id(module)]


def _class_of_kept(cls: type, memo: dict[Any, Any]) -> type:
    """The scripted class of a class, made once in each call of `script`."""
    if cls not in memo:
        memo[cls] = _class_of(cls)
    made: type = memo[cls]
    return made


def _class_of(cls: type) -> type:
    name = RecursiveScriptModule.__name__
    space = {"_original_class": cls, "__module__": RecursiveScriptModule.__module__, "__doc__": cls.__doc__}
    return type(cls)(name, (RecursiveScriptModule, cls), space)


def _kept(value: Any, module: Module, made: Module) -> Any:
    """An attribute: what modules keep in dictionaries is theirs alone, and their own methods become the new one's."""
    if inspect.ismethod(value) and value.__self__ is module:
        return value.__func__.__get__(made)
    return value.copy() if isinstance(value, dict) else value


class ScriptFunction:
    """What `script` makes of a function: it calls the function.

    Parameters
    ----------
    fn
        The function.
    """

    __name__ = "ScriptFunction"

    #: What was recorded, of a function that was traced.
    traced: Any = None

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.__wrapped__ = fn
        self.name = getattr(fn, "__name__", type(fn).__name__)
        self.qualified_name = f"__torch__.{self.name}"
        self.__doc__ = fn.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if must_ask([*args, *kwargs.values()]):
            return handed_over(self, args, kwargs or None)
        return self.__wrapped__(*args, **kwargs)

    code = _refusing("ScriptFunction.code")
    graph = _refusing("ScriptFunction.graph")
    inlined_graph = _refusing("ScriptFunction.inlined_graph")
    save = unsupported_function("torch.jit.ScriptFunction.save", _NO_ARCHIVE)
    save_to_buffer = unsupported_function("torch.jit.ScriptFunction.save_to_buffer", _NO_ARCHIVE)
    schema = _refusing("ScriptFunction.schema")

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise pickle.PickleError("ScriptFunction cannot be pickled")


def script(
    obj: Any,
    optimize: bool | None = None,
    _frames_up: int = 0,
    _rcb: Any = None,
    example_inputs: Any = None,
) -> Any:
    """What PyTorch would compile to TorchScript, in PyTorch's classes; it runs as the Python that it is.

    A module becomes a `RecursiveScriptModule` with the same parameters, buffers and attributes, a function a
    `ScriptFunction`; classes are returned as they are, lists and dicts as copies. What TorchScript could not compile is
    not refused. With the environment variable ``PYTORCH_JIT=0`` everything is returned as it is, as in PyTorch.

    Parameters
    ----------
    optimize
        Deprecated; it means nothing in PyTorch either.
    example_inputs
        Inputs to find types by, which Python does not need.

    Raises
    ------
    TypeError
        For what is neither a module, a function, a class, a list nor a dict.
    RuntimeError
        For a class of modules.
    """
    warn_deprecated("script")
    if optimize is not None:
        warnings.warn(
            "`optimize` is deprecated and has no effect. Use `with torch.jit.optimized_execution()` instead",
            FutureWarning,
            stacklevel=2,
        )
    return obj if os.environ.get("PYTORCH_JIT", "1") == "0" else as_script(obj)


def as_script(obj: Any) -> Any:
    """As `script`, without its warnings."""
    if isinstance(obj, (ScriptModule, ScriptFunction)):
        return obj
    if isinstance(obj, Module):
        _refuse_uninitialized(obj)
        return _scripted(obj, {})
    if isinstance(obj, type):
        return _scripted_class(obj)
    if isinstance(obj, (dict, list)):
        return obj.copy()
    if inspect.isroutine(obj):
        return ScriptFunction(obj)
    if type(obj).__module__ == "builtins":
        raise TypeError(f"{type(obj)} is a built-in class")
    raise TypeError(
        f"module, class, method, function, traceback, frame, or code object was expected, got {type(obj).__name__}"
    )


def _refuse_uninitialized(module: Module) -> None:
    """Refuse modules that have parameters or buffers without a shape.

    Raises
    ------
    RuntimeError
        In PyTorch's words.
    """
    for part in module.modules():
        for kind, held in (("parameters", part._parameters), ("buffers", part._buffers)):
            for name, value in held.items():
                if value is not None and is_lazy(value):
                    raise RuntimeError(
                        f"'{type(part).__module__}.{type(part).__qualname__}' has uninitialized {kind} {name}. Did you "
                        "forget to run a forward pass?"
                    )


def _scripted_class(cls: type) -> type:
    if issubclass(cls, Module):
        raise RuntimeError(
            f"Type '{cls}' cannot be compiled since it inherits from nn.Module, pass an instance instead"
        )
    if not issubclass(cls, (Enum, tuple)) and len(cls.mro()) > 2:
        raise RuntimeError(
            "TorchScript classes does not support inheritance yet. Please directly inherit from 'object'."
        )
    return cls


def script_method(fn: T) -> T:
    """Mark a method of a `ScriptModule` to be compiled; it stays Python."""
    warn_deprecated("script_method")
    if not inspect.isroutine(fn):
        raise TypeError(
            f"module, class, method, function, traceback, frame, or code object was expected, got {type(fn).__name__}"
        )
    return fn


def interface(obj: T) -> T:
    """Mark a class as an interface for TorchScript.

    Raises
    ------
    RuntimeError
        For what is no class.
    """
    warn_deprecated("interface", "Please use `torch.compile` instead.")
    if not inspect.isclass(obj):
        raise RuntimeError("interface must be applied to a class")
    obj.__torch_script_interface__ = True  # type: ignore[attr-defined]
    return obj
