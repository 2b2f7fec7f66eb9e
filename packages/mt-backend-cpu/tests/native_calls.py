"""Calls of every operator that has a kernel in the native library, found from the registry and made large.

A kernel that is new is among them by itself: samples are the exam's. Those of a few elements do not divide their work
among threads, so their tensors are repeated along dimensions that belong together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from mt_backend_cpu import native
from mt_core.api.binder import bind_schema
from mt_core.dispatch.lookup import kernels_of
from mt_core.dispatch.registry import Overload, find_overload
from mt_core.dtypes import bfloat16
from mt_core.keys import CPU, STRIDED
from mt_core.tensor import Tensor, new_tensor
from mt_core.testing.sample import Sample, TensorMaker, examined_operators, sample_functions, start_streams

__all__ = ["Call", "is_native", "large_calls", "native_operators", "run", "small_calls"]

#: A call of more elements than this divides its work in the library.
DIVIDED = 16384


class Call(NamedTuple):
    overload: Overload
    args: tuple[Any, ...]
    #: How it came to be, for messages.
    origin: str


def is_native(function: Any) -> bool:
    """Whether a kernel's function is the library's, or one of the modules that hand arrays to it."""
    module = getattr(function, "__module__", None) or ""
    return module.startswith(("mt_backend_cpu.native.", "mt_backend_cpu._native"))


def native_operators() -> list[str]:
    """The operators that a kernel of the library stands for; none without it."""
    if native.library is None:
        return []
    found = []
    for overload in examined_operators():
        if overload.declaration.kind != "view" and any(is_native(k.function) for k in kernels_of(overload, CPU)):
            found.append(overload.name)
    return found


def _taken(overload: Overload, args: tuple[Any, ...]) -> bool:
    """Whether the first kernel that takes a call is the library's."""
    for kernel in kernels_of(overload, CPU):
        if kernel.accepts is None or kernel.accepts.takes(overload.schema, args):
            return is_native(kernel.function)
    return False


def small_calls(name: str) -> Iterator[Call]:
    """The exam's samples of an operator that the library takes."""
    return (call for call in _samples(name) if _taken(call.overload, call.args))


def _samples(name: str) -> Iterator[Call]:
    overload = find_overload(name)
    for function in sample_functions(overload):
        for number, sample in enumerate(function(TensorMaker())):
            args = _bound(overload, sample)
            if args is not None:
                yield Call(overload, args, f"{name}, sample {number}")


def _bound(overload: Overload, sample: Sample) -> tuple[Any, ...] | None:
    try:
        return tuple(bind_schema(overload.schema, sample.args, sample.kwargs))
    except (TypeError, RuntimeError):  # a sample of another form of the operator
        return None


# Large calls


def _tensors(args: tuple[Any, ...]) -> list[Tensor]:
    return [t for a in args for t in (a if isinstance(a, (list, tuple)) else (a,)) if isinstance(t, Tensor)]


def _repeated(args: tuple[Any, ...], dim: int, times: int, chosen: Callable[[Tensor, Tensor], bool]) -> tuple[Any, ...]:
    """The arguments with tensors that are `chosen` beside the first one repeated, and lists of sizes like them."""
    first = _tensors(args)[0]

    def grown(value: Any) -> Any:
        if isinstance(value, Tensor):
            if value.ndim > dim and chosen(value, first):
                return TensorMaker().of(np.concatenate([value._array] * times, dim), value.dtype)
            return value
        if isinstance(value, (list, tuple)):
            if len(value) == first.ndim and all(type(n) is int for n in value) and value[dim] == first.shape[dim]:
                return [*value[:dim], value[dim] * times, *value[dim + 1 :]]
            return [grown(item) for item in value]
        return value

    return tuple(grown(value) for value in args)


def _grown(args: tuple[Any, ...]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Ways to repeat a call's tensors, of which the operator will refuse some."""
    tensors = _tensors(args)
    if not tensors:
        for position, value in enumerate(args):
            size = [value] if type(value) is int else value
            if isinstance(size, (list, tuple)) and size and all(type(n) is int and n > 0 for n in size):
                times = 3 * DIVIDED // int(np.prod(size)) + 1
                larger = size[0] * times if type(value) is int else [size[0] * times, *size[1:]]
                yield f"argument {position} times {times}", (*args[:position], larger, *args[position + 1 :])
        return
    first = tensors[0]
    largest = max(t.numel() for t in tensors)
    if not largest:
        return
    times = 3 * DIVIDED // largest + 1
    for dim in (*range(first.ndim),):
        ways: dict[str, Callable[[Tensor, Tensor], bool]] = {
            "all alike": lambda t, f, dim=dim: t.ndim == f.ndim and t.shape[dim] == f.shape[dim],
            "all of its size there": lambda t, f, dim=dim: t.shape[dim] == f.shape[dim],
            "all of its rank": lambda t, f: t.ndim == f.ndim,
            "the first": lambda t, f: t is f,
        }
        for way, chosen in ways.items():
            yield f"{way}, dimension {dim} times {times}", _repeated(args, dim, times, chosen)


#: Calls of what the samples cannot be repeated for: numbers of theirs tell sizes, or they lack an element type.
_MADE: dict[str, Callable[[TensorMaker], tuple[Any, ...]]] = {
    "_linear_of_rows": lambda make: tuple(
        make(*shape, dtype=bfloat16) for shape in ((600,), (256, 64), (600, 64))
    ),
    "_lstm_steps": lambda make: (
        make(9, 40, 160), [], make(40, 40), make(40, 40), make(160, 40), make(160), False, True,
    ),
    "_recurrent_steps": lambda make: ("gru", make(9, 40, 120), [], make(40, 40), make(120, 40), make(120), True, True),
    "_recurrent_steps_backward": lambda make: (
        "rnn_tanh", make(20, 40, 40), make(40, 40), None, [], make(40, 40), None, make(40, 40), make(20, 40, 40),
        make(0, 160), make(0, 40), False,
    ),
    "bmm": lambda make: (make(6, 64, 80), make(6, 80, 64)),
    "native_group_norm": lambda make: (make(40, 6, 300), make(6), make(6), 40, 6, 300, 3, 1e-5),
    "remainder.Tensor": lambda make: (make.ints(300, 300, low=-9, high=9), 7),
    "sort.stable": lambda make: (make(300, 300), True, -1, False),
}  # fmt: skip


def _of_its_types(overload: Overload, args: tuple[Any, ...]) -> bool:
    """Whether the library has a kernel for the element types and layouts of a call, whatever its sizes."""
    return any(
        is_native(k.function) and (k.accepts is None or k.accepts._takes_tensors(overload.schema, args))
        for k in kernels_of(overload, CPU)
    )


def large_calls(name: str, of_each: int = 1) -> Iterator[Call]:
    """Calls large enough to be divided among threads: `of_each` ways of repeating each sample that works."""
    if name in _MADE:
        made = Call(find_overload(name), _MADE[name](TensorMaker()), name)
        assert _taken(made.overload, made.args), f"the library does not take the call of {name} that is made for it"
        yield made
    for small in _samples(name):
        worked = 0
        if not _of_its_types(small.overload, small.args):
            continue
        for way, args in _grown(small.args):
            try:
                if not _taken(small.overload, args):
                    continue
                found = run(Call(small.overload, args, ""))
            except (IndexError, NotImplementedError, RuntimeError, TypeError, ValueError):
                continue  # sizes that do not go together
            if max((a.size for a in [*found, *(t._array for t in _tensors(args))]), default=0) > 2 * DIVIDED:
                yield Call(small.overload, args, f"{small.origin}, {way}")
                worked += 1
                if worked == of_each:
                    break


# Running them


def _copied(value: Any, shift: int) -> Any:
    """The argument, its tensors copied to memory of their own that begins `shift` elements after an aligned place."""
    if isinstance(value, Tensor):
        array = value._array
        memory = np.empty(array.size + shift + 64, array.dtype)
        start = (-memory.ctypes.data // array.itemsize) % (64 // array.itemsize or 1) + shift
        placed = memory[start : start + array.size].reshape(array.shape)
        placed[...] = array
        return new_tensor(placed, value.dtype, value._keys) if not value._keys & STRIDED else value.clone()
    if isinstance(value, (list, tuple)):
        return [_copied(item, shift) for item in value]
    return value


def run(call: Call, shift: int = 0) -> list[np.ndarray]:
    """The results of a call, and what it wrote into its arguments, as arrays; random streams begin anew."""
    start_streams()
    args = tuple(_copied(value, shift) for value in call.args)
    result = call.overload.call(*args)
    results = result if isinstance(result, (list, tuple)) else [result]
    return [t._array.copy() for t in [*results, *_tensors(args)] if isinstance(t, Tensor)]
