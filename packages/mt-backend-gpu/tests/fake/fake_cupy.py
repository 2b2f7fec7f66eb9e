"""CuPy's rules over NumPy memory: a stand-in for the module ``cupy`` where there is no device.

What real CuPy refuses is refused here: names that it lacks, arguments that its signatures do not take, ufuncs without
a loop, NumPy's arrays among operands, implicit conversion to the host, methods of ufuncs that it has not written.
What `cupy_facts.json` says of an installed CuPy decides (`make_cupy_facts.py`). Where CuPy gives other numbers than
NumPy, so does this: indices out of range wrap around, results without dimensions stay arrays, new memory holds
garbage. Launches, copies and synchronizations are counted in `COUNTS`.

`install()` puts the module and its parts into ``sys.modules``.
"""

from __future__ import annotations

import collections
import inspect
import json
import sys
import threading
import time
import types
from pathlib import Path
from typing import Any

import numpy as np

FACTS: dict[str, Any] = json.loads(Path(__file__).with_name("cupy_facts.json").read_text())
#: What was done since it was last cleared: launch, launch of NAME, h2d, d2h, sync, sync WHY.
COUNTS: collections.Counter[str] = collections.Counter()
#: How many devices there are, and how much memory each has.
DEVICES, CAPACITY = 2, 1 << 30


class Refused(TypeError):
    """What real CuPy would not have taken."""


def _refuse(text: str) -> None:
    raise Refused(f"CuPy's rules: {text}")


def _synchronize(why: str) -> None:
    if _current().capturing:
        raise runtime.CUDARuntimeError(
            "cudaErrorStreamCaptureUnsupported: operation not permitted when stream is capturing"
        )
    COUNTS["sync"] += 1
    COUNTS[f"sync {why}"] += 1


def _launched(name: str, count: int = 1) -> None:
    """A call that launches kernels; how many is for those to say who count (`launches`)."""
    COUNTS["launch"] += count
    COUNTS[f"launch of {name}"] += count


def _counted_as(name: str, operands: Any) -> str:
    """Products of stacks of matrices are something else than those of two."""
    return f"{name} of stacks" if name.endswith("matmul") and any(a.ndim > 2 for a in operands[:2]) else name


# Signatures


def _signature(parameters: list[list[Any]] | None) -> inspect.Signature | None:
    if parameters is None:
        return None
    kinds = list(inspect._ParameterKind)
    made = [
        inspect.Parameter(n, kinds[k], default=None if d else inspect.Parameter.empty) if kinds[k] not in (
            inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD) else inspect.Parameter(n, kinds[k])
        for n, k, d in parameters if n != "self"
    ]  # fmt: skip
    return inspect.Signature(made)


def _check_call(name: str, signature: inspect.Signature | None, args: Any, keywords: Any) -> None:
    if signature is not None:
        try:
            signature.bind(*args, **keywords)
        except TypeError as error:
            _refuse(f"{name}: {error}")


# Memory


class _Devices(threading.local):
    def __init__(self) -> None:
        self.index = 0
        self.streams: dict[int, Any] = {}


_thread = _Devices()


class Memory:
    """A block of a device; `host` is where its bytes really are."""

    def __init__(self, size: int, index: int | None = None) -> None:
        self.device_id = _thread.index if index is None else index
        self.size = size
        self.host = np.full(max(size, 1), 0xA5, np.uint8)
        self.ptr = self.host.__array_interface__["data"][0] if size else 0


class UnownedMemory:
    def __init__(self, ptr: int, size: int, owner: Any, device_id: int = -1) -> None:
        self.ptr, self.size, self.owner = ptr, size, owner
        self.device_id = device_id if device_id >= 0 else _thread.index


class MemoryPointer:
    def __init__(self, mem: Any, offset: int) -> None:
        assert mem.ptr or not offset
        self.mem, self.ptr = mem, mem.ptr + offset

    device_id = property(lambda self: self.mem.device_id)

    def __add__(self, offset: int) -> MemoryPointer:
        return MemoryPointer(self.mem, self.ptr - self.mem.ptr + offset)

    def __sub__(self, offset: int) -> MemoryPointer:
        return self + -offset

    def copy_from_device(self, source: MemoryPointer, size: int) -> None:
        COUNTS["d2d"] += 1
        _bytes(self, size)[:] = _bytes(source, size)

    def copy_from_device_async(self, source: MemoryPointer, size: int, stream: Any = None) -> None:
        self.copy_from_device(source, size)


class _Place:
    def __init__(self, owner: Any, interface: dict[str, Any]) -> None:
        self.owner, self.__array_interface__ = owner, interface


def _host(memory: MemoryPointer, shape: Any, dtype: np.dtype, strides: Any) -> np.ndarray:
    """NumPy's array on a device's bytes, within the bounds of its block."""
    if 0 not in shape:
        low = sum(min(0, (n - 1) * s) for n, s in zip(shape, strides, strict=True))
        high = dtype.itemsize + sum(max(0, (n - 1) * s) for n, s in zip(shape, strides, strict=True))
        start = memory.ptr - memory.mem.ptr
        assert 0 <= start + low and start + high <= memory.mem.size, "an array beyond its memory"
    interface = {
        "version": 3, "typestr": f"|V{dtype.itemsize}", "data": (memory.ptr, False), "shape": tuple(shape),
        "strides": tuple(strides),
    }  # fmt: skip
    return np.asarray(_Place(memory.mem, interface)).view(dtype)


def _bytes(memory: MemoryPointer, size: int) -> np.ndarray:
    return _host(memory, (size,), np.dtype(np.uint8), (1,))


def _row_major(shape: Any, itemsize: int) -> tuple[int, ...]:
    steps = [itemsize]
    for n in reversed(shape[1:]):
        steps.insert(0, steps[0] * max(n, 1))
    return tuple(steps) if shape else ()


class MemoryPool:
    """Counts what is taken; nothing is kept."""

    def __init__(self, allocator: Any = None) -> None:
        self.limit = 0

    def malloc(self, size: int) -> MemoryPointer:
        if size > (self.limit or CAPACITY):
            raise OutOfMemoryError(size, 0, self.limit)
        return MemoryPointer(Memory(size), 0)

    def used_bytes(self) -> int:
        return 0

    free_bytes = total_bytes = n_free_blocks = used_bytes

    def free_all_blocks(self, stream: Any = None) -> None:
        COUNTS["free"] += 1

    free_all_free = free_all_blocks

    def set_limit(self, size: int | None = None, fraction: float | None = None) -> None:
        self.limit = size if size is not None else int((fraction or 0) * CAPACITY)

    def get_limit(self) -> int:
        return self.limit


class OutOfMemoryError(MemoryError):
    def __init__(self, size: int, total: int, limit: int = 0) -> None:
        super().__init__(f"Out of memory allocating {size} bytes (allocated so far: {total} bytes).")


_allocator: list[Any] = [MemoryPool().malloc]


def _alloc(size: int) -> MemoryPointer:
    made: MemoryPointer = _allocator[0](size)
    return made


# Arrays


class Flags:
    def __init__(self, host: np.ndarray) -> None:
        self.c_contiguous, self.f_contiguous = host.flags.c_contiguous, host.flags.f_contiguous
        self.forc = self.c_contiguous or self.f_contiguous
        self.owndata = host.flags.owndata

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"'cupy._core.flags.Flags' object has no attribute {name!r}")


def _refuse_dtype(dtype: np.dtype) -> None:
    if dtype.kind not in "biufc" and dtype.name != "bfloat16":
        raise ValueError(f"Unsupported dtype {dtype}")


class ndarray:
    """``cupy.ndarray``: `_a` is NumPy's array on the same bytes."""

    __slots__ = ("_a", "data", "base", "__weakref__")
    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self, shape: Any, dtype: Any = float, memptr: Any = None, strides: Any = None, order: str = "C"
    ) -> None:
        shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
        dtype = np.dtype(dtype)
        if len(shape) > 32:
            raise ValueError("Maximum number of dimensions is 32")
        steps = (
            tuple(strides)
            if strides is not None
            else (
                _row_major(shape, dtype.itemsize)
                if order != "F"
                else tuple(reversed(_row_major(tuple(reversed(shape)), dtype.itemsize)))
            )
        )
        count = int(np.prod(shape, dtype=object)) if shape else 1
        if memptr is None:
            memptr = _alloc(count * dtype.itemsize)
        self.data, self.base = memptr, None
        self._a = _host(memptr, shape, dtype, steps)

    shape = property(lambda self: self._a.shape, lambda self, v: _refuse("setting shape"))
    strides = property(lambda self: self._a.strides)
    dtype = property(lambda self: self._a.dtype)
    itemsize = property(lambda self: self._a.itemsize)
    ndim = property(lambda self: self._a.ndim)
    size = property(lambda self: self._a.size)
    nbytes = property(lambda self: self._a.nbytes)
    flags = property(lambda self: Flags(self._a))
    device = property(lambda self: Device(self.data.device_id))
    T = property(lambda self: self._view(self._a.T))
    real = property(lambda self: self._view(self._a.real), lambda self, v: self._set(self._a.real, ..., v))
    imag = property(
        lambda self: self._view(self._a.imag) if self._a.dtype.kind == "c" else zeros_like(self),
        lambda self, v: self._set(self._a.imag, ..., v),
    )

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape, "typestr": self.dtype.str, "descr": self.dtype.descr, "stream": 1, "version": 3,
            "strides": None if self._a.flags.c_contiguous else self.strides, "data": (self.data.ptr, False),
        }  # fmt: skip

    def _view(self, host: np.ndarray) -> ndarray:
        """A view of this array's memory that NumPy made."""
        made = object.__new__(ndarray)
        address = host.__array_interface__["data"][0] if host.size else self.data.ptr
        made._a, made.data, made.base = host, self.data + (address - self.data.ptr), self
        return made

    def _set(self, host: np.ndarray, at: Any, value: Any) -> None:
        if isinstance(value, np.ndarray) and value.ndim:
            _refuse("NumPy's array is written into CuPy's")
        _refuse_dtype(self.dtype)
        _launched("setitem")
        host[_index(at, host.shape)] = value._a if isinstance(value, ndarray) else value

    def get(self, stream: Any = None, order: str = "C", out: Any = None, blocking: bool = True) -> np.ndarray:
        COUNTS["d2h"] += 1
        if blocking:
            _synchronize("get")
        if out is not None:
            out[...] = self._a
            return out  # type: ignore[no-any-return]
        return self._a.copy(order)  # type: ignore[arg-type,no-any-return]

    def set(self, arr: Any, stream: Any = None) -> None:
        if not isinstance(arr, np.ndarray) or arr.shape != self.shape or arr.dtype != self.dtype:
            _refuse("set: an array of the same shape and dtype")
        if not (self._a.flags.c_contiguous or self._a.flags.f_contiguous):
            raise RuntimeError("Cannot set to non-contiguous array")
        COUNTS["h2d"] += 1
        self._a[...] = arr

    def item(self, *index: int) -> Any:
        _synchronize("item")
        return self._a.item(*index)

    def tolist(self) -> Any:
        _synchronize("tolist")
        return self._a.tolist()

    def __int__(self) -> int:
        _synchronize("int")
        return int(self._a)

    def __index__(self) -> int:
        _synchronize("int")
        return self._a.__index__()

    def __float__(self) -> float:
        _synchronize("float")
        return float(self._a)

    def __complex__(self) -> complex:
        _synchronize("complex")
        return complex(self._a)

    def __bool__(self) -> bool:
        _synchronize("bool")
        return bool(self._a)

    def __len__(self) -> int:
        return len(self._a)

    def __iter__(self) -> Any:
        return iter([self[i] for i in range(len(self._a))])

    def __array__(self, *args: Any, **keywords: Any) -> Any:
        _refuse("Implicit conversion to a NumPy array is not allowed")

    def __getitem__(self, at: Any) -> ndarray:
        found = self._a[_index(at, self._a.shape)]
        if _is_basic(at):
            return self._view(found) if isinstance(found, np.ndarray) else self._view(self._a[(*_as_tuple(at), ...)])
        _refuse_dtype(self.dtype)
        _launched("getitem")
        return wrap(found)

    def __setitem__(self, at: Any, value: Any) -> None:
        self._set(self._a, at, value)

    def reshape(self, *shape: Any, order: str = "C", copy: Any = None) -> ndarray:
        return _shared(self, self._a.reshape(*shape, order=order))

    def ravel(self, order: str = "C") -> ndarray:
        return _shared(self, self._a.ravel(order))

    def view(self, dtype: Any = None, type: Any = None) -> ndarray:
        return self._view(self._a.view() if dtype is None else self._a.view(dtype))

    def transpose(self, *axes: Any) -> ndarray:
        return self._view(self._a.transpose(*axes))

    def swapaxes(self, axis1: int, axis2: int) -> ndarray:
        return self._view(self._a.swapaxes(axis1, axis2))

    def squeeze(self, axis: Any = None) -> ndarray:
        return self._view(self._a.squeeze(axis))

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> ndarray:
        return self._view(self._a.diagonal(offset, axis1, axis2))

    def astype(
        self, dtype: Any, order: str = "K", casting: Any = None, subok: Any = None, copy: bool = True
    ) -> ndarray:
        _refuse_dtype(np.dtype(dtype))
        _refuse_dtype(self.dtype)
        _launched("astype")
        if not copy and self.dtype == np.dtype(dtype):
            return self
        with np.errstate(all="ignore"):
            return wrap(np.asarray(self._a).astype(dtype, order=order))  # type: ignore[call-overload]

    def copy(self, order: str = "C") -> ndarray:
        _launched("copy")
        _refuse_dtype(self.dtype)
        return wrap(self._a.copy(order))  # type: ignore[arg-type]

    def fill(self, value: Any) -> None:
        _launched("fill")
        _refuse_dtype(self.dtype)
        self._a.fill(unwrap(value, "fill"))

    def argmax(self, axis: Any = None, out: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        _launched("argmax")
        return wrap(_last_nan(self._a, axis, self._a.argmax(axis, keepdims=keepdims), keepdims))

    def argmin(self, axis: Any = None, out: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        _launched("argmin")
        return wrap(_last_nan(self._a, axis, self._a.argmin(axis, keepdims=keepdims), keepdims))

    flat = property(lambda self: self.ravel())

    def __repr__(self) -> str:
        return repr(self.get())

    def __format__(self, spec: str) -> str:
        return format(self.get()[()], spec)

    def scatter_add(self, slices: Any, value: Any) -> None:
        ufunc("add").at(self, slices, value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in FACTS["ndarray"]:
            raise AttributeError(f"'cupy.ndarray' object has no attribute {name!r}")
        method, stated = getattr(self._a, name), _signature(FACTS["ndarray"][name])

        def call(*args: Any, **keywords: Any) -> Any:
            _check_call(f"ndarray.{name}", stated, args, keywords)
            _refuse_dtype(self.dtype)
            _launched(name)
            if name in ("nonzero",):
                _synchronize(name)
            if name == "take":
                keywords["mode"] = "wrap"
            opened = {k: unwrap(v, name) for k, v in keywords.items()}
            with np.errstate(all="ignore"):
                return wrap(method(*[unwrap(a, name) for a in args], **opened))

        return call


def _last_nan(host: np.ndarray, axis: Any, found: Any, keepdims: bool) -> Any:
    """Of several NaNs CuPy's search for an extreme element finds any: here the last."""
    if host.dtype.kind != "f" or not np.isnan(host).any():
        return found
    nan = np.isnan(host.reshape(-1) if axis is None else host)
    along = 0 if axis is None else axis
    last = nan.shape[along] - 1 - np.flip(nan, along).argmax(along, keepdims=keepdims)
    return np.where(nan.any(along, keepdims=keepdims), last, found)


def _shared(array: ndarray, host: np.ndarray) -> ndarray:
    if host.size and not np.may_share_memory(host, array._a):
        _launched("copy")
        _refuse_dtype(array.dtype)
        return wrap(host)  # type: ignore[no-any-return]
    return array._view(host)


def _as_tuple(at: Any) -> tuple[Any, ...]:
    return at if isinstance(at, tuple) else (at,)


def _is_basic(at: Any) -> bool:
    return all(i is None or i is ... or isinstance(i, (slice, int, np.integer)) for i in _as_tuple(at))


def _index(at: Any, shape: tuple[int, ...]) -> Any:
    """The index as NumPy takes it; integers out of range wrap around, as CuPy's do."""
    parts = list(_as_tuple(at))
    taken = sum(
        i._a.ndim if isinstance(i, ndarray) and i.dtype == np.bool_ else 0 if i is None or i is ... else 1
        for i in parts
    )
    dim = 0
    for place, i in enumerate(parts):
        if isinstance(i, np.ndarray) and i.ndim:
            _refuse("NumPy's array is an index")
        if i is None:
            continue
        if i is ...:
            dim += len(shape) - taken
        elif isinstance(i, ndarray) and i.dtype == np.bool_:
            _synchronize("mask")
            parts[place], dim = i._a, dim + i.ndim
        elif isinstance(i, (ndarray, list)):
            whole = i._a if isinstance(i, ndarray) else np.asarray(i)
            parts[place] = whole % shape[dim] if whole.dtype.kind in "iu" and shape[dim] else whole
            dim += 1
        else:
            dim += 1
    return tuple(parts) if isinstance(at, tuple) else parts[0]


def wrap(value: Any) -> Any:
    """NumPy's result as CuPy's: a copy on the current device; what has no dimensions stays an array."""
    if isinstance(value, (np.ndarray, np.generic)):
        host = np.asarray(value)
        base = _Kept(host)
        made = object.__new__(ndarray)
        made._a, made.data, made.base = host, MemoryPointer(base, host.__array_interface__["data"][0] - base.ptr), None
        return made
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(wrap, value))
    if isinstance(value, (tuple, list)):
        return type(value)(map(wrap, value))
    return value


class _Kept:
    """Memory that NumPy allocated for a result, as a block of the current device."""

    def __init__(self, host: np.ndarray) -> None:
        self.host, self.device_id = host, _thread.index
        low = sum((n - 1) * s for n, s in zip(host.shape, host.strides, strict=True) if s < 0) if host.size else 0
        high = sum((n - 1) * s for n, s in zip(host.shape, host.strides, strict=True) if s > 0) if host.size else 0
        self.ptr = host.__array_interface__["data"][0] + low
        self.size = (high - low + host.itemsize) if host.size else 0


def unwrap(value: Any, where: str) -> Any:
    if isinstance(value, ndarray):
        _refuse_dtype(value.dtype)
        return value._a
    if isinstance(value, np.ndarray):
        _refuse(f"Unsupported type numpy.ndarray: in {where}")
    if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        return type(value)(unwrap(v, where) for v in value)
    return value


def _operator(name: str, in_place: bool) -> Any:
    def run(self: ndarray, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            _refuse(f"Unsupported type numpy.ndarray: in {name}")
        _refuse_dtype(self.dtype)
        _launched(_counted_as(name.strip("_"), (self, other)))
        with np.errstate(all="ignore"):
            result = getattr(self._a, name)(other._a if isinstance(other, ndarray) else other)
        if in_place:
            return self
        return result if result is NotImplemented else wrap(result)

    return run


for _name in (
    "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow matmul rmatmul and rand or ror "
    "xor rxor lshift rlshift rshift rrshift lt le gt ge eq ne"
).split():
    setattr(ndarray, f"__{_name}__", _operator(f"__{_name}__", False))
for _name in "iadd isub imul itruediv ifloordiv imod ipow iand ior ixor ilshift irshift".split():
    setattr(ndarray, f"__{_name}__", _operator(f"__{_name}__", True))


def _unary(name: str) -> Any:
    def run(self: ndarray) -> Any:
        _launched(name.strip("_"))
        return wrap(getattr(self._a, name)())

    return run


for _name in ("neg", "pos", "abs", "invert"):
    setattr(ndarray, f"__{_name}__", _unary(f"__{_name}__"))


# Functions

_REDUCES, _SCATTERS = (
    ("add", "multiply"),
    ("add", "subtract", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor"),
)
#: What atomics there are for.
_ATOMIC = {"add": "iIlqLQefd", "subtract": "iIQefd", "maximum": "iIQfd", "minimum": "iIQfd"}


class ufunc:
    """``cupy.ufunc``."""

    def __init__(self, name: str) -> None:
        self.name, self.__name__ = name, name
        self._f = getattr(np, name)
        self.types = FACTS["ufuncs"][name]
        self.nin = self._f.nin

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        unknown = set(keywords) - {"out", "dtype", "casting", "where", "axes", "axis", "keepdims", "order", "subok"}
        if unknown:
            _refuse(f"{self.name}: keywords {sorted(unknown)}")
        self._check_loop([a.dtype for a in args[: self.nin] if isinstance(a, (ndarray, np.generic))])
        if self.name == "matmul" and any(a.dtype.kind == "V" and a.ndim > 2 for a in args):
            raise TypeError("data type 'E' not understood")
        out = keywords.get("out", args[self.nin] if len(args) > self.nin else None)
        opened = [unwrap(a, self.name) for a in args]
        _launched(_counted_as(self.name, args))
        with np.errstate(all="ignore"):
            result = self._f(*opened, **{k: unwrap(v, self.name) for k, v in keywords.items()})
        return out if isinstance(out, ndarray) else wrap(result)

    def _check_loop(self, dtypes: list[Any]) -> None:
        loops = {t.partition("->")[0] for t in self.types}
        for d in dtypes:
            _refuse_dtype(d)
        if any(d.name == "bfloat16" for d in dtypes) or self.name == "matmul":
            return
        fits = any(
            all(np.can_cast(d, np.dtype(c), "safe") for d, c in zip(dtypes, loop, strict=False) if c != "E")
            and "E" not in loop
            for loop in loops
        )
        if dtypes and not fits:
            _refuse(f"{self.name}: no loop for {dtypes}")

    def reduce(self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        if self.name not in _REDUCES:
            raise NotImplementedError(f"`cupy_{self.name}.reduce` is not supported yet")
        _launched(f"{self.name}.reduce")
        with np.errstate(all="ignore"):
            return wrap(self._f.reduce(unwrap(array, self.name), axis, dtype, None, keepdims))

    def accumulate(self, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        if self.name not in _REDUCES:
            raise NotImplementedError(f"`cupy_{self.name}.accumulate` is not supported yet")
        _launched(f"{self.name}.accumulate")
        with np.errstate(all="ignore"):
            return wrap(self._f.accumulate(unwrap(array, self.name), axis, dtype))

    def reduceat(self, array: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        if self.name != "add":
            raise NotImplementedError(f"`cupy_{self.name}.reduceat` is not supported yet")
        _launched(f"{self.name}.reduceat")
        return wrap(self._f.reduceat(unwrap(array, self.name), unwrap(indices, self.name), axis, dtype))

    def at(self, a: Any, indices: Any, b: Any = None) -> None:
        if self.name not in _SCATTERS:
            raise NotImplementedError(f"`cupy_{self.name}.at` is not supported yet")
        if a.dtype.char not in _ATOMIC.get(self.name, "iIQ") + "L":
            raise TypeError(f"{self.name}.at does not support {a.dtype}")
        _launched(f"{self.name}.at")
        values = unwrap(b, self.name)
        if self.name in ("maximum", "minimum") and a.dtype.kind == "f":  # in float32, and NaN is passed over
            values = np.asarray(values, np.float32)
            self._f.at(
                a._a, _index(indices, a.shape), np.where(np.isnan(values), a._a[_index(indices, a.shape)], values)
            )
            return
        self._f.at(a._a, _index(indices, a.shape), values)

    def outer(self, A: Any, B: Any, **keywords: Any) -> Any:
        _launched(self.name)
        return wrap(self._f.outer(unwrap(A, self.name), unwrap(B, self.name)))


_SYNCHRONIZING = frozenset(
    ("nonzero", "flatnonzero", "argwhere", "unique", "repeat", "bincount", "histogram", "array_equal", "isin")
)


def _function(path: str, name: str) -> Any:
    """The function of CuPy's of that name, which NumPy's carries out."""
    function: Any = np
    for part in f"{path}.{name}".strip(".").split("."):
        function = getattr(function, part)
    full = f"{path}.{name}".lstrip(".")
    stated = _signature(FACTS["names"][full])
    if isinstance(function, type) or not callable(function):
        return function

    def call(*args: Any, **keywords: Any) -> Any:
        _check_call(full, stated, args, keywords)
        _launched(full)
        if name in _SYNCHRONIZING:
            _synchronize(name)
        if name == "take":
            keywords["mode"] = "wrap"
        opened = {k: unwrap(v, full) for k, v in keywords.items()}
        with np.errstate(all="ignore"):
            result = function(*[unwrap(a, full) for a in args], **opened)
        return _like_arguments(result, args)

    call.__name__ = name
    return _without_half(call, name)


def _without_half(call: Any, name: str) -> Any:
    """What CuPy does otherwise with bfloat16."""
    if name == "where":
        return lambda c, x=None, y=None: call(c, *[_single(v) for v in (x, y) if v is not None])
    if name in ("sort", "argsort", "lexsort", "unique"):
        return lambda a, *args, **keywords: call(_no_half(a), *args, **keywords)
    return call


def _single(value: Any) -> Any:
    return value.astype(np.float32) if isinstance(value, ndarray) and value.dtype.kind == "V" else value


def _no_half(value: Any) -> Any:
    if isinstance(value, ndarray) and value.dtype.kind == "V":
        raise NotImplementedError(f"Sorting arrays with dtype '{value.dtype}' is not supported")
    return value


def _like_arguments(result: Any, args: tuple[Any, ...]) -> Any:
    """What NumPy made: views of an argument stay views of it."""
    if isinstance(result, np.ndarray) and result.size:
        for one in args:
            if isinstance(one, ndarray) and one.size and np.may_share_memory(one._a, result):
                return one._view(result)
    if isinstance(result, (tuple, list)) and not hasattr(result, "_fields"):
        flat = [x for a in args for x in (a if isinstance(a, (list, tuple)) else (a,))]
        return type(result)(_like_arguments(r, tuple(flat)) for r in result)
    return wrap(result)


class _Module(types.ModuleType):
    """A module of CuPy's: what the facts name."""

    def __init__(self, name: str, path: str) -> None:
        super().__init__(name)
        self._path = path

    def __getattr__(self, name: str) -> Any:
        full = f"{self._path}.{name}".lstrip(".")
        if name.startswith("__"):
            raise AttributeError(name)
        if full in FACTS["ufuncs"]:
            found: Any = ufunc(full)
        elif full in FACTS["names"]:
            found = _function(self._path, name)
        else:
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        setattr(self, name, found)
        return found


def asarray(a: Any, dtype: Any = None, order: Any = None, *, copy: Any = None, blocking: bool = False) -> Any:
    if isinstance(a, ndarray):
        return a if dtype is None or a.dtype == dtype else a.astype(dtype)
    if isinstance(a, (list, tuple)) and any(isinstance(i, ndarray) for i in a):
        _launched("asarray", len(a))
        return wrap(np.asarray([unwrap(i, "asarray") for i in a], dtype))
    COUNTS["h2d"] += 1
    _synchronize("asarray")
    return wrap(np.array(a, dtype, order=order or "K"))


def array(
    obj: Any, dtype: Any = None, copy: Any = True, order: str = "K", subok: bool = False, ndmin: int = 0, *,
    blocking: bool = False,
) -> Any:  # fmt: skip
    if isinstance(obj, ndarray):
        _launched("copy")
        return wrap(np.array(obj._a, dtype, order=order, ndmin=ndmin))  # type: ignore[call-overload]
    return asarray(obj, dtype)


def asnumpy(a: Any, stream: Any = None, order: str = "C", out: Any = None, *, blocking: bool = True) -> np.ndarray:
    return a.get(stream, order, out, blocking) if isinstance(a, ndarray) else np.asarray(a)


def empty(shape: Any, dtype: Any = float, order: str = "C") -> ndarray:
    return ndarray(shape, dtype, order=order)


def _filled(value: Any) -> Any:
    def make(shape: Any, dtype: Any = float, order: str = "C") -> ndarray:
        made = ndarray(shape, dtype, order=order)
        made.fill(value)
        return made

    return make


def zeros_like(a: ndarray, dtype: Any = None, order: str = "K", subok: Any = None, shape: Any = None) -> Any:
    _launched("fill")
    return wrap(np.zeros_like(a._a, dtype))


def ndim(a: Any) -> int:
    return a.ndim if isinstance(a, ndarray) else np.ndim(a)


def may_share_memory(a: Any, b: Any, max_work: Any = None) -> bool:
    return np.may_share_memory(a._a, b._a)


def as_strided(x: ndarray, shape: Any = None, strides: Any = None) -> ndarray:
    return ndarray(x.shape if shape is None else shape, x.dtype, x.data, x.strides if strides is None else strides)


# Devices, streams, events


class Device:
    def __init__(self, device: Any = None) -> None:
        self.id = _thread.index if device is None else getattr(device, "id", device)
        self._before: list[int] = []

    def __int__(self) -> int:
        return self.id

    def use(self) -> None:
        _thread.index = self.id

    def __enter__(self) -> Device:
        self._before.append(_thread.index)
        self.use()
        return self

    def __exit__(self, *exc_info: object) -> None:
        _thread.index = self._before.pop()

    def synchronize(self) -> None:
        _synchronize("device")

    compute_capability = "90"
    mem_info = (CAPACITY // 2, CAPACITY)


class Event:
    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        self.ptr, self.timing, self.time = id(self), not disable_timing, 0.0
        self.done = True

    def record(self, stream: Any = None) -> None:
        self.time = time.perf_counter()

    def synchronize(self) -> None:
        _synchronize("event")


class Stream:
    null: Any
    ptds: Any

    def __init__(
        self, null: bool = False, non_blocking: bool = False, ptds: bool = False, priority: Any = None
    ) -> None:
        self.ptr = 0 if null else id(self)
        self.device_id = -1 if null else _thread.index
        self.capturing = False
        self.done = True

    def use(self) -> Stream:
        _thread.streams[_thread.index] = self
        return self

    def __enter__(self) -> Stream:
        self._before = _current()
        return self.use()

    def __exit__(self, *exc_info: object) -> None:
        self._before.use()

    def synchronize(self) -> None:
        _synchronize("stream")

    def record(self, event: Any = None) -> Event:
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        COUNTS["wait"] += 1

    def begin_capture(self, mode: Any = None) -> None:
        if not self.ptr:
            raise RuntimeError("cannot capture on the default (legacy) stream")
        self.capturing = True

    def end_capture(self) -> Graph:
        self.capturing = False
        return Graph()

    def is_capturing(self) -> bool:
        return self.capturing


class ExternalStream(Stream):
    def __init__(self, ptr: int, device_id: int = -1) -> None:
        super().__init__()
        self.ptr, self.device_id = ptr, device_id


class Graph:
    def launch(self, stream: Any = None) -> None:
        COUNTS["graph"] += 1


def _current() -> Stream:
    found: Stream = _thread.streams.get(_thread.index, Stream.null)
    return found


Stream.null = Stream(null=True)


class PinnedMemoryPointer(bytearray):
    """Page-locked memory: its bytes, and where they lie."""

    @property
    def ptr(self) -> int:
        address: int = np.frombuffer(self, np.uint8).__array_interface__["data"][0]
        return address


class _Runtime(types.ModuleType):
    """``cupy.cuda.runtime``."""

    memcpyHostToDevice, memcpyDeviceToHost, memcpyDeviceToDevice, memcpyDefault = 1, 2, 3, 4
    streamCaptureModeGlobal, streamCaptureModeThreadLocal, streamCaptureModeRelaxed = 0, 1, 2
    CUDARuntimeError = type("CUDARuntimeError", (RuntimeError,), {})

    def getDeviceCount(self) -> int:
        return DEVICES

    def getDevice(self) -> int:
        return _thread.index

    def setDevice(self, index: int) -> None:
        _thread.index = index

    def runtimeGetVersion(self) -> int:
        return 13000

    def driverGetVersion(self) -> int:
        return 13000

    def deviceCanAccessPeer(self, a: int, b: int) -> int:
        return int(a != b)

    def memGetInfo(self) -> tuple[int, int]:
        return CAPACITY // 2, CAPACITY

    def streamQuery(self, stream: int) -> None:
        return None

    def eventQuery(self, event: int) -> None:
        return None

    def deviceSynchronize(self) -> None:
        _synchronize("device")

    def memcpyAsync(self, target: int, source: int, size: int, kind: int, stream: int) -> None:
        COUNTS[{1: "h2d", 2: "d2h"}.get(kind, "d2d")] += 1
        _at(target, size)[:] = _at(source, size)

    def memcpyPeerAsync(self, target: int, to: int, source: int, from_: int, size: int, stream: int) -> None:
        self.memcpyAsync(target, source, size, 3, stream)

    def getDeviceProperties(self, index: int) -> dict[str, Any]:
        return {
            "name": b"Fake device", "major": 9, "minor": 0, "totalGlobalMem": CAPACITY, "multiProcessorCount": 2,
            "warpSize": 32,
            "maxThreadsPerMultiProcessor": 2048, "regsPerMultiprocessor": 65536, "sharedMemPerBlock": 49152,
            "sharedMemPerMultiprocessor": 233472, "l2CacheSize": 1 << 20, "integrated": 0, "isMultiGpuBoard": 0,
            "pciBusID": 1, "pciDeviceID": 0, "pciDomainID": 0, "uuid": bytes(16), "memoryClockRate": 1,
            "memoryBusWidth": 1,
            "clockRate": 1, "sharedMemPerBlockOptin": 232448,
        }  # fmt: skip


def _at(address: int, size: int) -> np.ndarray:
    interface = {"version": 3, "typestr": "|u1", "data": (address, False), "shape": (size,), "strides": (1,)}
    return np.asarray(_Place(None, interface))


runtime = _Runtime("cupy.cuda.runtime")


def gemm_strided_batched(
    handle: int, transa: int, transb: int, m: int, n: int, k: int, alpha: int, A: int, Atype: int, lda: int,
    strideA: int, B: int, Btype: int, ldb: int, strideB: int, beta: int, C: int, Ctype: int, ldc: int,
    strideC: int, batchCount: int, computeType: int, algo: int,
) -> None:  # fmt: skip
    """``cublasGemmStridedBatchedEx``: matrices column by column, sums of halves in float32."""
    import ml_dtypes

    halves = {2: np.dtype(np.float16), 14: np.dtype(ml_dtypes.bfloat16)}
    dtype = {**halves, 0: np.dtype(np.float32), 1: np.dtype(np.float64)}[Ctype]
    wide = np.dtype(np.float64 if Ctype == 1 else np.float32)
    assert Atype == Btype == Ctype and computeType == (70 if Ctype == 1 else 68)

    def matrices(address: int, rows: int, columns: int, lead: int, step: int) -> np.ndarray:
        assert lead >= max(rows, 1), "the leading dimension is too small"
        shape, size = (batchCount, rows, columns), dtype.itemsize
        interface = {
            "version": 3, "typestr": f"|V{size}", "data": (address, False), "shape": shape,
            "strides": (step * size, size, lead * size),
        }  # fmt: skip
        return np.asarray(_Place(None, interface)).view(dtype)

    a, b = (
        matrices(A, *((k, m) if transa else (m, k)), lda, strideA),
        matrices(B, *((n, k) if transb else (k, n)), ldb, strideB),
    )
    c = matrices(C, m, n, ldc, strideC)
    left, right = (x.astype(wide) for x in (a.swapaxes(1, 2) if transa else a, b.swapaxes(1, 2) if transb else b))
    numbers = [np.frombuffer(_at(p, wide.itemsize).tobytes(), wide)[0] for p in (alpha, beta)]
    _launched("gemm")
    total = numbers[0] * (left @ right)
    c[...] = (total + numbers[1] * c.astype(wide) if numbers[1] else total).astype(dtype)


def install() -> types.ModuleType:
    """Be ``cupy`` in this process."""
    top = _Module("cupy", "")
    linalg, fft = _Module("cupy.linalg", "linalg"), _Module("cupy.fft", "fft")
    lib, tricks = types.ModuleType("cupy.lib"), _Module("cupy.lib.stride_tricks", "lib.stride_tricks")
    tricks.as_strided, lib.stride_tricks = as_strided, tricks  # type: ignore[attr-defined]
    cuda = types.ModuleType("cupy.cuda")
    for one in (
        Memory, UnownedMemory, MemoryPointer, MemoryPool, Device, Event, Stream, ExternalStream, Graph,
        PinnedMemoryPointer,
    ):  # fmt: skip
        setattr(cuda, one.__name__, one)
    cuda.alloc, cuda.runtime = _alloc, runtime  # type: ignore[attr-defined]
    cuda.memory = types.SimpleNamespace(OutOfMemoryError=OutOfMemoryError, MemoryPool=MemoryPool)  # type: ignore[attr-defined]
    cuda.set_allocator = lambda allocator=None: _allocator.__setitem__(0, allocator or MemoryPool().malloc)  # type: ignore[attr-defined]
    cuda.get_current_stream = lambda device_id=-1: _current()  # type: ignore[attr-defined]
    cuda.alloc_pinned_memory = PinnedMemoryPointer  # type: ignore[attr-defined]
    cuda.get_elapsed_time = lambda start, end: (end.time - start.time) * 1000  # type: ignore[attr-defined]
    cuda.is_available = lambda: True  # type: ignore[attr-defined]
    for one in (asarray, array, asnumpy, empty, zeros_like, ndim, may_share_memory, ndarray, ufunc):
        setattr(top, one.__name__, one)
    top.ascontiguousarray = lambda a, dtype=None: a if a.flags.c_contiguous else a.copy()  # type: ignore[attr-defined]
    top.zeros, top.ones = _filled(0), _filled(1)  # type: ignore[attr-defined]
    top.linalg, top.fft, top.lib, top.cuda = linalg, fft, lib, cuda  # type: ignore[attr-defined]
    cuda.get_cublas_handle = lambda: 1  # type: ignore[attr-defined]
    libs = types.ModuleType("cupy_backends.cuda.libs")
    libs.cublas = types.SimpleNamespace(gemmStridedBatchedEx=gemm_strided_batched)  # type: ignore[attr-defined]
    sys.modules[libs.__name__] = libs
    top.__version__ = FACTS["version"]  # type: ignore[attr-defined]
    for module in (top, linalg, fft, lib, tricks, cuda, runtime):
        sys.modules[module.__name__] = module
    return top
