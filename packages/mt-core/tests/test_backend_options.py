"""What a backend may say of itself, and what the core then spares it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import mt_core
from mt_core.devices import backend_key
from mt_core.dispatch.elementwise import native_dtypes
from mt_core.dispatch.registry import register_kernel
from mt_core.plugins.discovery import register_backend
from mt_core.tensor import Tensor
from mt_core.testing.boxed_backend import BoxedArray, BoxedBackend, fresh, read, write

#: What kernels were handed, in the order of the calls.
HANDED: list[Any] = []


class Counted(BoxedBackend):
    """Counts conversions and the way to and from the host."""

    def __init__(self, device_type: str) -> None:
        super().__init__(device_type)
        self.counts: Counter[str] = Counter()

    def cast(self, array: BoxedArray, dtype: Any) -> BoxedArray:
        self.counts["cast"] += array.dtype != dtype.numpy_dtype
        return super().cast(array, dtype)

    def from_host(self, array: np.ndarray, dtype: Any, index: int | None) -> BoxedArray:
        self.counts["from_host"] += 1
        return super().from_host(array, dtype, index)

    def to_host(self, array: BoxedArray) -> np.ndarray:
        self.counts["to_host"] += 1
        return super().to_host(array)

    def empty(self, *args: Any) -> BoxedArray:
        self.counts["empty"] += 1
        return super().empty(*args)

    def load(self, family: str) -> None:
        for name, function in KERNELS.items():
            register_kernel(backend_key(self.device_type), (name,), function)


class Able(Counted):
    """Has everything that the contract leaves open, and counts its use."""

    native = native_dtypes(None) | {mt_core.bfloat16, mt_core.float16}
    weak_numbers = True
    numpy_errors = False

    def number(self, value: Any, dtype: Any) -> Any:
        self.counts["number"] += 1
        return value

    def is_contiguous(self, array: BoxedArray) -> bool:
        return bool(read(array).flags.c_contiguous)

    def view(
        self, array: BoxedArray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: Any
    ) -> BoxedArray:
        self.counts["view"] += 1
        size = dtype.itemsize
        return BoxedArray(array.box, shape, tuple(s * size for s in strides), offset * size, dtype.numpy_dtype)

    def as_strided(self, *args: Any) -> BoxedArray:
        self.counts["as_strided"] += 1
        return super().as_strided(*args)

    def fill(self, array: BoxedArray, number: Any, dtype: Any) -> None:
        self.counts["fill"] += 1
        write(array, np.broadcast_to(np.asarray(number, dtype.numpy_dtype), array.shape))

    def count_nonzero(self, array: BoxedArray) -> int:
        self.counts["count_nonzero"] += 1
        return int(np.count_nonzero(read(array)))


def _add(self: Any, other: Any, alpha: Any) -> BoxedArray:
    HANDED[:] = [self, other]
    a, b = read(self), read(other)
    return fresh(np.asarray(a + np.asarray(b, a.dtype) * np.asarray(alpha, a.dtype)))


def _mul(self: Any, other: Any) -> BoxedArray:
    HANDED[:] = [self, other]
    return fresh(np.asarray(read(self) * np.asarray(read(other), read(self).dtype)))


def _mm(self: Any, other: Any) -> BoxedArray:
    HANDED[:] = [self, other]
    return fresh((read(self).astype(np.float32) @ read(other).astype(np.float32)).astype(self.dtype))


def _sum(self: Any, dtype: Any) -> BoxedArray:
    HANDED[:] = [self]
    return fresh(read(self).astype(np.float32).sum().astype(self.dtype))


def _masked_select(self: Any, mask: Any) -> BoxedArray:
    return fresh(read(self)[read(mask)])


KERNELS = {"add.Tensor": _add, "mul.Tensor": _mul, "mm": _mm, "sum": _sum, "masked_select": _masked_select}
ABLE, PLAIN = Able("able"), Counted("plain")
register_backend(ABLE)
register_backend(PLAIN)


@pytest.fixture(params=["able", "plain"])
def backend(request: pytest.FixtureRequest) -> Any:
    return {"able": ABLE, "plain": PLAIN}[request.param]


def counted(backend: Any) -> Counter[str]:
    backend.counts.clear()
    return backend.counts


def on(backend: Any, values: Any, dtype: Any = mt_core.float32) -> Tensor:
    return mt_core.tensor(values, dtype=dtype, device=backend.device_type)


@pytest.mark.parametrize("half", [mt_core.bfloat16, mt_core.float16])
@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("a + b", [[6, 8], [10, 12]]), ("a * b", [[5, 12], [21, 32]]), ("a @ b", [[19, 22], [43, 50]]),
        ("a.sum()", 10), ("a + 1", [[2, 3], [4, 5]]), ("a + b.t()", [[6, 9], [9, 12]]),
    ],
)  # fmt: skip
def test_half_types_reach_kernels_as_the_backend_says(backend: Any, half: Any, call: str, expected: Any) -> None:
    a, b = on(backend, [[1.0, 2], [3, 4]], half), on(backend, [[5.0, 6], [7, 8]], half)
    counts = counted(backend)
    made = eval(call, {"a": a, "b": b})  # noqa: S307 - from the table above
    is_native = backend is ABLE
    assert HANDED[0].dtype == (half.numpy_dtype if is_native else np.float32)
    assert (counts["cast"] == 0) == is_native and made.dtype is half
    assert made.tolist() == expected


def test_native_half_types_take_the_short_path(backend: Any) -> None:
    """It allocates nothing: the kernel's array is the result's."""
    a = on(backend, [1.0, 2], mt_core.bfloat16)
    counts = counted(backend)
    a + a
    assert (counts["empty"] == 0) == (backend is ABLE)


def test_numbers_are_what_the_backend_makes_of_them(backend: Any) -> None:
    """Never host arrays: array libraries refuse those among their operands."""
    for d, number in [(mt_core.float32, 3), (mt_core.float32, 1000.5), (mt_core.int64, 2**40), (mt_core.int64, -1)]:
        a = on(backend, [1, 2], d)
        for value in (a + number, a * number, a.t() + number, a.add_(0)):
            assert not isinstance(HANDED[1], np.ndarray) and value.device.type == backend.device_type
    assert type((on(backend, [1.0]) + 2).item()) is float
    if backend is ABLE:
        on(backend, [1, 2], mt_core.int64) + 2**40
        assert HANDED[1].__class__ is int


@pytest.mark.parametrize("call", ["a + s", "a * s", "a.clone().add_(s)", "a.t() + s", "torch.add(a, s, alpha=2)"])
def test_cpu_scalars_are_handed_over_as_numbers(backend: Any, call: str) -> None:
    """Nothing is transferred at each call."""
    a, s = on(backend, [[1.0, 2], [3, 4]]), mt_core.tensor(2.0)
    eval(call, {"torch": mt_core, "a": a, "s": s})  # noqa: S307
    counts = counted(backend)
    made = eval(call, {"torch": mt_core, "a": a, "s": s})  # noqa: S307
    assert counts["from_host"] == 0 and not isinstance(HANDED[1], (BoxedArray, np.ndarray))
    on_cpu = eval(call, {"torch": mt_core, "a": a.cpu(), "s": s})  # noqa: S307
    assert made.device.type == backend.device_type and made.tolist() == on_cpu.tolist()


def test_cpu_scalars_promote_as_tensors(backend: Any) -> None:
    whole, half = on(backend, [1, 2], mt_core.int64), mt_core.tensor(0.5)
    made = whole + half
    assert made.dtype is mt_core.float32 and made.tolist() == [1.5, 2.5]
    zero = on(backend, 1.0) + mt_core.tensor(2.0, dtype=mt_core.float64)
    assert zero.dtype is mt_core.float64 and zero.item() == 3.0
    assert (half + on(backend, [1.0])).tolist() == [1.5]


@pytest.mark.parametrize(
    ("call", "what", "instead"),
    [
        ("a.view(4)[1:]", "view", "as_strided"), ("a[1]", "view", "as_strided"), ("a.t()", "view", "as_strided"),
        ("a.zero_()", "fill", "from_host"), ("torch.zeros(3, device=a.device)", "fill", "from_host"),
        ("torch.full((3,), 2.0, device=a.device)", "fill", "from_host"),
        ("a.masked_select(mask)", "count_nonzero", "to_host"),
    ],
)  # fmt: skip
def test_what_a_backend_offers_is_used_and_not_needed(backend: Any, call: str, what: str, instead: str) -> None:
    a = on(backend, [[1.0, 2], [3, 4]])
    mask = on(backend, [[True, False], [True, True]], mt_core.bool)
    counts = counted(backend)
    made = eval(call, {"torch": mt_core, "a": a, "mask": mask})  # noqa: S307
    if backend is ABLE:
        assert counts[what] and not counts[instead]
    else:
        assert not counts[what]
    host = mt_core.tensor([[1.0, 2], [3, 4]])
    assert made.tolist() == eval(call, {"torch": mt_core, "a": host, "mask": mask.cpu()}).tolist()  # noqa: S307


class Copying(Able):
    """Its kernels fill arrays by copying fresh ones, as they say."""

    fills_by_copying = True

    def copy(self, target: BoxedArray, source: BoxedArray) -> None:
        self.counts["copy"] += 1
        super().copy(target, source)


COPYING = Copying("copying")
register_backend(COPYING)


def test_results_of_kernels_that_fill_by_copying_are_taken_as_they_are() -> None:
    left, right = mt_core.arange(4.0).reshape(4, 1), mt_core.arange(3.0)
    on_device = [t.to("copying") for t in (left, right)]
    COPYING.counts.clear()
    for function in (mt_core.add, mt_core.mul, lambda a, b: mt_core.add(a, b, alpha=2), lambda a, b: a * 2.5 + b):
        made = function(*on_device)
        assert not COPYING.counts["empty"] and not COPYING.counts["copy"]
        assert mt_core.equal(made.cpu(), function(left, right))


def test_what_is_not_laid_out_as_asked_is_copied() -> None:
    square = mt_core.arange(9.0).reshape(3, 3)
    on_device = square.to("copying")
    turned = on_device.t() * on_device.t()
    assert turned.stride() == (1, 3) and mt_core.equal(turned.cpu(), square.t() * square.t())
    integers = square.to(mt_core.int64)
    mixed = integers.to("copying") * on_device
    assert mixed.dtype is mt_core.float32 and mt_core.equal(mixed.cpu(), square * square)


def test_writes_in_place_go_into_the_memory_of_the_first() -> None:
    square = mt_core.arange(9.0).reshape(3, 3)
    on_device = square.to("copying")
    for tensor in (square, on_device):
        tensor.add_(mt_core.arange(3.0).to(tensor.device)).mul_(2).add_(tensor)
        tensor.t().mul_(mt_core.arange(3.0).to(tensor.device))
    assert mt_core.equal(on_device.cpu(), square)
    assert on_device._version == square._version
