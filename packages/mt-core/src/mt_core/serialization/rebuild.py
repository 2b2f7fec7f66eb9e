"""The functions that a file calls to make tensors, under the names and with the arguments that PyTorch fixed.

Each checks all it is given: a file may have been damaged, or written to do harm.
"""

from __future__ import annotations

import warnings
from typing import Any

from .. import formats, torch_names
from ..cell import cell_of
from ..devices import device
from ..dtypes import dtype
from ..interop import from_numpy
from ..keys import CONJUGATE, NEGATIVE
from ..python_dispatch import has_modes, put_in_place_of_loaded
from ..quantized.tensors import (
    INTEGERS,
    PerChannel,
    PerTensor,
    per_channel_affine,
    per_channel_affine_float_qparams,
    per_tensor_affine,
    quantized,
)
from ..storage import UntypedStorage
from ..storage_tensors import checked_geometry, rebuild_tensor
from ..tensor import Tensor
from ..typed_storage import TypedStorage

__all__ = ["LAYOUTS", "TENSOR_BUILDERS", "set_object_state"]

#: Printed name -> layout.
LAYOUTS = {repr(v): v for v in vars(formats).values() if isinstance(v, formats.layout)}


def _bytes_and_dtype(storage: Any, d: Any = None) -> tuple[UntypedStorage, dtype]:
    if isinstance(storage, TypedStorage):
        storage, d = storage._untyped_storage, d or storage.dtype
    if not isinstance(storage, UntypedStorage):
        raise TypeError(f"a tensor must be rebuilt from a storage, got {type(storage).__name__}")
    return storage, _checked_dtype(d)


def _checked_dtype(d: Any) -> dtype:
    if not isinstance(d, dtype):
        raise TypeError(f"expected torch.dtype, but got {type(d)}")
    if d.category == 4:
        raise _unsupported(f"dtype {d!r}")
    return d


def _unsupported(what: str) -> NotImplementedError:
    return NotImplementedError(
        f"the file holds a tensor with {what}, which mindtorch does not support: convert it with PyTorch to a dense "
        f"tensor "
        "of an ordinary dtype and save it again"
    )


def _rebuild_tensor(storage: Any, storage_offset: int, size: Any, stride: Any) -> Tensor:
    return _laid_out(*_bytes_and_dtype(storage), storage_offset, size, stride)


def _laid_out(*geometry: Any) -> Tensor:
    """`rebuild_tensor`, counted as PyTorch does, which lays out a tensor that was there before."""
    tensor = rebuild_tensor(*geometry)
    cell_of(tensor).version = 1
    return put_in_place_of_loaded(tensor) if has_modes() else tensor


def _rebuild_tensor_v2(
    storage: Any, storage_offset: int, size: Any, stride: Any, requires_grad: bool, backward_hooks: Any,
    metadata: Any = None,
) -> Tensor:  # fmt: skip
    tensor = _rebuild_tensor(storage, storage_offset, size, stride)
    return _finish(tensor, requires_grad, backward_hooks, metadata)


def _rebuild_tensor_v3(
    storage: Any, storage_offset: int, size: Any, stride: Any, requires_grad: bool, backward_hooks: Any, d: Any,
    metadata: Any = None,
) -> Tensor:  # fmt: skip
    tensor = _laid_out(*_bytes_and_dtype(storage, _checked_dtype(d)), storage_offset, size, stride)
    return _finish(tensor, requires_grad, backward_hooks, metadata)


def _finish(tensor: Tensor, requires_grad: bool, backward_hooks: Any, metadata: Any) -> Tensor:
    for bit, flag in (("conj", CONJUGATE), ("neg", NEGATIVE)):
        if isinstance(metadata, dict) and metadata.get(bit) is True:
            d = tensor._dtype
            if not (d.is_complex if bit == "conj" else d.is_complex or d.is_floating_point):
                raise RuntimeError(f"the file marks a tensor of dtype {d!r} as '{bit}', which it cannot be")
            tensor._keys |= flag
    if requires_grad:
        tensor.requires_grad_()
    if backward_hooks:
        warnings.warn("backward hooks in the file are not restored: register them again after loading", stacklevel=2)
    return tensor


def _rebuild_meta_tensor_no_storage(d: Any, size: Any, stride: Any, requires_grad: bool) -> Tensor:
    d = _checked_dtype(d)
    size, stride = checked_geometry(0, size, stride)
    extent = 0 if 0 in size else 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    storage = UntypedStorage(extent * d.itemsize, device="meta")
    return _finish(rebuild_tensor(storage, d, 0, size, stride), requires_grad, None, None)


def _rebuild_device_tensor_from_numpy(data: Any, d: Any, place: Any, requires_grad: bool) -> Tensor:
    return _on_device(from_numpy(data), d, place, requires_grad)


def _rebuild_device_tensor_from_cpu_tensor(data: Any, d: Any, place: Any, requires_grad: bool) -> Tensor:
    if not isinstance(data, Tensor):
        raise TypeError(f"expected a tensor, got {type(data).__name__}")
    return _on_device(data, d, place, requires_grad)


def _on_device(tensor: Tensor, d: Any, place: Any, requires_grad: bool) -> Tensor:
    moved = tensor.to(device=device(place), dtype=_checked_dtype(d))
    moved.requires_grad_(bool(requires_grad))
    return moved


def _rebuild_sparse_tensor(layout: Any, data: Any) -> Tensor:
    """A sparse tensor of its parts, which are checked: they may come from a file.

    Raises
    ------
    TypeError, RuntimeError
        For parts that are no tensors, or do not go together.
    """
    from ..sparse.construct import rebuilt  # lazy: few files have sparse tensors

    if layout not in (formats.sparse_coo, formats.sparse_csr, formats.sparse_csc):
        raise _unsupported(f"the sparse layout {layout!r}")
    return rebuilt(layout, data)


def _rebuild_nested_tensor(buffer: Tensor, sizes: Tensor, strides: Tensor, storage_offsets: Tensor) -> Tensor:
    """A nested tensor of the strided layout on a buffer, a leaf; sizes and strides are checked against the buffer.

    Raises
    ------
    NotImplementedError
        Where nothing that is installed makes nested tensors.
    RuntimeError
        For components that reach beyond the buffer.
    """
    try:
        view: Any = torch_names.resolve("torch", "_nested_view_from_buffer")
    except LookupError:
        raise _unsupported("nested sizes") from None
    made: Tensor = view(buffer.detach(), sizes, strides, storage_offsets)
    return made.requires_grad_() if buffer.requires_grad else made


def _rebuild_qtensor(
    storage: Any, storage_offset: int, size: Any, stride: Any, quantizer_params: Any, requires_grad: bool,
    backward_hooks: Any,
) -> Tensor:  # fmt: skip
    """A quantized tensor of its integers and its quantizer, which are checked: they may come from a file.

    Raises
    ------
    TypeError, RuntimeError
        For what is no quantizer, or does not go with the integers.
    """
    d = storage.dtype if isinstance(storage, TypedStorage) else None
    if d not in INTEGERS:
        raise _unsupported(f"quantized elements of dtype {d!r}")
    scheme, *parameters = quantizer_params
    integers = _laid_out(storage._untyped_storage, INTEGERS[d], storage_offset, size, stride)
    if scheme is per_tensor_affine and len(parameters) == 2:
        scale, zero_point = parameters
        if not isinstance(scale, (int, float)) or not isinstance(zero_point, int):
            raise TypeError("a quantized tensor is rebuilt from a scale and a zero point that are numbers")
        return quantized(integers, PerTensor(float(scale), zero_point))
    if scheme in (per_channel_affine, per_channel_affine_float_qparams) and len(parameters) == 3:
        scales, zero_points, axis = parameters
        channels = [one for one in (scales, zero_points) if isinstance(one, Tensor) and one.dim() == 1]
        if len(channels) != 2 or not isinstance(axis, int) or not 0 <= axis < integers.dim():
            raise TypeError("a quantized tensor is rebuilt from scales and zero points of one dimension, and its axis")
        if any(len(one) != integers.shape[axis] for one in channels):
            raise RuntimeError("scales and zero points of a quantized tensor are as many as its channels")
        return quantized(integers, PerChannel(scales, zero_points, axis))
    raise _unsupported(f"the quantization scheme {scheme!r}")


def _rebuild_wrapper_subclass(cls: Any, *args: Any) -> Tensor:
    raise _unsupported(f"wrapper subclass {cls!r}")


def _get_layout(name: str) -> Any:
    """``torch.layout`` by its printed name, as files write it."""
    if type(name) is not str or name not in LAYOUTS:
        raise RuntimeError(f"the file names an unknown layout of tensors: {name!s:.100}")
    return LAYOUTS[name]


#: What `_rebuild_from_type_v2` may be told to call: a file chooses the function. ``torch.nested`` adds its own.
TENSOR_BUILDERS = {
    _rebuild_tensor, _rebuild_tensor_v2, _rebuild_tensor_v3, _rebuild_meta_tensor_no_storage,
    _rebuild_device_tensor_from_numpy, _rebuild_device_tensor_from_cpu_tensor, _rebuild_sparse_tensor,
    _rebuild_nested_tensor, _rebuild_qtensor, _rebuild_wrapper_subclass,
}  # fmt: skip


def _rebuild_from_type_v2(func: Any, new_type: Any, args: Any, state: Any) -> Tensor:
    """A tensor of a subclass, or one with attributes: made by `func`, given its class, then its state."""
    if not callable(func) or func not in TENSOR_BUILDERS:
        raise TypeError(
            f"_rebuild_from_type_v2 may only call functions that rebuild tensors, got {type(func).__name__}"
        )
    if not (isinstance(new_type, type) and issubclass(new_type, Tensor)):
        raise TypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure your "
            "class inherits from Tensor."
        )
    tensor = func(*args)
    if type(tensor) is not new_type:
        tensor = tensor.as_subclass(new_type)
    set_state = getattr(new_type, "__setstate__", None)
    if set_state is not None and set_state is not getattr(Tensor, "__setstate__", None):
        tensor.__setstate__(state)
        return tensor
    return set_object_state(tensor, state)


def set_object_state(obj: Any, state: Any) -> Any:
    """Give an object the attributes that its pickle lists: a dict, or a pair of a dict and one of ``__slots__`` values.

    Raises
    ------
    RuntimeError
        If the state has another form, or names what every tensor has: it would hide a method.
    """
    attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    for part in (attributes, slots):
        if part is not None and not isinstance(part, dict):
            raise RuntimeError(f"Invalid serialized state: {type(state)}")
    for name in (*(attributes or ()), *(slots or ())):
        if type(name) is not str or hasattr(Tensor, name):
            raise RuntimeError(f"the state of a {type(obj).__name__} may not set its attribute {name!s:.100}")
    obj.__dict__.update(attributes or {})
    for name, value in (slots or {}).items():
        setattr(obj, name, value)
    return obj
