"""Warnings of what a call loses: imaginary parts, degrees of freedom; and of what is deprecated."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch as torch
from mt_core.deprecation import Once


def given_by(call: Callable[[], Any]) -> list[str]:
    """The texts that a call warns with, those included that are given once in a process."""
    before, Once.always = Once.always, True
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
    finally:
        Once.always = before
    return [str(warning.message) for warning in caught]


_COMPLEX = torch.ones(2, dtype=torch.complex64)


@pytest.mark.parametrize(
    "lose",
    [
        _COMPLEX.float,
        _COMPLEX.int,
        lambda: _COMPLEX.to(torch.float64),
        lambda: torch.zeros(2).copy_(_COMPLEX),
        lambda: torch.zeros(2).copy_(2j),
        lambda: torch.zeros(2).__setitem__(0, _COMPLEX[0]),
    ],
)
def test_a_lost_imaginary_part_is_warned_of(lose: Callable[[], Any]) -> None:
    assert given_by(lose) == ["Casting complex values to real discards the imaginary part"]


@pytest.mark.parametrize(
    "keep",
    [
        _COMPLEX.bool,  # both parts tell whether a number is true
        lambda: torch.zeros(2, dtype=torch.bool).copy_(_COMPLEX),
        lambda: _COMPLEX.real.double(),
        lambda: _COMPLEX.to(torch.complex128),
        lambda: torch.ones(2, requires_grad=True).to(torch.complex64).abs().sum().backward(),
    ],
)
def test_what_loses_no_imaginary_part_is_silent(keep: Callable[[], Any]) -> None:
    assert given_by(keep) == []


@pytest.mark.parametrize("name", ["var", "std"])
@pytest.mark.parametrize(
    ("shape", "options", "warns"),
    [
        ((1,), {}, True),
        ((3,), {"correction": 3}, True),
        ((3,), {"correction": 2.5}, False),
        ((3, 1), {"dim": 1}, True),
        ((3, 1), {"dim": 0}, False),
        ((3, 0), {"dim": 0}, True),
        ((1,), {"correction": 0}, False),
    ],
)
def test_too_few_degrees_of_freedom_are_warned_of(name: str, shape: Any, options: Any, warns: bool) -> None:
    texts = given_by(lambda: getattr(torch, name)(torch.ones(shape), **options))
    assert [text.partition(".")[0] for text in texts] == [f"{name}(): degrees of freedom is <= 0"] * warns


@pytest.mark.parametrize(
    ("data", "times"), [([np.ones(2)] * 2, 1), ((np.ones(2),), 1), ([[1.0]], 0), ([np.float32(1)], 0)]
)
def test_lists_of_arrays_are_slow(data: Any, times: int) -> None:
    told = given_by(lambda: torch.tensor(data))
    assert [text.startswith("Creating a tensor from a list of numpy.ndarrays") for text in told] == [True] * times


def test_complex_numbers_fill_no_half_types() -> None:
    """`full` makes complex64 where `tensor` makes complex32, as in PyTorch."""
    torch.set_default_dtype(torch.float16)
    try:
        assert (torch.full((1,), 1j).dtype, torch.tensor(1j).dtype) == (torch.complex64, torch.complex32)
    finally:
        torch.set_default_dtype(torch.float32)


def test_a_default_type_is_deprecated() -> None:
    before = torch.get_default_dtype()
    try:
        (text,) = given_by(lambda: torch.set_default_tensor_type(torch.DoubleTensor))
        assert torch.get_default_dtype() is torch.float64
    finally:
        torch.set_default_dtype(before)
    assert text.startswith("torch.set_default_tensor_type() is deprecated")


@pytest.mark.parametrize("kind", [torch.FloatTensor, torch.LongTensor])
def test_no_class_inherits_from_a_legacy_type(kind: Any) -> None:
    with pytest.raises(TypeError, match=f"type 'torch.{kind.__name__}' is not an acceptable base type"):
        type("Own", (kind,), {})


def test_only_warning_stays_set_where_nothing_is_warned_of() -> None:
    try:
        torch.use_deterministic_algorithms(False, warn_only=True)
        assert torch.is_deterministic_algorithms_warn_only_enabled()
        assert torch.get_deterministic_debug_mode() == 0
    finally:
        torch.use_deterministic_algorithms(False)
