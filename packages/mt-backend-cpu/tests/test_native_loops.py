"""NumPy's loops, called and divided among threads by the native library, are what its ufuncs give."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from mt_backend_cpu import native
from mt_core.testing.namespace import namespace

pytestmark = pytest.mark.skipif(native.library is None, reason="the native library is not used")

library: Any = native.library
torch: Any = namespace()

#: Above what a single thread does.
MANY = 2 * 16384 + 7
UFUNCS = [
    np.add,
    np.multiply,
    np.true_divide,
    np.maximum,
    np.equal,
    np.logical_and,
    np.power,
    np.arctan2,
    np.bitwise_or,
]


@pytest.fixture(autouse=True, params=[1, 2])
def threads(request: pytest.FixtureRequest) -> Iterator[None]:
    before = library.num_threads()
    library.set_num_threads(request.param)
    yield
    library.set_num_threads(before)


def outcome(function: Any, *args: Any) -> Any:
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        try:
            return function(*args)
        except (TypeError, ValueError, OverflowError) as error:
            return type(error)


def assert_same(made: Any, wanted: Any) -> None:
    if isinstance(wanted, type):
        assert made is wanted
    else:
        assert made.dtype == wanted.dtype
        np.testing.assert_array_equal(made, wanted, strict=True)


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda ufunc: ufunc.__name__)
@pytest.mark.parametrize("char", "?Bild")
def test_loops_are_the_ufunc(ufunc: Any, char: str) -> None:
    """Operands that it takes and others that it hands on: numbers, strides, other types, broadcasting, errors."""
    loops = library.Loops(ufunc, ufunc is np.power)
    random = np.random.default_rng(0)
    x, y = (random.integers(1, 5, MANY).astype(char) for _ in range(2))
    for args in (
        (x, y), (x[:5], y[:5]), (x[::2], y[::2]), (x, y[0]), (x, np.array(y[0])), (x, 3), (x, 2.5), (3, x), (x, True),
        (x, 10**30), (x, -5), (x.reshape(5, -1), y[:6555]), (x, y.astype(np.float64)), (x[:0], y[:0]), (x[0], y[0]),
    ):  # fmt: skip
        assert_same(outcome(loops, *args), outcome(ufunc, *args))


def test_results_go_where_they_are_wanted() -> None:
    """Into an operand, into memory that overlaps one, and into an array of another type."""
    loops = library.Loops(np.add)
    x = np.arange(MANY, dtype=np.float64)
    wanted = x + x
    own = x.copy()
    assert loops(own, own, out=own) is own
    np.testing.assert_array_equal(own, wanted)
    shifted = x.copy()
    loops(shifted[:-1], shifted[:-1], out=shifted[1:])
    np.testing.assert_array_equal(shifted[1:], wanted[:-1])
    complex_ = np.empty(MANY, np.complex128)
    loops(x, x, out=complex_)
    np.testing.assert_array_equal(complex_, wanted)


def test_only_ufuncs_of_one_result_have_loops() -> None:
    for wrong in (np.divmod, np.matmul, np.modf, np.sum):
        with pytest.raises(TypeError):
            library.Loops(wrong)


def test_operators_do_not_warn(recwarn: pytest.WarningsRecorder) -> None:
    x = torch.tensor([-1.0, 0.0, np.inf, np.nan] * 10_000, dtype=torch.float64)
    for made in (x.log(), x.sqrt(), x / 0, x.exp(), x.rsqrt(), x.log1p(), x.acos(), x % 0.0):
        assert made.isnan().any()
    assert not recwarn.list


def test_powers_of_integers_still_refuse() -> None:
    x = torch.full((MANY,), 3, dtype=torch.int64)
    assert bool((x.pow(3) == 27).all())
    assert bool((x.pow(torch.full_like(x, -1)) == 0).all())
    with pytest.raises(RuntimeError, match="negative integer powers"):
        x.pow(-1)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64], ids=str)
def test_remainders_by_numbers_and_tensors(dtype: Any) -> None:
    x = torch.arange(-MANY, MANY, dtype=dtype)
    for divisor in (3, -7, 1024, 2**40 if dtype is torch.int64 else 2**30):
        wanted = np.remainder(x.numpy(), np.array(divisor, x.numpy().dtype))
        for made in (x % divisor, torch.remainder(x, torch.tensor(divisor, dtype=dtype))):
            np.testing.assert_array_equal(made.numpy(), wanted)
        np.testing.assert_array_equal((x % torch.full((), divisor)).numpy(), wanted)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        x % 0


def test_pieces_of_lines() -> None:
    """Activations that are linear in pieces, and signs, at their corners and of what is no number."""
    x = torch.tensor([-np.inf, -4.0, -3.0, -2.5, -1e-45, -0.0, 0.0, 1e-45, 2.0, 3.0, 4.0, np.inf, np.nan] * 3)
    values = x.numpy().astype(np.float64)
    with np.errstate(all="ignore"):
        wanted = {
            "hardswish": values * np.clip(values + 3, 0, 6) / 6,
            "leaky_relu": np.where(values > 0, values, values * np.float32(0.01)),
            "sign": np.where(np.isnan(values), 0, np.sign(values)),
        }
    for name, exact in wanted.items():
        made = getattr(library, name)(x.numpy(), 0.01) if name == "leaky_relu" else getattr(library, name)(x.numpy())
        np.testing.assert_allclose(made, exact.astype(np.float32), rtol=3e-7, atol=0)


def test_every_half_and_back() -> None:
    """All 65,536 of them; of what is no number the sign and the upper bits remain."""
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    wide = halves.astype(np.float32)
    for count in (1 << 16, 21, 3):
        made = library.cast(halves[-count:], np.dtype(np.float32))
        np.testing.assert_array_equal(made, wide[-count:])
        np.testing.assert_array_equal(
            library.cast(made, np.dtype(np.float16)).view(np.uint16) & 0x7C00, halves[-count:].view(np.uint16) & 0x7C00
        )
    with np.errstate(all="ignore"):
        between = np.nextafter(wide[:-1], np.float32(np.inf))
        np.testing.assert_array_equal(library.cast(between, np.dtype(np.float16)), between.astype(np.float16))
