"""``torch.FloatTensor`` and its kin: types that stand for a dtype on the CPU, from before there was ``dtype=``."""

from __future__ import annotations

from typing import Any

import mt_core
from mt_core import Tensor, dtype
from mt_core.construct import legacy_of, refuse_other_device

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

    def __call__(cls, *args: Any, device: Any = None, **kwargs: Any) -> Tensor:
        """``FloatTensor(2, 3)``: sizes, uninitialized; ``FloatTensor([1, 2])``: elements; ``FloatTensor()``: empty.

        Raises
        ------
        TypeError
            For elements that are no sequence, and for a tensor of another dtype.
        RuntimeError
            For a device other than the CPU, and for any beside a tensor.
        """
        refuse_other_device("torch.Tensor(tensor, device=device)", _CPU, device, args, kwargs)
        return legacy_of(cls.dtype, None, args, kwargs)


_CPU = mt_core.device("cpu")


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
