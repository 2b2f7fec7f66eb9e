"""Kernels written in C, or in anything that exports C functions: found in a shared library, entered for a backend.

``mt_core/native/mt_kernel.h`` says what a function must look like; `header_folder` is where a compiler finds it, and
``docs/native-kernels.md`` walks through an example. Buffers cross as DLPack structures, numbers and lists of numbers as
plain C values (`mt_core.plugins.native_abi`), errors as a status with a message; the library is called without Python's
global lock.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .. import dtypes
from ..devices import backend_key
from ..dispatch.elementwise import number_array
from ..dispatch.executors import describer
from ..dispatch.kernel import Accepts
from ..dispatch.lookup import backend_for
from ..dispatch.memory import share_memory
from ..dispatch.registry import READS_ELEMENTS, Overload, find_overload, load_family, register_kernel
from ..keys import META, STRIDED
from ..meta_array import MetaArray
from ..schema import Argument
from ..spec import Spec, is_contiguous
from ..tensor import Tensor, new_tensor
from .errors import PluginError
from .native_abi import Describer, converter, dtype_of

__all__ = ["ABI", "NativeKernel", "header_folder", "load_native"]

#: Version of the C interface; a library built for another is refused.
ABI = 1
_MESSAGE_SIZE = 1024
#: Status -> the error that it is; any other but 0 is a RuntimeError.
_ERRORS: dict[int, type[Exception]] = {2: NotImplementedError, 3: IndexError, 4: ValueError}
#: The kinds of operators that a library may have kernels for: those that compute elements.
_KINDS = ("elementwise", "plain", "composite")
_NUMBERS = (bool, int, float, complex, np.generic)
#: Descriptions of calls whose results are known.
_KNOWN_CALLS = 256


def header_folder() -> Path:
    """The folder of ``mt_kernel.h``, for ``cc -I``."""
    return Path(__file__).parents[1] / "native"


class NativeKernel:
    """How an exported function takes part.

    Parameters
    ----------
    symbol
        Its name in the library.
    dtypes
        Names of the dtypes that every tensor argument may have, or argument name -> names.
    layout : {"any", "row_major"}
        "row_major" where it reads and writes tensors without looking at their strides: others are copied first, and
        back where they are written.
    result
        Of an elementwise operator, the name of the result's dtype; by default that of the first tensor.
    """

    def __init__(
        self, symbol: str, dtypes: Collection[str] | Mapping[str, Collection[str]], layout: str = "any",
        result: str | None = None,
    ) -> None:  # fmt: skip
        if layout not in ("any", "row_major"):
            raise ValueError(f"a kernel's layout is 'any' or 'row_major', not {layout!r}")
        if isinstance(dtypes, str):
            raise TypeError(f"dtypes must be a collection of names, not the name {dtypes!r}")
        self.symbol = symbol
        self.dtypes = dtypes
        self.layout = layout
        self.result = result


def load_native(path: str | os.PathLike[str], table: Mapping[str, NativeKernel], device_type: str = "cpu") -> list[str]:
    """Load a shared library and register its functions as kernels of a backend; returns the names of the operators.

    Parameters
    ----------
    path
        The library.
    table
        Overload -> function: ``{"add.Tensor": NativeKernel("toy_add_f32", dtypes=("float32",))}``. A kernel of the
        functional form serves the in-place and ``out=`` forms too, unless these have one of their own.
    device_type
        The backend whose arrays it computes on. Its `address` must be one that the library can use.

    Raises
    ------
    PluginError
        Where the library cannot be loaded, was built for another version of the interface, or lacks a function; and for
        operators that a library cannot have kernels for. Nothing is registered then.
    """
    library = _open(path)
    key = backend_key(device_type)
    kernels = {name: _kernel(library, os.fspath(path), name, entry, key) for name, entry in table.items()}
    for name, kernel in kernels.items():
        register_kernel(key, (name,), kernel, accepts=kernel.accepts(), half="native", out=kernel.out)
    return list(kernels)


def _open(path: str | os.PathLike[str]) -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(os.fspath(path))
    except OSError as error:
        raise PluginError(f"the library of kernels {os.fspath(path)} cannot be loaded: {error}") from None
    version = getattr(library, "mt_kernel_abi", None)
    if version is None:
        raise PluginError(
            f"{os.fspath(path)} does not say for which kernel interface it was built: add MT_KERNEL_LIBRARY to it"
        )
    if version() != ABI:
        raise PluginError(
            f"{os.fspath(path)} was built for version {version()} of the kernel interface, and this mt-core speaks "
            f"version {ABI}: build it again with {header_folder() / 'mt_kernel.h'}"
        )
    return library


def _kernel(library: ctypes.CDLL, path: str, name: str, entry: NativeKernel, key: int) -> _Fresh | _Writing:
    overload = _overload(name)
    return (_Writing if overload.schema.is_mutable else _Fresh)(library, path, overload, entry, key)


def _overload(name: str) -> Overload:
    try:
        overload = find_overload(name)
        kind = overload.declaration.kind
    except KeyError:
        raise PluginError(f"there is no operator {name}") from None
    if kind not in _KINDS:
        raise PluginError(f"{name} is {kind}: native kernels are for operators that compute elements")
    schema = overload.schema
    if any(r.type != "Tensor" or r.is_list or (r.alias and not schema.is_mutable) for r in schema.returns):
        raise PluginError(f"{name} returns something else than new tensors, which the C interface cannot hand over")
    return overload


class _Call:
    """A kernel: it hands the arguments over and calls the function.

    Raises
    ------
    NotImplementedError, RuntimeError, IndexError, ValueError
        As the function's status says, with its message; NotImplementedError for tensors of other dtypes, and for
        numbers that do not fit C's.
    """

    #: Where the results go (`mt_core.dispatch.kernel.Kernel.out`).
    out = "fresh"

    def __init__(self, library: ctypes.CDLL, path: str, overload: Overload, entry: NativeKernel, key: int) -> None:
        self.overload = overload
        self.arguments = overload.schema.arguments
        self.entry = entry
        self.backend = backend_for(key)
        self.describer = Describer(self.backend)
        self.message = f"{entry.symbol} of {path}"
        self.elementwise = overload.declaration.kind == "elementwise"
        function = getattr(library, entry.symbol, None)
        if function is None:
            raise PluginError(f"{path} has no function {entry.symbol}, which is to be the kernel of {overload.name}")
        function.restype = ctypes.c_int32
        self.function = function
        self.converters = [self._converter(argument) for argument in self.arguments]
        self.allowed = self._allowed()

    def _converter(self, argument: Argument) -> Any:
        found = converter(argument, self.describer, self.message)
        if found is None:
            raise PluginError(
                f"{self.overload.name} takes a {argument.type} ({argument.name}), which the C interface has no way to "
                "hand over"
            )
        return found

    def _run(self, values: list[Any], shape: tuple[int, ...] | None, results: list[Any]) -> None:
        """Call the function with the arguments, broadcast to `shape`, and the arrays to fill; None is no result."""
        passed: list[Any] = []
        for convert, value in zip(self.converters, values, strict=True):
            passed += convert(value, shape)
        passed += [self.describer.pointer(result, None) for result in results]
        message = ctypes.create_string_buffer(_MESSAGE_SIZE)
        status = self.function(*passed, message, ctypes.c_size_t(_MESSAGE_SIZE))
        if status:
            text = message.value.decode("utf-8", "replace") or f"{self.message} failed with status {status}"
            raise _ERRORS.get(status, RuntimeError)(text)

    def accepts(self) -> Accepts:
        """What the dispatcher asks before it calls: other tensors go to the next kernel of the operator."""
        if isinstance(self.entry.dtypes, Mapping):
            return Accepts(dtypes=self.allowed, also=self.also())
        return Accepts(dtypes=[getattr(dtypes, name) for name in self.entry.dtypes], also=self.also())

    def also(self) -> Any:
        """A further condition on calls."""
        return None

    # Arguments

    def _allowed(self) -> dict[str, frozenset[Any]]:
        """Argument -> the dtypes that it may have, for those that are restricted."""
        wanted, tensors = self.entry.dtypes, [a.name for a in self.arguments if a.is_tensor]
        per_argument = wanted if isinstance(wanted, Mapping) else dict.fromkeys(tensors, wanted)
        unknown = sorted(set(per_argument) - set(tensors))
        if unknown:
            raise PluginError(f"{self.overload.name} has no tensor argument {', '.join(unknown)}")
        return {name: frozenset(getattr(dtypes, d) for d in names) for name, names in per_argument.items()}

    def _checked(self, args: tuple[Any, ...]) -> list[Any]:
        """The arguments, with arrays of dtypes and layouts that the function takes, and arrays for numbers."""
        values = [self._checked_argument(a, value) for a, value in zip(self.arguments, args, strict=True)]
        d = next((dtype_of(array) for array in self._arrays(values)), None)
        return [self._array_of_number(a, value, d) for a, value in zip(self.arguments, values, strict=True)]

    def _checked_argument(self, argument: Argument, value: Any) -> Any:
        if not argument.is_tensor or value is None:
            return value
        if argument.is_list:
            return [self._checked_array(argument.name, item) for item in value]
        return self._checked_array(argument.name, value)

    def _checked_array(self, name: str, value: Any) -> Any:
        if value is None or isinstance(value, _NUMBERS):
            return value
        d, allowed = dtype_of(value), self.allowed.get(name)
        if allowed is not None and d not in allowed:
            names = ", ".join(sorted(a.name for a in allowed))
            raise NotImplementedError(f"{self.message} takes {name} of {names}, not {d.name}")
        return self.backend.contiguous(value) if self.entry.layout == "row_major" else value

    def _array_of_number(self, argument: Argument, value: Any, d: dtypes.dtype | None) -> Any:
        """A number in a tensor's place has the dtype of the tensors."""
        if d is None or not argument.is_tensor or not isinstance(value, _NUMBERS):
            return value
        return self.backend.from_host(number_array(value, d), d, None)

    def _arrays(self, values: list[Any]) -> list[Any]:
        flat = [item for value in values for item in (value if isinstance(value, list) else (value,))]
        return [item for item in flat if isinstance(item, self.backend.array_type)]


class _Fresh(_Call):
    """A kernel that returns new arrays. A single result may be computed into an array that is given."""

    def __init__(self, library: ctypes.CDLL, path: str, overload: Overload, entry: NativeKernel, key: int) -> None:
        super().__init__(library, path, overload, entry, key)
        self.several = len(overload.schema.returns) != 1
        self.out = "fresh" if self.several else "fills"
        self._described: dict[Any, Any] = {}
        if not self.elementwise:
            load_family("mt_core.shape_rules", overload.family)
            self.specs = describer(overload)

    def __call__(self, *args: Any, out: Any = None) -> Any:
        values = self._checked(args)
        arrays = self._arrays(values)
        if out is not None and self._fits(out, arrays):
            self._fill(values, [out])
            return out
        index = self.backend.index_of(arrays[0]) if arrays else None
        results = [d and self.backend.empty(shape, d, None, index) for shape, d in self._results(values, arrays)]
        self._fill(values, results)
        if out is not None:
            self.backend.copy(out, results[0])
        return tuple(results) if self.several else results[0]

    def _fill(self, values: list[Any], results: list[Any]) -> None:
        self._run(values, tuple(results[0].shape) if self.elementwise else None, results)

    def _fits(self, out: Any, arrays: list[Any]) -> bool:
        """Whether a given array is what the function would get if none were given."""
        if self.elementwise and dtype_of(out) is not self._dtype(arrays):
            return False
        return self.backend.contiguous(out) is out

    def _dtype(self, arrays: list[Any]) -> dtypes.dtype:
        """The dtype of an elementwise result."""
        return dtype_of(arrays[0]) if self.entry.result is None else getattr(dtypes, self.entry.result)

    def _results(self, values: list[Any], arrays: list[Any]) -> list[tuple[tuple[int, ...], dtypes.dtype | None]]:
        """(shape, dtype) of each result; no dtype where it is not wanted."""
        if self.elementwise:
            return [(np.broadcast_shapes(*(array.shape for array in arrays)), self._dtype(arrays))]
        if self.overload.name in READS_ELEMENTS:
            return self._from_rule(values)
        key = tuple(self._key(value) for value in values)
        found = self._described.get(key)
        if found is None:
            if len(self._described) >= _KNOWN_CALLS:
                self._described.clear()
            found = self._described[key] = self._from_rule(values)
        return found

    def _key(self, value: Any) -> Any:
        if isinstance(value, self.backend.array_type):
            return tuple(value.shape), value.strides, dtype_of(value)
        if isinstance(value, (list, tuple)):
            return tuple(self._key(item) for item in value)
        return value.__class__, value

    def _from_rule(self, values: list[Any]) -> list[tuple[tuple[int, ...], dtypes.dtype | None]]:
        found = self.specs(*(self._on_meta(value) for value in values))
        if found is None:
            raise NotImplementedError(f"{self.message}: the shape of {self.overload.name}'s result depends on elements")
        specs = (found,) if isinstance(found, Spec) else found
        return [((), None) if spec is None else (tuple(spec.shape), spec.dtype) for spec in specs]

    def _on_meta(self, value: Any) -> Any:
        """A tensor of the meta device for an array, as shape rules take them."""
        if isinstance(value, self.backend.array_type):
            shape, d = tuple(value.shape), dtype_of(value)
            strides = tuple(stride // d.itemsize for stride in value.strides)
            keys = META if is_contiguous(shape, strides) else META | STRIDED
            return new_tensor(MetaArray(shape, value.dtype, value.strides), d, keys)
        if isinstance(value, list):
            return [self._on_meta(item) for item in value]
        return value


class _Writing(_Call):
    """A kernel of an in-place or ``out=`` form: it writes into the arrays of arguments, and returns nothing."""

    out = "first"

    def __call__(self, *args: Any) -> None:
        values = self._checked(args)
        shape = None
        if self.elementwise:
            shape = next(tuple(v.shape) for a, v in zip(self.arguments, values, strict=True) if a.writes)
        self._run(values, shape, [])
        for argument, given, value in zip(self.arguments, args, values, strict=True):
            if argument.writes:
                self._bring_back(given, value)

    def _bring_back(self, given: Any, value: Any) -> None:
        """Copy what was written into a row-major copy to where it belongs."""
        if isinstance(given, (list, tuple)):
            for one, other in zip(given, value, strict=True):
                self._bring_back(one, other)
        elif given is not None and value is not given:
            self.backend.copy(given, value)

    def also(self) -> Any:
        return self._reads_nothing_it_writes

    def _reads_nothing_it_writes(self, *args: Any) -> bool:
        """Whether what is read lies elsewhere; an elementwise kernel may read the very elements that it writes."""
        tensors = [
            (a.writes, t)
            for a, value in zip(self.arguments, args, strict=True)
            for t in (value if isinstance(value, (list, tuple)) else (value,))
            if isinstance(t, Tensor)
        ]
        return not any(
            share_memory(to, from_) and not (self.elementwise and _same_elements(to, from_))
            for i, (writes, to) in enumerate(tensors)
            if writes
            for j, (_, from_) in enumerate(tensors)
            if i != j
        )


def _same_elements(a: Tensor, b: Tensor) -> bool:
    return a is b or a.data_ptr() == b.data_ptr() and a._array.shape == b._array.shape and a.stride() == b.stride()
