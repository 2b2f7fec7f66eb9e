"""``torch.cuda.FloatTensor`` and its kin: types of tensors that cannot exist without a device."""

from __future__ import annotations

from typing import Any, NoReturn

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


def _absent_type(name: str) -> type:
    def __new__(cls: type, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(f"type torch.cuda.{name} not available. Torch not compiled with CUDA enabled.")

    return type(name, (), {"__new__": __new__, "__doc__": "There are no instances, for want of a device."})


BFloat16Tensor = _absent_type("BFloat16Tensor")
BoolTensor = _absent_type("BoolTensor")
ByteTensor = _absent_type("ByteTensor")
CharTensor = _absent_type("CharTensor")
DoubleTensor = _absent_type("DoubleTensor")
FloatTensor = _absent_type("FloatTensor")
HalfTensor = _absent_type("HalfTensor")
IntTensor = _absent_type("IntTensor")
LongTensor = _absent_type("LongTensor")
ShortTensor = _absent_type("ShortTensor")
