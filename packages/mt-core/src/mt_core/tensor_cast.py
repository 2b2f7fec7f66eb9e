"""The members of a tensor that change its dtype, device, layout or class."""

from __future__ import annotations

import math
from typing import Any

from . import dtypes
from .api.arguments import REJECTED
from .api.arguments import _dtype as to_dtype
from .block import block_of, give_shape
from .cell import cell_of
from .determinism import DETERMINISM, filler_of
from .device_methods import moved_to
from .devices import BACKENDS, device
from .devices import device as Device
from .dispatch.dispatcher import backend_for, check_written
from .dispatch.registry import overload
from .dtypes import dtype, scalar_type_name
from .errors import no_kernel
from .formats import channels_last, channels_last_3d, contiguous_format, memory_format, preserve_format, strided
from .hollow import within_reach
from .keys import AUTOGRAD, BACKEND_MASK, CPU, FORWARD_GRAD, HOLLOW, INFERENCE, OF_TRANSFORM, QUANTIZED, SPARSE, STRIDED
from .layout import channels_last_strides, suggested_format
from .meta_array import contiguous_strides
from .overriding import handed_over, must_ask
from .pinned import is_pinned, warn_of_device
from .plugins.runtime_access import current_index, require, runtime_of
from .schema import MISSING
from .state import mode_triple, tls
from .subclasses import make_subclass, make_wrapper_subclass, subclass_keys
from .tensor import Tensor
from .tensor_types import TENSORS

__all__ = ["CastMembers"]

_cpu = Device("cpu")
_to_copy = overload("_to_copy", "creation").cache
_pin_memory = overload("_pin_memory", "creation")


class CastMembers:
    """Mixed into Tensor."""

    __slots__ = ()

    @property
    def layout(self: Any) -> Any:
        """How the elements are stored: ``torch.strided``, or a sparse layout."""
        return self._array.layout if self._keys & SPARSE else strided

    @property
    def _backend(self: Any) -> Any:
        key = self._keys & BACKEND_MASK
        backend = BACKENDS.get(key)
        return backend_for(key) if backend is None else backend

    def to(self: Any, *args: Any, dtype: Any = None, device: Any = None, non_blocking: bool = False, copy: bool = False,
           memory_format: Any = None, other: Any = None) -> Any:  # fmt: skip
        """The tensor in another dtype, device or memory format; itself where nothing changes and `copy` is false.

        Called as ``to(dtype)``, ``to(device, dtype)`` or ``to(other)``, each with ``non_blocking`` and ``copy`` after
        it.
        """
        if len(args) == 1 and args[0].__class__ is dtypes.dtype:
            dtype = args[0]
        elif len(args) == 1 and args[0].__class__ is Device:
            device = args[0]
        elif args:
            if args[0].__class__ not in TENSORS and _is_foreign(args[0]):
                return handed_over(CastMembers.to, (self, *args), None)
            dtype, device, non_blocking, copy = _parse_to(args, dtype, device, non_blocking, copy)
        if other is not None:
            dtype, device = other._dtype, other.device
        d = self._dtype if dtype is None else dtype if dtype.__class__ is dtypes.dtype else _as_dtype(dtype)
        where = None if device is None else _as_device(device)
        stays = where is None or _same_device(where, self)
        if d is self._dtype and stays and not copy and _has_format(self, memory_format):
            return self
        place = None if stays else where
        return _to_copy[self._keys | tls.mode](self, d, None, place, None, non_blocking, memory_format)

    def type(self: Any, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
        """The type's name (``torch.FloatTensor``), or the tensor converted to a dtype or type name."""
        if dtype is None:
            where = "" if self.device.type == "cpu" else f"{self.device.type}."
            if self._keys & SPARSE:
                where += "sparse." if self.is_sparse else "sparse_csr."
            if self._keys & QUANTIZED:
                where += "quantized."
            return f"torch.{where}{scalar_type_name(self._dtype)}Tensor"
        d, place = _dtype_of_type(dtype)
        if place is None:
            return self.to(d, non_blocking=non_blocking)
        return self.to(place, d, non_blocking=non_blocking)

    def type_as(self: Any, other: Any) -> Any:
        """The tensor in the dtype (and on the device) of another."""
        if other.__class__ not in TENSORS:
            return _of_foreign(CastMembers.type_as, self, "other", other)
        return self.to(other)

    def cpu(self: Any, memory_format: Any = None) -> Any:
        if memory_format is None and self._keys & BACKEND_MASK == CPU:
            return self
        return self.to("cpu", memory_format=memory_format)

    def cuda(self: Any, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Any:
        """The tensor on a CUDA device, by default the current one."""
        return self.to(moved_to("cuda", device), non_blocking=non_blocking, memory_format=memory_format)

    def xpu(self: Any, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Any:
        """The tensor on an XPU, by default the current one."""
        return self.to(moved_to("xpu", device), non_blocking=non_blocking, memory_format=memory_format)

    def mtia(self: Any, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Any:
        """The tensor on an MTIA device, by default the current one."""
        return self.to(moved_to("mtia", device), non_blocking=non_blocking, memory_format=memory_format)

    def is_contiguous(self: Any, memory_format: Any = contiguous_format) -> bool:
        """Whether the strides are those of a memory format."""
        if memory_format is contiguous_format:
            return not self._keys & STRIDED
        if self._keys & OF_TRANSFORM:
            return self._array.elements_for("memory_format").is_contiguous(memory_format)
        return _is_channels_last(self, memory_format)

    def is_shared(self: Any) -> bool:
        """Whether the memory is shared between processes."""
        return self.untyped_storage().is_shared()

    def share_memory_(self: Any) -> Any:
        """Move the memory where other processes can map it; every tensor on it follows."""
        self.untyped_storage().share_memory_()
        return self

    def is_pinned(self: Any, device: Any = None) -> bool:
        """Whether the memory is page-locked memory of the host, which the accelerator copies by itself."""
        warn_of_device("is_pinned", device)
        return is_pinned(self)

    def pin_memory(self: Any, device: Any = None) -> Any:
        """A copy in page-locked memory of the host; the tensor itself where it lies there already.

        Raises
        ------
        RuntimeError
            When the tensor is not on the CPU, or there is no accelerator.
        NotImplementedError
            When the accelerator's runtime has no pinned memory.
        """
        warn_of_device("pin_memory", device)
        return self if is_pinned(self) else _pin_memory.call(self, None)

    def record_stream(self: Any, stream: Any) -> None:
        """Tell the allocator that a stream uses the memory, which was allocated on another one.

        Without it, memory that is freed on one stream may be handed out again while the other still reads it.

        Raises
        ------
        NotImplementedError
            When the device has no streams, as the CPU.
        RuntimeError
            For a stream of another device.
        """
        where = self.device
        if where.type in ("cpu", "meta"):
            raise NotImplementedError(
                f"Could not run 'aten::record_stream' with arguments from the '{where.type.upper()}' backend."
            )
        runtime = require(where.type, "streams", "Tensor.record_stream")
        if stream.device != where:
            raise RuntimeError(f"a stream of {stream.device} cannot use the memory of a tensor on {where}")
        runtime.record_stream(self._array, stream._handle)

    def is_same_size(self: Any, other: Any) -> bool:
        if other.__class__ not in TENSORS:
            return _of_foreign(CastMembers.is_same_size, self, "other", other)  # type: ignore[no-any-return]
        return self._array.shape == other._array.shape

    def is_set_to(self: Any, tensor: Any) -> bool:
        """Whether both have the same storage, offset, sizes and strides."""
        if tensor.__class__ not in TENSORS:
            return _of_foreign(CastMembers.is_set_to, self, "tensor", tensor)  # type: ignore[no-any-return]
        same = self._array.shape == tensor._array.shape and self.stride() == tensor.stride()
        return same and self.data_ptr() == tensor.data_ptr() and (self is tensor or block_of(self) is block_of(tensor))

    def get_device(self: Any) -> int:
        """The device index; -1 on the CPU."""
        return -1 if self.device.index is None else self.device.index

    def dim_order(self: Any, ambiguity_check: Any = False) -> tuple[int, ...]:
        """Dimensions from outermost to innermost in memory."""
        strides = self.stride()
        return tuple(sorted(range(len(strides)), key=lambda i: -strides[i]))

    def as_subclass(self: Any, cls: Any) -> Any:
        """The same tensor as an instance of a subclass, sharing memory and history."""
        within_reach(self)
        made = object.__new__(cls)
        for slot in ("_array", "_dtype", "_autograd", "_cell", "_base"):
            setattr(made, slot, getattr(self, slot))
        made._keys = self._keys | subclass_keys(cls)
        cell_of(self).add(made)
        made._cell = self._cell
        return made

    _make_subclass = staticmethod(make_subclass)
    _make_wrapper_subclass = staticmethod(make_wrapper_subclass)

    # Resizing

    def resize_(self: Any, *sizes: Any, memory_format: Any = None) -> Any:
        """Give the tensor another shape in place; memory grows when it must, and new elements mean nothing.

        With deterministic algorithms they are NaN, or the largest number.

        Raises
        ------
        RuntimeError
            When the tensor requires grad, and neither it nor the call belongs to inference mode.
        """
        shape = tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
        if self._keys & AUTOGRAD and not (self._keys | mode_triple(tls.mode)[2]) & INFERENCE:
            raise RuntimeError("cannot resize variables that require grad")
        if self._keys & FORWARD_GRAD:
            raise RuntimeError("cannot resize variables that has a forward grad")
        if memory_format is preserve_format:
            raise RuntimeError("Unsupported memory formatPreserve")
        if any(n < 0 for n in shape):
            raise RuntimeError(f"requested resize to {list(shape)} ({math.prod(shape)} elements in total)")
        if shape == self._array.shape and memory_format is None:
            return self
        strides = contiguous_strides(shape)
        if memory_format in (channels_last, channels_last_3d):
            strides = channels_last_strides(shape, memory_format)
        if self._keys & SPARSE:
            raise no_kernel("Could not run 'aten::resize_' with arguments from the 'SparseCPU' backend.")
        if self._keys & HOLLOW and (resized := getattr(self._array, "resized", None)) is not None:
            return resized(self, shape, strides)
        held = give_shape(self, shape, strides)
        cell_of(self).version += 1
        if DETERMINISM.fills and held < math.prod(shape):
            _fill_from(self, held)
        check_written(self)
        return self

    def resize_as_(self: Any, the_template: Any, *, memory_format: Any = None) -> Any:
        """`resize_` to the shape of another tensor; with ``torch.preserve_format`` in the other's memory format."""
        if memory_format is preserve_format:
            memory_format = _format_of(the_template)
        return self.resize_(tuple(the_template.shape), memory_format=memory_format)

    def set_(
        self: Any, source: Any = MISSING, storage_offset: Any = MISSING, size: Any = MISSING, stride: Any = MISSING
    ) -> Any:
        """Lay the tensor out, in place, on the memory of another tensor or storage: ``set_(source)``.

        ``set_(source, storage_offset, size, stride=None)`` chooses the geometry (in elements, row-major without
        strides); a storage that is too small for it grows. ``set_()`` leaves the tensor empty, on no memory.

        Raises
        ------
        TypeError, RuntimeError
            For a source of another dtype or device, geometries that make no sense, and leaves that require grad.
        """
        from .storage_tensors import set_tensor  # lazy: few programs name a storage

        return set_tensor(self, source, storage_offset, size, stride)


def _is_foreign(value: Any) -> bool:
    """Whether a value is no tensor, but of a class that overrides functions."""
    return not isinstance(value, type) and must_ask((value,))


def _of_foreign(method: Any, self: Any, parameter: str, other: Any) -> Any:
    """What a method of two tensors gives where the other is none: its class may override the method."""
    if _is_foreign(other):
        return handed_over(method, (self, other), None)
    kind = type(other).__name__
    raise TypeError(f"{method.__name__}(): argument '{parameter}' (position 1) must be Tensor, not {kind}")


def _parse_to(
    args: tuple[Any, ...], dtype: Any, device: Any, non_blocking: bool, copy: bool
) -> tuple[Any, Any, bool, bool]:
    first, rest = args[0], list(args[1:])
    if first.__class__ in TENSORS:
        dtype, device = first._dtype, first.device
    elif first.__class__ is dtypes.dtype or isinstance(first, type) and first in dtypes.PYTHON_DTYPES:
        dtype = first
    elif first is None or isinstance(first, (str, int)) or first.__class__ is Device:
        device = first
        if rest and not isinstance(rest[0], bool):
            dtype = rest.pop(0)
    else:
        raise TypeError(
            "to() received an invalid combination of arguments - got "
            f"({', '.join(type(a).__name__ for a in args)}), but expected one of:\n * (torch.device device = None, "
            "torch.dtype dtype = None, bool non_blocking = False, bool copy = False, *, torch.memory_format "
            "memory_format = None)\n * (torch.dtype dtype, bool non_blocking = False, bool copy = False, *, "
            "torch.memory_format memory_format = None)\n * (Tensor tensor, bool non_blocking = False, bool copy = "
            "False, *, torch.memory_format memory_format = None)\n"
        )
    if rest:
        non_blocking = rest.pop(0)
    if rest:
        copy = rest.pop(0)
    return dtype, device, non_blocking, copy


def _as_dtype(value: Any) -> dtype:
    found = to_dtype(value)
    if found is REJECTED:
        raise TypeError(f"to(): argument 'dtype' must be torch.dtype, not {type(value).__name__}")
    return found


def _as_device(value: Any) -> device:
    if value.__class__ is device:
        return value
    return _cpu if value == "cpu" else device(value)


def _same_device(wanted: device, tensor: Any) -> bool:
    """Whether a tensor is on a device; one without an index is the current one of its type."""
    have = tensor.device
    if wanted is have or wanted == have:
        return True
    if wanted.type != have.type:
        return False
    if have.index is None:
        return wanted.index in (None, 0)
    return wanted.index is None and (runtime_of(have.type) is None or current_index(have.type) == have.index)


def _fill_from(tensor: Any, start: int) -> None:
    """Fill a dense tensor's elements from one on, counted as they lie in memory."""
    flat = tensor.data.as_strided((tensor.numel() - start,), (1,), tensor.storage_offset() + start)
    flat.fill_(filler_of(tensor._dtype))


def _has_format(tensor: Any, wanted: memory_format | None) -> bool:
    """Whether a tensor's strides suggest the format that is wanted, also with gaps: then it need not be copied."""
    return wanted is None or wanted is preserve_format or (suggested_format(tensor) or contiguous_format) is wanted


def _format_of(tensor: Any) -> memory_format:
    """The channels-last format that a tensor's elements lie in, else the contiguous one."""
    return next((f for f in (channels_last, channels_last_3d) if _is_channels_last(tensor, f)), contiguous_format)


def _is_channels_last(tensor: Any, wanted: memory_format) -> bool:
    shape, strides = tensor._array.shape, tensor.stride()
    if len(shape) != {channels_last: 4, channels_last_3d: 5}.get(wanted):
        return False
    step = 1
    for dim in (1, *reversed(range(2, len(shape))), 0):
        if shape[dim] != 1:
            if strides[dim] != step:
                return False
            step *= shape[dim]
    return True


def _dtype_of_type(value: Any) -> tuple[dtype, str | None]:
    """What a dtype, a class or the name of one says: a dtype, and a device where it names one."""
    if value.__class__ is dtype:
        return value, None
    if not isinstance(value, (str, type)):
        raise TypeError("dtype must be a type, str, or dtype object")
    name = value if isinstance(value, str) else f"{value.__module__}.{value.__name__}".removeprefix("builtins.")
    place, _, short = name.rpartition(".")
    where = place.removeprefix("torch.") if place.startswith("torch.") else None
    if value is Tensor or name == "torch.Tensor":
        return dtypes.get_default_dtype(), None
    for d in dtypes.ALL_DTYPES:
        if short == f"{scalar_type_name(d)}Tensor":
            return d, where
    raise ValueError(f"invalid type: '{name}'")


def _caster(d: dtype) -> Any:
    def cast(self: Any, memory_format: Any = None) -> Any:
        if memory_format is None:
            return self if self._dtype is d else _to_copy[self._keys | tls.mode](self, d, None, None, None, False, None)
        return self.to(d, memory_format=memory_format)

    cast.__doc__ = f"The tensor as {d!r}; itself where it is already."
    return cast


for _name, _target in {
    "float": dtypes.float32, "double": dtypes.float64, "half": dtypes.float16, "bfloat16": dtypes.bfloat16,
    "int": dtypes.int32,
    "long": dtypes.int64, "short": dtypes.int16, "char": dtypes.int8, "byte": dtypes.uint8, "bool": dtypes.bool,
    "cfloat": dtypes.complex64, "cdouble": dtypes.complex128, "chalf": dtypes.complex32,
}.items():  # fmt: skip
    _cast = _caster(_target)
    _cast.__name__ = _name
    setattr(CastMembers, _name, _cast)
