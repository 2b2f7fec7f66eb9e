"""What operators gave for fake tensors, by a description of the call, so that the next like it is not carried out.

A description has all that results depend on: the operator, layout, dtype, device and memory of the tensors, the other
arguments, and the settings of the thread. A call that cannot be described passes the cache by, for a reason that is
counted. What was kept is dropped when a library registers something.
"""

from __future__ import annotations

import collections
from dataclasses import dataclass
from typing import Any

from mt_core import Tensor, dtypes
from mt_core.block import block_of, share_block
from mt_core.determinism import DETERMINISM
from mt_core.devices import device as Device
from mt_core.dispatch.registry import WARNS, when_registered
from mt_core.formats import channels_last, channels_last_3d, contiguous_format, layout, memory_format, strided
from mt_core.keys import CONJUGATE, INFERENCE, META, NEGATIVE, STRIDED
from mt_core.meta_array import MetaArray
from mt_core.state import tls
from mt_core.tensor import new_tensor
from mt_library.ops import OpOverload
from mt_library.tags import Tag

from ._fake import FakeTensor, fake_over

__all__ = [
    "Bypass", "DispatchCacheInfo", "TensorMetadata", "described", "extract_tensor_metadata", "given_before", "info",
    "keep", "note_bypass", "reset",
]  # fmt: skip

_MOST = 8192
#: What of the keys of a result is its own.
_KEPT = STRIDED | CONJUGATE | NEGATIVE | INFERENCE
#: Numbers and names, of which equal ones of one class say the same.
_PLAIN = frozenset({int, float, bool, complex, str, type(None), dtypes.dtype, Device, layout, memory_format})
_ENTRIES: dict[Any, Any] = {}
when_registered.append(_ENTRIES.clear)


class Bypass(Exception):
    """A call is not described, for a reason."""


@dataclass(frozen=True)
class DispatchCacheInfo:
    """How often results were there, were not, or were not asked for, by reason; and how many are kept."""

    hits: int
    misses: int
    bypasses: dict[str, int]
    size: int


@dataclass(frozen=True, slots=True)
class TensorMetadata:
    """All that can be said of a tensor without its elements."""

    dtype: Any
    shape: tuple[Any, ...]
    stride: tuple[Any, ...]
    device: Any
    layout: Any
    memory_format: Any
    storage_offset: Any
    storage_bytes: Any
    requires_grad: bool
    is_quantized: bool
    is_conj: bool
    is_neg: bool
    is_inference: bool
    is_sparse: bool
    is_coalesced: bool | None
    dense_dim: int | None
    sparse_dim: int | None


def extract_tensor_metadata(t: Tensor) -> TensorMetadata:
    """What can be said of a tensor; strides, offset and memory of those that have them."""
    is_strided, is_sparse = t.layout is strided, t.is_sparse
    ways = (contiguous_format, channels_last, channels_last_3d) if is_strided else ()
    way = next((way for way in ways if t.is_contiguous(memory_format=way)), None)
    return TensorMetadata(
        t.dtype, t.shape, t.stride() if is_strided else (), t.device, t.layout, way,
        t.storage_offset() if is_strided else 0, t.untyped_storage().nbytes() if is_strided else None,
        t.requires_grad, t.is_quantized, t.is_conj(), t.is_neg(), t.is_inference(), is_sparse,
        t.is_coalesced() if is_sparse else None, t.dense_dim() if is_sparse else None,
        t.sparse_dim() if is_sparse else None,
    )  # fmt: skip


class _Counts:
    """Since the cache was last emptied."""

    def __init__(self) -> None:
        self.hits = self.misses = 0
        self.bypasses: collections.Counter[str] = collections.Counter()


_counts = _Counts()


def info() -> DispatchCacheInfo:
    """What was counted."""
    return DispatchCacheInfo(_counts.hits, _counts.misses, dict(_counts.bypasses), len(_ENTRIES))


def reset() -> None:
    """Empty the cache, and count anew."""
    _ENTRIES.clear()
    _counts.__init__()  # type: ignore[misc]


def note_bypass(reason: Bypass) -> None:
    """Count a call that was not described."""
    _counts.bypasses[str(reason)] += 1


# Descriptions


def described(mode: Any, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], place: Device) -> Any:
    """(description, fake tensors among the arguments) of a call.

    Raises
    ------
    Bypass
        For operators of libraries, calls whose results depend on elements or that change the layout of an argument,
        and symbolic numbers.
    """
    reason = _REASONS.get(func)
    if reason is None:
        reason = _REASONS[func] = _reason_against(func)
    if reason:
        raise Bypass(reason)
    if DETERMINISM.enabled:
        raise Bypass("deterministic algorithms")
    fakes: list[FakeTensor] = []
    blocks: dict[int, int] = {}
    parts = [_part(value, fakes, blocks) for value in args]
    parts += [(name, _part(value, fakes, blocks)) for name, value in kwargs.items()]
    state = dtypes.get_default_dtype(), tls.default_device, tls.inference, place
    return (func, state, tuple(parts)), fakes


_REASONS: dict[OpOverload, str] = {}


def _reason_against(func: OpOverload) -> str:
    tags = set(func.tags)
    overload = func._overload
    kind, form = overload.declaration.kind, overload.declaration.form
    if func.namespace != "aten":
        return "non-builtin"
    if Tag.data_dependent_output in tags:
        return "data dependent output"
    if Tag.dynamic_output_shape in tags:
        return "dynamic output shape"
    if Tag.inplace_view in tags:
        return "inplace view"
    if overload.schema.is_mutable and (kind != "elementwise" or form == "out"):
        return "written otherwise than elementwise"
    return "warns" if overload.name in WARNS else ""


def _part(value: Any, fakes: list[FakeTensor], blocks: dict[int, int]) -> Any:
    kind = type(value)
    if kind in _PLAIN:
        return kind, value
    if isinstance(value, FakeTensor):
        return _tensor_part(value, fakes, blocks)
    if isinstance(value, (list, tuple)):
        return kind, tuple([_part(item, fakes, blocks) for item in value])
    raise Bypass(f"argument of class {kind.__name__}")


def _tensor_part(fake: FakeTensor, fakes: list[FakeTensor], blocks: dict[int, int]) -> Any:
    array, block = fake._array, block_of(fake)
    for number in (*array.shape, *array.strides, array.offset, block.nbytes):  # of a part of it too
        if type(number) is not int:
            raise Bypass("symbolic sizes")
    if fake.constant is not None:
        raise Bypass("constant attribute")
    fakes.append(fake)
    together = blocks.setdefault(id(block), len(fakes))  # which of them share memory
    return array.shape, array.strides, array.offset, block.nbytes, fake._dtype, array.device, fake._keys, together


# Results


class _Given:
    """A result that is one of the arguments."""

    __slots__ = ("place",)

    def __init__(self, place: int) -> None:
        self.place = place

    def made(self, mode: Any, fakes: list[FakeTensor], device: Device) -> Any:
        return fakes[self.place]


class _Made:
    """A result on memory of its own, or (`on`) on that of an argument."""

    __slots__ = ("shape", "strides", "offset", "nbytes", "dtype", "keys", "on")

    def __init__(self, fake: FakeTensor, on: int | None) -> None:
        array = fake._array
        self.shape, self.strides, self.offset = array.shape, array.strides, array.offset
        self.nbytes = block_of(fake).nbytes
        self.dtype, self.keys, self.on = fake._dtype, META | fake._keys & _KEPT, on

    def made(self, mode: Any, fakes: list[FakeTensor], device: Device) -> Any:
        array = MetaArray(self.shape, self.dtype.numpy_dtype, self.strides, self.offset, self.nbytes)
        elem = new_tensor(array, self.dtype, self.keys)
        if self.on is not None:
            share_block(elem, fakes[self.on])
        return fake_over(elem, mode, device)


def keep(description: Any, fakes: list[FakeTensor], result: Any) -> None:
    """Remember what a call gave."""
    _counts.misses += 1
    blocks = {id(block_of(fake)): i for i, fake in reversed(list(enumerate(fakes)))}
    seen: set[int] = set()

    def entry(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value), [entry(item) for item in value]
        if not isinstance(value, FakeTensor):
            return value
        for i, fake in enumerate(fakes):
            if fake is value:
                return _Given(i)
        block = id(block_of(value))
        if block in seen:
            raise Bypass("results that share memory")
        if block not in blocks:
            seen.add(block)
        return _Made(value, blocks.get(block))

    try:
        made = entry(result)
    except Bypass:
        return
    if len(_ENTRIES) >= _MOST:
        _ENTRIES.clear()
    _ENTRIES[description] = made


_NOTHING = object()


def given_before(description: Any, mode: Any, fakes: list[FakeTensor], device: Device) -> tuple[bool, Any]:
    """Whether the results of a call are known, and they."""
    entry = _ENTRIES.get(description, _NOTHING)
    if entry is _NOTHING:
        return False, None
    _counts.hits += 1
    return True, _result_of(entry, mode, fakes, device)


def _result_of(entry: Any, mode: Any, fakes: list[FakeTensor], device: Device) -> Any:
    if isinstance(entry, (_Made, _Given)):
        return entry.made(mode, fakes, device)
    if isinstance(entry, tuple):
        kind, items = entry
        made = [_result_of(item, mode, fakes, device) for item in items]
        return kind(made)
    return entry
