"""Elementwise calls of any layout with plans, and views made several at a time, beside what they stand before."""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mt_core
from mt_backend_cpu.native import library as in_use
from mt_core.dispatch.registry import find_overload
from mt_core.dtypes import bfloat16, bool, complex64, float32, float64, int64
from mt_core.keys import STRIDED
from mt_core.state import tls

pytestmark = pytest.mark.skipif(in_use is None, reason="kernels run on NumPy alone, as MINDTORCH_NATIVE=0 asks")


@pytest.fixture(scope="module")
def library() -> Any:
    return importlib.import_module("mt_backend_cpu._native")


def made(*shape: int, dtype: Any = float32, seed: int = 0) -> Any:
    numbers = np.random.default_rng(seed).normal(size=shape) * 3
    if numbers.size > 8:
        numbers.reshape(-1)[:5] = (math.nan, math.inf, -math.inf, 0.0, -0.0)
    return mt_core.tensor(numbers.tolist(), dtype=float64).reshape(shape).to(dtype)


def layouts(dtype: Any, seed: int) -> list[Any]:
    """Tensors that broadcast with one another, in most layouts that programs make."""
    wide, deep = made(3, 8, dtype=dtype, seed=seed), made(4, 3, 2, dtype=dtype, seed=seed)
    return [
        wide[:, :4], wide[:, ::2], made(4, 3, dtype=dtype, seed=seed).t(), made(3, 4, dtype=dtype, seed=seed),
        made(4, dtype=dtype, seed=seed), made(3, 1, dtype=dtype, seed=seed), made(dtype=dtype, seed=seed),
        made(1, 4, dtype=dtype, seed=seed).expand(3, 4), wide[:0, :4], deep.permute(2, 1, 0), deep[:, :, 0].t(),
        made(3, 3, dtype=dtype, seed=seed)[:, :1], made(2, 3, 4, dtype=dtype, seed=seed).transpose(0, 1)[0:0],
    ]  # fmt: skip


def described(value: Any) -> Any:
    if not isinstance(value, mt_core.Tensor):
        return value
    array = value._array
    return value._dtype, array.shape, value.stride(), value._keys, np.ascontiguousarray(array).tobytes()


def outcome(function: Any, args: tuple[Any, ...]) -> Any:
    try:
        return described(function(*args))
    except Exception as error:  # noqa: BLE001 - whatever it is, both must raise it
        return type(error), str(error)


def calls() -> Iterator[tuple[str, tuple[Any, ...]]]:
    for dtype in (float32, int64, bfloat16, bool, complex64):
        first, second = layouts(dtype, 0), layouts(dtype, 1)
        for a in first:
            yield from ((name, (a,)) for name in ("exp", "neg", "relu", "isnan", "sigmoid", "abs"))
            yield from (("gelu", (a, form)) for form in ("none", "tanh", "no such"))
            yield from (("clamp", (a, low, 1)) for low in (0, 0.5, None))
            yield from (("mul.Tensor", (a, number)) for number in (2, 2.5, True, 1j))
        for a, b in itertools.product(first, second) if dtype is not bool else ():
            yield from (("add.Tensor", (a, b, alpha)) for alpha in (1, 0.5))
            yield from ((name, (a, b)) for name in ("mul.Tensor", "lt.Tensor"))
    for a, b in itertools.product(layouts(float32, 0)[::2], layouts(float64, 1)[::2] + layouts(int64, 1)[::3]):
        yield from (("mul.Tensor", (a, b)), ("div.Tensor", (b, a)), ("eq.Tensor", (a, b)))
        yield from (("where.self", (a > 0, a, b)), ("where.self", (a > 0, a, a)), ("lerp.Scalar", (a, a, 0.5)))


def test_elementwise_calls_of_any_layout(library: Any) -> None:
    """The first time and again, as without plans: elements, layout, dtype, and what is refused."""
    native = 0
    for name, args in calls():
        keys = tls.mode | STRIDED
        for value in args:
            keys |= getattr(value, "_keys", 0)
        executor = find_overload(name).cache[keys]
        if type(executor) is not library.Planned:
            continue
        native += 1
        expected = outcome(executor.otherwise, args)
        for _ in range(2):
            assert outcome(executor, args) == expected, (name, args)
    assert native > 1500


def test_results_of_plans_are_their_own() -> None:
    """What one call has made is not written by the next."""
    x = made(4, 3).nan_to_num(0.0, 1.0, -1.0).t()
    one, other = x.exp(), (x + 1).exp()
    kept = one.clone()
    x.exp().zero_()
    assert (one == kept).all() and (other > one).all() and one._version == 0


VIEWS = [
    ("split.Tensor", 2, 0), ("split.Tensor", 3, -1), ("split.Tensor", 0, 0), ("split.Tensor", 2, 5),
    ("split_with_sizes", (1, 3), 1), ("split_with_sizes", (1, 1), 1), ("unbind.int", 0), ("unbind.int", -1),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args"), [(name, tuple(args)) for name, *args in VIEWS])
def test_several_views(library: Any, name: str, args: tuple[Any, ...]) -> None:
    for base in (made(3, 4), made(4, 3).t(), made(3, 8)[:, ::2], made(0, 4), made(4), made()):
        executor = find_overload(name).cache[base._keys | tls.mode]
        if type(executor) is not library.View:
            continue
        try:
            expected = executor.otherwise(base, *args)
        except (IndexError, RuntimeError) as error:
            with pytest.raises(type(error)) as raised:
                executor(base, *args)
            assert str(raised.value) == str(error)
            continue
        found = executor(base, *args)
        assert type(found) is type(expected) is tuple
        assert [described(view) for view in found] == [described(view) for view in expected]
        for view in found:
            assert view._base is (base if base._base is None else base._base) and view._cell is base._cell
            view.zero_()
        assert not base.any() and base._version == len(found)


@pytest.mark.parametrize("dtype", [float32, float64, bfloat16, int64, bool, complex64], ids=str)
def test_triangles_and_places(dtype: Any) -> None:
    """As by NumPy, of any diagonal; also of other layouts than rows."""
    for shape in ((3, 4), (4, 3), (2, 3, 3), (0, 3), (1, 1)):
        x = made(*shape).nan_to_num(1.0, 2.0, 3.0).to(dtype)
        for tensor in (x, x.mT):
            elements = np.array(tensor.tolist()).reshape(tensor.shape)
            for diagonal in (-9, -1, 0, 1, 2, 9, 2**40, -(2**40)):
                near = max(min(diagonal, 9), -9)
                lower, upper = tensor.tril(diagonal), tensor.triu(diagonal)
                assert lower.tolist() == np.tril(elements, near).tolist() and lower.is_contiguous()
                assert upper.tolist() == np.triu(elements, near).tolist() and upper.is_contiguous()
            places = tensor.nonzero()
            assert places.tolist() == np.argwhere(elements).tolist() and places.stride() == (1, len(places))


def test_one_value_is_scattered() -> None:
    for dtype in (float32, int64, bfloat16, bool):
        for value in (2, 2.5, True, -1):
            x = made(3, 4, dtype=float32).nan_to_num(0.0, 1.0, -1.0).to(dtype)
            index = mt_core.tensor([[0, 3, 1], [2, 2, 0]])
            expected = x.clone()
            for row, column in ((0, 0), (0, 3), (0, 1), (1, 2), (1, 0)):
                expected[row, column].fill_(value)
            assert (x.scatter(1, index, value) == expected).all()
            assert (x.scatter_(1, index, value) == expected).all() and x._version == 1
    with pytest.raises(RuntimeError, match="out of bounds"):
        mt_core.zeros(3).scatter_(0, mt_core.tensor([3]), 1.0)


def test_sequences_are_numpys() -> None:
    for start, end in ((0, 1), (-3, 7.5), (1e30, -1e30), (5, 5), (2, -(2**0.5))):
        for steps in (0, 1, 2, 3, 10, 33):
            found = mt_core.linspace(start, end, steps)
            first, last = np.float32(start), np.float32(end)
            step = (last - first) / np.float32(max(steps - 1, 1))
            half = steps // 2
            expected = [first + np.float32(i) * step if i < half else last - np.float32(steps - 1 - i) * step
                        for i in range(steps)] if steps != 1 else [first]  # fmt: skip
            assert found.dtype is float32 and found.tolist() == [float(x) for x in expected]


def inplace_calls() -> Iterator[tuple[str, Any, Any, tuple[Any, ...]]]:
    for dtype, other in ((float32, float32), (bfloat16, bfloat16), (float32, int64), (int64, float32)):
        for i, j in itertools.product(range(0, 13, 2), range(13)):
            for name, rest in (("add_.Tensor", (1,)), ("add_.Tensor", (0.5,)), ("mul_.Tensor", ())):
                if rest != (0.5,) or j % 3 == 0:
                    yield name, (dtype, i), (other, j), rest


def test_calls_in_place_of_any_layout(library: Any) -> None:
    """What is written, what lies beside it, its version, and what is refused."""
    native = 0
    for name, (dtype, i), (other, j), rest in inplace_calls():
        executor = find_overload(name).cache[mt_core.zeros(1)._keys | tls.mode | STRIDED]
        if type(executor) is not library.Planned:
            continue
        native += 1
        read = layouts(other, 1)[j]
        kinds, seen = (executor.otherwise, executor, executor), []
        for function in kinds:
            x = layouts(dtype, 0)[i]
            answer = outcome(function, (x, read, *rest))
            seen.append((answer, described(x), x._version, None if x._base is None else described(x._base)))
        assert seen[1] == seen[2] == seen[0], (name, i, j)
    assert native > 300


def test_what_is_read_and_written_in_place_at_once(library: Any) -> None:
    """A plan made for tensors on memory of their own is not used where they share it."""
    x, y = (made(3, 3, seed=i).nan_to_num(0.0, 1.0, -1.0) for i in (0, 1))
    for read in (lambda: y.t(), lambda: x.t(), lambda: x.flip(0).t()):
        expected = x.t() + read()
        assert (x.t().add_(read()) == expected).all()
    version = x._version
    with pytest.raises(RuntimeError, match="unsupported operation"):
        x.t().add_(x)
    assert x._version == version
    base = mt_core.ones(6)
    with pytest.raises(RuntimeError, match="unsupported operation"):
        base[:5].add_(base[1:])
    assert base._version == 0
    row = mt_core.ones(3)
    with pytest.raises(RuntimeError, match="more than one element"):
        row.expand(3, 3).add_(mt_core.ones(3, 3).t())
