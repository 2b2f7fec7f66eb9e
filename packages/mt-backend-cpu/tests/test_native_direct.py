"""Functions of the native library that are the whole of an operator give what the executors behind them give."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import mt_core
from mt_backend_cpu.native import library
from mt_core.dispatch.registry import find_overload
from mt_core.dtypes import bfloat16, bool, complex64, float16, float32, float64, int8, int16, int32, int64, uint8
from mt_core.state import tls

pytestmark = pytest.mark.skipif(library is None, reason="kernels run on NumPy alone, as MINDTORCH_NATIVE=0 asks")

NUMBERS = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.5, -2.5, 300.0, -129.0, 65504.0, 70000.0, 2.0**31, -(2.0**31)]
NUMBERS += [2.0**31 - 128, 2.0**33 + 2**10, 2.0**63, -(2.0**63), 1e20, -1e30, 1e-42, 3.4e38, 1e300]


def described(value: Any) -> Any:
    array = value._array
    elements = array if array.dtype.kind != "V" else array.view(np.uint16)
    return value._dtype, tuple(value.shape), value.stride(), value._keys, value._version, elements.tolist().__repr__()


def outcome(call: Any, args: tuple[Any, ...]) -> Any:
    try:
        return described(call(*args))
    except Exception as error:  # noqa: BLE001 - whatever it is, both must raise it
        return type(error), str(error)


def executor_of(name: str, *tensors: Any) -> Any:
    keys = tls.mode
    for tensor in tensors:
        keys |= tensor._keys
    found = find_overload(name).cache[keys]
    while type(found) is not library.Direct:  # what counts results' versions stands before it
        found = next(cell.cell_contents for cell in found.__closure__ if callable(cell.cell_contents))
    return found


def agree(name: str, *args: Any) -> None:
    given = [a for a in args if isinstance(a, mt_core.Tensor)]
    given += [t for a in args if isinstance(a, list) for t in a if isinstance(t, mt_core.Tensor)]
    executor = executor_of(name, *given)
    assert outcome(executor, args) == outcome(executor.otherwise, args), (name, args)


def test_casts_are_those_of_the_core() -> None:
    dtypes = [bool, uint8, int8, int16, int32, int64, float32, float64, float16, bfloat16, complex64]
    wide = mt_core.tensor(NUMBERS, dtype=float64)
    whole = mt_core.tensor([0, 1, -1, 127, 128, 255, 256, -32768, 65536, 2**31, 2**40 + 3, -(2**63)])
    taken = 0
    for source, target in itertools.product(dtypes, dtypes):
        for values in (wide, whole):
            x = values.to(complex64).to(source) if source is complex64 else values.to(source)
            for y in (x, x.reshape(2, -1).t(), x[0], x[:0], x.reshape(1, -1, 1).transpose(0, 2)):
                agree("_to_copy", y, target, None, None, None, False, None)
            taken += library.to_dtype(x._array, target, None, None, None, False, None) is not None
    assert taken > 80


def test_bytes_that_are_no_truth_values_count_as_true() -> None:
    x = mt_core.tensor([0, 1, 2, 255], dtype=uint8).view(bool)
    assert x.long().tolist() == [0, 1, 1, 1]
    assert x.float().tolist() == [0.0, 1.0, 1.0, 1.0]


def test_casts_with_more_to_say_are_the_cores() -> None:
    x = mt_core.ones(2, 2)
    for rest in ((None, "cpu", None, False, None), (None, None, True, False, None), (None, None, None, False, "any")):
        assert library.to_dtype(x._array, int64, *rest) is None


X = mt_core.arange(60).reshape(3, 4, 5)
MASK = (mt_core.arange(12) % 5 == 1).reshape(3, 4)
I, J = mt_core.tensor([2, 0, -1]), mt_core.tensor([[1, -4], [3, 0]])
INDICES: list[list[Any]] = [
    [I], [J], [None, J], [None, None, I], [I, I], [None, I, I], [J, J], [I, J], [I, None, I], [MASK], [None, MASK],
    [MASK, I], [mt_core.zeros(3, dtype=bool)], [mt_core.ones(3, 4, 5, dtype=bool)], [mt_core.tensor(1)],
    [mt_core.tensor([3])], [mt_core.tensor([0, -4])], [None, mt_core.tensor([9])], [J.t()], [I.int()],
    [mt_core.tensor([], dtype=int64)], [MASK.t()], [I, I, I, I], [None, None, None, I], [MASK.to(uint8)],
    [mt_core.tensor(True)],
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(INDICES)))
def test_indexing_is_that_of_the_core(case: int) -> None:
    indices = INDICES[case]
    for x in (X, X.to(bool), X.to(complex64), X.to(bfloat16), X[:, :, ::2], X[:0], X.float(), mt_core.tensor(1.0)):
        agree("index.Tensor", x, indices)
        for values in (x.reshape(-1)[:1].clone(), outcome_values(x, indices)):
            if values is None or not values.numel():
                continue
            one, other = x.clone(), x.clone()
            assert outcome(lambda *a: a[0].index_put_(a[1], a[2]), (one, indices, values)) == outcome(
                lambda *a: written_by_numpy(*a), (other, indices, values)
            )


def outcome_values(x: Any, indices: list[Any]) -> Any:
    try:
        picked = x[tuple(slice(None) if i is None else i for i in indices)]
    except (IndexError, RuntimeError):
        return None
    return (mt_core.arange(picked.numel()) % 7).reshape(picked.shape).to(x.dtype)


def written_by_numpy(x: Any, indices: list[Any], values: Any) -> Any:
    """The same through memory that the library leaves to NumPy: not row-major."""
    room = mt_core.zeros(*x.shape, 2, dtype=x.dtype)
    room[..., 0] = x
    find_overload("index_put_").cache[room[..., 0]._keys](room[..., 0], indices, values, False)
    made = room[..., 0].clone(memory_format=mt_core.contiguous_format)
    made.add_(0) if made.dtype is not bool else made.logical_or_(made)
    return made


def test_of_several_values_for_one_place_the_last_remains() -> None:
    x = mt_core.zeros(4)
    x[mt_core.tensor([1, 1, 1])] = mt_core.tensor([1.0, 2.0, 3.0])
    assert x.tolist() == [0.0, 3.0, 0.0, 0.0]


def test_an_index_out_of_range_writes_nothing() -> None:
    x = mt_core.zeros(4)
    with pytest.raises(IndexError, match="index 7 is out of bounds for dimension 0 with size 4"):
        x[mt_core.tensor([1, 7])] = 5.0
    assert x.tolist() == [0.0] * 4 and x._version == 0


def test_what_is_written_may_not_be_what_is_read() -> None:
    x = mt_core.arange(4)
    for index, values in ((mt_core.tensor([3, 2, 1, 0]), x), (x, mt_core.tensor(9))):
        with pytest.raises(RuntimeError, match="refer to a single memory location"):
            x[index] = values
        assert not library.place(x._array, [index._array], values._array)
    assert x.tolist() == [0, 1, 2, 3]


def test_masks_embeddings_and_classes() -> None:
    for x, mask in ((X, X % 2 == 0), (X, MASK), (X[0], X > 7), (X.t() if X.ndim == 2 else X[:, 0].t(), MASK)):
        agree("masked_select", x, mask)
    weight = mt_core.randn(5, 3)
    for rows in (I.abs(), J.abs(), I, I.int(), mt_core.tensor([5]), mt_core.tensor(2), J.abs().t(), I[:0]):
        agree("embedding", weight, rows, -1, False, False)
        agree("embedding", weight.t(), rows, -1, False, False)
    for classes, index in itertools.product((-1, 0, 3, 4, 5, 9), (I.abs(), J.abs(), I, mt_core.tensor(3), J.abs().t())):
        agree("one_hot", index, classes)
    for x in (X, X % 3, (X % 3).to(bool), X.float().t() if X.ndim == 2 else X.transpose(0, 2), X[0, 0, 0], X[:0]):
        agree("nonzero", x)
