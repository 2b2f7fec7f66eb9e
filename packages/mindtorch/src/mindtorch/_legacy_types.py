"""``torch.FloatTensor`` and its kin: types that stand for a dtype on the CPU, from before there was ``dtype=``."""

from __future__ import annotations

from typing import Any

import mt_core
from mt_core import Size, Tensor, dtype

__all__ = [
    "BFloat16Tensor",
    "BoolTensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
]


class tensortype(type):
    """The type of these types: instances are the CPU tensors of their dtype, and calling one makes a tensor."""

    dtype: dtype
    layout = mt_core.strided
    is_cuda = False
    is_sparse = False

    def __new__(mcs, name: str, bases: tuple[type, ...], members: dict[str, Any]) -> tensortype:
        """Such a type is made here only: none can be inherited from.

        Raises
        ------
        TypeError
            For a subclass, as in PyTorch.
        """
        for base in bases:
            raise TypeError(f"type 'torch.{base.__name__}' is not an acceptable base type")
        return super().__new__(mcs, name, bases, members)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype and instance.device.type == "cpu"

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        """``FloatTensor(2, 3)``: sizes, uninitialized; ``FloatTensor([1, 2])``: elements; ``FloatTensor()``: empty.

        Raises
        ------
        TypeError
            For elements that are no sequence, and for a tensor of another dtype.
        RuntimeError
            For a device other than the CPU.
        """
        if device is not None and mt_core.device(device).type != "cpu":
            raise RuntimeError(
                f"legacy constructor expects device type: cpu but device type: {mt_core.device(device).type} was passed"
            )
        if all(isinstance(size, int) for size in args):
            return mt_core.empty(args or (0,), dtype=cls.dtype)
        if len(args) != 1:
            raise TypeError(f"new() received an invalid combination of arguments - got {args!r}")
        return _from_value(args[0], cls.dtype)


def _from_value(value: Any, d: dtype) -> Tensor:
    if isinstance(value, Tensor):
        if value.dtype is not d:
            raise TypeError(f"expected a tensor of {d} (got one of {value.dtype})")
        return value.detach()
    if isinstance(value, Size):
        return mt_core.empty(value, dtype=d)
    if not hasattr(value, "__len__"):
        raise TypeError(f"new(): data must be a sequence (got {type(value).__name__})")
    return mt_core.tensor(value, dtype=d)


def _tensor_type(name: str, d: dtype) -> tensortype:
    return tensortype(name, (), {"dtype": d, "__doc__": f"CPU tensors of {d}."})


BFloat16Tensor = _tensor_type("BFloat16Tensor", mt_core.bfloat16)
BoolTensor = _tensor_type("BoolTensor", mt_core.bool)
ByteTensor = _tensor_type("ByteTensor", mt_core.uint8)
CharTensor = _tensor_type("CharTensor", mt_core.int8)
DoubleTensor = _tensor_type("DoubleTensor", mt_core.float64)
FloatTensor = _tensor_type("FloatTensor", mt_core.float32)
HalfTensor = _tensor_type("HalfTensor", mt_core.float16)
IntTensor = _tensor_type("IntTensor", mt_core.int32)
LongTensor = _tensor_type("LongTensor", mt_core.int64)
ShortTensor = _tensor_type("ShortTensor", mt_core.int16)
