"""What a kernel hands out lies in memory of its own: a write to a result may not change an argument."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import mt_core
from mt_backend_cpu.convert import cast
from mt_core.dispatch.registry import find_overload
from mt_core.dtypes import ALL_DTYPES
from mt_core.testing import declared_operators
from mt_core.testing.arguments import REFUSALS, Arguments, samples_on, tensors_in

#: What they give may share memory, in PyTorch too, though their schemas do not say it.
SHARING = frozenset(
    "_convolution_double_backward _unsafe_view unsafe_chunk unsafe_split.Tensor unsafe_split_with_sizes".split()
)
OPERATORS = [
    overload
    for overload in declared_operators()
    if overload.declaration.form == "functional"
    and overload.declaration.kind != "view"
    and not any(result.alias is not None for result in overload.schema.returns)
    and overload.name not in SHARING
]


@pytest.mark.parametrize("overload", OPERATORS, ids=lambda overload: overload.name)
def test_results_share_no_memory_with_arguments(overload) -> None:
    with mt_core.no_grad():
        for strided in (False, True):
            for sample in samples_on(overload, "cpu", strided=strided):
                bound = Arguments(overload, sample).bound
                try:
                    results = tensors_in((overload.call(*bound),))
                except REFUSALS:
                    continue
                for result, argument in itertools.product(results, tensors_in(bound)):
                    assert result is argument or not np.shares_memory(result._array, argument._array), sample
                for result in results:
                    assert result._array.flags.writeable or not result.numel(), sample


NATIVE = sorted({d.numpy_dtype for d in ALL_DTYPES if d.numpy_dtype.kind in "fciub"}, key=str)


@pytest.mark.parametrize(("source", "target"), list(itertools.permutations(NATIVE, 2)), ids=str)
def test_elements_of_another_type_are_copies(source: np.dtype, target: np.dtype) -> None:
    for given in (np.ones((3, 2), source), np.ones((3, 2), source).T, np.ones((6, 1), source)[::2]):
        assert not np.shares_memory(given, cast(given, target))


def test_columns_of_a_single_window_are_a_copy() -> None:
    for shape, kernel_size in (((3, 3, 3), 3), ((1, 3, 3, 3), 3), ((1, 3, 2, 3), 1)):
        image = mt_core.ones(shape)
        find_overload("im2col").call(image, (kernel_size,) * 2, (1, 1), (0, 0), (1, 1)).zero_()
        assert bool((image == 1).all())
