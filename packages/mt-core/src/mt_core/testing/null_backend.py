"""A complete backend on one screen: it allocates and records, and does not calculate.

Its arrays are layouts without memory. One kernel serves every operator: it writes down the name, and asks the
operator's shape rule what a real kernel would return. A real backend differs in `empty`, `copy`, `cast`, `as_strided`,
`from_host`, `to_host`, which touch memory, and in kernels that calculate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..devices import backend_key
from ..dispatch.registry import DECLARATIONS, GENERIC, META_RULES, Overload, find_overload, load_family, register_kernel
from ..dtypes import from_numpy_dtype
from ..keys import META
from ..meta_array import MetaArray
from ..plugins.protocols import CONTRACT
from ..spec import Spec
from ..tensor import Tensor, new_tensor

__all__ = ["NullBackend"]


class NullBackend:
    """Follows `mt_core.plugins.protocols.Backend`; `calls` lists the kernels that ran."""

    contract = CONTRACT
    array_type = MetaArray

    def __init__(self, device_type: str = "null") -> None:
        self.device_type = device_type
        self.calls: list[str] = []

    def device_count(self) -> int:
        return 1

    def diagnose(self) -> list[tuple[str, str]]:
        return [(self.device_type, "allocates and records, does not calculate")]

    # Memory: of every array there is only the layout.

    def empty(
        self, shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...] | None, index: int | None
    ) -> MetaArray:
        return MetaArray(tuple(shape), dtype.np, strides and tuple(s * dtype.itemsize for s in strides))

    def as_array(self, value: Any) -> MetaArray:
        return MetaArray(tuple(value.shape), value.dtype)

    def copy(self, target: MetaArray, source: MetaArray) -> None:
        self.calls.append("copy")

    def cast(self, array: MetaArray, dtype: Any) -> MetaArray:
        return array if array.dtype == dtype.np else MetaArray(array.shape, dtype.np)

    def contiguous(self, array: MetaArray) -> MetaArray:
        return MetaArray(array.shape, array.dtype)

    def owner(self, array: MetaArray) -> MetaArray:
        return MetaArray((array.nbytes_owned,), np.dtype(np.uint8))

    def offset(self, owner: MetaArray, array: MetaArray) -> int:
        return array.offset

    def as_strided(
        self, owner: MetaArray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: Any
    ) -> MetaArray:
        return MetaArray(tuple(shape), dtype.np, strides, offset, owner.nbytes_owned)

    def address(self, array: MetaArray) -> int:
        return 0

    def index_of(self, array: MetaArray) -> int:
        return 0

    def number(self, value: Any, dtype: Any) -> Any:
        return value

    # The way to and from the host

    def from_host(self, array: np.ndarray, dtype: Any, index: int | None) -> MetaArray:
        return MetaArray(array.shape, dtype.np)

    def to_host(self, array: MetaArray) -> np.ndarray:
        raise NotImplementedError(f"a tensor on device '{self.device_type}' has no elements to read")

    # Kernels

    def load(self, family: str) -> None:
        load_family("mt_core.ops", family)
        load_family("mt_core.generic", family)
        load_family("mt_core.meta", family)
        for name, declaration in list(DECLARATIONS.items()):
            ours = declaration.family == family and declaration.functional is None and name not in GENERIC
            # The kernel asks the shape rule; composites without one are left to their parts.
            kernels = declaration.kind in ("plain", "factory") and name in META_RULES
            if ours and (declaration.kind == "elementwise" or kernels):
                register_kernel(backend_key(self.device_type), (name,), self.kernel(find_overload(name)), half="native")

    def kernel(self, overload: Overload) -> Callable[..., Any]:
        """The one kernel: arrays in, arrays out, and a line in `calls`."""

        def run(*args: Any) -> Any:
            self.calls.append(overload.name)
            if isinstance(args[-1], Spec):  # a factory: its last argument says what to make
                return self.empty(args[-1].shape, args[-1].dtype, args[-1].strides, None)
            return _arrays(overload.call(*map(_on_meta, args)))

        return run


def _on_meta(value: Any) -> Any:
    """A kernel's argument as the shape rule takes it."""
    if isinstance(value, MetaArray):
        return new_tensor(value, from_numpy_dtype(value.dtype), META)
    return [_on_meta(item) for item in value] if isinstance(value, list) else value


def _arrays(result: Any) -> Any:
    return (
        result._array
        if isinstance(result, Tensor)
        else [_arrays(item) for item in result]
        if result is not None
        else None
    )
