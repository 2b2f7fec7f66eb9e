"""What a tensor tells a pickler about itself: the function that rebuilds it, and that function's arguments."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from ..block import refuse_beyond
from ..hooks import warn_if_has_hooks
from ..keys import QUANTIZED, SPARSE
from ..pickling import typed_storage_on
from ..quantized.tensors import PerTensor
from ..storage import untyped_storage_of
from ..subclasses import slots_of
from ..tensor import Tensor
from ..typed_storage import storage_class_of
from . import rebuild

__all__ = ["reduce_tensor"]

Reduced = tuple[Any, tuple[Any, ...]]


def reduce_tensor(tensor: Tensor, protocol: Any) -> Reduced:
    """``Tensor.__reduce_ex__``: geometry and storage; for subclasses and tensors with attributes, those too."""
    state = object_state(tensor)
    function, args = _reduce_data(tensor)
    if type(tensor) is Tensor and not state:
        return function, args
    return rebuild._rebuild_from_type_v2, (function, type(tensor), args, state)


def _reduce_data(tensor: Tensor) -> Reduced:
    warn_if_has_hooks(tensor, stacklevel=5)
    size, stride, d = tuple(tensor.size()), tensor.stride(), tensor.dtype
    requires_grad = bool(tensor.requires_grad)
    if tensor._keys & SPARSE:
        return _reduce_sparse(tensor)
    if tensor._keys & QUANTIZED:
        return _reduce_quantized(tensor)
    if tensor.is_meta:
        return rebuild._rebuild_meta_tensor_no_storage, (d, size, stride, requires_grad)
    bits = {name: True for name, on in (("conj", tensor.is_conj()), ("neg", tensor.is_neg())) if on}
    metadata = (bits,) if bits else ()
    refuse_beyond(tensor)
    storage = untyped_storage_of(tensor)
    if storage_class_of(d) is None:
        args = (storage, tensor.storage_offset(), size, stride, requires_grad, OrderedDict(), d, *metadata)
        return rebuild._rebuild_tensor_v3, args
    args = (
        typed_storage_on(storage, d),
        tensor.storage_offset(),
        size,
        stride,
        requires_grad,
        OrderedDict(),
        *metadata,
    )
    return rebuild._rebuild_tensor_v2, args


def _reduce_sparse(tensor: Any) -> Reduced:
    """The layout and the parts."""
    array, laid_out = tensor._array, tensor.layout
    if tensor.is_sparse:
        data = (array.indices, array.values, tensor.size(), array.is_coalesced)
    else:
        data = (array.pointers, array.plain, array.values, tensor.size())
    return rebuild._rebuild_sparse_tensor, (laid_out, data)


def _reduce_quantized(tensor: Any) -> Reduced:
    """The storage of the integers, in the quantized dtype, the layout and the quantizer."""
    array = tensor._array
    quantizer = array.quantizer
    if isinstance(quantizer, PerTensor):
        told: tuple[Any, ...] = (quantizer.scheme, quantizer.scale, quantizer.zero_point)
    else:
        told = (quantizer.scheme, quantizer.scales, quantizer.zero_points, quantizer.axis)
    storage = typed_storage_on(untyped_storage_of(array.integers), tensor.dtype)
    geometry = (tensor.storage_offset(), tuple(tensor.size()), tensor.stride())
    return rebuild._rebuild_qtensor, (storage, *geometry, told, False, OrderedDict())


def object_state(tensor: Tensor) -> Any:
    """The attributes that a subclass or a user gave a tensor: a dict, a (dict, slots) pair, or None."""
    get_state = getattr(type(tensor), "__getstate__", None)
    if get_state is not None and get_state is not getattr(object, "__getstate__", None):
        return get_state(tensor)
    attributes = dict(tensor.__dict__) or None
    slots = slots_of(tensor)
    return (attributes, slots) if slots else attributes
