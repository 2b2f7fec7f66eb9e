"""Members of a tensor that are no operators, but lead to one where a handler of ``__torch_dispatch__`` is told of it.

They are called everywhere, so they carry no question. When the first class or mode with a handler turns up in a process
(`mt_core.python_dispatch.arm`), their bodies are exchanged for ones that ask; the function objects stay what they are.
"""

from __future__ import annotations

import copy
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from .autograd_state import no_grad
from .construct import from_data
from .devices import device
from .dispatch.registry import overload
from .interop import from_numpy
from .keys import PYTHON
from .meta_array import HollowArray
from .python_dispatch import dispatches, lifts, without_modes
from .state import effective_keys, tls
from .subclasses import slots_of
from .tensor import Tensor

__all__ = ["exchange", "exchange_members", "is_handled", "plain_detach", "plain_item"]

_detach = overload("detach", "view")
_lift_fresh = overload("lift_fresh", "view")
_number_of = overload("_local_scalar_dense", "creation")


def _copied(function: Any) -> Any:
    """What a member does as long as there are no handlers."""
    copied = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    copied.__kwdefaults__ = function.__kwdefaults__
    return copied


#: What the kernels of ``detach`` and ``_local_scalar_dense`` do.
plain_detach, plain_item = _copied(Tensor.detach), _copied(Tensor.item)


def is_handled(tensor: Any) -> bool:
    """Whether a tensor's own class handles its operators, in this thread."""
    return bool(tensor._keys & effective_keys(tensor._keys | tls.mode) & PYTHON)


def item(self: Any) -> Any:
    if self._array.size != 1:
        raise RuntimeError(f"a Tensor with {self._array.size} elements cannot be converted to Scalar")
    return _number_of.call(self)


def detach(self: Any) -> Any:
    return _detach.call(self)


def truth(self: Any) -> bool:
    size = self._array.size
    if size != 1:
        of = "no values" if size == 0 else "more than one value"
        raise RuntimeError(f"Boolean value of Tensor with {of} is ambiguous")
    return bool(self.item())


def to_list(self: Any) -> Any:
    """Read at once: modes are told of nothing, and a class with a handler has no memory that could be read."""
    if is_handled(self):
        raise RuntimeError(f".tolist() is not supported for tensor subclasses, got {type(self).__name__}")
    with without_modes():
        return self.tolist()


def numpy(self: Any, *, force: bool = False) -> np.ndarray:
    if is_handled(self):
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")
    with without_modes():
        return self.numpy(force=force)  # type: ignore[no-any-return]


def deep_copy(self: Any, memo: dict[int, Any]) -> Any:
    """A leaf without memory is copied by its class, as ``clone`` does it; one with memory needs ``new_empty``.

    Raises
    ------
    RuntimeError
        Where they do not give an instance of the class.
    """
    if not is_handled(self) or not self.is_leaf or id(self) in memo:
        return _with_no_modes(_plain_deepcopy)(self, memo)
    has_memory = not isinstance(self._array, HollowArray)
    with no_grad():
        copied = self.new_empty([]) if has_memory else self.clone()
    if type(copied) is not type(self):
        raise RuntimeError(
            _NOT_COPIED.format(
                *(("non-wrapper", "new_empty", "that function") if has_memory else ("wrapper", "clone", "cloning"))
            )
        )
    if has_memory:
        return _plain_deepcopy(self, memo)
    memo[id(self)] = copied
    if self.requires_grad:
        copied.requires_grad_()
    if self.grad is not None:
        copied.grad = copy.deepcopy(self.grad, memo)
    copied.__dict__.update(copy.deepcopy(self.__dict__, memo))
    for name, value in slots_of(self).items():
        setattr(copied, name, copy.deepcopy(value, memo))
    return copied


_plain_deepcopy = _copied(Tensor.__deepcopy__)
_NOT_COPIED = (
    "The default implementation of __deepcopy__() for {0} subclasses only works for subclass types that implement "
    "{1}() and for which {2} returns another instance of the same subclass. You should either properly "
    "implement {1}() for your subclass or override __deepcopy__() if it is intended behavior for {1}() to return an "
    "instance of a different type."
)


def data(self: Any) -> Any:
    """The same as `detach`, which is what a handler is told of."""
    return _detach.call(self) if is_handled(self) else _with_no_modes(Tensor.data.fget)(self)  # type: ignore[attr-defined]


def _with_no_modes(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        with without_modes():
            return function(*args)

    return call


_plain_from_data: Callable[..., Any] = from_data


def lifted_from_data(data: Any, d: Any, where: Any) -> Any:
    """Modes are told of a tensor of Python data when it is there, on the CPU."""
    with without_modes():
        made = _plain_from_data(data, d, device("cpu"))
    made = _lift_fresh.call(made)
    place = where or tls.default_device
    return made if place is None or place.type == "cpu" else made.to(place)


def exchange_members() -> None:
    """Let the members go through dispatch from now on."""
    members: dict[Any, Callable[..., Any]] = {
        Tensor.item: item, Tensor.detach: detach, Tensor.__bool__: truth, Tensor.tolist: to_list, Tensor.numpy: numpy,
        Tensor.__deepcopy__: deep_copy, Tensor.data.fget: data,  # type: ignore[attr-defined]
    }  # fmt: skip
    for function, handled in members.items():
        _exchange(function, handled, dispatches)
    global _plain_from_data
    _plain_from_data = _copied(from_data)
    _exchange(from_data, lifted_from_data, lambda _: lifts())
    exchange(from_numpy, lambda plain, array: _lift_fresh.call(plain(array)), lambda _: lifts())


def exchange(function: Any, handled: Callable[..., Any], is_handled: Callable[[Any], bool]) -> None:
    """Have a member do something else for some tensors; it is handed what the member does for all others."""
    plain = _copied(function)
    _exchange(function, lambda *args, **kwargs: handled(plain, *args, **kwargs), is_handled)


def _exchange(function: Any, handled: Callable[..., Any], is_handled: Callable[[Any], bool]) -> None:
    body = _copied(function)

    def call(self: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return (handled if is_handled(self) else body)(self, *args, **kwargs)

    code = _asking.__code__
    constants = tuple(call if constant == "stands for what is called" else constant for constant in code.co_consts)
    function.__code__ = code.replace(
        co_consts=constants, co_name=function.__name__, co_freevars=function.__code__.co_freevars
    )
    function.__kwdefaults__ = None


def _asking(self: Any, *args: Any, **kwargs: Any) -> Any:
    call: Any = "stands for what is called"
    return call(self, args, kwargs)
