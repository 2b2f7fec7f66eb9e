"""What a registered kernel returns is what its schema says: everything behind it relies on that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mt_core.schema import Return, Schema
from mt_core.symbolic import SymBool, SymFloat, SymInt
from mt_core.tensor import Tensor

__all__ = ["checked"]

Kernel = Callable[..., Any]

#: Type in a schema -> the classes of its values.
_CLASSES: dict[str, tuple[type, ...]] = {
    "Tensor": (Tensor,), "int": (int, SymInt), "SymInt": (int, SymInt), "float": (float, int, SymFloat),
    "bool": (bool, SymBool), "str": (str,),
}  # fmt: skip


def checked(kernel: Kernel, schema: Schema) -> Kernel:
    """A kernel that hands over what its schema says.

    Where PyTorch would read beyond a tuple that is too short, this raises a RuntimeError as well.

    Raises
    ------
    RuntimeError
        From the kernel, when it returns something else: a number for a tensor, too few or too many results.
    TypeError
        When it returns no sequence for several results.
    """
    name, returns = schema.full_name, schema.returns
    if len(returns) == 1 and returns[0].type == "Tensor" and not returns[0].is_list:
        return _of_one_tensor(kernel)

    def run(*args: Any, **kwargs: Any) -> Any:
        return _handed_over(kernel(*args, **kwargs), returns, name)

    return run


def _of_one_tensor(kernel: Kernel) -> Kernel:
    def run(*args: Any, **kwargs: Any) -> Any:
        result = kernel(*args, **kwargs)
        if result is not None and not isinstance(result, Tensor):
            raise _uncastable(result, "Tensor")
        return result

    return run


def _handed_over(value: Any, returns: list[Return], name: str) -> Any:
    if not returns:
        if value is not None:
            raise RuntimeError(
                f"{name} returns nothing by its schema, but its kernel returned a {type(value).__name__}"
            )
        return None
    if len(returns) == 1:
        return _one(value, returns[0])
    if not isinstance(value, (tuple, list)):
        raise TypeError(f"Object of type '{type(value).__name__}' is not an instance of 'sequence'")
    if len(value) != len(returns):
        raise RuntimeError(f"{name} has {len(returns)} results by its schema, but its kernel returned {len(value)}")
    return tuple(_one(item, described) for item, described in zip(value, returns, strict=True))


def _one(value: Any, described: Return) -> Any:
    classes = _CLASSES.get(described.type)
    if value is None or classes is None:  # an optional result that is left out; types that any object may stand for
        return value
    if not described.is_list:
        return value if isinstance(value, classes) else _refuse(value, described.type)
    if not isinstance(value, (tuple, list)):
        return _refuse(value, f"List[{described.type}]")
    return [item if isinstance(item, classes) else _refuse(item, described.type) for item in value]


def _refuse(value: Any, name: str) -> Any:
    raise _uncastable(value, name)


def _uncastable(value: Any, name: str) -> RuntimeError:
    return RuntimeError(f"Unable to cast {value} to {name}")
