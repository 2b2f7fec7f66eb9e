"""``FakeTensor``: a tensor on a device that need not be there, which has a layout and no elements.

It lies on a block of memory of the meta device, as its views and aliases do. To carry an operator out, meta tensors on
the same blocks stand in for the fake ones (`stand_in`), so that whatever the meta device knows of shapes, strides,
views, and memory that grows holds for fake tensors.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable
from typing import Any, NoReturn

from mt_core.block import block_of, share_block
from mt_core.cell import moved_cell
from mt_core.devices import device as Device
from mt_core.dtypes import dtype as DType
from mt_core.dtypes import uint8
from mt_core.hollow import HollowArray, hollow_tensor
from mt_core.keys import CONJUGATE, INFERENCE, META, NEGATIVE, STRIDED
from mt_core.meta_array import MetaArray
from mt_core.meta_backend import MetaBackend
from mt_core.printing import tensor_repr
from mt_core.python_dispatch import without_modes
from mt_core.subclasses import subclass_keys
from mt_core.symbolic import plain, plain_sizes, product, quotient
from mt_core.tensor import Tensor, new_tensor
from mt_library.ops import ops

from ._constants import forget
from ._errors import DataDependentOutputException

__all__ = ["OUTDATED", "FakeTensor", "fake_over", "fakes_among", "follow", "stand_in"]

_META = Device("meta")
#: A fact of the memory of real tensors: something was written to the fake ones that could not be written to it.
OUTDATED = "outdated"
#: What a fake tensor and the meta tensor that stands in for it have in common.
_SHARED = STRIDED | CONJUGATE | NEGATIVE
#: What a fake result takes over from the meta tensor that it was made of.
_TAKEN = INFERENCE | CONJUGATE | NEGATIVE


class FakeArray(HollowArray):
    """What a fake tensor has in place of memory: a layout, and the device that it stands for."""

    __slots__ = ()
    has_elements = False

    @property
    def size(self) -> Any:
        return product(self.shape)

    def elements_for(self, use: str) -> NoReturn:
        """Refuse to have elements read.

        Raises
        ------
        DataDependentOutputException
            Always.
        """
        raise DataDependentOutputException(ops.aten._local_scalar_dense.default)


class _FakeMemory(MetaBackend):
    """The meta device as the memory of fake tensors, whose arrays say on which device they are."""

    def __init__(self, on: Device) -> None:
        self.on = on

    def as_strided(
        self, owner: MetaArray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: DType
    ) -> FakeArray:
        size = dtype.itemsize
        steps = plain_sizes([step // size for step in strides])
        return FakeArray(plain_sizes(shape), dtype, steps, plain(offset // size), self.on)


class FakeTensor(Tensor):
    """A tensor without elements: shape, strides, dtype, device, history and aliasing are those of a real one.

    Made by `FakeTensorMode.from_tensor`, by operators while a mode is on, or of a meta tensor:
    ``FakeTensor(mode, elem, device)``.

    Attributes
    ----------
    fake_mode
        The mode that it belongs to.
    constant
        A tensor with the elements, where they are known and at most one; else None.
    real_tensor
        A tensor with the elements where the mode carries them along (`FakeTensorMode.propagate_real_tensors`) and they
        are known, else None. It has memory of its own, in common with those of aliases.
    """

    fake_mode: Any
    constant: Tensor | None
    #: Its text tells the shape, as that of a meta tensor does (`mt_core.printing`).
    _lacks_elements = True

    @staticmethod
    def __new__(cls, fake_mode: Any, elem: Tensor, device: Any, constant: Tensor | None = None) -> FakeTensor:
        """A fake tensor on the memory of a meta tensor.

        Raises
        ------
        AssertionError
            For `elem` on another device.
        """
        if elem.device.type != "meta":
            raise AssertionError(f"elem.device.type must be 'meta', got {elem.device.type}")
        made = fake_over(elem, fake_mode, Device(device), constant)
        if elem.requires_grad:
            made._set_requires_grad(True)
        return made

    @property
    def real_tensor(self) -> Tensor | None:
        return None if self._real is None or OUTDATED in block_of(self._real).attributes else self._real

    @real_tensor.setter
    def real_tensor(self, real: Tensor | None) -> None:
        self._real = real

    @property
    def fake_device(self) -> Device:
        """The device that it stands for."""
        return self._array.device  # type: ignore[no-any-return]

    @property
    def device(self) -> Device:
        """The device that it stands for; while its mode is in a kernel, the meta device."""
        return _META if self.fake_mode.in_kernel_invocation else self._array.device

    @property
    def names(self) -> Any:
        return (None,) * self.ndim

    @staticmethod
    def from_tensor(t: Tensor, fake_mode: Any) -> FakeTensor:
        """``fake_mode.from_tensor(t)``."""
        return fake_mode.from_tensor(t)  # type: ignore[no-any-return]

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Have the mode of the first of the arguments, which is not on, carry an operator out."""
        mode = next(iter(fakes_among((args, kwargs)))).fake_mode
        if any(not issubclass(t, FakeTensor) and t is not Tensor and _handles(t) for t in types):
            return NotImplemented
        with mode:
            return func(*args, **(kwargs or {}))

    def resize_(self, *size: Any, **options: Any) -> Any:
        """As of any tensor; what was known of its element is forgotten."""
        forget([self])
        if self.real_tensor is not None:
            with without_modes():
                self.real_tensor.resize_(*size, **options)  # type: ignore[attr-defined]
        return super().resize_(*size, **options)

    def set_(self, *source: Any, **options: Any) -> Any:
        """As of any tensor, on the memory of another fake tensor, or on a storage of the meta device."""
        forget([self])
        self.real_tensor = None  # whether the other memory has elements is not known
        place = self.fake_device
        super().set_(*source, **options)
        _lie_on_its_block(self, self, place)
        return self

    def tolist(self) -> Any:
        """Nested lists of numbers, each read by ``item``: an error, but for a known number."""
        if not self.ndim:
            return self.item()
        return [part.tolist() for part in self]

    def data_ptr(self) -> int:
        """0, with a warning: there is no memory."""
        warnings.warn(
            "Accessing the data pointer of FakeTensor is deprecated and will error in PyTorch 2.5. This is almost "
            "definitely a bug in your code and will cause undefined behavior with subsystems like torch.compile. "
            "Please wrap calls to tensor.data_ptr() in an opaque custom op; If all else fails, you can guard accesses "
            "to tensor.data_ptr() on isinstance(tensor, FakeTensor).",
            UserWarning,
            stacklevel=2,
        )
        return 0

    def stride(self, dim: int | None = None) -> Any:
        """Steps between neighbours along each dimension (or one), in elements."""
        array = self._array
        if dim is not None:
            return super().stride(dim)
        return tuple([quotient(step, array.itemsize) for step in array.strides])

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return tensor_repr(self, "..." if tensor_contents is None else tensor_contents)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) in memo:
            return memo[id(self)]
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the "
                "moment.  If you were attempting to deepcopy a module, this may be because of a torch.nn.utils."
                "weight_norm usage, see https://github.com/pytorch/pytorch/pull/103001"
            )
        memo[id(self)] = copied = _copy_with_memory(self, memo)
        if self.real_tensor is not None:
            with without_modes():
                copied.real_tensor = copy.deepcopy(self.real_tensor, memo)
        if self.requires_grad:
            copied._set_requires_grad(True)
        if self.grad is not None:
            copied.grad = copy.deepcopy(self.grad, memo)
        kept = {name: value for name, value in self.__dict__.items() if name not in _OWN}
        copied.__dict__.update(copy.deepcopy(kept, memo))
        return copied


#: Members of the dictionary of a fake tensor that are not the program's.
_OWN = ("fake_mode", "constant", "_real", "stands_for")


def _handles(cls: type) -> bool:
    return subclass_keys(cls) != 0


def _copy_with_memory(fake: FakeTensor, memo: dict[int, Any]) -> FakeTensor:
    """A fake tensor of the same layout on a copy of its block, which is copied once for all tensors on it."""
    block = block_of(fake)
    root = memo.get(id(block))
    if root is None:
        root = memo[id(block)] = new_tensor(MetaArray((block.nbytes,), uint8.numpy_dtype), uint8, META)
    alias = _like(fake, fake._keys & _SHARED)
    share_block(alias, root)
    return fake_over(alias, fake.fake_mode, fake.fake_device)


def _like(fake: Tensor, keys: int) -> Tensor:
    array = fake._array
    described = MetaArray(array.shape, array.dtype, array.strides, array.offset)
    return new_tensor(described, fake._dtype, META | keys)


def fake_over(elem: Tensor, mode: Any, on: Device, constant: Tensor | None = None) -> FakeTensor:
    """A fake tensor of a mode, with the layout of a meta tensor, on its memory; without history."""
    keys = subclass_keys(FakeTensor) | elem._keys & _TAKEN
    made: FakeTensor = hollow_tensor(
        FakeTensor, plain_sizes(elem.shape), elem._dtype, on, keys, plain_sizes(elem.stride()),
        plain(elem.storage_offset()), FakeArray,
    )  # fmt: skip
    share_block(made, elem)
    block = block_of(made)
    if not isinstance(block.backend, _FakeMemory):
        block.backend = _FakeMemory(on)
    made.fake_mode = mode
    made.constant = constant
    made._real = None
    return made


def stand_in(fake: FakeTensor) -> Tensor:
    """A meta tensor on the memory of a fake one, with its layout."""
    made = _like(fake, fake._keys & (_SHARED | INFERENCE))
    share_block(made, fake)
    return made


def follow(fake: FakeTensor, elem: Tensor) -> None:
    """Give a fake tensor the layout and memory that an operator gave to the meta tensor that stood in for it."""
    block = block_of(elem)
    if block is not block_of(fake):
        block.enter(moved_cell(fake))
    _lie_on_its_block(fake, elem, fake.fake_device)
    fake._dtype = elem._dtype
    fake._keys = fake._keys & ~_SHARED | elem._keys & _SHARED


def _lie_on_its_block(fake: FakeTensor, elem: Tensor, place: Device) -> None:
    """Give a fake tensor the layout of a meta tensor on the same block, on its own device."""
    block = block_of(fake)
    if not isinstance(block.backend, _FakeMemory):
        block.backend = _FakeMemory(place)
    array, size = elem._array, elem._dtype.itemsize
    strides = plain_sizes([step // size for step in array.strides])
    fake._array = FakeArray(plain_sizes(array.shape), elem._dtype, strides, plain(array.offset // size), place)


def fakes_among(values: Any) -> Iterable[FakeTensor]:
    """The fake tensors in nested arguments, in order."""
    if isinstance(values, FakeTensor):
        yield values
    elif isinstance(values, (list, tuple)):
        for item in values:
            yield from fakes_among(item)
    elif isinstance(values, dict):
        yield from fakes_among(list(values.values()))
