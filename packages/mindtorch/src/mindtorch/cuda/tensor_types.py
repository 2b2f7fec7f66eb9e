"""``torch.cuda.FloatTensor``, ``torch.cuda.FloatStorage`` and so on: types that stand for a dtype on CUDA devices."""

from __future__ import annotations

from typing import Any

import mt_core
from mt_core import Tensor, typed_storage
from mt_core.plugins.runtime_access import count_devices, no_device

from .. import _legacy_types

__all__ = [
    "BFloat16Storage",
    "BoolStorage",
    "ByteStorage",
    "CharStorage",
    "ComplexDoubleStorage",
    "ComplexFloatStorage",
    "DoubleStorage",
    "FloatStorage",
    "HalfStorage",
    "IntStorage",
    "LongStorage",
    "ShortStorage",
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


class cuda_tensortype(type):
    """The type of these types: instances are the CUDA tensors of their dtype, and calling one makes a tensor."""

    dtype: Any
    layout = mt_core.strided
    is_cuda = True
    is_sparse = False

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype and instance.device.type == "cuda"

    def __repr__(cls) -> str:
        return f"<class 'torch.cuda.{cls.__name__}'>"

    def __call__(cls, *args: Any, device: Any = "cuda") -> Tensor:
        """As the type of the same name of the CPU, and the tensor is then moved to the device.

        Raises
        ------
        TypeError
            Without a device, and for elements that are no sequence.
        """
        if not count_devices("cuda"):
            raise TypeError(f"type torch.cuda.{cls.__name__} not available. Torch not compiled with CUDA enabled.")
        made = getattr(_legacy_types, cls.__name__)(*(a.cpu() if isinstance(a, Tensor) else a for a in args))
        return made.to(device)


def _tensor_type(name: str) -> cuda_tensortype:
    d = getattr(_legacy_types, name).dtype
    return cuda_tensortype(name, (), {"dtype": d, "__doc__": f"CUDA tensors of {d}."})


BFloat16Tensor = _tensor_type("BFloat16Tensor")
BoolTensor = _tensor_type("BoolTensor")
ByteTensor = _tensor_type("ByteTensor")
CharTensor = _tensor_type("CharTensor")
DoubleTensor = _tensor_type("DoubleTensor")
FloatTensor = _tensor_type("FloatTensor")
HalfTensor = _tensor_type("HalfTensor")
IntTensor = _tensor_type("IntTensor")
LongTensor = _tensor_type("LongTensor")
ShortTensor = _tensor_type("ShortTensor")


class cuda_storagetype(type):
    """The type of the storage types: instances are typed storages of their dtype on CUDA devices."""

    dtype: Any

    def __instancecheck__(cls, instance: object) -> bool:
        return (
            isinstance(instance, typed_storage.TypedStorage)
            and instance.dtype is cls.dtype
            and instance.device.type == "cuda"
        )

    def __call__(cls, *args: Any) -> typed_storage.TypedStorage:
        """As the type of the same name of the CPU, and the storage is then moved to the device.

        Raises
        ------
        AssertionError
            Without a device.
        """
        if not count_devices("cuda"):
            raise no_device("cuda")
        made: typed_storage.TypedStorage = getattr(typed_storage, cls.__name__)(*args)
        return made.cuda()


def _storage_type(name: str) -> cuda_storagetype:
    d = getattr(typed_storage, name).dtype
    return cuda_storagetype(name, (), {"dtype": d, "__doc__": f"Typed storages of {d} on CUDA devices."})


BFloat16Storage = _storage_type("BFloat16Storage")
BoolStorage = _storage_type("BoolStorage")
ByteStorage = _storage_type("ByteStorage")
CharStorage = _storage_type("CharStorage")
ComplexDoubleStorage = _storage_type("ComplexDoubleStorage")
ComplexFloatStorage = _storage_type("ComplexFloatStorage")
DoubleStorage = _storage_type("DoubleStorage")
FloatStorage = _storage_type("FloatStorage")
HalfStorage = _storage_type("HalfStorage")
IntStorage = _storage_type("IntStorage")
LongStorage = _storage_type("LongStorage")
ShortStorage = _storage_type("ShortStorage")
