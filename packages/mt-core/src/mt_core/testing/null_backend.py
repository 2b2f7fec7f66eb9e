"""A complete backend on one screen: it allocates and records, and does not calculate.

Its arrays are layouts without memory, each on one of its devices. One kernel serves every operator: it writes down the
name, and asks the operator's shape rule what a real kernel would return. A real backend differs in `empty`, `copy`,
`cast`, `as_strided`, `from_host`, `to_host`, which touch memory, and in kernels that calculate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..devices import backend_key
from ..dispatch.registry import (
    CONTRACT_KERNELS,
    DECLARATIONS,
    SHAPE_RULES,
    Overload,
    find_overload,
    load_family,
    register_kernel,
)
from ..dtypes import from_numpy_dtype
from ..keys import META
from ..meta_array import MetaArray
from ..plugins.protocols import CONTRACT
from ..plugins.runtime_access import checked_index
from ..spec import Spec
from ..tensor import Tensor, new_tensor

__all__ = ["NullArray", "NullBackend"]


class NullArray(MetaArray):
    """A layout on the device of that index."""

    __slots__ = ("index",)

    def __init__(self, index: int, *layout: Any) -> None:
        super().__init__(*layout)
        self.index = index


class NullBackend:
    """Follows `mt_core.plugins.protocols.Backend`; `calls` lists the kernels that ran.

    Parameters
    ----------
    device_type
        The name of the devices.
    devices
        How many there are; the first is the current one.
    """

    contract = CONTRACT
    array_type = NullArray

    def __init__(self, device_type: str = "null", devices: int = 1) -> None:
        self.device_type = device_type
        self.devices = devices
        self.calls: list[str] = []

    def device_count(self) -> int:
        return self.devices

    def diagnose(self) -> list[tuple[str, str]]:
        return [(self.device_type, "allocates and records, does not calculate")]

    # Memory: of every array there is only the layout.

    def empty(
        self, shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...] | None, index: int | None
    ) -> NullArray:
        in_bytes = strides and tuple(s * dtype.itemsize for s in strides)
        return NullArray(self._checked(index), tuple(shape), dtype.numpy_dtype, in_bytes)

    def _checked(self, index: int | None) -> int:
        return 0 if index is None else checked_index(self.device_type, index)

    def as_array(self, value: Any) -> NullArray:
        return value if isinstance(value, NullArray) else NullArray(0, tuple(value.shape), value.dtype)

    def copy(self, target: NullArray, source: NullArray) -> None:
        self.calls.append("copy")

    def cast(self, array: NullArray, dtype: Any) -> NullArray:
        return array if array.dtype == dtype.numpy_dtype else NullArray(array.index, array.shape, dtype.numpy_dtype)

    def contiguous(self, array: NullArray) -> NullArray:
        return NullArray(array.index, array.shape, array.dtype)

    def owner(self, array: NullArray) -> NullArray:
        return NullArray(array.index, (array.nbytes_owned,), np.dtype(np.uint8))

    def offset(self, owner: NullArray, array: NullArray) -> int:
        return array.offset

    def as_strided(
        self, owner: NullArray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: Any
    ) -> NullArray:
        return NullArray(owner.index, tuple(shape), dtype.numpy_dtype, strides, offset, owner.nbytes_owned)

    def address(self, array: NullArray) -> int:
        return 0

    def index_of(self, array: NullArray) -> int:
        return array.index

    def number(self, value: Any, dtype: Any) -> Any:
        return value

    # The way to and from the host

    def from_host(self, array: np.ndarray, dtype: Any, index: int | None) -> NullArray:
        return NullArray(self._checked(index), array.shape, dtype.numpy_dtype)

    def to_host(self, array: NullArray) -> np.ndarray:
        raise NotImplementedError(f"a tensor on device '{self.device_type}' has no elements to read")

    # Kernels

    def load(self, family: str) -> None:
        load_family("mt_core.declarations", family)
        load_family("mt_core.contract_kernels", family)
        load_family("mt_core.shape_rules", family)
        for name, declaration in list(DECLARATIONS.items()):
            ours = declaration.family == family and declaration.functional is None and name not in CONTRACT_KERNELS
            # The kernel asks the shape rule; composites without one are left to their parts.
            kernels = declaration.kind in ("plain", "factory") and name in SHAPE_RULES
            if ours and (declaration.kind == "elementwise" or kernels):
                register_kernel(backend_key(self.device_type), (name,), self.kernel(find_overload(name)), half="native")

    def kernel(self, overload: Overload) -> Callable[..., Any]:
        """The one kernel: arrays in, arrays out, and a line in `calls`."""

        def run(*args: Any) -> Any:
            self.calls.append(overload.name)
            if isinstance(args[-1], Spec):  # a factory: its last argument says what to make, and where
                spec = args[-1]
                return self.empty(spec.shape, spec.dtype, spec.strides, spec.device and spec.device.index)
            index = next((array.index for array in _arrays_in(args)), 0)
            return _on_device(overload.call(*map(_on_meta, args)), index)

        return run


def _arrays_in(args: Any) -> Iterator[NullArray]:
    for value in args:
        if isinstance(value, NullArray):
            yield value
        elif isinstance(value, list):
            yield from _arrays_in(value)


def _on_meta(value: Any) -> Any:
    """A kernel's argument as the shape rule takes it."""
    if isinstance(value, MetaArray):
        return new_tensor(value, from_numpy_dtype(value.dtype), META)
    return [_on_meta(item) for item in value] if isinstance(value, list) else value


def _on_device(result: Any, index: int) -> Any:
    """The arrays of results on the meta device, as arrays of the device of that index."""
    if isinstance(result, Tensor):
        return NullArray(index, result._array.shape, result._array.dtype, result._array.strides)
    return None if result is None else [_on_device(item, index) for item in result]
