"""Copies between arrays that do not lie row by row, and in other dtypes: CANN's own operators on them.

``aclnnInplaceCopy(selfRef, src)`` and ``aclnnInplaceFillScalar(selfRef, value)`` of libopapi.so: CANN's operator
documentation, "aclnnInplaceCopy" and "aclnnInplaceFillScalar" (8.0 to 9.1). They take strides and convert.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from mt_core.dtypes import dtype, from_numpy_dtype

from .aclnn.descriptors import DATA_TYPES, Descriptors, Given
from .aclnn.operators import TwoPhases, descriptors_for
from .cann.libraries import load
from .device_array import DeviceArray

if TYPE_CHECKING:
    from .runtime import AscendRuntime

__all__ = ["Copier"]


class Copier:
    """CANN's operators that write arrays; their libraries are loaded when they are first needed."""

    def __init__(self, runtime: AscendRuntime) -> None:
        self._runtime = runtime
        self._phases: dict[str, TwoPhases] = {}

    @property
    def _descriptors(self) -> Descriptors:
        return descriptors_for(self._runtime.driver.acl)

    def copy(self, target: DeviceArray, source: DeviceArray) -> None:
        """Write an array's elements into another of the same shape, on the same device, converting."""
        made: list[Given] = []
        try:
            made.append(self._described(target))
            made.append(self._described(source))
            self._run("aclnnInplaceCopy", made, target)
        finally:
            for given in made:
                self._descriptors.destroy(given)

    def fill(self, target: DeviceArray, number: Any, d: dtype) -> None:
        """Set every element."""
        made: list[Given] = []
        try:
            made.append(self._described(target))
            made.append(self._descriptors.scalar(number, d))
            self._run("aclnnInplaceFillScalar", made, target)
        finally:
            for given in made:
                self._descriptors.destroy(given)

    def _described(self, array: DeviceArray) -> Given:
        size = array.itemsize
        strides = [step // size for step in array.strides]
        block = array.block
        data_type = DATA_TYPES[from_numpy_dtype(array.dtype)]
        elements = max(block.nbytes // size, 1)
        return self._descriptors.tensor(block.address, elements, array.shape, strides, array.offset // size, data_type)

    def _run(self, name: str, made: list[Given], target: DeviceArray) -> None:
        runtime, index = self._runtime, target.block.device_index
        phases = self._phases.get(name)
        if phases is None:
            phases = self._phases[name] = TwoPhases((name,), load("libopapi.so"))
        runtime.driver.bind(index)
        acl = runtime.driver.acl
        size, executor = phases.planned(acl, [ctypes.c_void_p] * len(made), [handle for handle, _ in made])
        try:
            workspace = runtime.allocate(size, index)
        except Exception:
            self._descriptors.destroy_executor(executor)
            raise
        stream = runtime.current_stream(index).native
        phases.given(acl, workspace.address, size, executor, stream)
        runtime.driver.launched(stream)
