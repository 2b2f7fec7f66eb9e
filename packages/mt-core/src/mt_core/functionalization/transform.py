"""``torch.func.functionalize``: a function without writes that does what one with writes does."""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from .. import python_dispatch
from ..dispatch.registry import Overload
from ..keys import OF_TRANSFORM, TORCH_FUNCTION
from ..pytree import tree_flatten, tree_map_only, tree_unflatten
from ..state import excluding
from ..tensor import Tensor
from ..transforms.interpreters import Interpreter, below, depth_of
from ..transforms.wrapped import alive, mapped
from .calls import carried_out, parts_above, resized
from .tensors import FunctionalArray, functional, is_functional

__all__ = ["FunctionalizeInterpreter", "functionalize"]


class FunctionalizeInterpreter(Interpreter):
    """One level of ``functionalize``.

    Attributes
    ----------
    reapplies_views : bool
        Whether views stay views, and are not replaced by copies.
    """

    name = "Functionalize"
    wrapper_keys = OF_TRANSFORM
    clones_for_libraries = False

    def __init__(self, reapplies_views: bool) -> None:
        super().__init__()
        self.reapplies_views = reapplies_views

    def __enter__(self) -> FunctionalizeInterpreter:
        python_dispatch.arm()
        super().__enter__()
        return self

    def below(self) -> AbstractContextManager[Any]:
        return below(self)

    def again(self) -> AbstractContextManager[Any]:
        return nullcontext()

    def process(self, overload: Overload, args: tuple[Any, ...]) -> Any:
        parts = parts_above(overload)
        if parts is not None:
            return parts(*args)
        return carried_out(overload, tuple(mapped(overload, args, alive)), self)

    def resized(self, tensor: Tensor, shape: tuple[int, ...], strides: tuple[int, ...]) -> Tensor:
        return resized(tensor, shape, strides, self)

    def text(self, array: FunctionalArray) -> str:
        return f"FunctionalTensor(lvl={depth_of(self)}, value=\\\n{textwrap.indent(repr(array.value), '')})"


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """A function that does the same without writing to memory; what it was to write to its inputs is copied at its end.

    Parameters
    ----------
    func
        Works on tensors among its arguments, which may be containers of them, and on what it makes itself.
    remove
        ``"mutations"``: operators that write, in place or to ``out=``, are replaced by those that compute.
        ``"mutations_and_views"``: views are replaced by copies of what they show, too.

    Raises
    ------
    RuntimeError
        For another word.
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are:\n"
            "     remove='mutations': all inplace and out= operators will be removed from the program, and replaced "
            "with their out-of-place equivalents.\n"
            "     remove='mutations_and_views': In addition to the above, all aliasing operators {view} will be "
            "replaced with their non-aliasing counterparts, {view}_copy.\n"
        )

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = tree_flatten((args, kwargs))
        with FunctionalizeInterpreter(remove == "mutations") as level:
            inside = [functional(alive(leaf), level) if isinstance(leaf, Tensor) else leaf for leaf in leaves]
            inner_args, inner_kwargs = tree_unflatten(inside, structure)
            result = func(*inner_args, **inner_kwargs)
            found = tree_map_only(Tensor, lambda tensor: _value_of(tensor, level), result)
            with level.below(), excluding(TORCH_FUNCTION):
                for given, made in zip(leaves, inside, strict=True):
                    if isinstance(given, Tensor):
                        _write_through(alive(given), made._array)
        return found

    return wrapper


def _value_of(tensor: Tensor, level: FunctionalizeInterpreter) -> Tensor:
    tensor = alive(tensor)
    return tensor._array.value if is_functional(tensor, level) else tensor


def _write_through(given: Any, array: FunctionalArray) -> None:
    """Do to an argument of the function what was done to the functional tensor that stood for it."""
    storage = array.storage
    if storage.generation or array.has_other_layout and not array.steps:
        if given.shape != storage.base.shape:
            given.resize_(storage.base.shape)
        given.copy_(storage.base)
    if array.has_other_layout and array.steps:
        shape, strides, offset = array.steps[-1].spot
        given.as_strided_(shape, strides, given.storage_offset() + offset)
