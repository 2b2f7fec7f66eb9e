"""The Tensor: metadata over a backend array.

Slots
-----
_array
    Backend array: ``numpy.ndarray`` on cpu, `MetaArray` on meta, the backend's own type elsewhere.
_dtype
    `mt_core.dtypes.dtype`.
_keys
    Dispatch keys and flags (`mt_core.keys`).
_autograd
    `AutogradState`, or None for a tensor that takes no part in differentiation.
_cell
    What it shares with its views (`mt_core.cell`), or None as long as there are none.
_base
    The tensor it is a view of, or None.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import device_methods, dtypes
from .autograd_state import AutogradState, refuse_in_transforms
from .block import block_of
from .cell import Cell, counts_writes
from .devices import device, device_type_of
from .dtypes import dtype
from .formats import sparse_coo, sparse_csr
from .keys import (
    AUTOGRAD,
    BACKEND_MASK,
    CONJUGATE,
    CPU,
    INFERENCE,
    META,
    NEGATIVE,
    OF_TRANSFORM,
    PIPELINE,
    QUANTIZED,
    SPARSE,
    STRIDED,
)
from .meta_array import HollowArray, MetaArray, contiguous_strides
from .overriding import PLAIN, asking, disabled_torch_dispatch, disabled_torch_function
from .size import Size
from .tensor_types import TENSORS

if TYPE_CHECKING:
    from .api._methods import TensorBase
    from .tensor_autograd import AutogradMembers
    from .tensor_cast import CastMembers
    from .tensor_convert import ConversionMembers
    from .tensor_handwritten import HandwrittenMembers
    from .tensor_index import IndexingMembers

    class _Members(HandwrittenMembers, TensorBase, AutogradMembers, CastMembers, ConversionMembers, IndexingMembers):
        __slots__ = ()

        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any: ...

else:
    # `mt_core._assemble` attaches what a tensor can do, so that nothing here reaches up.
    _Members = object

__all__ = ["Tensor", "new_tensor"]

_new_object = object.__new__
_new_tuple = tuple.__new__
_cpu = device("cpu")
_meta = device("meta")


class Tensor(_Members):
    """A multi-dimensional array of one dtype on one device, as ``torch.Tensor``."""

    __slots__ = ("_array", "_dtype", "_keys", "_autograd", "_cell", "_base", "__dict__", "__weakref__")
    _array: Any
    _dtype: dtype
    _keys: int
    _autograd: AutogradState | None
    _cell: Cell | None
    _base: Tensor | None

    # NumPy must not take over `array + tensor`: Python then asks the tensor.
    __array_priority__ = 1000

    def __hash__(self) -> int:
        """Its identity, as PyTorch has it: programs look tensors up by it."""
        return id(self)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Everything happens in ``__new__``; subclasses may override this freely."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        TENSORS.add(cls)
        # As in PyTorch, a class that is handed operators overrides functions only if it says so.
        if _function_of(cls) is _function_of(Tensor) and cls.__torch_dispatch__ is not disabled_torch_dispatch:  # type: ignore[attr-defined]
            cls.__torch_function__ = staticmethod(disabled_torch_function)  # type: ignore[method-assign, assignment]
        if not asking(cls):
            PLAIN.add(cls)

    # Layout

    @property
    def shape(self) -> Size:
        """Sizes of the dimensions."""
        return _new_tuple(Size, self._array.shape)

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the size of one dimension.

        Raises
        ------
        IndexError
            When `dim` is out of range.
        """
        if dim is None:
            return _new_tuple(Size, self._array.shape)
        shape = self._array.shape
        if not shape:
            raise no_dimensions(dim)
        return shape[wrap_dim(dim, len(shape))]

    def stride(self, dim: int | None = None) -> Any:
        """Steps between neighbours along each dimension (or one), in elements."""
        array = self._array
        size = array.itemsize
        if dim is not None and not array.ndim:
            raise no_dimensions(dim)
        if not isinstance(array, MetaArray) and 0 in array.shape and not any(array.strides) and self._base is None:
            # Array libraries forget the strides of arrays without elements, though not of views.
            strides = contiguous_strides(array.shape)
            return strides if dim is None else strides[wrap_dim(dim, array.ndim)]
        if dim is not None:
            return array.strides[wrap_dim(dim, array.ndim)] // size
        return tuple([step // size for step in array.strides])

    def dim(self) -> int:
        """Number of dimensions."""
        return self._array.ndim

    def ndimension(self) -> int:
        """Number of dimensions."""
        return self.dim()

    @property
    def ndim(self) -> int:
        return self._array.ndim

    def numel(self) -> int:
        """Number of elements."""
        return self._array.size

    def nelement(self) -> int:
        """Number of elements."""
        return self.numel()

    def element_size(self) -> int:
        """Bytes per element."""
        return self._dtype.itemsize

    @property
    def itemsize(self) -> int:
        return self._dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self._array.size * self._dtype.itemsize

    def storage_offset(self) -> int:
        """Elements between the start of the storage and the first element."""
        if isinstance(self._array, HollowArray):
            return self._array.offset // self._array.itemsize
        if self._cell is None:
            return 0
        return block_of(self).offset_of(self) // self._dtype.itemsize

    @property
    def dtype(self) -> dtype:
        return self._dtype

    @property
    def device(self) -> device:
        backend = self._keys & BACKEND_MASK
        if backend == CPU:
            return _cpu
        if backend == META:
            return _meta
        if isinstance(self._array, HollowArray):
            return self._array.device  # a hollow tensor's device need not be there (`mt_core.hollow`)
        return device(device_type_of(backend), self._backend.index_of(self._array))

    # Differentiation: the slots are the core's, the work is the autograd layer's.

    @property
    def requires_grad(self) -> bool:
        """Whether operations on this tensor are recorded."""
        return self._keys & AUTOGRAD != 0

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if value.__class__ is not bool:
            raise RuntimeError("requires_grad must be a bool")
        self._set_requires_grad(value)

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise RuntimeError("requires_grad must be a bool")

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Switch recording for this leaf on or off, in place.

        Raises
        ------
        RuntimeError
            For integer tensors, for non-leaf tensors, and without mt-autograd (with the command that installs it).
        """
        if requires_grad.__class__ is not bool:
            raise TypeError(
                "requires_grad_(): argument 'requires_grad' (position 1) must be bool, not "
                f"{type(requires_grad).__name__}"
            )
        refuse_in_transforms("requires_grad_")
        self._set_requires_grad(requires_grad)
        return self

    def _set_requires_grad(self, requires_grad: bool = True) -> Tensor:
        """`requires_grad_` for those who may call it inside of transforms too."""
        state = self._autograd
        if state is not None and state.grad_fn is not None:
            if not requires_grad:
                raise RuntimeError(
                    "you can only change requires_grad flags of leaf variables. If you want to use a computed "
                    "variable in a subgraph that doesn't require differentiation use var_no_grad = var.detach()."
                )
            if not (self._dtype.is_floating_point or self._dtype.is_complex):
                raise RuntimeError("only Tensors of floating point dtype can require gradients")
        elif requires_grad != (state is not None and state.requires_grad) or requires_grad and self._keys & INFERENCE:
            self._switch_requires_grad(requires_grad)
        return self

    @property
    def _version(self) -> int:
        if self._keys & INFERENCE and not counts_writes(self):
            raise RuntimeError("Inference tensors do not track version counter.")
        if self._keys & PIPELINE:
            return self._array.shadow._version  # type: ignore[no-any-return]
        return 0 if self._cell is None else self._cell.version

    def _is_view(self) -> bool:
        return self._base is not None

    def is_inference(self) -> bool:
        """Whether it was made in inference mode."""
        return self._keys & INFERENCE != 0

    # Kinds of tensor

    @property
    def is_cpu(self) -> bool:
        return self._keys & CPU != 0

    @property
    def is_cuda(self) -> bool:
        return self.device.type == "cuda"

    @property
    def is_meta(self) -> bool:
        return self._keys & META != 0

    # PyTorch can be asked for kinds of tensors that do not exist here.
    is_mkldnn, is_nested = (property(lambda self: False) for _ in range(2))

    @property
    def is_quantized(self) -> bool:
        """Whether the elements are integers that stand for numbers."""
        return self._keys & QUANTIZED != 0

    @property
    def is_sparse(self) -> bool:
        """Whether the layout is ``torch.sparse_coo``."""
        return self._keys & SPARSE != 0 and self._array.layout is sparse_coo

    @property
    def is_sparse_csr(self) -> bool:
        """Whether the layout is ``torch.sparse_csr``."""
        return self._keys & SPARSE != 0 and self._array.layout is sparse_csr

    is_ipu = device_methods.on_device("ipu")
    is_maia = device_methods.on_device("maia")
    is_mps = device_methods.on_device("mps")
    is_mtia = device_methods.on_device("mtia")
    is_vulkan = device_methods.on_device("vulkan")
    is_xla = device_methods.on_device("xla")
    is_xpu = device_methods.on_device("xpu")

    def is_floating_point(self) -> bool:
        return self._dtype.is_floating_point

    def is_complex(self) -> bool:
        return self._dtype.is_complex

    def is_signed(self) -> bool:
        return self._dtype.is_signed

    def is_conj(self) -> bool:
        """Whether the elements are to be read conjugated (the lazy bit)."""
        keys = self._keys
        return keys & CONJUGATE != 0 or keys & OF_TRANSFORM != 0 and self._array.value.is_conj()

    def is_neg(self) -> bool:
        """Whether the elements are to be read negated (the lazy bit)."""
        keys = self._keys
        return keys & NEGATIVE != 0 or keys & OF_TRANSFORM != 0 and self._array.value.is_neg()

    # Protocols of the language

    def __len__(self) -> int:
        shape = self._array.shape
        if not shape:
            raise TypeError("len() of a 0-d tensor")
        return shape[0]

    def __iter__(self) -> Any:
        if not self._array.ndim:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __contains__(self, element: Any) -> bool:
        if isinstance(element, (Tensor, int, float, complex, bool)):
            found: Any = element == self
            return bool(found.any().item())
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")

    def __dir__(self) -> list[str]:
        hidden = {"_array", "_keys", "_cell", "volatile"}
        return sorted({*object.__dir__(self)} - (hidden if self.is_cuda else hidden | {"__cuda_array_interface__"}))


# PyTorch's tensors keep nothing in Python's slots: whoever lists the slots of a subclass (`copyreg`) is to see its own.
del Tensor.__slots__  # type: ignore[misc]

TENSORS.add(Tensor)
PLAIN.add(Tensor)


def _function_of(cls: type[Tensor]) -> Any:
    return getattr(cls.__torch_function__, "__func__", None)


def new_tensor(array: Any, d: dtype, keys: int) -> Tensor:
    """A Tensor on a backend array that belongs to it; `keys` must say whether the array is contiguous (`STRIDED`)."""
    self = _new_object(Tensor)
    self._array = array
    self._dtype = d
    self._keys = keys
    self._autograd = self._cell = self._base = None
    return self


def wrap_dim(dim: int, ndim: int) -> int:
    """A dimension counted from the front; 0-dim tensors have a dimension 0 (and -1).

    Raises
    ------
    IndexError
        In PyTorch's words when out of range.
    """
    extent = ndim or 1
    if -extent <= dim < extent:
        return dim + extent if dim < 0 else dim
    raise IndexError(f"Dimension out of range (expected to be in range of [{-extent}, {extent - 1}], but got {dim})")


def no_dimensions(dim: int) -> IndexError:
    """The error for a dimension of a tensor that has none, where `wrap_dim` would take 0 and -1."""
    return IndexError(f"Dimension specified as {dim} but tensor has no dimensions")


def from_array(array: np.ndarray, d: dtype | None = None, keys: int = CPU) -> Tensor:
    """A CPU tensor on a NumPy array, sharing its memory."""
    if not array.flags.c_contiguous:
        keys |= STRIDED
    return new_tensor(array, d or dtypes.from_numpy_dtype(array.dtype), keys)


def _device_methods_of_tensors(name: str, strict: bool, unsupported: list[Any]) -> None:
    device_methods.install(Tensor, f"is_{name}", device_methods.on_device(name), strict)
    device_methods.install(Tensor, name, device_methods.tensor_method(name), strict)


device_methods.offer("tensor", _device_methods_of_tensors)
