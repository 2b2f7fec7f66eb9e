"""How graphs name functions and types: ``torch.nn.functional.relu``, ``operator.add``, ``typing.List[int]``."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from mt_core import Tensor

__all__ = ["is_from_torch", "pretty_target", "qualified_name", "snake_case", "type_repr", "typename"]

#: Top-level modules whose functions are ``torch``'s, whether or not they say so (`_naming` lets them say so).
_HOUSE = frozenset("mindtorch mt_core mt_autograd mt_nn mt_library".split())
#: Where PyTorch has a function that says that it is the class's or the bindings'.
_CLASSES = {"TensorBase": "torch.Tensor", "Tensor": "torch.Tensor"}


def is_from_torch(obj: Any) -> bool:
    """Whether generated code can reach an object by its dotted name under ``torch``."""
    module = getattr(obj, "__module__", None)
    if module is not None:
        root = module.partition(".")[0]
        return root == "torch" and not module.startswith("torch._dynamo.") or root in _HOUSE
    return False


def qualified_name(func: Callable[..., Any]) -> str:
    """The dotted name under which PyTorch's generated code calls a function.

    Raises
    ------
    RuntimeError
        For functions that can be reached under no name.
    """
    name = getattr(func, "__name__", None)
    module = getattr(func, "__module__", None)
    if name is not None and module == "builtins":
        return name
    owner = getattr(func, "__qualname__", "") or ""
    if module in ("torch._C", "torch._tensor") and owner.rpartition(".")[0] in _CLASSES:
        return f"torch.Tensor.{name}"
    if module is not None and module.startswith("torch._ops"):
        return f"{module.replace('torch._ops', 'torch.ops')}.{name}"
    if module is not None and module.partition(".")[0] in _HOUSE:
        return _public_name(func)
    if name == "<lambda>":
        name = _name_in_module(func)
    if module is None:
        module = _module_of(func)
    return f"{module}.{name}"


def _name_in_module(func: Callable[..., Any]) -> str:
    """What a module calls a function that has no name of its own; where it does not, a name for all of them."""
    space = vars(sys.modules.get(func.__module__, types.ModuleType("")))
    return next((name for name, value in list(space.items()) if value is func), "_lambda_")


def _module_of(func: Callable[..., Any]) -> str:
    name = getattr(func, "__name__", "")
    for module in list(sys.modules.values()):
        if getattr(module, "__dict__", {}).get(name) is func:
            return module.__name__
    raise RuntimeError(f"cannot find module for {func}")


def _public_name(func: Callable[..., Any]) -> str:
    """The name of a function of ours that keeps our modules' names (PyTorch is installed beside)."""
    known = _public_names().get(id(func))
    if known is not None:
        return known
    module, name = func.__module__, getattr(func, "__qualname__", repr(func))
    return f"torch{module.removeprefix('mindtorch')}.{name}" if module.startswith("mindtorch") else f"{module}.{name}"


@functools.cache
def _public_names() -> dict[int, str]:
    import mindtorch as torch  # lazy: it must be complete

    spaces = {"torch": torch, "torch.nn.functional": torch.nn.functional, "torch.Tensor": Tensor}
    spaces |= {f"torch._C.{name}": getattr(torch._C, name) for name in ("_nn", "_special", "_linalg", "_fft")}
    return {id(value): f"{space}.{name}" for space, home in reversed(spaces.items())
            for name, value in vars(home).items() if callable(value)}  # fmt: skip


def pretty_target(target: Any) -> str:
    """How a printed graph names the target of a ``call_function`` node."""
    if isinstance(target, str):
        return target
    if getattr(target, "__module__", None) is None:
        return qualified_name(target) if hasattr(target, "__name__") else repr(target)
    module = target.__module__
    if module == "builtins":
        return f"builtins.{target.__name__}"
    if module == "_operator":
        return f"operator.{target.__name__}"
    return qualified_name(target) if hasattr(target, "__name__") else repr(target)


def type_repr(obj: Any) -> str:
    """A type as generated code and printed graphs write it."""
    if isinstance(obj, type) and not isinstance(obj, types.GenericAlias):
        if obj.__module__ == "builtins":
            return obj.__qualname__
        return f"{_torch_module(obj)}.{obj.__qualname__}"
    if obj is ...:
        return "..."
    if isinstance(obj, types.FunctionType):
        return obj.__name__
    return repr(obj)


def _torch_module(cls: type) -> str:
    if cls is Tensor:
        return "torch"
    return cls.__module__


def typename(obj: Any) -> str:
    """The type of an object as error texts give it: ``torch.typename``."""
    from .._predicates import typename as of  # lazy: the package's own functions load when asked for

    return of(obj)


def snake_case(name: str) -> str:
    """``BasicBlock`` -> ``basic_block``; capitals that stand together stay one word."""
    return "".join(_lowered(name)).lower()


def _lowered(name: str) -> Iterator[str]:
    for before, char in zip([None, *name], name, strict=False):
        if char.isupper() and before is not None and before.islower():
            yield "_"
        yield char
