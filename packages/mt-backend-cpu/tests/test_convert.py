"""Conversion between element types."""

from __future__ import annotations

import warnings

import ml_dtypes
import numpy as np
import pytest

from mt_backend_cpu.convert import cast

PAIR = np.dtype([("real", np.float16), ("imag", np.float16)])


@pytest.mark.parametrize("target", [np.int8, np.uint8, np.int32, np.int64, np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("source", [np.float32, np.float64, ml_dtypes.bfloat16])
def test_values_out_of_range_are_converted_without_a_warning(source, target):
    values = np.array([np.inf, -np.inf, np.nan, 1e30, 3.0]).astype(source)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cast(values, np.dtype(target))[-1] == 3


def test_floating_point_wraps_in_small_and_unsigned_integers():
    assert cast(np.array([300.0, -1.0]), np.dtype(np.uint8)).tolist() == [44, 255]


def test_complex_numbers_keep_both_parts_as_pairs_of_halves():
    values = np.array([2 + 3j, 1e30 - 1j], np.complex64)
    pairs = cast(values, PAIR)
    assert pairs["real"].tolist() == [2.0, np.inf]
    assert pairs["imag"].tolist() == [3.0, -1.0]
    assert cast(pairs, np.dtype(np.complex128))[0] == 2 + 3j
    assert cast(pairs, np.dtype(np.float32))[0] == 2.0


def test_an_array_that_has_the_type_is_not_copied():
    values = np.ones(3)
    assert cast(values, np.dtype(np.float64)) is values
