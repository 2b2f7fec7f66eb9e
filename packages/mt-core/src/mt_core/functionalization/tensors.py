"""Functional tensors: a layout, and a value that is replaced wherever an ordinary tensor would be written to."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol

from ..cell import cell_of
from ..dispatch.registry import find_overload
from ..dtypes import dtype
from ..hollow import HollowArray, hollow_tensor
from ..keys import INFERENCE, META, STRIDED, TORCH_FUNCTION
from ..meta_array import MetaArray
from ..spec import is_contiguous
from ..state import excluding
from ..tensor import Tensor, new_tensor
from .steps import Step, put_back, replayed

__all__ = ["FunctionalArray", "FunctionalStorage", "Scope", "functional", "is_functional", "relaid", "shape_of"]


class Scope(Protocol):
    """Whose functional tensors they are: a level of ``functionalize``, or the layer of the key.

    Attributes
    ----------
    wrapper_keys : int
        The key bits that its tensors carry.
    reapplies_views : bool
        Whether views of values are views, and no copies.
    clones_for_libraries : bool
        Whether operators of libraries that write do so to clones; they are refused otherwise.
    """

    wrapper_keys: int

    @property
    def reapplies_views(self) -> bool: ...

    @property
    def clones_for_libraries(self) -> bool: ...

    def below(self) -> AbstractContextManager[Any]:
        """What is called in it is called on values."""

    def again(self) -> AbstractContextManager[Any]:
        """What is called in it comes by again."""

    def resized(self, tensor: Tensor, shape: tuple[int, ...], strides: tuple[int, ...]) -> Tensor:
        """``resize_`` of one of its tensors."""

    def text(self, array: FunctionalArray) -> str:
        """What is printed of one of its tensors."""


class FunctionalStorage:
    """What a base and its views share: the base's value, always in the layout that the base was made with.

    Attributes
    ----------
    generation : int
        How often something was written.
    is_frozen : bool
        Whether writing is refused.
    """

    __slots__ = ("base", "shape", "strides", "offset", "dtype", "generation", "is_frozen", "is_viewed")

    def __init__(self, base: Tensor) -> None:
        self.generation = 0
        self.is_frozen = self.is_viewed = False
        self.adopt(base)

    def adopt(self, base: Tensor) -> None:
        """Stand for another base, with its layout."""
        self.base = base
        self.shape, self.strides, self.offset = tuple(base.shape), base.stride(), base.storage_offset()
        self.dtype = base._dtype

    def write(self, steps: tuple[Step, ...], value: Tensor) -> None:
        """Let what the steps lead to be `value`.

        Raises
        ------
        RuntimeError
            In PyTorch's words, where the storage is frozen.
        """
        if self.is_frozen:
            raise RuntimeError("cannot mutate tensors with frozen storage")
        self.base = relaid(put_back(self.base, steps, value), self.strides)
        self.generation += 1

    def meta(self) -> Tensor:
        """The base without data."""
        return _laid_out(self.shape, self.strides, self.offset, self.dtype)


def _laid_out(
    shape: tuple[int, ...], strides: tuple[int, ...], offset: int, d: dtype, nbytes: int | None = None
) -> Tensor:
    """A tensor on the meta device, on as much memory as it needs, or on `nbytes`."""
    array = MetaArray(shape, d.numpy_dtype, tuple(step * d.itemsize for step in strides), offset * d.itemsize)
    array.nbytes_owned = array.offset + array.extent() if nbytes is None else nbytes
    made = new_tensor(array, d, META | (0 if is_contiguous(shape, strides) else STRIDED))
    cell_of(made)  # what has none begins where its memory does
    return made


def relaid(value: Tensor, strides: tuple[int, ...]) -> Tensor:
    """A tensor with the same elements and these strides; itself where it has them."""
    shape = value.shape
    same = all(a == b for n, a, b in zip(shape, value.stride(), strides, strict=True) if n > 1)
    if same or not value.numel():
        return value
    empty = find_overload("new_empty_strided").call(value, tuple(shape), strides, None, None, None, None)
    moved: Tensor = find_overload("copy").call(empty, value, False)
    return moved


class FunctionalArray(HollowArray):
    """What a functional tensor has in place of memory.

    Attributes
    ----------
    steps : tuple of Step
        The views that lead from the base of the storage to it.
    generation : int
        Of the storage, when its value was made.
    has_other_layout : bool
        Whether it was given another geometry in place.
    """

    __slots__ = ("_value", "storage", "steps", "generation", "level", "has_other_layout")

    _value: Tensor
    storage: FunctionalStorage
    steps: tuple[Step, ...]
    generation: int
    level: Any
    has_other_layout: bool
    #: Whether such a tensor is its value, once the level has ended.
    stands_for_value = True

    @property
    def value(self) -> Tensor:
        """What it stands for, with everything that has been written."""
        if self.generation != self.storage.generation:
            with self.level.below(), excluding(TORCH_FUNCTION):
                self.renew()
        return self._value

    def renew(self) -> None:
        """Make the value from the base again; to be called below the level."""
        self._value = replayed(self.storage.base, self.steps)
        self.generation = self.storage.generation

    def elements_for(self, use: str) -> Tensor:
        """The value; what is written to its memory by other means than operators is not noted."""
        return self.value

    def resized(self, tensor: Tensor, shape: tuple[int, ...], strides: tuple[int, ...]) -> Tensor:
        """``resize_`` of the tensor whose insides these are."""
        changed: Tensor = self.level.resized(tensor, shape, strides)
        return changed

    def text(self) -> str:
        text: str = self.level.text(self)
        return text


def is_functional(tensor: Any, scope: Scope) -> bool:
    """Whether a tensor is a functional one of a scope."""
    array = getattr(tensor, "_array", None)
    return array.__class__ is FunctionalArray and array.level is scope


def functional(value: Tensor, scope: Scope) -> Tensor:
    """A functional tensor that stands for `value`, the base of a storage of its own."""
    made = shape_of(value, value.device, scope, value._keys & INFERENCE)
    array = made._array
    array._value, array.storage, array.steps = value, FunctionalStorage(value), ()
    array.generation, array.has_other_layout = 0, False
    return made


def shape_of(like: Tensor, device: Any, scope: Scope, flags: int = 0) -> Tensor:
    """A functional tensor of the layout of another, that stands for nothing yet."""
    made: Tensor = hollow_tensor(
        Tensor, like.shape, like._dtype, device, scope.wrapper_keys | flags, like.stride(), like.storage_offset(),
        FunctionalArray,
    )  # fmt: skip
    made._array.level = scope
    return made


def viewing(of: Tensor, like: Tensor, value: Tensor, steps: tuple[Step, ...], scope: Scope) -> Tensor:
    """A functional view: `like` has its layout, `steps` lead to it from the base."""
    source = of._array
    made = shape_of(like, source.device, scope, of._keys & INFERENCE)
    array = made._array
    array._value, array.storage, array.steps = value, source.storage, steps
    # As in PyTorch, a view of what was written to is made again when it is used for the first time.
    array.generation, array.has_other_layout = 0, False
    source.storage.is_viewed = True
    return made


def take_over(tensor: Tensor, array: FunctionalArray, like: Tensor) -> None:
    """Let a functional tensor have another insides, of the layout of `like`."""
    tensor._array, tensor._dtype = array, like._dtype
    contiguous = is_contiguous(tuple(array.shape), like.stride())
    tensor._keys = tensor._keys & ~STRIDED if contiguous else tensor._keys | STRIDED
    cell_of(tensor).version += 1


def meta_of(tensor: Tensor) -> Tensor:
    """The layout of a functional tensor, on the memory of its base, without data."""
    owned = tensor._array.storage.meta()._array.nbytes_owned
    return _laid_out(tuple(tensor.shape), tensor.stride(), tensor.storage_offset(), tensor._dtype, owned)


def unmade(tensor: Tensor) -> Tensor:
    """A tensor of the layout of another, on memory of its own, without data."""
    return _laid_out(tuple(tensor.shape), tensor.stride(), 0, tensor._dtype)
