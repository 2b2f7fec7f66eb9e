"""What compounds have in place of memory, and the two operations that lead to their elements and back."""

from __future__ import annotations

import weakref
from typing import Any, ClassVar

from mt_autograd.function import Function
from mt_core.autograd_state import is_grad_enabled
from mt_core.cell import cell_of
from mt_core.devices import backend_key
from mt_core.hollow import has_elements
from mt_core.keys import AUTOGRAD, COMPOUND, FORWARD_GRAD, OTHER_INDEX, STRIDED
from mt_core.meta_array import HollowArray
from mt_core.overriding import disabled_torch_function
from mt_core.state import mode_triple, tls
from mt_core.tensor import Tensor

__all__ = ["CompoundArray", "CompoundTensor", "compound", "elements"]


class CompoundArray(HollowArray):
    """The parts of a compound.

    Attributes
    ----------
    data : Tensor
        The elements, a tensor without history of its own.
    """

    __slots__ = ("data", "root", "__weakref__")
    data: Tensor
    #: What has the memory of which the elements are a view; None where they are all of it, or got theirs otherwise.
    root: Tensor | None
    #: Whether `take` writes to the memory of the elements, which views see.
    writes_memory: ClassVar[bool] = True
    #: What operators do to compounds of this kind.
    rules: ClassVar[Any]
    #: The class of these compounds.
    made: ClassVar[type]

    def with_data(self, data: Tensor) -> CompoundArray:
        """The same structure around other elements."""
        raise NotImplementedError

    def gradient(self, grad: Any) -> Tensor:
        """What a gradient says of the elements: an ordinary tensor."""
        raise NotImplementedError

    def take(self, other: CompoundArray) -> None:
        """Take over the elements of another array, in this one's memory."""
        self.data.copy_(other.data)

    @property
    def size(self) -> Any:  # type: ignore[override]
        return self.data.numel()

    @property
    def has_elements(self) -> bool:  # type: ignore[override]
        return has_elements(self.data)


class CompoundTensor(Tensor):
    """Base of the classes of compounds."""

    __slots__ = ()
    __torch_function__ = staticmethod(disabled_torch_function)  # type: ignore[assignment]
    _array: Any

    def detach(self) -> Any:
        """The same elements without history; in-place changes are seen by both and counted by one version."""
        made = _around(self._array)
        made._cell = cell_of(self)
        made._cell.add(made)
        return made

    @property
    def data(self) -> Any:
        """The same elements without history."""
        return _around(self._array)

    @data.setter
    def data(self, value: Any) -> None:
        raise NotImplementedError(f"{type(self).__name__}: data cannot be set")

    def is_shared(self) -> bool:
        """Whether the elements are shared between processes."""
        return self._array.data.is_shared()  # type: ignore[no-any-return]

    def share_memory_(self) -> Any:
        """Move the elements where other processes can map them."""
        self._array.data.share_memory_()
        return self

    def tolist(self) -> Any:
        raise RuntimeError(f".tolist() is not supported for tensor subclasses, got {type(self).__name__}")

    def numpy(self, *, force: bool = False) -> Any:
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")

    def data_ptr(self) -> int:
        """0: there is no memory of its own."""
        return 0

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) in memo:
            return memo[id(self)]
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the "
                "moment.  If you were attempting to deepcopy a module, this may be because of a torch.nn.utils."
                "weight_norm usage, see https://github.com/pytorch/pytorch/pull/103001"
            )
        made = self.detach().clone()
        if self.requires_grad:
            made.requires_grad_()
        if self.grad is not None:
            made.grad = self.grad.__deepcopy__(memo)
        memo[id(self)] = made
        return made


#: Identity of a tensor -> what has elements in its memory, as views of it.
_views: dict[int, weakref.WeakSet[CompoundArray]] = {}


def refuse_views(array: CompoundArray) -> None:
    """Refuse to write what has a history to elements that are seen elsewhere, where nothing would tell of it.

    Raises
    ------
    RuntimeError
        For views, and for what has views.
    """
    if array.writes_memory and (array.root is not None or _views.get(id(array.data))):
        raise RuntimeError(
            "a nested tensor that is a view of another, or of which there are views, is written to in place, and the "
            "others' gradients would not know of it. Write to a clone of it, or out of place"
        )


def _seen(made: Any, data: Tensor) -> Any:
    """Tell of whose memory a compound is a view, if of any."""
    root = made._array.root = data._base
    if root is not None:
        if id(root) not in _views:
            _views[id(root)] = weakref.WeakSet()
            weakref.finalize(root, _views.pop, id(root), None).atexit = False
        _views[id(root)].add(made._array)
    return made


def _around(array: CompoundArray) -> Any:
    on = array.data.device
    made: Any = object.__new__(array.made)
    made._array, made._dtype = array, array.data._dtype
    flags = mode_triple(tls.mode)[2] | (OTHER_INDEX if on.index else 0)
    made._keys = COMPOUND | STRIDED | backend_key(on.type) | flags
    made._autograd = made._cell = made._base = None
    return made


class NestedGetValues(Function):
    """The elements of a compound, with its history."""

    @staticmethod
    def forward(ctx: Any, whole: Any) -> Any:
        ctx.set_materialize_grads(False)
        ctx.array = whole._array
        data = whole._array.data
        return data.view_as(data)  # a view, so that writes to it are refused which its base would not know of

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return None if grad is None else compound(ctx.array, grad)


class NestedViewFromJagged(Function):
    """A compound around elements, with their history."""

    @staticmethod
    def forward(ctx: Any, data: Any, array: Any) -> Any:
        ctx.set_materialize_grads(False)
        ctx.array = array
        return _seen(_around(array.with_data(data.detach())), data)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return (None if grad is None else ctx.array.gradient(grad)), None


def _refuse_tangents(tensor: Tensor) -> None:
    if tensor._keys & FORWARD_GRAD:
        raise NotImplementedError("nested and masked tensors have no tangents: forward-mode AD is not supported")


def elements(whole: Any) -> Tensor:
    """The elements of a compound, an ordinary tensor that shares their memory; it is recorded.

    Raises
    ------
    NotImplementedError
        For tensors with tangents.
    """
    _refuse_tangents(whole)
    if whole._keys & AUTOGRAD and is_grad_enabled():
        return NestedGetValues.apply(whole)  # type: ignore[no-any-return]
    return whole._array.data  # type: ignore[no-any-return]


def compound(array: CompoundArray, data: Tensor) -> Any:
    """A compound of the structure of `array` around elements; it is recorded."""
    _refuse_tangents(data)
    if data._keys & AUTOGRAD and is_grad_enabled():
        return NestedViewFromJagged.apply(data, array)
    return _seen(_around(array.with_data(data.detach() if data._keys & AUTOGRAD else data)), data)
