"""``torch._subclasses.functional_tensor``: functional tensors as a class and a mode of dispatch.

A `FunctionalTensor` holds a tensor that was made functional (``torch._to_functional_tensor``), whose writes become
operators that compute. Its mode stands outside of all modes of a program: what a handler calls comes here, goes on as
operators without writes, and comes out at tracing and at fake tensors, which stand further out.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

from mt_core import Tensor, pytree
from mt_core.block import set_geometry
from mt_core.functionalization.layer import by_hand, to_functional
from mt_core.functionalization.tensors import FunctionalArray
from mt_core.keys import ADINPLACE_OR_VIEW, AUTOCAST, AUTOGRAD, FORWARD_GRAD, FUNCTION_TRANSFORM
from mt_core.overriding import disabled_torch_function
from mt_core.python_dispatch import mode_of_kind, pop_mode_of_kind, push_dispatch_mode
from mt_core.state import excluding
from mt_library.ops import OpOverload
from mt_library.tags import Tag

from .._functionalization import (
    _freeze_functional_tensor,
    _from_functional_tensor,
    _functionalize_commit_update,
    _functionalize_replace,
    _is_functional_tensor,
    _is_functional_tensor_base,
    _sync,
)
from ..utils._python_dispatch import TorchDispatchMode, _TorchDispatchModeKey, return_and_correct_aliasing

__all__ = [
    "BaseFunctionalizeAPI", "CppFunctionalizeAPI", "FunctionalTensor", "FunctionalTensorMode", "PythonFunctionalizeAPI",
    "disable_functional_mode", "dispatch_functionalize", "mb_unwrap_functional_tensor",
]  # fmt: skip

_KIND = _TorchDispatchModeKey.FUNCTIONAL
_ABOVE = ADINPLACE_OR_VIEW | AUTOCAST | AUTOGRAD | FORWARD_GRAD | FUNCTION_TRANSFORM
#: Views whose values do not show that they are: nothing is written to them for the base's sake.
_KEPT = ("aten::_to_copy", "aten::_unsafe_view")


class FunctionalTensor(Tensor):
    """A tensor that stands for a functional one, `elem`; it works inside of a `FunctionalTensorMode`."""

    elem: Tensor
    #: Whether a mode made it that is for inference; PyTorch's bookkeeping.
    _mode_key = _KIND

    def __new__(cls, elem: Tensor, mode: FunctionalTensorMode | None = None) -> FunctionalTensor:
        if not _is_functional_tensor(elem):
            raise AssertionError("elem must be a functional tensor")
        made: FunctionalTensor = Tensor._make_wrapper_subclass(
            cls, elem.shape, elem.stride(), elem.storage_offset(), dtype=elem.dtype, device=elem.device,
            layout=elem.layout, requires_grad=elem.requires_grad,
        )  # fmt: skip
        made.elem = elem
        return made

    __torch_function__ = disabled_torch_function  # type: ignore[assignment]

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Refuse: the mode carries operators out.

        Raises
        ------
        RuntimeError
            Always, in PyTorch's words; NotImplemented is returned for tensors of other classes, which are asked then.
        """
        if any(t not in (Tensor, FunctionalTensor) and hasattr(t, "__torch_dispatch__") for t in types):
            return NotImplemented
        raise RuntimeError(
            "Attempting to use FunctionalTensor on its own. Instead, please use it with a corresponding "
            "FunctionalTensorMode()"
        )

    def __repr__(self, *, tensor_contents: str | None = None) -> str:  # type: ignore[override]
        return f"FunctionalTensor({self.elem!r})"

    @staticmethod
    def to_functional(x: Tensor) -> FunctionalTensor:
        """A tensor that stands for `x`, in the mode of this thread.

        Raises
        ------
        AssertionError
            Outside of a mode, or for what is functional already.
        """
        if _is_functional_tensor(x) or isinstance(x, FunctionalTensor):
            raise AssertionError("x must not be a functional tensor already")
        mode = mode_of_kind(_KIND)
        if mode is None:
            raise AssertionError("FunctionalTensorMode must be active to use FunctionalTensor.to_functional")
        with _outside(), excluding(_ABOVE):
            return FunctionalTensor(to_functional(x), mode)

    def from_functional(self) -> Tensor:
        """What it stands for, with everything that was written."""
        _sync_of(self)
        return _from_functional_tensor(self.elem)

    def is_base_tensor(self) -> bool:
        """Whether it is nobody's view."""
        return _is_functional_tensor_base(self.elem)

    def replace_(self, output: Tensor) -> None:
        """Stand for another value; `commit_update` lets its base know."""
        _functionalize_replace(self.elem, output)

    def commit_update(self) -> None:
        """Write the value to what it is a view of."""
        _functionalize_commit_update(self.elem)

    def sync(self) -> None:
        """Take in what was written to its base."""
        _sync_of(self)

    def freeze(self) -> None:
        """Refuse from now on to write to it and to what shares its memory."""
        _freeze_functional_tensor(self.elem)

    def tolist(self) -> Any:
        """The elements as Python numbers, in lists."""
        if self.dim() == 0:
            return self.item()
        return [one.tolist() for one in self]


def _sync_of(tensor: FunctionalTensor) -> None:
    with _outside(), excluding(_ABOVE):
        _sync(tensor.elem)


@contextlib.contextmanager
def _outside() -> Iterator[None]:
    """Without the mode: what is called goes on further out."""
    with disable_functional_mode():
        yield


class FunctionalTensorMode(TorchDispatchMode):
    """Inside of it, operators on `FunctionalTensor` compute and write nothing, and new tensors are such."""

    _mode_key = _KIND

    def __init__(
        self, pre_dispatch: bool = False, export: bool = False, _allow_token_discovery: bool = False,
        _storage_to_base: Any = None,
    ) -> None:  # fmt: skip
        if pre_dispatch or _allow_token_discovery or _storage_to_base is not None:
            raise NotImplementedError(
                "FunctionalTensorMode(pre_dispatch, _allow_token_discovery, _storage_to_base) are not supported"
            )
        super().__init__()
        self.export = export
        self.is_on_stack = False
        self._entered: list[Any] = []

    @classmethod
    def is_infra_mode(cls) -> bool:
        return True

    def __enter__(self) -> FunctionalTensorMode:
        """Enter it; the mode that is on stays, where there is one."""
        present = mode_of_kind(_KIND)
        self._entered.append(present)
        if present is not self:
            if present is not None:
                pop_mode_of_kind(_KIND)
            push_dispatch_mode(self)
        return self

    def __exit__(self, *exc_info: object) -> None:
        present = self._entered.pop()
        if present is not self:
            pop_mode_of_kind(_KIND)
            if present is not None:
                push_dispatch_mode(present)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if any(t is not Tensor and not issubclass(t, FunctionalTensor) and _is_foreign(t) for t in types):
            return NotImplemented
        given = pytree.tree_leaves((args, kwargs))
        tensors = [leaf for leaf in given if isinstance(leaf, Tensor)]
        if tensors and not any(isinstance(leaf, FunctionalTensor) for leaf in tensors):
            return func(*args, **kwargs)
        inner_args, inner_kwargs = pytree.tree_map_only(FunctionalTensor, lambda t: t.elem, (args, kwargs))
        with by_hand():
            results = func(*inner_args, **inner_kwargs)
        if isinstance(func, OpOverload) and Tag.inplace_view in func.tags:
            _lay_out(args[0])
        wrapped = pytree.tree_map_only(Tensor, self._wrapped, results)
        if not isinstance(func, OpOverload) or func.name() in _KEPT:
            return wrapped
        return return_and_correct_aliasing(func, args, kwargs, wrapped)

    def _wrapped(self, value: Tensor) -> Tensor:
        return FunctionalTensor(value, self) if _is_functional_tensor(value) else value


def _is_foreign(cls: type) -> bool:
    """Whether a class has a handler of its own, which is asked before the mode takes its tensors for plain ones."""
    # Fake tensors stand for plain ones further out.
    return cls.__name__ not in ("FakeTensor", "Parameter", "Buffer")


def _lay_out(tensor: FunctionalTensor) -> None:
    """Let the wrapper have the geometry that its functional tensor was given in place."""
    elem = tensor.elem
    set_geometry(tensor, tuple(elem.shape), elem.stride(), elem.storage_offset())


@contextlib.contextmanager
def disable_functional_mode() -> Iterator[None]:
    """Inside of it, the `FunctionalTensorMode` of this thread is off."""
    present = mode_of_kind(_KIND)
    if present is not None:
        pop_mode_of_kind(_KIND)
    try:
        yield
    finally:
        if present is not None:
            push_dispatch_mode(present)


def mb_unwrap_functional_tensor(tensor: Any) -> Any:
    """What a `FunctionalTensor` stands for; any other tensor as it is."""
    return tensor.from_functional() if isinstance(tensor, FunctionalTensor) else tensor


def dispatch_functionalize(func: Callable[..., Any], mode: FunctionalTensorMode | None = None) -> Callable[..., Any]:
    """A function that does the same by operators without writes; what it writes to arguments is not written to them."""
    mode = FunctionalTensorMode() if mode is None else mode

    def to_fun(value: Any) -> Any:
        return FunctionalTensor.to_functional(value) if isinstance(value, Tensor) else value

    def inner(*args: Any, **kwargs: Any) -> Any:
        with mode:
            inside_args, inside_kwargs = pytree.tree_map_only(Tensor, to_fun, (args, kwargs))
            result = func(*inside_args, **inside_kwargs)
            return pytree.tree_map_only(FunctionalTensor, mb_unwrap_functional_tensor, result)

    return inner


# How operators on functions are functionalized


class BaseFunctionalizeAPI(ABC):
    """What a kernel that functionalizes an operator on functions needs: how to reach values, and what is below."""

    @abstractmethod
    def wrap_tensors(self, args: Any) -> Any: ...

    @abstractmethod
    def unwrap_tensors(self, args: Any) -> Any: ...

    @abstractmethod
    def functionalize(self, inner_f: Callable[..., Any]) -> Callable[..., Any]: ...

    @abstractmethod
    def redispatch_to_next(self) -> contextlib.AbstractContextManager[Any]: ...

    @abstractmethod
    def replace(self, input_tensor: Any, output_tensor: Any) -> None: ...

    @abstractmethod
    def commit_update(self, tensor: Any) -> None: ...

    @abstractmethod
    def sync(self, tensor: Any) -> None: ...


class PythonFunctionalizeAPI(BaseFunctionalizeAPI):
    """Of `FunctionalTensorMode`."""

    def __init__(self, mode: FunctionalTensorMode | None = None, pre_dispatch: bool = False) -> None:
        if pre_dispatch:
            raise NotImplementedError("PythonFunctionalizeAPI(pre_dispatch=True) is not supported")
        self.mode = mode if mode is not None else FunctionalTensorMode()

    def wrap_tensors(self, args: Any) -> Any:
        with self.mode:
            return pytree.tree_map_only(Tensor, FunctionalTensor.to_functional, args)

    def unwrap_tensors(self, args: Any) -> Any:
        return pytree.tree_map_only(FunctionalTensor, FunctionalTensor.from_functional, args)

    def functionalize(self, inner_f: Callable[..., Any]) -> Callable[..., Any]:
        return dispatch_functionalize(inner_f, self.mode)

    def redispatch_to_next(self) -> contextlib.AbstractContextManager[Any]:
        return disable_functional_mode()

    def replace(self, input_tensor: Any, output_tensor: Any) -> None:
        if not isinstance(input_tensor, FunctionalTensor):
            raise AssertionError(f"expected a FunctionalTensor, got {type(input_tensor)}")
        input_tensor.replace_(output_tensor)

    def commit_update(self, tensor: Any) -> None:
        tensor.commit_update()

    def sync(self, tensor: Any) -> None:
        tensor.sync()


class CppFunctionalizeAPI(BaseFunctionalizeAPI):
    """Of tensors that were made functional by hand, and of the key ``Functionalize``."""

    def wrap_tensors(self, args: Any) -> Any:
        return pytree.tree_map_only(Tensor, to_functional, args)

    def unwrap_tensors(self, args: Any) -> Any:
        def value_of(tensor: Tensor) -> Tensor:
            return tensor._array.value if isinstance(tensor._array, FunctionalArray) else tensor

        return pytree.tree_map_only(Tensor, value_of, args)

    def functionalize(self, inner_f: Callable[..., Any]) -> Callable[..., Any]:
        def inner(*args: Any, **kwargs: Any) -> Any:
            inside_args, inside_kwargs = self.wrap_tensors((args, kwargs))
            with by_hand():
                return self.unwrap_tensors(inner_f(*inside_args, **inside_kwargs))

        return inner

    def redispatch_to_next(self) -> contextlib.AbstractContextManager[Any]:
        return excluding(_ABOVE)

    def replace(self, input_tensor: Any, output_tensor: Any) -> None:
        _functionalize_replace(input_tensor, output_tensor)

    def commit_update(self, tensor: Any) -> None:
        _functionalize_commit_update(tensor)

    def sync(self, tensor: Any) -> None:
        _sync(tensor)
