"""``torch._jit_internal``: marks for TorchScript, which mean nothing here beyond what they note on a function.

Nothing is compiled to TorchScript: what would be runs as the Python that it is. Marks can be read by those who look for
them (``_torchscript_modifier``).
"""

from __future__ import annotations

import builtins
import warnings
from collections.abc import Callable
from typing import Any, Final, TypeVar

__all__ = ["Final", "FunctionModifiers", "export", "ignore", "is_scripting", "unused"]

T = TypeVar("T")


class FunctionModifiers:
    """What marks leave on functions, for whoever compiles them."""

    UNUSED = "unused (ignored and replaced with raising of an exception)"
    IGNORE = "ignore (leave as a call to Python, cannot be torch.jit.save'd)"
    EXPORT = "export (compile this function even if nothing calls it)"
    DEFAULT = "default (compile if called from a exported function / forward)"
    COPY_TO_SCRIPT_WRAPPER = "if this method is not scripted, copy the python method onto the scripted model"
    _DROP = "_drop (function is fully ignored, declaration can be unscriptable)"


def is_scripting() -> bool:
    """Whether this code is being compiled to TorchScript, which no code is."""
    return False


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
        return _marked(drop, FunctionModifiers.IGNORE)
    if not builtins.isinstance(drop, bool):
        raise RuntimeError(f"Argument to @torch.jit.ignore must be a bool or a function but got {drop}")
    on_export = kwargs.get("drop_on_export")
    if drop or on_export:
        _warn_of_dropping("drop_on_export=True" if on_export else "True")
    modifier = FunctionModifiers.UNUSED if drop or on_export else FunctionModifiers.IGNORE
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
        return _marked(fn, FunctionModifiers.UNUSED)
    for part in (fn.fget, fn.fset):
        if part is not None:
            _marked(part, FunctionModifiers.UNUSED)
    return fn


def export(fn: T) -> T:
    """Mark a method to be compiled to TorchScript together with its module."""
    return _marked(fn, FunctionModifiers.EXPORT)


def _drop(fn: T) -> T:
    """Mark a method of which TorchScript is to see nothing."""
    return _marked(fn, FunctionModifiers._DROP)


def _copy_to_script_wrapper(fn: T) -> T:
    """Mark a method that a scripted module is to keep as Python, which it does with all of them."""
    return _marked(fn, FunctionModifiers.COPY_TO_SCRIPT_WRAPPER)


#: Qualified name -> the declarations of one function for different types.
_overloaded_fns: dict[str, list[Callable[..., Any]]] = {}
_overloaded_methods: dict[str, list[Callable[..., Any]]] = {}


def _overload(func: T) -> T:
    """Note a declaration of a function for some types; the definition that follows them is what Python calls."""
    return _declared(_overloaded_fns, func)


def _overload_method(func: T) -> T:
    """As `_overload`, for a method."""
    return _declared(_overloaded_methods, func)


def _declared(known: dict[str, list[Callable[..., Any]]], func: Any) -> Any:
    known.setdefault(f"{func.__module__}.{func.__qualname__}", []).append(func)
    return func


def boolean_dispatch(
    arg_name: str,
    arg_index: int,
    default: bool,
    if_true: Callable[..., Any],
    if_false: Callable[..., Any],
    module_name: str | None,
    func_name: str | None,
) -> Callable[..., Any]:
    """A function that is one of two, by the truth of one of its arguments.

    Parameters
    ----------
    arg_name, arg_index, default
        The argument: its name, its position, and its value where it is not given.
    """

    def chosen(*args: Any, **kwargs: Any) -> Any:
        flag = kwargs.get(arg_name, args[arg_index] if arg_index < len(args) else default)
        return if_true(*args, **kwargs) if flag else if_false(*args, **kwargs)

    for attribute, value in (("__module__", module_name), ("__name__", func_name)):
        if value is not None:
            setattr(chosen, attribute, value)
    chosen.__doc__ = if_true.__doc__ or if_false.__doc__
    return chosen


def _isinstance(obj: Any, target_type: Any) -> bool:
    """``isinstance`` for types with parameters, such as ``list[int]``, of which the parameters are not looked at."""
    targets: tuple[Any, ...] = target_type if builtins.isinstance(target_type, tuple) else (target_type,)
    return any(builtins.isinstance(obj, getattr(target, "__origin__", target)) for target in targets)


class BroadcastingListCls:
    """``BroadcastingList2[float]`` annotates two numbers, or one that stands for both; to Python it is None."""

    def __getitem__(self, types: Any) -> None:
        return None


BroadcastingList1 = BroadcastingListCls()
BroadcastingList2 = BroadcastingList1
BroadcastingList3 = BroadcastingList1
