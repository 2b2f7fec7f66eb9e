"""Dtypes on both sides of the bridge."""

from __future__ import annotations

from typing import Any

import numpy

from mt_core import dtypes as core

__all__ = ["MINDSPORE_NAMES", "DtypeMap"]

#: Name of a dtype here -> its name in the module ``mindspore``. A dtype that MindSpore lacks is absent.
MINDSPORE_NAMES: dict[str, str] = {
    "bool": "bool_",
    "uint8": "uint8",
    "uint16": "uint16",
    "uint32": "uint32",
    "uint64": "uint64",
    "int8": "int8",
    "int16": "int16",
    "int32": "int32",
    "int64": "int64",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "float32": "float32",
    "float64": "float64",
    "complex64": "complex64",
    "complex128": "complex128",
}


class DtypeMap:
    """The dtypes that tensors of a device may have, in both languages.

    Parameters
    ----------
    mindspore
        The module.
    device_type, missing
        Where a dtype is refused: the device's name, and the names of dtypes that it lacks besides MindSpore's.
    """

    def __init__(self, mindspore: Any, device_type: str, missing: frozenset[str] = frozenset()) -> None:
        self._device_type = device_type
        self.held = frozenset(getattr(core, name) for name in MINDSPORE_NAMES if name not in missing)
        pairs = [(d.numpy_dtype, getattr(mindspore, MINDSPORE_NAMES[_name(d)])) for d in self.held]
        self._to: dict[Any, Any] = dict(pairs)
        self._from: dict[Any, numpy.dtype] = {theirs: ours for ours, theirs in pairs}

    def to_mindspore(self, d: Any) -> Any:
        """MindSpore's dtype for NumPy's.

        Raises
        ------
        NotImplementedError
            Where the device holds no such tensors.
        """
        try:
            return self._to[d]
        except KeyError:
            raise NotImplementedError(f"device '{self._device_type}' holds no tensors of {_words(d)}") from None

    def of_tensor(self, tensor: Any) -> numpy.dtype:
        """NumPy's dtype for that of a MindSpore tensor.

        Raises
        ------
        NotImplementedError
            For a dtype that has no counterpart here, and that is not held on this device.
        """
        try:
            return self._from[tensor.dtype]
        except KeyError:
            raise NotImplementedError(
                f"device '{self._device_type}' holds no tensors of MindSpore's {tensor.dtype}"
            ) from None


def _name(d: core.dtype) -> str:
    return str(d).partition(".")[2]


def _words(d: Any) -> str:
    for known in core.ALL_DTYPES:
        if known.numpy_dtype == d:
            return f"{known!r}"
    return str(d)
