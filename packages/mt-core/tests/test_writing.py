"""Where ``out=`` goes: what cannot take a result is refused before anything is written."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import mt_core

ONES = mt_core.ones(2)
PAIRS = mt_core.ones(2, dtype=mt_core.complex64)

CALLS: dict[str, Callable[..., Any]] = {
    "a kernel that fills": lambda out: mt_core.add(ONES, 1, out=out),
    "a kernel that fills, of one argument": lambda out: mt_core.exp(ONES, out=out),
    "a kernel that fills, of three": lambda out: mt_core.lerp(ONES, ONES, 0.5, out=out),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_floats_do_not_go_into_integers(call: Callable[..., Any]) -> None:
    out = mt_core.full((1,), 7)
    message = "result type Float can't be cast to the desired output type Long"
    with warnings.catch_warnings(), pytest.raises(RuntimeError, match=message):
        warnings.simplefilter("error")
        call(out)
    assert out.tolist() == [7] and out._version == 0


def test_joins_refuse_in_words_of_their_own() -> None:
    out = mt_core.full((1,), 7)
    message = "input types can't be cast to the desired output type Long"
    with warnings.catch_warnings(), pytest.raises(TypeError, match=message):
        warnings.simplefilter("error")
        mt_core.cat([ONES], out=out)
    assert out.tolist() == [7] and out._version == 0


@pytest.mark.parametrize("call", [mt_core.exp, mt_core.sqrt, lambda x, out: mt_core.mul(x, x, out=out)])
def test_complex_numbers_do_not_go_into_real_ones(call: Callable[..., Any]) -> None:
    with pytest.raises(RuntimeError, match="result type ComplexFloat can't be cast to the desired output type Float"):
        call(PAIRS, out=mt_core.ones(2))


@pytest.mark.parametrize("call", [mt_core.exp, mt_core.sqrt, lambda x, out: mt_core.mul(x, x, out=out)])
def test_floats_go_into_floats_of_another_size_and_into_complex_numbers(call: Callable[..., Any]) -> None:
    for d in (mt_core.float64, mt_core.float16, mt_core.complex64):
        out = mt_core.zeros(0, dtype=d)
        assert call(ONES, out=out) is out
        assert mt_core.allclose(out.to(mt_core.complex64), call(ONES, out=mt_core.empty(0)).to(mt_core.complex64), 1e-2)


@pytest.mark.filterwarnings("ignore:torch.range is deprecated")
def test_ranges_of_integers_have_a_step_that_is_an_integer() -> None:
    with pytest.raises(ValueError, match="step must be nonzero"):
        mt_core.arange(0, 3, 0.5, dtype=mt_core.int64)
    with pytest.raises(RuntimeError, match="step must be nonzero"):
        mt_core.range(0, 3, 0.5, dtype=mt_core.int64)
