"""A device type on one of MindSpore's device targets."""

from __future__ import annotations

import functools
from typing import Any

import numpy

from mt_core.devices import backend_key
from mt_core.dispatch.elementwise import number_array
from mt_core.dtypes import dtype
from mt_core.plugins.protocols import CONTRACT

from .array import MindSporeArray
from .convert import Converter
from .dtypes import DtypeMap
from .memory import Memory
from .runtime import start

__all__ = ["TARGETS", "MindSporeBackend"]

#: MindSpore's device targets -> dtypes of MindSpore that tensors there do not have.
TARGETS: dict[str, frozenset[str]] = {
    "CPU": frozenset(),
    "Ascend": frozenset(("float64", "complex64", "complex128", "uint16", "uint32", "uint64")),
}


class MindSporeBackend:
    """A `mt_core.plugins.protocols.Backend` over MindSpore.

    MindSpore is imported, and its target chosen, when the device is first used: both concern the whole process.

    Parameters
    ----------
    device_type
        The device type that it serves, as in ``torch.device("npu")``.
    target
        ``"Ascend"``, or ``"CPU"``: the same adapter on MindSpore's kernels for the CPU.
    """

    contract = CONTRACT
    array_type = MindSporeArray
    #: Python's numbers come as they are; kernels make tensors of the computation's dtype of them.
    weak_numbers = True
    numpy_errors = False
    fills_by_copying = True

    def __init__(self, device_type: str, target: str) -> None:
        if target not in TARGETS:
            raise ValueError(f"MindSpore's device target is one of {', '.join(TARGETS)}, not {target!r}")
        self.device_type = device_type
        self.target = target
        self._loaded = False

    @functools.cached_property
    def mindspore(self) -> Any:
        """The module, started on the target."""
        return start(self.target)

    @functools.cached_property
    def dtypes(self) -> DtypeMap:
        return DtypeMap(self.mindspore, self.device_type, TARGETS[self.target])

    @functools.cached_property
    def memory(self) -> Memory:
        return Memory(self.mindspore, self.dtypes, writes_views=self.target == "Ascend")

    @functools.cached_property
    def converter(self) -> Converter:
        return Converter(self.mindspore, self.dtypes)

    def device_count(self) -> int:
        return 1 if self.target == "CPU" else int(self.mindspore.device_context.ascend.device_count())

    def diagnose(self) -> list[tuple[str, str]]:
        return [("devices", f"MindSpore {self.mindspore.__version__} on its target {self.target}")]

    def number(self, value: Any, dtype: dtype) -> MindSporeArray:
        """A number beside arrays, in the dtype of the computation."""
        d = dtype.numpy_dtype
        made = self.memory.number(number_array(value, dtype).item(), d)
        return MindSporeArray(made, made, (), (), 0, d)

    def empty(
        self, shape: tuple[int, ...], dtype: dtype, strides: tuple[int, ...] | None, index: int | None
    ) -> MindSporeArray:
        return self.memory.empty(tuple(shape), dtype.numpy_dtype, None if strides is None else tuple(strides))

    def as_array(self, value: Any) -> MindSporeArray:
        if isinstance(value, MindSporeArray):
            return value
        if isinstance(value, self.mindspore.Tensor):
            return self.memory.fresh(value)
        return self.memory.from_host(numpy.asarray(value))

    def copy(self, target: MindSporeArray, source: MindSporeArray) -> None:
        tensor = self.memory.opened(source)
        if source.dtype is not target.dtype and source.dtype != target.dtype:
            tensor = self.converter.convert(tensor, source.dtype, target.dtype)
        self.memory.write(target, tensor)

    def cast(self, array: MindSporeArray, dtype: dtype) -> MindSporeArray:
        d = dtype.numpy_dtype
        if array.dtype == d:
            return array
        return self.memory.fresh(self.converter.convert(self.memory.opened(array), array.dtype, d))

    def is_contiguous(self, array: MindSporeArray) -> bool:
        """Whether an array lies row by row."""
        if array.tensor is array.base:
            return True
        step = array.itemsize
        for n, stride in zip(reversed(array.shape), reversed(array.strides), strict=True):
            if n != 1:
                if stride != step and n:
                    return 0 in array.shape
                step *= n
        return True

    def contiguous(self, array: MindSporeArray) -> MindSporeArray:
        return array if self.is_contiguous(array) else self.memory.fresh(self.memory.opened(array).contiguous())

    def owner(self, array: MindSporeArray) -> MindSporeArray:
        return MindSporeArray(None, array.base, (array.base.nbytes,), (1,), 0, numpy.dtype(numpy.uint8))

    def offset(self, owner: MindSporeArray, array: MindSporeArray) -> int:
        return array.offset - owner.offset

    def as_strided(
        self, owner: MindSporeArray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: dtype
    ) -> MindSporeArray:
        d = dtype.numpy_dtype
        size = d.itemsize
        in_elements = tuple(s // size for s in strides)
        made = self.memory.view(owner, tuple(shape), in_elements, (owner.offset + offset) // size, d)
        made.strides, made.offset = tuple(strides), owner.offset + offset
        return made

    def view(
        self, array: MindSporeArray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: dtype
    ) -> MindSporeArray:
        return self.memory.view(array, tuple(shape), tuple(strides), offset, dtype.numpy_dtype)

    def fill(self, array: MindSporeArray, number: Any, dtype: dtype) -> None:
        if not array.size:
            return
        value = number.item() if hasattr(number, "item") else number
        if not self.memory.filled(array, number_array(value, dtype).item()):
            self.copy(array, self.number(value, dtype))

    def from_host(self, array: numpy.ndarray, dtype: dtype, index: int | None) -> MindSporeArray:
        return self.memory.from_host(array)

    def to_host(self, array: MindSporeArray) -> numpy.ndarray:
        return self.memory.to_host(array)

    def address(self, array: MindSporeArray) -> int:
        start_of_storage: int = array.base.data_ptr() if array.base.size else 0
        return start_of_storage + array.offset

    def index_of(self, array: MindSporeArray) -> int:
        return 0

    def load(self, family: str) -> None:
        if not self._loaded:  # all families at once: the tables are MindSpore's, not by family
            from .registry import enter  # lazy: the tables import MindSpore

            enter(self, backend_key(self.device_type))
            self._loaded = True
