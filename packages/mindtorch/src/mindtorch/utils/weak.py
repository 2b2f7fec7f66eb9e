"""``torch.utils.weak``: references and dictionaries that hold objects weakly and tell them apart by identity.

A tensor cannot be the key of an ordinary dictionary of weak references: ``==`` compares its elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from copy import deepcopy
from typing import Any
from weakref import ref

from mt_core.tensor import Tensor

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]


class _KeptHash(ref[Any]):
    """A weak reference with a hash that outlives its object; once that is gone, it equals nothing but itself."""

    __slots__ = ("_id",)
    _id: int

    def __new__(cls, key: Any, callback: Callable[[Any], Any] | None = None) -> _KeptHash:
        return super().__new__(cls, key, callback)

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        own = self()
        return own is not None and isinstance(other, ref) and self._are_alike(own, other())

    def __ne__(self, other: object) -> bool:
        return not self == other  # that of the base class compares the objects

    @staticmethod
    def _are_alike(own: Any, other: Any) -> bool:
        raise NotImplementedError


class WeakIdRef(_KeptHash):
    """A weak reference that is equal to another one of the same object, and hashed by its identity."""

    __slots__ = ()

    def __init__(self, key: Any, callback: Callable[[Any], Any] | None = None) -> None:
        self._id = id(key)

    @staticmethod
    def _are_alike(own: Any, other: Any) -> bool:
        return own is other


class _WeakHashRef(_KeptHash):
    """A weak reference with the hash of its object, equal to those of objects that are equal to it."""

    __slots__ = ()

    def __init__(self, key: Any, callback: Callable[[Any], Any] | None = None) -> None:
        self._id = hash(key)

    @staticmethod
    def _are_alike(own: Any, other: Any) -> bool:
        return bool(own == other)


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A dictionary that holds its keys weakly and tells them apart by identity; what goes takes its value along.

    Parameters
    ----------
    dict
        What to begin with.
    ref_type
        The class of references to keys.
    """

    def __init__(self, dict: Mapping[Any, Any] | None = None, ref_type: Callable[..., Any] = WeakIdRef) -> None:
        self.ref_type = ref_type
        self.data: MutableMapping[Any, Any] = {}
        own = ref(self)

        def forget(reference: Any) -> None:
            dictionary = own()
            if dictionary is not None:
                # One step of a built-in dictionary, which other threads and iterators over a copy never see half done.
                dictionary.data.pop(reference, None)

        self._forget = forget
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self.ref_type(key, self._forget)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: object) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:  # not to be referred to weakly, so it is no key
            return False

    def __len__(self) -> int:
        return len(self.keyrefs())

    def __iter__(self) -> Iterator[Any]:
        for reference in self.keyrefs():
            key = reference()
            if key is not None:
                yield key

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"

    def keyrefs(self) -> list[Any]:
        """References to the keys; the objects may be gone by the time they are asked for."""
        return list(self.data)

    def popitem(self) -> tuple[Any, Any]:
        """Remove a pair and return it; KeyError without any."""
        while True:
            reference, value = self.data.popitem()
            key = reference()
            if key is not None:
                return key, value

    def copy(self) -> WeakIdKeyDictionary:
        """A dictionary of the same keys and values."""
        return type(self)(self, ref_type=self.ref_type)

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> WeakIdKeyDictionary:
        """The same keys, and copies of the values."""
        made = type(self)(ref_type=self.ref_type)
        for key, value in self.items():
            made[key] = deepcopy(value, memo)
        return made

    def __or__(self, other: Any) -> Any:
        if not isinstance(other, Mapping):
            return NotImplemented
        made = self.copy()
        made.update(other)
        return made

    def __ror__(self, other: Any) -> Any:
        if not isinstance(other, Mapping):
            return NotImplemented
        made = type(self)(other, ref_type=self.ref_type)
        made.update(self)
        return made

    def __ior__(self, other: Any) -> WeakIdKeyDictionary:  # type: ignore[misc]
        self.update(other)
        return self

    def __eq__(self, other: object) -> bool:
        """Whether another mapping has values that are equal under keys that are the same objects."""
        if not isinstance(other, Mapping):
            return NotImplemented
        return {id(k): v for k, v in self.items()} == {id(k): v for k, v in other.items()}

    __hash__ = None  # type: ignore[assignment]


#: Tensors are objects like others here; the name is PyTorch's.
WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor: called, it gives the tensor, or None once that is gone.

    Raises
    ------
    AssertionError
        Of what is no tensor.
    """

    def __init__(self, tensor: Tensor) -> None:
        assert isinstance(tensor, Tensor), f"expected a tensor, but got {type(tensor).__name__}"
        self.ref = ref(tensor)

    def __call__(self) -> Tensor | None:
        return self.ref()
