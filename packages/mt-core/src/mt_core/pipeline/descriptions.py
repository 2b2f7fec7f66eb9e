"""What calls return, by what they are made with: the next call like one that was described is not described again.

Kept are calls of elementwise and plain operators that are not recorded: they return one fresh tensor, whose layout and
dtype follow from those of the arguments and from the other arguments. What was kept is dropped when something is
registered for an operator.
"""

from __future__ import annotations

from typing import Any

from ..devices import device
from ..dispatch.registry import Overload, when_registered
from ..dtypes import dtype, get_default_dtype
from ..formats import layout, memory_format
from ..keys import AUTOGRAD, CONJUGATE, NEGATIVE, PIPELINE
from ..meta_array import MetaArray
from ..state import tls
from ..tensor import new_tensor
from ..tensor_types import TENSORS
from .calls import Facts

__all__ = ["description_of", "keep", "known"]

#: Shapes that change with every call must not fill the memory.
_MOST = 4096
_PLAIN = frozenset({int, float, bool, complex, str, type(None), dtype, device, layout, memory_format})
_NOT_KEPT = AUTOGRAD | CONJUGATE | NEGATIVE
#: Description -> layout, dtype and keys of the shadow of the result.
_RESULTS: dict[Any, tuple[Any, ...]] = {}
when_registered.append(_RESULTS.clear)


def description_of(overload: Overload, args: tuple[Any, ...], facts: Facts, keys: int) -> Any:
    """All that the result of a call (whose tensors have these keys) depends on; None where it is not kept."""
    kind = overload.declaration.kind
    if keys & _NOT_KEPT or facts.written or facts.draws or kind != "elementwise" and kind != "plain":
        return None
    parts = _parts_of(args)
    return None if parts is None else (overload, tls.mode, tls.inference, get_default_dtype(), parts)


def _parts_of(values: Any) -> Any:
    parts: list[Any] = []
    for value in values:
        kind = value.__class__
        if kind in TENSORS:
            shadow = value._array.shadow
            array = shadow._array
            parts.append((array.shape, array.strides, shadow._dtype, value._keys & ~PIPELINE))
        elif kind in _PLAIN:
            parts.append((kind, value))
        elif kind is list or kind is tuple:
            inner = _parts_of(value)
            if inner is None:
                return None
            parts.append((kind, inner))
        else:
            return None
    return tuple(parts)


def known(description: Any) -> Any:
    """The shadow of what a call returns, anew; None where no call like it was described."""
    found = _RESULTS.get(description)
    if found is None:
        return None
    shape, numpy_dtype, strides, offset, nbytes, d, keys = found
    return new_tensor(MetaArray(shape, numpy_dtype, strides, offset, nbytes), d, keys)


def keep(description: Any, result: Any) -> None:
    """Remember what a call returned of shadows, where that is one fresh tensor."""
    if result.__class__ not in TENSORS or result._keys & _NOT_KEPT or result._autograd is not None:
        return
    if result._base is not None or result._cell is not None:
        return
    if len(_RESULTS) >= _MOST:
        _RESULTS.clear()
    array = result._array
    _RESULTS[description] = (
        array.shape, array.dtype, array.strides, array.offset, array.nbytes_owned, result._dtype, result._keys,
    )  # fmt: skip
