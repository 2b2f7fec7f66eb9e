"""What sets a tensor subclass apart: the key bits of those that override functions, or are handed operators."""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Sequence
from typing import Any

from . import dtypes, python_dispatch
from .block import block_of, share_block
from .devices import device as Device
from .dtypes import dtype as DType
from .formats import layout as Layout
from .formats import memory_format as MemoryFormat
from .formats import strided
from .hollow import hollow_tensor
from .keys import PYTHON, TORCH_FUNCTION
from .overriding import DisableTorchFunctionSubclass, arm, asking
from .overriding import disabled_torch_function as disabled_torch_function
from .tensor import Tensor

__all__ = [
    "disabled_torch_function",
    "make_subclass",
    "make_wrapper_subclass",
    "share_storage",
    "slots_of",
    "subclass_keys",
]


def subclass_keys(cls: type[Tensor]) -> int:
    """Key bits that mark instances of a tensor class for ``__torch_function__`` and ``__torch_dispatch__``."""
    if cls is Tensor:
        return 0
    keys = 0
    if python_dispatch.has_handler(cls):
        python_dispatch.arm()
        keys = PYTHON
    if asking(cls):
        arm()
        keys |= TORCH_FUNCTION
    return keys


def slots_of(tensor: Tensor) -> dict[str, Any]:
    """The values that a tensor has in the ``__slots__`` of its subclass."""
    names = copyreg._slotnames(type(tensor))  # type: ignore[attr-defined]
    return {name: getattr(tensor, name) for name in names if hasattr(tensor, name)}


def make_subclass(
    cls: Any, data: Any, require_grad: bool = False, *, dispatch_sizes_strides_policy: str | None = None,
    dispatch_device: bool = False, dispatch_layout: bool = False, device_for_backend_keys: Any = None,
) -> Any:  # fmt: skip
    """A `cls` on the data's memory, outside its history.

    Raises
    ------
    NotImplementedError
        For dispatch keys besides those of the device.
    """
    _refuse_no_class(cls)
    _refuse_keys(device_for_backend_keys)
    _refuse_to_require_grad(require_grad, data._dtype)
    with DisableTorchFunctionSubclass(), python_dispatch.without_modes():
        made = data.detach().as_subclass(cls)
    if require_grad:
        made._switch_requires_grad(True)
    Asking.begin(made, dispatch_sizes_strides_policy, dispatch_device, dispatch_layout)
    return made


def make_wrapper_subclass(
    cls: Any, size: Sequence[int], strides: Sequence[int] | None = None, storage_offset: int | None = None,
    memory_format: MemoryFormat | None = None, dtype: DType | None = None, layout: Layout = strided,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
    dispatch_sizes_strides_policy: str | None = None, dispatch_device: bool = False, dispatch_layout: bool = False,
    _extra_dispatch_keys: Any = None, storage_size: int | None = None,
) -> Any:  # fmt: skip
    """A `cls` without memory: its ``__torch_dispatch__`` carries out every operator on it.

    Strides and `storage_offset` are in elements.

    Raises
    ------
    TypeError
        For a class without ``__torch_dispatch__``.
    NotImplementedError
        For dispatch keys besides those of the device, and for layouts other than strided.
    """
    _refuse_no_class(cls)
    if not python_dispatch.has_handler(cls):
        raise TypeError(f"{cls.__name__} must define __torch_dispatch__")
    _refuse_keys(_extra_dispatch_keys)
    if layout is not strided:
        raise NotImplementedError(f"_make_wrapper_subclass: tensors of layout {layout!r} are not supported")
    if memory_format is not None or pin_memory:
        raise NotImplementedError("_make_wrapper_subclass: memory_format= and pin_memory= are not supported")
    d = dtypes.get_default_dtype() if dtype is None else dtype
    _refuse_to_require_grad(requires_grad, d)
    on = Device("cpu") if device is None else Device(device)
    made = hollow_tensor(cls, tuple(size), d, on, subclass_keys(cls), strides, storage_offset or 0)
    if requires_grad:
        made._switch_requires_grad(True)
    Asking.begin(made, dispatch_sizes_strides_policy, dispatch_device, dispatch_layout)
    return made


class Asking:
    """Where tensors begin to ask their class for sizes; `mt_core.asked_members` enters its part."""

    begin: Callable[[Any, str | None, bool, bool], None]


def share_storage(tensor: Any, base: Any) -> None:
    """Have a tensor without memory lie on the storage of another, whose version it does not share."""
    if block_of(tensor) is not block_of(base):
        share_block(tensor, base)


def _refuse_no_class(cls: Any) -> None:
    if not isinstance(cls, type):
        raise TypeError(f"cls must be a type (got {type(cls).__name__})")
    if not issubclass(cls, Tensor):
        raise TypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure your "
            "class inherits from Tensor."
        )


def _refuse_to_require_grad(requires_grad: bool, d: DType) -> None:
    if requires_grad and not (d.is_floating_point or d.is_complex):
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")


def _refuse_keys(other: Any) -> None:
    if other is not None:
        raise NotImplementedError("dispatch keys besides those of the device cannot be chosen")
