"""Members from PyTorch's early days: Python functions over elements, constructors by instance, and the like."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable
from typing import Any

from .construct import legacy_of, refuse_other_device
from .devices import device as Device
from .hollow import within_reach
from .keys import AUTOGRAD, CONJUGATE, CPU, META, NEGATIVE
from .overriding import DisableTorchFunctionSubclass
from .tensor import Tensor
from .typed_storage import _warn_typed_storage_removal, storage_class_of

__all__ = ["LegacyMembers"]


class LegacyMembers:
    """Mixed into Tensor."""

    __slots__ = ()

    @property
    def volatile(self: Any) -> bool:
        """Always False: there are no variables apart from tensors."""
        warnings.warn("volatile was removed (Variable.volatile is always False)", stacklevel=2)
        return False

    def __reversed__(self: Any) -> Any:
        """The tensor with its first dimension in reverse order: a copy; a number is itself."""
        return self.flip(0) if self.dim() else self

    def new(self: Any, *args: Any, device: Any = None, **kwargs: Any) -> Any:
        """A tensor of the dtype and on the device of this one: of sizes, of data, of a storage, or empty.

        Raises
        ------
        TypeError
            For other arguments, and for a tensor of another dtype.
        RuntimeError
            For a device of another type, and for any beside a tensor.
        """
        where = self.device if device is None else Device(device)
        refuse_other_device("tensor.new(tensor, device=device)", self.device, device, args, kwargs)
        with DisableTorchFunctionSubclass():
            return legacy_of(self.dtype, where, args, kwargs)

    def is_distributed(self: Any) -> bool:
        """Always False: a name from before there were distributed tensors."""
        return False

    def ipu(self: Any, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Any:
        """Refused: there are no backends for these devices.

        Raises
        ------
        RuntimeError
            In PyTorch's words.
        """
        raise RuntimeError("PyTorch is not linked with support for ipu devices")

    def reinforce(self: Any, reward: Any) -> Any:
        """Removed from PyTorch long ago.

        Raises
        ------
        RuntimeError
            Which names what to use.
        """
        raise RuntimeError(
            "reinforce() was removed.\nUse torch.distributions instead.\n"
            "See https://pytorch.org/docs/main/distributions.html"
        )

    def resize(self: Any, *sizes: Any) -> Any:
        """The elements in other sizes, with a gradient; as a view where the strides allow.

        Raises
        ------
        RuntimeError
            Where the sizes have another number of elements.
        """
        warnings.warn("non-inplace resize is deprecated", stacklevel=2)
        return _resized(self, sizes)

    def resize_as(self: Any, tensor: Any) -> Any:
        """`resize` to the sizes of another tensor."""
        warnings.warn("non-inplace resize_as is deprecated", stacklevel=2)
        return _resized(self, tuple(tensor.shape))

    def slice_inverse(
        self: Any, src: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
    ) -> Any:
        """The tensor that this is a slice of: a view of the sizes and strides of `src`."""
        return self.as_strided(src.shape, src.stride(), src.storage_offset())

    def to_mkldnn(self: Any, dtype: Any = None) -> Any:
        """Refused: kernels do not use oneDNN, so there is no layout of its own.

        Raises
        ------
        NotImplementedError
            Always.
        """
        raise NotImplementedError("Tensor.to_mkldnn is not supported by mindtorch. There is no oneDNN.")

    def to_sparse_coo(self: Any) -> Any:
        """`to_sparse`: as coordinates."""
        return self.to_sparse()

    def to_sparse_bsr(self: Any, blocksize: Any, dense_dim: int | None = None) -> Any:
        """Refused: there are no tensors of blocks.

        Raises
        ------
        NotImplementedError
            Always.
        """
        raise NotImplementedError("tensors of layout torch.sparse_bsr are not supported: use torch.sparse_csr")

    def to_sparse_bsc(self: Any, blocksize: Any, dense_dim: int | None = None) -> Any:
        """Refused: there are no tensors of blocks.

        Raises
        ------
        NotImplementedError
            Always.
        """
        raise NotImplementedError("tensors of layout torch.sparse_bsc are not supported: use torch.sparse_csc")

    def is_nonzero(self: Any) -> bool:
        """Whether the only element is not zero.

        Raises
        ------
        RuntimeError
            Where there is none, or more than one.
        """
        return bool(self)

    def storage_type(self: Any) -> Any:
        """The class that storages of this dtype once had (``torch.FloatStorage``); None for newer dtypes."""
        _warn_typed_storage_removal()
        return storage_class_of(self.dtype)

    def module_load(self: Any, other: Any, assign: bool = False) -> Any:
        """What a module's ``load_state_dict`` puts in this tensor's place: itself with the other's elements.

        With `assign`, the other tensor, outside its history.
        """
        return other.detach() if assign else self.copy_(other).detach()

    def apply_(self: Any, callable: Callable[[Any], Any]) -> Any:
        """Replace each element by what a Python function makes of it, one after the other.

        Raises
        ------
        RuntimeError
            Where the tensor requires grad.
        TypeError
            On devices other than the CPU.
        """
        return _map_elements("apply_", callable, self)

    def map_(self: Any, tensor: Any, callable: Callable[[Any, Any], Any]) -> Any:
        """Replace each element by what a function makes of it and the element of a tensor that broadcasts to this one.

        Raises
        ------
        RuntimeError
            Where a tensor requires grad.
        TypeError
            Where the dtypes differ, and on devices other than the CPU.
        """
        return _map_elements("map_", callable, self, _beside("map_", "other", self, tensor))

    def map2_(self: Any, x: Any, y: Any, callable: Callable[[Any, Any, Any], Any]) -> Any:
        """As `map_`, with two tensors."""
        others = (_beside("map2_", name, self, value) for name, value in (("x", x), ("y", y)))
        return _map_elements("map2_", callable, self, *others)


def _resized(self: Any, sizes: tuple[Any, ...]) -> Any:
    """The elements in sizes of as many elements."""
    if len(sizes) == 1 and not isinstance(sizes[0], int):
        sizes = tuple(sizes[0])
    if math.prod(sizes) != self.numel():
        asked, own = ("x".join(map(str, size)) for size in (sizes, self.shape))
        raise RuntimeError(
            f"requested resize to {asked} ({math.prod(sizes)} elements in total), but the given tensor has a size of "
            f"{own} ({self.numel()} elements). autograd's resize can only change the shape of a given tensor, while "
            "preserving the number of elements. "
        )
    return self.contiguous().view(sizes)


def _beside(name: str, argument: str, self: Any, other: Any) -> Any:
    """An argument of `map_`, broadcast to the tensor."""
    if not isinstance(other, Tensor):
        raise TypeError(f"{name}(): argument '{argument}' (position 1) must be Tensor, not {type(other).__name__}")
    if other._dtype is not self._dtype:
        raise TypeError(f"{name}: expected {self.type()} for '{argument}' (got {other.type()})")
    return other if other._keys & AUTOGRAD else other.expand(self.shape)


def _map_elements(name: str, function: Callable[..., Any], self: Any, *others: Any) -> Any:
    """Write what a function makes of the elements, in the order of the indices, as it makes them."""
    tensors = (self, *others)
    if any(t._keys & AUTOGRAD for t in tensors):
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    if self._keys & META:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    if not all(t._keys & CPU for t in tensors):
        raise TypeError(f"{name} is only implemented on CPU tensors")
    if not self._dtype.native and self._dtype.is_complex or any(t._keys & (CONJUGATE | NEGATIVE) for t in tensors):
        raise NotImplementedError(
            f"{name} of {self._dtype} or of lazily conjugated elements is not supported: take a copy of complex64"
        )
    read, written = _number_of(self._dtype), _written(self._dtype)
    arrays = [within_reach(t)._array for t in tensors]
    for index in itertools.product(*map(range, self.shape)):
        arrays[0][index] = written(function(*(read(array[index]) for array in arrays)))
    return self


def _number_of(d: Any) -> Callable[[Any], Any]:
    """A dtype's element as a Python number."""
    return complex if d.is_complex else float if d.is_floating_point else bool if d.name == "bool" else int


def _written(d: Any) -> Callable[[Any], Any]:
    """What a function returned as an element of a dtype."""
    return _as_float if d.is_floating_point else _from_no_text(d)


def _as_float(value: Any) -> float:
    if isinstance(value, (str, bytes)) or not hasattr(type(value), "__float__"):
        raise TypeError(f"must be real number, not {type(value).__name__}")
    return float(value)


def _from_no_text(d: Any) -> Callable[[Any], Any]:
    """The number of a dtype without fractions, or of a complex one; text is none."""
    number = _number_of(d)
    words = "must be real number, not {}" if d.is_complex else "'{}' object cannot be interpreted as an integer"

    def convert(value: Any) -> Any:
        if isinstance(value, (str, bytes)):
            raise TypeError(words.format(type(value).__name__))
        return number(value)

    return convert
