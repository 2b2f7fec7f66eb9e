"""Elementwise operators: PyTorch's results at the edges (snapshots/make_elementwise.py), and properties."""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mt_core.testing import declared_operators
from mt_core.testing.namespace import namespace

SNAPSHOTS = Path(__file__).parent / "snapshots"
sys.path.insert(0, str(SNAPSHOTS))
from elementwise_expressions import DTYPES, EXPRESSIONS, names  # noqa: E402

torch = namespace()

#: Relative tolerance by dtype of the result: PyTorch rounds some half results twice.
TOLERANCE = {
    "torch.float64": 1e-14,
    "torch.complex128": 1e-14,
    "torch.float32": 3e-6,
    "torch.complex64": 3e-6,
    "torch.float16": 2e-3,
    "torch.complex32": 2e-3,
    "torch.bfloat16": 1e-2,
}
#: Where PyTorch's vectorized kernels give NaN or infinity and its scalar ones, or those of another dtype, do not.
PYTORCHS_OWN = {
    "float32 torch.nn.functional.gelu(x)": "gelu(inf) is NaN",
    "bfloat16 torch.nn.functional.gelu(x)": "gelu(inf) is NaN",
    "float16 torch.nn.functional.gelu(x)": "gelu(inf) is NaN, depending on the machine",
    "float16 x ** 0.5": "a root of -inf is inf in this dtype alone",
    "float16 x.pow_(0.5)": "a root of -inf is inf in this dtype alone",
    "float16 x ** -0.5": "a root of -inf is inf in this dtype alone",
}


class Recorded:
    """PyTorch's results, in the order in which they were recorded."""

    def __init__(self) -> None:
        stored = np.load(SNAPSHOTS / "elementwise.npz")
        self.said = json.loads(str(stored["said"]))
        self.rows = {name: stored[name] for name in ("reals", "integers")}
        self.at = {"reals": 0, "integers": 0}

    def array(self, dtype: str, shape: list[int]) -> np.ndarray:
        is_complex = "complex" in dtype
        name = "reals" if is_complex or "float" in dtype else "integers"
        count = math.prod(shape) * (2 if is_complex else 1)
        row = self.rows[name][self.at[name] : self.at[name] + count]
        self.at[name] += count
        return (row.view(np.complex128) if is_complex else row).reshape(shape)

    def results(self) -> Iterator[tuple[str, Any]]:
        for key, said in self.said.items():
            yield key, said if isinstance(said, str) else [(d, self.array(d, shape)) for d, shape in said]


EXPECTED = dict(Recorded().results())


def evaluate(dtype: str, expression: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = eval(expression, names(torch, dtype))  # noqa: S307
        except (RuntimeError, TypeError, ValueError, IndexError) as error:
            return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    if isinstance(result, torch.Tensor):
        return [result]
    return list(result) if isinstance(result, tuple) else repr(result)


def differences(got: Any, expected: Any) -> str:
    if isinstance(expected, str) or isinstance(got, str):
        return "" if got == expected else f"{got} instead of {expected}"
    for tensor, (dtype, array) in zip(got, expected, strict=True):
        if repr(tensor.dtype) != dtype:
            return f"{tensor.dtype} instead of {dtype}"
        wide = torch.complex128 if tensor.is_complex() else torch.float64 if tensor.is_floating_point() else torch.int64
        values = tensor.to(wide).numpy()
        same = close(values, array, TOLERANCE.get(dtype, 0))
        if not same.all():
            at = tuple(np.argwhere(~same)[0])
            return f"{values[at]} instead of {array[at]} at {at}"
    return ""


def close(values: np.ndarray, expected: np.ndarray, tolerance: float) -> np.ndarray:
    """Equal within a relative tolerance; of complex numbers, only whether they are finite where they are not."""
    if tolerance == 0:
        return values == expected
    near = np.isclose(values, expected, rtol=tolerance, atol=tolerance / 100, equal_nan=True)
    if values.dtype.kind == "c":
        near |= ~np.isfinite(values) & ~np.isfinite(expected)
    return near


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_edges_are_pytorchs(expression: str, dtype: str) -> None:
    key = f"{dtype} {expression}"
    if key in PYTORCHS_OWN:
        pytest.skip(PYTORCHS_OWN[key])
    assert differences(evaluate(dtype, expression), EXPECTED[key]) == ""


# Properties

whole = st.integers(-(2**31), 2**31 - 1)
real = st.floats(-1e6, 1e6, allow_nan=False)


def tensor(values: Any, dtype: str = "float64") -> Any:
    return torch.tensor(values, dtype=getattr(torch, dtype))


@given(whole, whole.filter(bool))
def test_integer_division_is_pythons(a: int, b: int) -> None:
    x, y = tensor([a], "int64"), tensor([b], "int64")
    assert (x // y).item() == a // b
    assert (x % y).item() == a % b
    assert torch.div(x, y, rounding_mode="trunc").item() == math.trunc(a / b)
    assert torch.fmod(x, y).item() == math.fmod(a, b)


@given(real, real.filter(lambda v: abs(v) > 1e-3))
def test_the_remainder_completes_the_quotient(a: float, b: float) -> None:
    x, y = tensor([a]), tensor([b])
    left = (x % y).item()
    assert left == 0 or (left < 0) == (b < 0)
    assert abs(left) <= abs(b)
    assert (torch.div(x, y, rounding_mode="floor") * y + x % y).item() == pytest.approx(a, rel=1e-9, abs=1e-9)


@given(whole, st.integers(0, 80))
def test_shifts_are_pythons_within_the_width(a: int, by: int) -> None:
    x, y = tensor([a], "int64"), tensor([by], "int64")
    assert (x >> y).item() == a >> by
    wrapped = (a << by) % 2**64
    assert (x << y).item() == wrapped - 2**64 * (wrapped >= 2**63)


@given(st.integers(-50, 50), st.integers(0, 12))
def test_integer_powers_wrap_around(base: int, exponent: int) -> None:
    for dtype, bits in (("int8", 8), ("int64", 64)):
        exact = (base**exponent) % 2**bits
        assert (tensor([base], dtype) ** exponent).item() == exact - 2**bits * (exact >= 2 ** (bits - 1))


@given(st.lists(real, min_size=1, max_size=40), real)
def test_softmax_rows_sum_to_1_and_ignore_what_is_added_to_all(row: list[float], shift: float) -> None:
    x = tensor([row]) / 1e3
    result = torch.softmax(x, 1)
    assert result.sum().item() == pytest.approx(1)
    assert torch.allclose(result, torch.softmax(x + shift, 1), rtol=1e-6, atol=1e-12)
    assert torch.allclose(torch.log_softmax(x, 1).exp(), result)


@pytest.mark.parametrize("rows", [3, 40, 700])
def test_softmax_of_rows_far_apart(rows: int) -> None:
    row = torch.tensor([[0.0, 1.0, 2.0, -float("inf")]])
    x = torch.arange(rows).reshape(-1, 1) * 50.0 + row
    assert torch.allclose(torch.softmax(x, 1), torch.softmax(row, 1).expand(rows, 4))
    assert torch.allclose(torch.log_softmax(x, 1), torch.log_softmax(row, 1).expand(rows, 4))


@pytest.mark.parametrize("size", [1, 5, 20, 30, 1000, 30_000])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gelu_is_the_same_for_any_size(size: int, dtype: str) -> None:
    x = torch.linspace(-6, 6, size, dtype=getattr(torch, dtype))
    expected = torch.tensor([0.5 * v * (1 + math.erf(v / math.sqrt(2))) for v in x.tolist()], dtype=x.dtype)
    tolerance = 5e-7 if dtype == "float32" else 1e-15
    assert torch.allclose(torch.nn.functional.gelu(x), expected, rtol=tolerance, atol=tolerance)


@given(st.lists(real, min_size=1, max_size=300), real, real)
def test_clamp_is_minimum_of_maximum(values: list[float], low: float, high: float) -> None:
    assert torch.clamp(tensor(values), low, high).tolist() == [min(max(v, low), high) for v in values]


@given(st.floats(-1e4, 1e4), st.integers(-3, 6))
def test_rounding_goes_to_the_nearest(value: float, decimals: int) -> None:
    assert torch.round(tensor([value])).item() == round(value)
    rounded = torch.round(tensor([value]), decimals=decimals).item()
    assert rounded == pytest.approx(value, rel=1e-12, abs=0.5001 * 10.0**-decimals)


@pytest.mark.parametrize(
    ("name", "expected"), [("add", [45, 88]), ("mul", [44, 144]), ("eq", [False, True]), ("bitwise_or", [45, 44])]
)
def test_numbers_of_any_size_wrap_around_in_integer_tensors(name: str, expected: list[Any]) -> None:
    x = tensor([1, 44], "uint8")
    assert getattr(torch, name)(x, 300).tolist() == expected
    for number in (2**64, 2**65, 2**70, -(2**63) - 1):
        words = "int too big to convert" if number > 0 else "can't convert negative int to unsigned"
        with pytest.raises(OverflowError, match=words):
            getattr(torch, name)(x, number)


@pytest.mark.parametrize("shift", [-1, 0, 3, 63, 64])
def test_a_number_shifts_as_a_tensor_does(shift: int) -> None:
    x = torch.tensor([-9, 0, 5])
    for operator in (torch.bitwise_left_shift, torch.bitwise_right_shift):
        assert torch.equal(operator(x, shift), operator(x, torch.tensor([shift] * 3)))


@pytest.mark.parametrize("name", ["add", "sub", "mul"])
def test_complex_halves_take_numbers_as_complex_floats_do(name: str) -> None:
    half = torch.tensor([1 + 1j, -0.5 + 2j]).to(torch.complex32)
    for number in (2, 0.5, 1 - 2j, True):
        if number is True and name == "sub":
            continue
        wanted = getattr(half.to(torch.complex64), name)(number).tolist()
        assert getattr(half, name)(number).to(torch.complex64).tolist() == wanted
        assert getattr(half.clone(), name + "_")(number).to(torch.complex64).tolist() == wanted


#: Views with gaps; the elements of some lie 16 or 64 bytes apart, where NumPy's `negative` is wrong in place.
WITH_GAPS = {
    "column": lambda x: x[:24].view(6, 4)[:, 1:2],
    "eighth": lambda x: x.view(12, 8)[:, 3],
    "every other": lambda x: x[::2],
}


WITHOUT_OUT = {"relu", "selu", "celu"}
IN_PLACE = {
    overload.name.partition(".")[0]
    for overload in declared_operators()
    if overload.declaration.kind == "elementwise" and overload.declaration.form == "inplace"
}
ELEMENTWISE_INTO = sorted(
    name.removesuffix("_")
    for name in IN_PLACE
    if hasattr(torch.Tensor, name) and hasattr(torch, name.removesuffix("_"))
)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("layout", WITH_GAPS)
def test_what_is_written_to_a_view_with_gaps_is_what_a_new_tensor_gets(layout: str, dtype: str) -> None:
    start, view = (torch.arange(96) % 7 + 1).to(getattr(torch, dtype)), WITH_GAPS[layout]
    tried = set()
    for name in ELEMENTWISE_INTO:
        for operands in ((), (torch.tensor(2).to(start.dtype),), (view(start).clone(),)):
            fresh, whole, out = view(start).clone(), start.clone(), view(torch.zeros_like(start))
            try:
                getattr(fresh, name + "_")(*operands)
            except (TypeError, RuntimeError, NotImplementedError):
                continue
            getattr(view(whole), name + "_")(*operands)
            assert view(whole).allclose(fresh, rtol=0, atol=0, equal_nan=True), name
            view(whole).copy_(view(start))
            assert torch.equal(whole, start), (name, "what lies between was written to")
            if name in WITHOUT_OUT:
                continue
            getattr(torch, name)(view(start), *operands, out=out)
            assert out.allclose(fresh, rtol=0, atol=0, equal_nan=True), (name, "out")
            tried.add(name)
    assert {"neg", "mul", "bitwise_and" if "int" in dtype else "exp"} < tried
