"""The members of a tensor that lead out of it: Python numbers, NumPy, text, copies, pickles."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from . import dtypes
from .block import Block, block_of, end_of, resize_block
from .cell import Cell
from .errors import NoElements
from .host import exported, host_array, resolved
from .keys import (
    AUTOGRAD,
    BACKEND_MASK,
    CONJUGATE,
    CPU,
    FLAGS,
    FORWARD_GRAD,
    HOLLOW,
    META,
    NEGATIVE,
    OTHER_INDEX,
    QUANTIZED,
    SPARSE,
    STRIDED,
)
from .meta_array import HollowArray
from .quantized.tensors import quantized
from .subclasses import slots_of
from .tensor import Tensor, new_tensor

__all__ = ["ConversionMembers"]

#: A tensor with no other of these bits than CPU is, element by element, what its NumPy array says.
_AS_STORED = BACKEND_MASK | CONJUGATE | NEGATIVE | HOLLOW


def _number(tensor: Any, real: str) -> Any:
    """The number that a tensor of one element is, of a complex one its real part where `real` is C++'s name for that.

    Raises
    ------
    ValueError
        When there is not exactly one element.
    RuntimeError
        When an imaginary part would be lost, or there is no data (meta).
    """
    if tensor._array.size != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    value = tensor.item()
    if not real or value.__class__ is not complex:
        return value
    if value.imag:
        raise RuntimeError(f"value cannot be converted to type {real} without overflow")
    return value.real


class ConversionMembers:
    """Mixed into Tensor."""

    __slots__ = ()

    def item(self: Any) -> Any:
        """The value of a one-element tensor as a Python number.

        Raises
        ------
        RuntimeError
            When it has not exactly one element, or no data (meta).
        """
        array = self._array
        if array.size != 1:
            raise RuntimeError(f"a Tensor with {array.size} elements cannot be converted to Scalar")
        if self._keys & _AS_STORED == CPU and self._dtype.native:
            return array.item()
        if self._keys & HOLLOW:
            return array.elements_for("item").item()
        if self._keys & META:
            raise NoElements("Tensor.item() cannot be called on meta tensors")
        value = host_array(self).reshape(-1)[0]
        if self._dtype.native:
            return value.item()
        return complex(value["real"], value["imag"]) if self._dtype.is_complex else float(value)

    def tolist(self: Any) -> Any:
        """Nested lists of Python numbers; a number for a 0-dim tensor."""
        if self._keys & _AS_STORED == CPU and self._dtype.native:
            return self._array.tolist()
        if self._keys & HOLLOW:
            if self._keys & QUANTIZED:
                raise RuntimeError("load_scalar: invalid type")
            return self._array.elements_for("memory").tolist()
        if self._dtype.native:
            return host_array(self).tolist()
        backend = self._backend
        return backend.to_host(backend.cast(resolved(self)._array, self._dtype.compute)).tolist()

    def numpy(self: Any, *, force: bool = False) -> np.ndarray:
        """The elements as a NumPy array on the same memory.

        With `force`, whatever stands in the way is undone first (``detach``, copy to the CPU, lazy bits).

        Raises
        ------
        RuntimeError, TypeError
            For tensors that require grad, have lazy bits, lie elsewhere, or have a dtype NumPy lacks.
        """
        if force:
            return self.detach().cpu().resolve_conj().resolve_neg().numpy()
        return exported(self)

    def __array__(self: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self.numpy()
        if dtype is not None:
            array = array.astype(dtype, copy=False)
        return array.copy() if copy else array

    def __array_wrap__(self: Any, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        from .interop import from_numpy  # lazy: exchange with NumPy's functions is rare

        array = np.asarray(array)
        if array.dtype == np.bool_:
            array = array.astype(np.uint8).view(np.bool_)
        return from_numpy(array)

    def __bool__(self: Any) -> bool:
        array = self._array
        if array.size != 1:
            if array.size == 0:
                raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        if self._keys & _AS_STORED == CPU and self._dtype.native:
            return bool(array)
        if self._keys & HOLLOW:
            return bool(array.elements_for("bool"))
        return bool(self.item())

    def __int__(self: Any) -> int:
        return int(_number(self, "int64_t"))

    def __float__(self: Any) -> float:
        return float(_number(self, "double"))

    def __complex__(self: Any) -> complex:
        return complex(_number(self, ""))

    def __index__(self: Any) -> int:
        if self._array.size != 1 or not (self._dtype.is_integral or self._dtype is dtypes.bool):
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __repr__(self: Any, *, tensor_contents: str | None = None) -> str:
        from .printing import tensor_repr  # lazy: needed when something is printed

        return tensor_repr(self, tensor_contents)

    def __format__(self: Any, spec: str) -> str:
        if self._array.ndim == 0 and not self._keys & META and type(self).__name__ == "Tensor":
            return self.item().__format__(spec)
        return object.__format__(self, spec)

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        """A copy of a leaf with its own memory, flags, ``.grad`` and attributes.

        Raises
        ------
        RuntimeError
            For tensors that were computed from others.
        """
        if self._autograd is not None and not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the "
                "moment.  If you were attempting to deepcopy a module, this may be because of a "
                "torch.nn.utils.weight_norm usage, see https://github.com/pytorch/pytorch/pull/103001"
            )
        if id(self) in memo:
            return memo[id(self)]
        return copied_leaf(self, memo)

    def __reduce_ex__(self: Any, protocol: Any) -> Any:
        from .serialization.tensor_pickle import reduce_tensor  # lazy: files and pickles come late

        return reduce_tensor(self, protocol)

    def __setstate__(self: Any, state: Any) -> None:
        if isinstance(state, dict):
            self.__dict__.update(state)
            return
        raise RuntimeError("tensors are rebuilt by torch._utils._rebuild_tensor_v2, not from a state tuple")

    def __dlpack__(
        self: Any, *, stream: Any = -1, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        """A DLPack capsule on the tensor's memory (a copy of it if `copy`).

        Parameters
        ----------
        stream
            Address of the stream on which the consumer will read a device's memory: it waits for the current stream.
            None is the default stream, -1 (as when nothing is passed) asks for no order.

        Raises
        ------
        BufferError
            When the tensor cannot be shared as it is, or not with the device asked for.
        """
        from . import dlpack  # lazy: it loads ctypes

        if not (stream is None or isinstance(stream, int)):
            raise TypeError("stream must be ``int`` or ``none``")
        if self.is_cpu and stream not in (None, -1):
            raise AssertionError("stream should be None on cpu.")
        if dl_device is not None and tuple(dl_device) != dlpack.device_of(self):
            raise BufferError(
                f"cannot export a tensor on {self.device} to DLPack device {tuple(dl_device)}: move it there first"
            )
        shared = self.clone() if copy else self
        if not self.is_cpu:
            dlpack.order_export(shared, stream)
        return dlpack.capsule_of(shared, max_version)

    @property
    def __cuda_array_interface__(self: Any) -> dict[str, Any]:
        """How other libraries find the memory of a CUDA tensor (version 2 of the interface: no streams).

        Raises
        ------
        AttributeError
            For tensors of other devices, so that ``hasattr`` is False.
        RuntimeError
            For tensors that require grad.
        """
        if self.device.type != "cuda":
            raise AttributeError(
                f"Can't get __cuda_array_interface__ on non-CUDA tensor type: {self.type()} If CUDA data is required "
                "use tensor.cuda() to copy tensor to device memory."
            )
        if self.requires_grad:
            raise RuntimeError(
                "Can't get __cuda_array_interface__ on Variable that requires grad. If gradients aren't required, use "
                "var.detach() to get Variable that doesn't require grad."
            )
        size, contiguous = self.element_size(), self.is_contiguous()
        return {
            "typestr": self.dtype.numpy_dtype.str, "shape": tuple(self.shape),
            "strides": None if contiguous else tuple(s * size for s in self.stride()),
            "data": (self.data_ptr() if self.numel() else 0, False), "version": 2,
        }  # fmt: skip

    def __dlpack_device__(self: Any) -> tuple[int, int]:
        from . import dlpack  # lazy: it loads ctypes

        return dlpack.device_of(self)

    def storage(self: Any) -> Any:
        """The typed storage (deprecated in PyTorch, which warns; `untyped_storage` is the current form)."""
        from .typed_storage import _warn_typed_storage_removal  # lazy: a deprecated class

        _warn_typed_storage_removal()
        return self._typed_storage()

    def _typed_storage(self: Any) -> Any:
        from .typed_storage import TypedStorage  # lazy: a deprecated class

        return TypedStorage(wrap_storage=self.untyped_storage(), dtype=self._dtype, _internal=True)

    def untyped_storage(self: Any) -> Any:
        """The bytes this tensor lies on; one object per block of memory."""
        from .storage import untyped_storage_of  # lazy: few programs name a storage

        return untyped_storage_of(self._array.integers if self._keys & QUANTIZED else self)

    @property
    def _cdata(self: Any) -> int:
        """A number that no other tensor alive has."""
        return id(self)

    def data_ptr(self: Any) -> int:
        """Address of the first element; 0 for tensors without elements, and where the storage has none."""
        if self._keys & HOLLOW:
            return self._array.elements_for("memory").data_ptr()
        if self._array.size == 0 or self._keys & META or isinstance(self._array, HollowArray):
            return 0
        cell = self._cell
        if cell is not None and cell.block is not None and not cell.block.nbytes:
            return 0
        return self._backend.address(self._array)


def copied_leaf(self: Any, memo: dict[int, Any]) -> Any:
    """The deep copy of a leaf: its storage is copied once for all tensors on it."""
    if self._keys & QUANTIZED:
        return quantized(copied_leaf(self._array.integers, memo), self._array.quantizer)
    if self._keys & SPARSE:
        return _copied_sparse(self, memo)
    block = block_of(self)
    copied_block = memo.get(id(block))
    backend = block.backend
    if copied_block is None:
        owner = backend.empty((block.nbytes,), dtypes.uint8, None, backend.index_of(block.owner))
        backend.copy(owner, block.owner)
        copied_block = memo[id(block)] = Block(owner, backend, block.keys)
    needed = end_of(block, self)
    if needed > copied_block.nbytes:  # the storage has become too small for the tensor; the copy's fits, as in PyTorch
        resize_block(copied_block, needed)
    array = self._array
    laid_out = backend.as_strided(copied_block.owner, array.shape, array.strides, block.offset_of(self), self._dtype)
    differentiated = AUTOGRAD | FORWARD_GRAD
    keys = self._keys & ~(differentiated | FLAGS) | self._keys & (STRIDED | OTHER_INDEX)
    result = new_tensor(laid_out, self._dtype, keys)
    cell = result._cell = Cell(result)
    cell.version = 1  # PyTorch lays out a tensor that was there before
    copied_block.enter(cell)
    result = resolved(result)
    if type(self) is not type(result):
        result = result.as_subclass(type(self))
    return _with_state(self, result, memo)


def _copied_sparse(self: Any, memo: dict[int, Any]) -> Any:
    """The deep copy of a leaf of a sparse layout."""
    result = self.detach().clone()
    if type(self) is not type(result):
        result = result.as_subclass(type(self))
    return _with_state(self, result, memo)


def _with_state(self: Any, result: Any, memo: dict[int, Any]) -> Any:
    """A leaf's copy, with what it carries besides its elements."""
    memo[id(self)] = result
    if self.requires_grad:
        result.requires_grad_(True)
    if self._autograd is not None and self._autograd.grad is not None:
        result.grad = copy.deepcopy(self._autograd.grad, memo)
    if self.__dict__:
        result.__dict__.update(copy.deepcopy(self.__dict__, memo))
    for name, value in slots_of(self).items() if type(self) is not Tensor else ():
        setattr(result, name, copy.deepcopy(value, memo))
    return result
