"""``x[...]`` and ``x[...] = v``: Python's indexing taken apart into operators.

Integers, slices, None and Ellipsis become views one after another; what is left of tensors, masks and sequences becomes
one `index` or `index_put_`.
"""

from __future__ import annotations

import warnings
from typing import Any, NoReturn

import numpy as np

from . import dtypes
from .api import _functions as ops
from .construct import from_data, tensor
from .dispatch.memory import check_no_internal_overlap
from .dispatch.registry import overload
from .dispatch.views import basic_index
from .keys import AUTOGRAD, BACKEND_MASK, CPU, FUNCTION_TRANSFORM, FUNCTIONALIZE, META, PYTHON, STRIDED, TRACING
from .number_range import check_fill
from .overriding import handed_over_for, must_ask
from .state import tls
from .symbolic import SYMBOLIC, SymInt
from .tensor import new_tensor
from .tensor_types import TENSORS

__all__ = ["IndexingMembers"]

_select = overload("select.int", "view").cache
_slice = overload("slice.Tensor", "view").cache
_unsqueeze = overload("unsqueeze", "view").cache
_alias = overload("alias", "view").cache
_index = overload("index.Tensor", "indexing").cache
_index_put = overload("index_put_", "indexing").cache
#: Dtypes that pick where they are not zero.
_MASKS = (dtypes.bool, dtypes.uint8)
#: The commonest dtypes of tensors used as indices.
_INDEX_TYPES = frozenset((dtypes.int64, dtypes.bool))
_NUMBERS = frozenset((int, float, bool, complex))
#: Layers that are told of numbers that become tensors.
_TOLD = PYTHON | FUNCTIONALIZE | FUNCTION_TRANSFORM | TRACING
#: The Python integers that may be assigned, to whichever dtype.
_INT64 = range(-(2**63), 2**63)

_EVERYTHING = slice(None)
#: Where a slice without an end ends, as operators are told of it.
_END = 2**63 - 1
_SEQUENCES = (list, tuple, range, np.ndarray)


#: Call keys -> what makes the view of a basic index at once, or returns None.
_basic: dict[int, Any] = {}


def _basic_for(call_keys: int) -> Any:
    found = _basic[call_keys] = basic_index(call_keys)
    return found


class _Foreign(Exception):
    """Raised where an index or a value is no tensor but has a ``__torch_function__``: nothing has been written yet."""


class IndexingMembers:
    """Mixed into Tensor."""

    __slots__ = ()

    def __getitem__(self: Any, key: Any) -> Any:
        kind = key.__class__
        if kind is int:
            size = self._array.shape
            if size and -size[0] <= key < size[0]:
                return _select[self._keys | tls.mode](self, 0, key)
        elif kind is slice and self._array.ndim:
            start, stop = key.start, key.stop
            if start is None:
                start = 0
            if stop is None:
                stop = _END
            if key.step is None and start.__class__ is int and stop.__class__ is int:
                return _slice[self._keys | tls.mode](self, 0, start, stop, 1)
        elif kind in TENSORS:
            d, array = key._dtype, key._array
            if d in _INDEX_TYPES and 0 < array.ndim <= self._array.ndim and self._keys & key._keys & CPU:
                return _index[self._keys | key._keys | tls.mode](self, [key])
        if kind not in TENSORS:
            call_keys = self._keys | tls.mode
            view = (_basic.get(call_keys) or _basic_for(call_keys))(self, key)
            if view is not None:
                return view
        try:
            view, indices = applied(self, key)
        except _Foreign as found:
            return handed_over_for(IndexingMembers.__getitem__, (self, *found.args), (self, key))
        if indices:
            indices = _beside(view, indices)
            return _index[_call_keys_of(indices, view)](view, indices)
        return _alias[self._keys | tls.mode](self) if view is self else view

    def __setitem__(self: Any, key: Any, value: Any) -> None:
        size = self._array.shape
        try:
            if key.__class__ is int and size and -size[0] <= key < size[0]:
                _assign(_select[self._keys | tls.mode](self, 0, key), value)
                return
            if key.__class__ is bool:
                if key:
                    _assign(_unsqueeze[self._keys | tls.mode](self, 0), value)
                return
            if key.__class__ in TENSORS and 0 < key._array.ndim <= len(size) and key._dtype in _INDEX_TYPES:
                view, indices = self, [key]
            else:
                call_keys = self._keys | tls.mode
                view, indices = (_basic.get(call_keys) or _basic_for(call_keys))(self, key), []
                if view is None or view._array.shape == size:  # all of it may be no view, but the tensor itself
                    view, indices = applied(self, key)
            if not indices:
                _assign(view, value)
                return
            source = _value_for_put(view, value)
        except _Foreign as found:
            handed_over_for(IndexingMembers.__setitem__, (self, *found.args), (self, key, value))
            return
        indices = _beside(view, indices)
        _index_put[_call_keys_of(indices, view) | source._keys](view, indices, source, False)

    def __delitem__(self, key: Any) -> None:
        raise TypeError("Tensor does not support deleting items")


def _beside(view: Any, indices: list[Any]) -> list[Any]:
    """Index tensors where the indexed tensor is: lists, and tensors of the CPU, may index a tensor of any device.

    Raises
    ------
    RuntimeError
        For an index on a third device, in PyTorch's words.
    """
    if all(index is None or index._keys & view._keys & CPU for index in indices) or view._keys & META:
        return indices
    where = view.device
    for index in indices:
        if index is not None and not index._keys & CPU and index.device != where:
            raise RuntimeError(f"indices should be either on cpu or on the same device as the indexed tensor ({where})")
    return [index.to(where) if index is not None and index._keys & CPU else index for index in indices]


def _call_keys_of(indices: list[Any], view: Any) -> int:
    keys = view._keys | tls.mode
    for index in indices:
        if index is not None:
            keys |= index._keys
    return keys


def _assign(view: Any, value: Any) -> None:
    """Write a number or a tensor (leading dimensions of size 1 dropped) into a view.

    A single element fills the view, and others are expanded before they are copied: both may be part of the view.
    """
    if value.__class__ in _NUMBERS:
        if view._keys & STRIDED:
            check_no_internal_overlap(view)
        if not view._keys & AUTOGRAD:
            _fill(view, value)
            return
    source = _as_value(view, value)
    shape = view._array.shape
    if source._array.shape == shape:
        view.copy_(source)
    elif not source._array.ndim and source._keys & CPU:
        view.fill_(source)
    else:
        view.copy_(_without_leading_ones(source).expand(shape))


def _fill(view: Any, number: Any) -> None:
    _check_unpacked(number)
    d = view._dtype
    view.fill_(ops.full((), number, dtype=d, device=view.device) if _is_small(d) else number)


def _check_unpacked(number: Any) -> None:
    """Refuse an integer that int64 does not hold, whatever the dtype of what it is assigned to."""
    if number.__class__ is int and number not in _INT64:
        raise ValueError("Overflow when unpacking long long")


def _is_small(d: dtypes.dtype) -> bool:
    """Whether a single number too large for the dtype becomes infinity, where filling several would refuse it."""
    return not d.native_real_float and (d.is_floating_point or d is dtypes.complex32)


def _without_leading_ones(source: Any) -> Any:
    shape = source._array.shape
    kept = next((i for i, n in enumerate(shape) if n != 1), len(shape))
    return source.view(shape[kept:]) if kept else source


def _as_value(view: Any, value: Any) -> Any:
    if value.__class__ in TENSORS:
        return value
    d = view._dtype
    if (
        value.__class__ is float and d.native_real_float and -1e38 < value < 1e38 and view._keys & CPU
        and not (view._keys | tls.mode) & _TOLD
    ):  # fmt: skip
        return new_tensor(np.asarray(value, d.numpy_dtype), d, CPU)
    if value.__class__ in _NUMBERS:
        _check_unpacked(value)
        check_fill(value, d, 1)
    if isinstance(value, SYMBOLIC):
        return ops.full((), value, dtype=d, device=view.device)  # type: ignore[arg-type]
    if isinstance(value, (int, float, complex, np.number, np.bool_)):
        return from_data(value, view._dtype, view.device)
    if must_ask((value,)):
        raise _Foreign(value)
    raise TypeError(f"can't assign a {type(value).__name__} to a {view.type()}")


def _value_for_put(view: Any, value: Any) -> Any:
    source = _as_value(view, value)
    if (source._keys ^ view._keys) & BACKEND_MASK or not view._keys & CPU and source.device != view.device:
        source = source.to(view.device)
    shape = source._array.shape
    while len(shape) > 1 and shape[0] == 1:
        shape = shape[1:]
    return source if shape == source._array.shape else source.reshape(shape)


# Taking an index apart


def applied(self: Any, key: Any) -> tuple[Any, list[Any]]:
    """(the tensor with all basic parts of the index applied, tensor indices per remaining dimension or ``[]``).

    Raises
    ------
    IndexError, TypeError, ValueError
        In PyTorch's words.
    """
    ndim = self._array.ndim
    if not ndim and key.__class__ in (int, slice):
        _refuse_number_index(key)
    items = _as_items(key)
    specified = sum([1 if item.__class__ is int else _consumes(item) for item in items])
    if specified > ndim:
        _check_foreign(items)
        raise IndexError(f"too many indices for tensor of dimension {ndim}")
    indices: list[Any] = []
    view, dim = self, 0
    among_others = isinstance(key, tuple)
    for place, item in enumerate(items):
        if item.__class__ is int:
            view = _selected(view, dim, item, place)
        elif item is Ellipsis:
            dim += ndim - specified
        elif item is None:
            view = _unsqueeze[view._keys | tls.mode](view, dim)
            dim += 1
        elif item.__class__ is slice:
            view = _sliced(view, dim, item, among_others)
            dim += 1
        elif isinstance(item, (bool, np.bool_)):
            view = _unsqueeze[view._keys | tls.mode](view, dim)
            dim = _record(indices, dim, _truth(item, view))
        elif item.__class__ in TENSORS:
            view, dim = _tensor_item(view, dim, item, place, indices)
        else:
            _check_foreign((item,))
            view = _selected(view, dim, item, place)
    return view, indices


def _check_foreign(items: tuple[Any, ...]) -> None:
    """Ask what overrides functions before it is taken for an index of another kind."""
    others = [item for item in items if item.__class__ not in TENSORS]
    if must_ask(others):
        raise _Foreign(*others)


def _as_items(key: Any) -> tuple[Any, ...]:
    if isinstance(key, tuple):
        items = key if key.__class__ is tuple else tuple(key)
    elif isinstance(key, (list, range)) and _stands_for_tuple(key):
        warnings.warn(_NO_TUPLE, UserWarning, stacklevel=4)
        items = tuple(key)
    else:
        items = (key,)
    for item in items:
        if item.__class__ is not int and item.__class__ is not slice and isinstance(item, _SEQUENCES):
            return tuple(
                [_as_tensor(i) if isinstance(i, _SEQUENCES) and i.__class__ not in TENSORS else i for i in items]
            )
    return items


#: PyTorch's warning about a list that stands for a tuple.
_NO_TUPLE = (
    "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch 2.9; use "
    "x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor index, x[torch.tensor(seq)], "
    "which will result either in an error or a different result"
)


def _stands_for_tuple(key: Any) -> bool:
    """Whether a short list is a tuple of indices, as once in NumPy: where it holds any index but numbers."""
    return len(key) < 32 and any(
        item is None or item is Ellipsis or isinstance(item, (slice, *_SEQUENCES, str)) or item.__class__ in TENSORS
        for item in key
    )


def _as_tensor(item: Any) -> Any:
    if isinstance(item, (list, tuple)):
        _check_foreign(tuple(item))
    made = tensor(item)
    if not made._array.size and not isinstance(item, np.ndarray):
        return made.to(dtypes.int64)
    return made


def _consumes(item: Any) -> int:
    """How many dimensions one part of an index uses up."""
    if item is None or item is Ellipsis or isinstance(item, (bool, np.bool_)):
        return 0
    if item.__class__ in TENSORS and item._dtype in (dtypes.bool, dtypes.uint8):
        return item._array.ndim
    return 1


def _refuse_number_index(key: Any) -> NoReturn:
    """An integer or a slice alone, of a tensor without dimensions."""
    if key.__class__ is slice:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    if key:
        raise IndexError(f"index {key} is out of bounds for dimension 0 with size 0")
    raise IndexError(
        "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
        "0-dim tensor to a number"
    )


def _selected(view: Any, dim: int, item: Any, place: int) -> Any:
    """One row of a dimension; what is out of bounds is told with its place in the index, as in PyTorch."""
    if item.__class__ is not int and not hasattr(item, "__index__"):
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
            f"(got {type(item).__name__})"
        )
    index = item if item.__class__ is int or item.__class__ is SymInt else item.__index__()
    size = view._array.shape[dim]
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for dimension {place} with size {size}")
    return _select[view._keys | tls.mode](view, dim, index)


def _bound(value: Any, absent: int) -> Any:
    """A bound of a slice as the operator is told of it, which is a number where Python has none."""
    if value is None:
        return absent
    if value.__class__ is int or value.__class__ is SymInt:
        return value
    if not hasattr(value, "__index__"):
        raise TypeError("slice indices must be integers or None or have an __index__ method")
    return value.__index__()


def _sliced(view: Any, dim: int, item: slice, among_others: bool) -> Any:
    """A slice of a dimension; among the parts of a tuple, what takes all of it is no step of its own."""
    if item == _EVERYTHING:
        return view
    start, stop, step = _bound(item.start, 0), _bound(item.stop, _END), _bound(item.step, 1)
    if step <= 0:
        raise ValueError("step must be greater than zero")
    if among_others and step == 1 and not start and (stop is _END or stop >= view._array.shape[dim]):
        return view
    return _slice[view._keys | tls.mode](view, dim, start, stop, step)


def _truth(item: Any, view: Any) -> Any:
    """The index, into a dimension of size 1, of all that is where a condition holds."""
    return tensor([0] if item else [], dtype=dtypes.int64, device=view.device)


def _record(indices: list[Any], dim: int, index: Any) -> int:
    """Enter a tensor index at a dimension; returns the dimension after it.

    A mask stands at one place of the list, whatever the number of dimensions that it covers.
    """
    place = dim - sum([i._array.ndim - 1 for i in indices if i is not None and i._dtype in _MASKS]) if indices else dim
    indices.extend([None] * (place + 1 - len(indices)))
    indices[place] = index
    return dim + 1


def _tensor_item(view: Any, dim: int, item: Any, place: int, indices: list[Any]) -> tuple[Any, int]:
    d = item._dtype
    if item._array.ndim == 0 and (d.is_integral or d is dtypes.bool):
        if d in _MASKS:
            view = _unsqueeze[view._keys | tls.mode](view, dim)
            return view, _record(indices, dim, _truth(item.item(), view))
        return _selected(view, dim, item.item(), place), dim
    if d not in (dtypes.int64, dtypes.int32, *_MASKS):
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    after = _record(indices, dim, item)
    return view, after + (item._array.ndim - 1 if d in _MASKS else 0)
