"""The library's executors of calls that write, and of factories, do what the core's do that they stand before."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

import mt_core
from mt_backend_cpu.native import library as in_use
from mt_core.determinism import DETERMINISM
from mt_core.dispatch.registry import find_overload
from mt_core.dtypes import bfloat16, bool, complex64, float8_e8m0fnu, float32, float64, int32, int64
from mt_core.state import tls

pytestmark = pytest.mark.skipif(in_use is None, reason="kernels run on NumPy alone, as MINDTORCH_NATIVE=0 asks")

NAN, INF = math.nan, math.inf
DTYPES = [float32, float64, bfloat16, int64, bool, complex64]
SHAPES = [(), (0,), (3, 4), (4, 1)]
NUMBERS = [2.5, -0.0, 0, NAN, INF, 1e300, 1, -1, 127, 128, 300, 2**40, 2**70, True, 1j]


@pytest.fixture(scope="module")
def library() -> Any:
    return importlib.import_module("mt_backend_cpu._native")


@cache
def numbers_of(shape: tuple[int, ...], dtype: Any, seed: int) -> Any:
    numbers = np.random.default_rng(seed).normal(size=shape) * 3
    return mt_core.tensor(numbers.tolist(), dtype=float64).reshape(shape).to(dtype)


def fresh(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Any:
    return numbers_of(shape, dtype, seed).clone()


def within(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Any:
    """A part of something larger, which is written to as well when it is."""
    return fresh((3, *shape), dtype, seed)[1]


Arguments = Callable[[], tuple[Any, ...]]


def operands(shape: tuple[int, ...], dtype: Any) -> Iterator[tuple[str, Callable[[], tuple[Any, Any]]]]:
    """Pairs of a tensor that is written to and one that is read, made anew for each call."""

    def parts(first: int, second: int) -> tuple[Any, Any]:
        base = fresh((3, *shape), dtype)
        return base[first], base[second]

    def alias() -> tuple[Any, Any]:
        x = fresh(shape, dtype)
        return x, x.detach()

    def same() -> tuple[Any, Any]:
        x = fresh(shape, dtype)
        return x, x

    def counted() -> tuple[Any, Any]:
        x = fresh(shape, dtype)
        x.detach().set_(fresh(shape, dtype, 3))
        return x, fresh(shape, dtype, 1)

    yield "fresh", lambda: (fresh(shape, dtype), fresh(shape, dtype, 1))
    yield "views", lambda: (within(shape, dtype), within(shape, dtype, 1))
    yield "parts of one memory", lambda: parts(0, 1)
    yield "one part twice", lambda: parts(1, 1)
    yield "alias", alias
    yield "itself", same
    yield "left by an alias", counted
    yield "another dtype", lambda: (fresh(shape, dtype), fresh(shape, int32, 1))
    yield "to be broadcast", lambda: (fresh(shape, dtype), fresh((), dtype, 1))
    yield "of another shape", lambda: (fresh(shape, dtype), fresh((7,), dtype, 1))


def inplace_calls() -> Iterator[tuple[str, Arguments]]:
    for shape in SHAPES:
        for dtype in DTYPES:
            for _, pair in operands(shape, dtype):
                for name in ("add_.Tensor", "sub_.Tensor"):
                    for alpha in (1, True, 0.5, 1e300):
                        yield name, lambda pair=pair, alpha=alpha: (*pair(), alpha)
                for name in ("mul_.Tensor", "atan2_", "copy_"):
                    rest = (False,) if name == "copy_" else ()
                    yield name, lambda pair=pair, rest=rest: (*pair(), *rest)
                yield "lerp_.Scalar", lambda pair=pair: (*pair(), 0.25)
                yield "addcmul_", lambda pair=pair: (*pair(), pair()[1], 0.5)
            one = operands(shape, dtype).__next__()[1]
            for number in NUMBERS:
                yield "add_.Tensor", lambda one=one, number=number: (one()[0], number, 1)
                yield "mul_.Tensor", lambda one=one, number=number: (one()[0], number)
                yield "fill_.Scalar", lambda one=one, number=number: (one()[0], number)
            for name in ("zero_", "exp_", "neg_", "sqrt_"):
                yield name, lambda one=one: (one()[0],)


def out_calls() -> Iterator[tuple[str, Arguments]]:
    for shape in SHAPES:
        for dtype in DTYPES:
            for _, pair in operands(shape, dtype):

                def three(pair: Any = pair, shape: Any = shape, dtype: Any = dtype) -> tuple[Any, Any, Any]:
                    out, x = pair()
                    return x, fresh(shape, dtype, 2), out

                for name in ("add.out", "sub.out"):
                    for alpha in (1, 2):
                        yield name, lambda three=three, alpha=alpha: (*three()[:2], alpha, three()[2])
                yield "mul.out", three
                yield "exp.out", lambda three=three: three()[::2]


def planned_calls() -> Iterator[tuple[str, Arguments]]:
    index = [0, 2, 1]
    for dtype in DTYPES:
        target = lambda dtype=dtype: fresh((4, 4), dtype)
        for source in (lambda dtype=dtype: fresh((3, 4), dtype, 1), lambda: fresh((3, 4), float64, 1)):
            yield "index_add_", lambda t=target, s=source: (t(), 0, mt_core.tensor(index), s(), 1)
            yield "index_copy_", lambda t=target, s=source: (t(), 0, mt_core.tensor(index), s())
            yield "scatter_.src", lambda t=target, s=source: (t(), 0, mt_core.tensor([index]), s())
            yield "index_put_", lambda t=target, s=source: (t(), [mt_core.tensor(index)], s(), False)
        for wrong in ([0, 9, 1], [0, -9, 1]):
            yield "index_put_", lambda t=target, w=wrong: (t(), [mt_core.tensor(w)], fresh((3, 4), float32), False)
            yield "index_fill_.int_Scalar", lambda t=target, w=wrong: (t(), 0, mt_core.tensor(w), 2.0)
        for number in NUMBERS:
            yield "scatter_.value", lambda t=target, n=number: (t(), 1, mt_core.tensor([index]), n)
            yield "masked_fill_.Scalar", lambda t=target, n=number: (t(), fresh((4, 4), float32) > 0, n)
        for value in (0.5, 1, True, [0.5], [[1.0, 2.0, 3.0, 4.0]], 1j):
            yield "index_put_", lambda t=target, v=value: (t(), [fresh((4, 4), float32) > 0], mt_core.tensor(v), False)
            yield "index_put_", lambda t=target, v=value: (t(), [fresh((4,), float32) > 0], mt_core.tensor(v), False)
            yield "index_put_", lambda t=target, v=value: (t(), [mt_core.tensor(index)], mt_core.tensor(v), True)

        def shared(dtype: Any = dtype) -> tuple[Any, ...]:
            base = fresh((5, 4), dtype)
            return base[1:], 0, mt_core.tensor(index), base[:3], 1

        yield "index_add_", shared
        yield "index_put_", lambda s=shared: (s()[0], [mt_core.tensor(index)], s()[3], False)


def described(value: Any) -> Any:
    if not isinstance(value, mt_core.Tensor):
        return value
    array = value._array
    kept = np.ascontiguousarray(array).tobytes()
    base = None if value._base is None else described(value._base)
    return value._dtype, array.shape, value.stride(), value._keys, value._version, value.storage_offset(), kept, base


def outcome(function: Any, make: Arguments, target_at: int) -> Any:
    """What a call returns and leaves behind, or raises."""
    args = make()
    flat = [t for a in args for t in (a if isinstance(a, list) else (a,))]
    before = [t._version for t in flat if isinstance(t, mt_core.Tensor)]
    try:
        result = function(*args)
    except Exception as error:  # noqa: BLE001 - whatever it is, both must raise it
        return type(error), str(error), before
    return result is args[target_at], described(result), [described(t) for t in flat], before


def agree(name: str, make: Arguments, kinds: tuple[type, ...], target_at: int = 0) -> bool:
    """Whether the call ends in the library's executor; it then does what the one behind it does, time after time."""
    keys = tls.mode
    for value in make():
        for tensor in value if isinstance(value, list) else (value,):
            keys |= getattr(tensor, "_keys", 0)
    executor = find_overload(name).cache[keys]
    if type(executor) not in kinds:
        return False
    expected = outcome(executor.otherwise, make, target_at)
    for _ in range(2):
        assert outcome(executor, make, target_at) == expected, (name, make())
    return True


def test_calls_in_place(library: Any) -> None:
    assert sum(agree(name, make, (library.Writer,)) for name, make in inplace_calls()) > 3000


def test_calls_into_out(library: Any) -> None:
    assert sum(agree(name, make, (library.Writer,), -1) for name, make in out_calls()) > 500


def test_calls_with_plans(library: Any) -> None:
    assert sum(agree(name, make, (library.Planned,)) for name, make in planned_calls()) > 150


def test_plans_of_writes_look_at_memory_each_time(library: Any) -> None:
    """A plan that was made for tensors on memory of their own is not used for others of the same shapes."""
    index = mt_core.tensor([0, 1, 2])
    for _ in range(2):
        target, source = fresh((4, 4), float32), fresh((3, 4), float32, 1)
        mt_core.Tensor.index_copy_(target, 0, index, source)
        base = fresh((5, 4), float32)
        with pytest.raises(RuntimeError, match="unsupported operation"):
            base[1:].index_copy_(0, index, base[:3])
        assert base._version == 0


def test_what_is_read_only_is_refused() -> None:
    """Memory that NumPy may not write to is not written to."""
    array = np.ones((2, 2), np.float32)
    array.flags.writeable = False
    with np.errstate(all="ignore"):
        tensor = mt_core.empty(2, 2)
        tensor._array = array
        for write in (tensor.zero_, lambda: tensor.fill_(2.0), lambda: tensor.copy_(mt_core.zeros(2, 2))):
            with pytest.raises(ValueError, match="read-only"):
                write()
    assert (array == 1).all()


def test_writes_are_seen_by_autograd() -> None:
    """A version is counted wherever a write ends, and views reach their base."""
    x = mt_core.ones(3, requires_grad=True)
    for write in (
        lambda t: t.add_(1), lambda t: t.zero_(), lambda t: t.fill_(2.0), lambda t: t.copy_(mt_core.zeros(3)),
        lambda t: mt_core.add(mt_core.ones(3), mt_core.ones(3), out=t), lambda t: t[1:].mul_(2.0),
        lambda t: t.__setitem__(mt_core.tensor([True, False, True]), 0.0),
        lambda t: t.index_add_(0, mt_core.tensor([0]), mt_core.ones(1)),
    ):  # fmt: skip
        saved = mt_core.ones(3)
        product = (x * saved).sum()
        write(saved)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            product.backward()


SIZES = [(), (0,), (3,), (2, 3), (2, 0, 3), (1, 1), (-1,), (2, -3), (300, 300), (2**40,)]


def factory_calls() -> Iterator[tuple[str, tuple[Any, ...]]]:
    options = (None, None, None)
    likes = [fresh(shape, dtype) for shape in SHAPES for dtype in (float32, int64, bfloat16, bool)]
    likes += [mt_core.zeros((), dtype=float8_e8m0fnu), fresh((4, 3), float32).t()]
    for dtype in (None, float32, float64, bfloat16, int64, bool, complex64, float8_e8m0fnu):
        for size in SIZES:
            yield "zeros", (size, dtype, *options)
            yield "ones", (size, dtype, *options)
            for number in NUMBERS if size == (2, 3) else NUMBERS[:2]:
                yield "full", (size, number, dtype, *options)
            yield from (("new_zeros", (like, size, dtype, *options)) for like in likes[:3])
            yield from (("new_ones", (like, size, dtype, None, None, False)) for like in likes[-2:])
        for like in likes:
            yield "zeros_like", (like, dtype, *options, None)
            yield "ones_like", (like, dtype, *options, None)
            yield "full_like", (like, 2.0, dtype, *options, mt_core.contiguous_format)
            yield "new_full", (like, (2, 2), 1, dtype, *options)


def made_by(function: Any, args: tuple[Any, ...]) -> Any:
    try:
        return described(function(*args))
    except Exception as error:  # noqa: BLE001 - as above
        return type(error), str(error)


def test_factories(library: Any) -> None:
    native = 0
    for name, args in factory_calls():
        executor = find_overload(name).cache[getattr(args[0], "_keys", mt_core.ones(1)._keys)]
        if type(executor) is library.Factory:
            native += 1
            assert made_by(executor, args) == made_by(executor.otherwise, args), (name, args)
    assert native > 500


def test_factories_ask_what_changes(library: Any) -> None:
    """The default dtype, determinism, the default device, inference mode."""
    assert mt_core.zeros(2).dtype is float32 and mt_core.full((2,), 1.5).dtype is float32
    mt_core.set_default_dtype(float64)
    try:
        assert mt_core.zeros(2).dtype is float64 and mt_core.full((2,), 1.5).dtype is float64
        assert mt_core.full((2,), 1).dtype is int64 and mt_core.empty(2).dtype is float64
    finally:
        mt_core.set_default_dtype(float32)
    DETERMINISM.enabled = True
    try:
        assert mt_core.empty(3).isnan().all() and mt_core.empty_like(mt_core.ones(3)).isnan().all()
    finally:
        DETERMINISM.enabled = False
    with mt_core.inference_mode():
        assert mt_core.zeros(2).is_inference() and mt_core.ones_like(mt_core.zeros(2)).is_inference()
    assert not mt_core.zeros(2).is_inference()
    assert mt_core.zeros(2, requires_grad=True).requires_grad
    with mt_core.device("meta"):
        assert mt_core.zeros(2).is_meta and mt_core.full((2,), 1).is_meta


def test_masks_are_counted_each_time() -> None:
    """What a mask picks, and whether a number is held, its elements say: no plan for others of its shape stands."""
    two, three = mt_core.tensor([True, False, True, False]), mt_core.tensor([True, True, True, False])
    x, values = mt_core.zeros(4), mt_core.tensor([1.0, 2.0])
    for _ in range(2):
        x[two] = values
        with pytest.raises(RuntimeError, match="shape mismatch"):
            x[three] = values
        assert x.tolist() == [1, 0, 2, 0]
        bytes_ = mt_core.zeros(4, dtype=int32)
        bytes_.index_put_([two], mt_core.tensor(5.0, dtype=float64))
        with pytest.raises(RuntimeError, match="without overflow"):
            bytes_.index_put_([two], mt_core.tensor(1e30, dtype=float64))
        assert bytes_.tolist() == [5, 0, 5, 0]
