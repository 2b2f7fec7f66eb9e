"""Memory on MindSpore's storages: allocation, strided views, writes.

What MindSpore 2.10 does on its CPU target, and what is done about it here:

- In-place operators, on whole tensors too, return a new tensor and leave their argument; none is called.
- ``InplaceCopy`` into a view writes nothing, without an error. It is used from whole storages to whole storages; views
  are written by slice assignment, except on Ascend, where ``InplaceCopy`` takes strides.
- Slice assignment takes neither 0-dim views nor bfloat16, and fails where source and target overlap: a 0-dim view is
  written as one of a single element, bfloat16 as int16, and an overlapping source is copied before.
- A view in another dtype of memory that was allocated for a 0-dim tensor ends the process, by way of flat views too:
  no storage is. 0-dim tensors that MindSpore makes are copied to storages of one element.
- Host memory is shared, not copied, by ``Tensor.from_numpy``: what the caller may change is copied before.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy

from mt_core.checks.memory import refuse_size
from mt_core.meta_array import contiguous_strides

from .array import MindSporeArray
from .dtypes import DtypeMap

__all__ = ["Memory"]

_BYTE = numpy.dtype(numpy.uint8)
_SHORT = numpy.dtype(numpy.int16)
Ints = tuple[int, ...]
_row_major = functools.lru_cache(4096)(contiguous_strides)


class Memory:
    """Arrays of one device target.

    Parameters
    ----------
    mindspore
        The module, its device target set.
    dtypes
        The dtypes that arrays have.
    writes_views
        Whether ``InplaceCopy`` writes into views: on Ascend.
    """

    def __init__(self, mindspore: Any, dtypes: DtypeMap, *, writes_views: bool) -> None:
        generated = mindspore.ops.auto_generate
        self._writes_views = writes_views
        self._strided = generated.as_strided
        self._copied = generated.copy_op
        self._inplace_copy = generated.InplaceCopy()
        self._inplace_fill = generated.InplaceFillScalar()
        self._inplace_zero = generated.InplaceZero()
        self._empty = mindspore.mint.empty
        self._broadcast = mindspore.mint.broadcast_to
        self._from_numpy = mindspore.Tensor.from_numpy
        self._dtypes = dtypes
        self._bfloat16 = mindspore.bfloat16
        self._short = mindspore.int16
        self._numbers: dict[Any, Any] = {}
        self._make = mindspore.Tensor

    # Allocation

    def empty(self, shape: Ints, d: numpy.dtype, strides: Ints | None) -> MindSporeArray:
        """Uninitialized elements; `strides` in elements, None for row-major."""
        theirs = self._dtypes.to_mindspore(d)
        if not shape:
            base = self._empty((1,), dtype=theirs)
            return MindSporeArray(self._strided(base, (), (), 0), base, (), (), 0, d)
        if strides is None:
            refuse_size(shape, d.itemsize)
            made = self._empty(shape, dtype=theirs)
            return MindSporeArray(made, made, shape, contiguous_strides(shape, d.itemsize), 0, d)
        refuse_size(shape, d.itemsize, list(strides))
        extent = 0 if 0 in shape else 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
        base = self._empty((extent,), dtype=theirs)
        in_bytes = tuple(s * d.itemsize for s in strides)
        return MindSporeArray(self._strided(base, shape, strides, 0), base, shape, in_bytes, 0, d)

    def fresh(self, tensor: Any) -> MindSporeArray:
        """The array of a tensor that nobody else has; laid out row by row, on a storage of its own."""
        if tensor.storage_offset() or not tensor.is_contiguous():
            tensor = self._copied(tensor.contiguous())
        shape = tuple(tensor.shape)
        d = self._dtypes.of_tensor(tensor)
        if not shape:
            base = self._copied(tensor.reshape((1,)))
            return MindSporeArray(self._strided(base, (), (), 0), base, (), (), 0, d)
        return MindSporeArray(tensor, tensor, shape, _row_major(shape, d.itemsize), 0, d)

    def shaped(self, tensor: Any, shape: Ints) -> MindSporeArray:
        """`fresh`, of a tensor whose shape is known."""
        if not shape or tensor.storage_offset() or not tensor.is_contiguous():
            return self.fresh(tensor)
        d = self._dtypes.of_tensor(tensor)
        return MindSporeArray(tensor, tensor, shape, _row_major(shape, d.itemsize), 0, d)

    def known(self, tensor: Any, shape: Ints, d: numpy.dtype) -> MindSporeArray:
        """`fresh`, of a tensor that is row-major and of known shape and dtype: MindSpore waits where it is asked."""
        return MindSporeArray(tensor, tensor, shape, _row_major(shape, d.itemsize), 0, d)

    def single(self, tensor: Any, d: numpy.dtype | None = None) -> MindSporeArray:
        """The 0-dim array of a tensor with dimensions, of one element, that nobody else has."""
        if d is None:
            d = self._dtypes.of_tensor(tensor)
        return MindSporeArray(self._strided(tensor, (), (), 0), tensor, (), (), 0, d)

    def shared(self, tensor: Any) -> MindSporeArray:
        """The array on the memory of a MindSpore tensor that others have too, which may be a view."""
        shape, d = tuple(tensor.shape), self._dtypes.of_tensor(tensor)
        in_bytes = tuple(s * d.itemsize for s in tensor.stride())
        offset = tensor.storage_offset() * d.itemsize
        count = tensor.untyped_storage().nbytes() // d.itemsize
        base = self._strided(tensor, (count,), (1,), 0)
        base.of_one_number = count == 1
        return MindSporeArray(tensor, base, shape, in_bytes, offset, d)

    # Views

    def view(self, array: MindSporeArray, shape: Ints, strides: Ints, offset: int, d: numpy.dtype) -> MindSporeArray:
        """Another window of an array's storage; strides and offset in elements of the dtype."""
        size = d.itemsize
        typed = (
            array.base if array.dtype is d and self._dtypes.of_tensor(array.base) is d else self.retyped(array.base, d)
        )
        made = self._strided(typed, shape, strides, offset) if 0 not in shape else self._nothing(shape, d)
        return MindSporeArray(made, array.base, shape, tuple(s * size for s in strides), offset * size, d)

    def _nothing(self, shape: Ints, d: numpy.dtype) -> Any:
        """A tensor without elements: of a view without elements nothing is read."""
        return self._empty(shape, dtype=self._dtypes.to_mindspore(d))

    def retyped(self, base: Any, d: numpy.dtype) -> Any:
        """A whole storage as a flat tensor of a dtype; bytes after the last whole element are left out."""
        if not base.size:
            return self._nothing((0,), d)
        flat = base if base.ndim == 1 else self._strided(base, (base.size,), (1,), 0)
        if self._dtypes.of_tensor(flat) is d:
            return flat
        if getattr(base, "of_one_number", False):
            raise NotImplementedError(
                "a tensor on the memory of a single number of MindSpore's has no views of other dtypes: they would end "
                "the process. from_mindspore(..., copy=True) makes one that has"
            )
        count = base.nbytes // d.itemsize
        if count * d.itemsize != base.nbytes:
            flat = self._strided(flat, (count * d.itemsize // flat.itemsize,), (1,), 0)
        return flat.view(self._dtypes.to_mindspore(d))

    def opened(self, array: MindSporeArray) -> Any:
        """MindSpore's tensor of the elements."""
        if array.tensor is None:
            array.tensor = self._strided(
                self.retyped(array.base, array.dtype), array.shape, (1,), array.offset // array.itemsize
            )
        return array.tensor

    # Writes

    def replaced(self, target: MindSporeArray, made: MindSporeArray) -> bool:
        """Give a whole storage the elements of a fresh array of its shape and dtype; False where it is neither."""
        shape = target.shape
        if (
            target.tensor is not target.base
            or made.tensor is not made.base
            or made.shape != shape
            or made.dtype != target.dtype
            or 0 in shape
        ):
            return False
        self._inplace_copy(target.base, made.base, False)
        return True

    def filled(self, target: MindSporeArray, value: Any) -> bool:
        """Give all elements of an array a number of its dtype; False where a copy has to: they share memory."""
        if not self._writes_views or 0 in target.strides:
            return False
        if value == 0 and str(value).lstrip("(")[:1] != "-":  # the negative zero is another number
            self._inplace_zero(self.opened(target))
        else:
            self._inplace_fill(self.opened(target), value)
        return True

    def write(self, target: MindSporeArray, source: Any) -> None:
        """Give an array the elements of a tensor of its dtype, broadcast."""
        if 0 in target.shape:
            return
        if 0 in target.strides:  # elements that share memory are written once: they are given one value
            target, source = self._without_repetition(target, source)
        if tuple(source.shape) != target.shape:
            source = self._broadcast(source, target.shape)
        tensor = self.opened(target)
        if tensor is target.base and not self._writes_views and not source.storage_offset() and source.is_contiguous():
            if source.untyped_storage().nbytes() == target.size * target.itemsize:
                self._inplace_copy(tensor, source, False)
                return
        if self._writes_views:
            self._inplace_copy(tensor, source, False)
            return
        if not source.is_contiguous():
            source = source.contiguous()
        if self._is_whole(target):
            if source.untyped_storage().nbytes() != source.nbytes:  # it would be taken for its whole storage
                source = self._copied(source)
            self._inplace_copy(target.base, source.reshape(target.base.shape), False)
            return
        if source.untyped_storage().data_ptr() == target.base.data_ptr():
            source = self._copied(source)
        if not target.shape:
            tensor = self._strided(
                self.retyped(target.base, target.dtype), (1,), (1,), target.offset // target.itemsize
            )
            source = source.reshape((1,))
        if tensor.dtype == self._bfloat16:
            shorts = self.retyped(target.base, _SHORT)
            tensor = self._strided(shorts, tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset())
            source = source.view(self._short)
        tensor[:] = source

    def _is_whole(self, target: MindSporeArray) -> bool:
        """Whether an array is all of its storage, in the storage's dtype."""
        return not target.offset and (
            target.tensor is target.base
            or target.size * target.itemsize == target.base.nbytes
            and self._dtypes.of_tensor(target.base) is target.dtype
            and bool(target.tensor.is_contiguous())
        )

    def _without_repetition(self, target: MindSporeArray, source: Any) -> tuple[MindSporeArray, Any]:
        lead = target.ndim - source.ndim
        for dim, step in enumerate(target.strides):
            if step == 0 and dim >= lead and source.shape[dim - lead] > 1:
                source = source.narrow(dim - lead, 0, 1)
        shape = tuple(1 if step == 0 else n for n, step in zip(target.shape, target.strides, strict=True))
        size = target.itemsize
        # Strides of dimensions of size 1 say nothing: any but 0.
        strides = tuple(s // size or 1 for s in target.strides)
        return self.view(target, shape, strides, target.offset // size, target.dtype), source

    # The host

    def from_host(self, array: numpy.ndarray) -> MindSporeArray:
        """A copy of NumPy's elements."""
        theirs = self._dtypes.to_mindspore(array.dtype)
        if theirs == self._bfloat16:
            made = self._from_numpy(numpy.array(array.view(_SHORT).reshape(-1), order="C"))
            flat = made.view(theirs) if array.size else self._nothing((0,), array.dtype)
            strides = contiguous_strides(array.shape, 1)
            tensor = (
                self._strided(flat, array.shape, strides, 0) if array.size else self._nothing(array.shape, array.dtype)
            )
            in_bytes = contiguous_strides(array.shape, 2)
            return MindSporeArray(tensor, flat, tuple(array.shape), in_bytes, 0, array.dtype)
        if not array.shape:
            base = self._from_numpy(numpy.array(array.reshape(1)))
            return MindSporeArray(self._strided(base, (), (), 0), base, (), (), 0, array.dtype)
        made = self._from_numpy(numpy.array(array, order="C", copy=True))
        return MindSporeArray(
            made, made, tuple(array.shape), contiguous_strides(array.shape, array.itemsize), 0, array.dtype
        )

    def to_host(self, array: MindSporeArray) -> numpy.ndarray:
        """A copy of the elements in NumPy's memory."""
        if 0 in array.shape:
            return numpy.empty(array.shape, array.dtype)
        tensor = self.opened(array)
        if getattr(array.base, "of_one_number", False):
            tensor = self._copied(self._strided(array.base, (1,), (1,), 0))
            host = (tensor.view(self._short) if tensor.dtype == self._bfloat16 else tensor).asnumpy()
            return numpy.array(host.view(array.dtype)).reshape(array.shape)
        if tensor.dtype == self._bfloat16:
            tensor = self._strided(
                self.retyped(array.base, _SHORT), tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset()
            )
        if tensor.storage_offset() or not tensor.is_contiguous():
            tensor = self._copied(tensor.contiguous())
        host = numpy.array(tensor.asnumpy())
        return host if host.dtype == array.dtype else host.view(array.dtype)

    def number(self, value: Any, d: numpy.dtype) -> Any:
        """A 0-dim tensor of a number, which nobody writes; the last few hundred are kept."""
        key = (value, value.__class__, d, math.copysign(1.0, value) if value.__class__ is float else 1.0)
        made = self._numbers.get(key)
        if made is None:
            if len(self._numbers) > 400:
                self._numbers.clear()
            made = self._numbers[key] = self._make(value, self._dtypes.to_mindspore(d))
        return made
