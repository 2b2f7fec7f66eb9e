"""A backend that tells when the core reads what the contract does not list.

It is the CPU backend behind two proxies: its arrays, and the backend object itself, have the attributes that
`mt_core.plugins.protocols` names. Whatever else is asked of them is noted, and refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..devices import backend_key
from ..dispatch.lookup import backend_for
from ..keys import CPU
from ..plugins.contract import members
from ..plugins.protocols import CONTRACT, Backend, BackendArray
from .borrowed_kernels import borrow_kernels

__all__ = ["OPTIONAL", "StrictArray", "StrictBackend", "asked_for", "forget_asked", "names_of_contract"]

#: What a backend may have besides; this one has none of it.
OPTIONAL = (
    "native", "weak_numbers", "numpy_errors", "number", "is_contiguous", "view", "fill", "fills_by_copying", "zeros",
    "count_nonzero", "memory_of", "executors", "runtime", "dlpack_type", "to_dlpack", "from_dlpack",
)  # fmt: skip

#: What was asked of arrays and backends, and is not in the contract.
_asked: set[str] = set()


def asked_for() -> list[str]:
    """What was asked for since `forget_asked` that the contract does not list."""
    return sorted(_asked)


def forget_asked() -> None:
    """Begin to note afresh."""
    _asked.clear()


class StrictArray:
    """A NumPy array of which only the contract's attributes can be seen."""

    __slots__ = ("_hidden",)

    def __init__(self, hidden: np.ndarray) -> None:
        self._hidden = hidden

    shape = property(lambda self: self._hidden.shape)
    strides = property(lambda self: self._hidden.strides)
    dtype = property(lambda self: self._hidden.dtype)
    itemsize = property(lambda self: self._hidden.itemsize)
    ndim = property(lambda self: self._hidden.ndim)
    size = property(lambda self: self._hidden.size)

    def __getattr__(self, name: str) -> Any:
        _asked.add(f"array.{name}")
        raise AttributeError(f"the contract lists no attribute {name} of a backend's array")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        _asked.add("array.__array__")
        raise TypeError("the contract makes no NumPy array of a backend's array but by to_host")

    def __len__(self) -> int:
        _asked.add("array.__len__")
        raise TypeError("the contract lists no length of a backend's array")


def reveal(array: Any) -> Any:
    return array._hidden if isinstance(array, StrictArray) else array


def hide(elements: Any) -> StrictArray:
    """The array of what a kernel returned, which may be a scalar of NumPy's."""
    return StrictArray(np.asarray(elements))


#: Methods that take arrays and give arrays.
_OF_ARRAYS = frozenset(("empty", "as_array", "cast", "contiguous", "owner", "as_strided"))


class StrictBackend:
    """Follows `mt_core.plugins.protocols.Backend` to the letter."""

    def __init__(self, device_type: str = "strict") -> None:
        vars(self).update(contract=CONTRACT, device_type=device_type, array_type=StrictArray)

    def device_count(self) -> int:
        return 1

    def __getattr__(self, name: str) -> Any:
        if name in members(Backend):
            return self._answer(name)
        if name not in OPTIONAL:
            _asked.add(f"backend.{name}")
        raise AttributeError(f"the contract lists no attribute {name} of a backend")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"the contract gives a backend no attribute {name}")

    def _answer(self, name: str) -> Callable[..., Any]:
        """The CPU backend's method, on what the arrays hide."""
        method = getattr(backend_for(CPU), name)
        finish = StrictArray if name in _OF_ARRAYS else _unchanged

        def call(*args: Any) -> Any:
            return finish(method(*[reveal(a) for a in args]))

        return call

    def from_host(self, array: np.ndarray, dtype: Any, index: int | None) -> StrictArray:
        return StrictArray(array.copy())

    def to_host(self, array: StrictArray) -> np.ndarray:
        return array._hidden.copy()

    def index_of(self, array: StrictArray) -> int:
        return 0

    def load(self, family: str) -> None:
        borrow_kernels(backend_key(self.device_type), family, reveal, hide, views=True)


def _unchanged(value: Any) -> Any:
    return value


def names_of_contract() -> tuple[list[str], list[str]]:
    """The attributes that the contract lists: of arrays, and of backends."""
    return members(BackendArray), [*members(Backend), *OPTIONAL]
