"""What aclnn functions take in place of tensors, lists and numbers: descriptors, made and destroyed here."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy

from mt_core import dtypes

from ..cann.acl import Acl, bound
from ..cann.errors import AclError
from ..cann.libraries import load
from ..cann.prototypes import ACLNN

__all__ = ["DATA_TYPES", "FORMATS", "Descriptors", "Given"]

#: dtype -> aclDataType (acl/acl_base_rt.h, CANN 9.1).
DATA_TYPES: dict[Any, int] = {
    dtypes.float32: 0, dtypes.float16: 1, dtypes.int8: 2, dtypes.int32: 3, dtypes.uint8: 4, dtypes.int16: 6,
    dtypes.uint16: 7, dtypes.uint32: 8, dtypes.int64: 9, dtypes.uint64: 10, dtypes.float64: 11, dtypes.bool: 12,
    dtypes.complex64: 16, dtypes.complex128: 17, dtypes.bfloat16: 27,
}  # fmt: skip
#: aclFormat (acl/acl_base_rt.h, CANN 9.1).
FORMATS = {"NCHW": 0, "NHWC": 1, "ND": 2, "NDHWC": 27, "NCDHW": 30, "NCL": 47}
#: Addresses of storages are multiples of this many bytes (API reference, nnopbase/aclnn, aclCreateTensor).
ALIGNMENT = 32

#: What is made, and the function that destroys it.
Given = tuple[int, str]


class Descriptors:
    """libnnopbase.so, bound.

    Parameters
    ----------
    acl
        Tells what CANN says of errors.
    """

    def __init__(self, acl: Acl) -> None:
        self._acl = acl
        library = load("libnnopbase.so")
        self._functions = {name: bound(library, name, types) for name, types in ACLNN.items()}

    def _call(self, name: str, *args: Any) -> Any:
        found = self._functions[name]
        if found is None:
            raise NotImplementedError(f"this CANN's libnnopbase.so does not export {name}")
        return found(*args)

    def _made(self, kind: str, *args: Any) -> Given:
        made = self._call(f"aclCreate{kind}", *args)
        if not made:
            raise RuntimeError(f"NPU error: aclCreate{kind} failed. {self._acl.recent_message()}")
        return made, f"aclDestroy{kind}"

    def tensor(
        self,
        storage: int,
        elements: int,
        shape: Sequence[int],
        strides: Sequence[int],
        offset: int,
        data_type: int,
        format: int = FORMATS["ND"],
    ) -> Given:
        """An aclTensor.

        Parameters
        ----------
        storage, elements
            The address of the storage, and how many elements it has.
        strides, offset
            In elements.

        Raises
        ------
        ValueError
            For an address that CANN does not take.
        """
        if storage % ALIGNMENT:
            raise ValueError(f"aclnn operators take storages at multiples of {ALIGNMENT} bytes, not at {storage:#x}")
        ndim = len(shape)
        return self._made(
            "Tensor", _ints(shape), ndim, data_type, _ints(strides), offset, format, _ints([elements]), 1, storage
        )

    def scalar(self, value: Any, dtype: Any) -> Given:
        """An aclScalar of a dtype: CANN copies the number."""
        memory = numpy.asarray(value).astype(dtype.numpy_dtype).reshape(1)
        return self._made("Scalar", memory.ctypes.data, DATA_TYPES[dtype])

    def ints(self, values: Sequence[int]) -> Given:
        """An aclIntArray."""
        return self._made("IntArray", _ints(values), len(values))

    def floats(self, values: Sequence[float]) -> Given:
        """An aclFloatArray."""
        return self._made("FloatArray", (ctypes.c_float * len(values))(*values), len(values))

    def bools(self, values: Sequence[bool]) -> Given:
        """An aclBoolArray."""
        return self._made("BoolArray", (ctypes.c_bool * len(values))(*values), len(values))

    def tensors(self, made: Sequence[Given]) -> Given:
        """An aclTensorList, which takes its tensors over."""
        return self._made("TensorList", (ctypes.c_void_p * len(made))(*(handle for handle, _ in made)), len(made))

    def destroy(self, given: Given) -> None:
        """Destroy a descriptor; AclError where that fails."""
        handle, name = given
        status = self._call(name, handle)
        if status:
            raise AclError(name, status, self._acl.recent_message())

    def destroy_executor(self, executor: int) -> None:
        """Destroy an executor that the second phase never took."""
        self.destroy((executor, "aclDestroyAclOpExecutor"))


def _ints(values: Sequence[int]) -> Any:
    return (ctypes.c_int64 * len(values))(*values)
