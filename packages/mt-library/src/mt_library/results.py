"""What a registered kernel returns is what its schema says: everything behind it relies on that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mt_core.schema import Return, Schema
from mt_core.symbolic import SymBool, SymFloat, SymInt
from mt_core.tensor import Tensor

__all__ = ["checked"]

Kernel = Callable[..., Any]


def _int(value: Any) -> Any:
    if isinstance(value, SymInt):
        return value
    if isinstance(value, float) or not (hasattr(value, "__index__") or hasattr(value, "__int__")):
        raise TypeError
    return int(value)


def _float(value: Any) -> Any:
    if isinstance(value, SymFloat):
        return value
    if not hasattr(value, "__float__") and not hasattr(value, "__index__"):
        raise TypeError
    return float(value)


def _bool(value: Any) -> Any:
    if isinstance(value, SymBool):
        return value
    if not hasattr(value, "__bool__"):
        raise TypeError
    return bool(value)


def _instance_of(*classes: type) -> Callable[[Any], Any]:
    def same(value: Any) -> Any:
        if not isinstance(value, classes):
            raise TypeError
        return value

    return same


#: Type in a schema -> what makes a value of it from what a kernel returned, with TypeError where it is none.
_CASTS: dict[str, Callable[[Any], Any]] = {
    "Tensor": _instance_of(Tensor), "int": _int, "SymInt": _int, "float": _float, "bool": _bool,
    "str": _instance_of(str), "Scalar": _instance_of(int, float, complex, bool, SymInt, SymFloat, SymBool),
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
                f"Expected PythonKernelHolder for {name} to return None but it returned something else instead."
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
    cast = _CASTS.get(described.type)
    if cast is None:  # types that any object may stand for
        return value
    if value is None and (described.type == "Tensor" or described.optional):  # a result that is left out
        return value
    try:
        if not described.is_list:
            return cast(value)
        if isinstance(value, (tuple, list)):
            return [cast(item) for item in value]
    except TypeError:
        pass
    raise _uncastable(value, f"List[{described.type}]" if described.is_list else described.type)


def _uncastable(value: Any, name: str) -> RuntimeError:
    if name == "Tensor":
        return RuntimeError(f"Unable to cast {value} to {name}")
    if name == "Scalar":
        return RuntimeError(f"Cannot cast {value!s} to number")
    # PyTorch does not say what was wanted, but for where to find out.
    return RuntimeError(
        f"Unable to cast Python instance of type {type(value)} to C++ type '?' (#define "
        "PYBIND11_DETAILED_ERROR_MESSAGES or compile in debug mode for details)"
    )
