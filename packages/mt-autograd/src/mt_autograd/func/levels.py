"""Levels of reverse and of forward mode: tensors inside have a history or tangents that those outside do not see."""

from __future__ import annotations

from typing import Any

from mt_core.dispatch.registry import Overload
from mt_core.keys import AUTOGRAD, FORWARD_GRAD
from mt_core.pytree import tree_map_only
from mt_core.state import tls
from mt_core.tensor import Tensor
from mt_core.transforms.batched import BatchedArray
from mt_core.transforms.interpreters import Interpreter, within
from mt_core.transforms.wrapped import WrappedArray, is_at, lifted, mapped, unwrapped

from ..tangents import enter_level, exit_level

__all__ = ["GradInterpreter", "JvpInterpreter", "debug_unwrap", "inside", "outside_of"]


class _Recording(Interpreter):
    """A level with wrappers of its own, on which it records what it is to know of a call."""

    def process(self, overload: Overload, args: tuple[Any, ...]) -> Any:
        self._refuse_captured(overload, args)
        arguments = mapped(overload, args, lambda tensor: lifted(tensor, self))
        with within():
            return overload.call(*arguments)

    def _refuse_captured(self, overload: Overload, args: tuple[Any, ...]) -> None:
        """Refuse to write to a tensor that came from outside.

        Raises
        ------
        RuntimeError
            In PyTorch's words.
        """
        if not overload.schema.is_mutable:
            return
        for argument, value in zip(overload.schema.arguments, args, strict=True):
            if argument.writes and isinstance(value, Tensor) and not is_at(value, self):
                raise RuntimeError(
                    "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place "
                    f"operation ({overload.qualified_name}) that would mutate a captured Tensor. This is not "
                    "supported; please rewrite the function being transformed to explicitly accept the mutated "
                    "Tensor(s) as inputs."
                )


class GradInterpreter(_Recording):
    """One level of reverse mode: wrappers have a history."""

    name = "Grad"
    own = AUTOGRAD

    def __init__(self) -> None:
        super().__init__()
        self.grad_enabled = tls.grad_enabled


class JvpInterpreter(_Recording):
    """One level of forward mode: wrappers have tangents.

    Attributes
    ----------
    number : int
        The level of `mt_autograd.tangents` that the tangents belong to, from entering until the end.
    """

    name = "Jvp"
    own = FORWARD_GRAD

    def __enter__(self) -> JvpInterpreter:
        self.number = enter_level()
        super().__enter__()
        return self

    def __exit__(self, *exc_info: object) -> None:
        super().__exit__(*exc_info)
        exit_level(self.number)


def inside(tree: Any, level: Interpreter) -> Any:
    """Containers of tensors, with the tensors wrapped by a level."""
    return tree_map_only(Tensor, lambda tensor: lifted(tensor, level), tree)


def outside_of(tree: Any, level: Interpreter) -> Any:
    """Containers of tensors, without a level's wrappers."""
    return tree_map_only(Tensor, lambda tensor: unwrapped(tensor, level), tree)


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """What a tensor inside of transforms wraps: the innermost tensor, or with ``recurse=False`` the next.

    Results of it must not be used in the function that is being transformed: for looking only.
    """
    array = tensor._array
    while isinstance(array, (WrappedArray, BatchedArray)):
        tensor = array.value
        array = tensor._array
        if not recurse:
            break
    return tensor
