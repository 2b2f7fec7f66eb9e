"""Results that no memory holds fail at once, in PyTorch's words; small ones of vast shapes are made."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest

import mt_core as torch
from mt_core.api import _functions as ops
from mt_core.functional import combinations


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.tril_indices(2**25, 2**25),
        lambda: torch.triu_indices(2**25, 2**25),
        lambda: combinations(torch.arange(10**6)),
        lambda: combinations(torch.arange(10**6), 500_000),
        lambda: combinations(torch.arange(10**5), 3, with_replacement=True),
        lambda: torch.repeat_interleave(torch.ones(1), 2**50),
        lambda: torch.repeat_interleave(torch.tensor([2**50])),
        lambda: ops.upsample_nearest1d(torch.ones(1, 1, 2), (2**46,)),
        lambda: ops.upsample_linear1d(torch.ones(1, 1, 2), (2**46,), False),
        lambda: torch.zeros(2**50),
        lambda: torch.ones(1).expand(2**45).clone(),
        lambda: torch.ones(2**22, 1) @ torch.ones(1, 2**24),
    ],
)
def test_what_no_memory_holds_is_refused_at_once(call):
    start = time.monotonic()
    with pytest.raises(RuntimeError, match="can't allocate memory: you tried to allocate") as refused:
        call()
    assert isinstance(refused.value, MemoryError)
    assert time.monotonic() - start < 5


@pytest.mark.parametrize(
    "view",
    [
        lambda x, *size: x.expand(size),
        lambda x, *size: x.as_strided(size, (0,) * len(size)),
        lambda x, *size: x.broadcast_to(size),
    ],
)
def test_views_of_more_bytes_than_numpy_counts_are_refused_in_pytorchs_words(view):
    with pytest.raises(RuntimeError, match=r"Storage size calculation overflowed with sizes=\[4611686018427387904\]"):
        view(torch.ones(1), 2**62)
    with pytest.raises(RuntimeError, match="numel: integer multiplication overflow"):
        view(torch.ones(1), 2**62, 4)
    assert view(torch.ones(1, dtype=torch.int8), 2**62)[2**61].item() == 1
    assert view(torch.ones(1, device="meta"), 2**62).shape == (2**62,)


@pytest.mark.parametrize("offset", range(-8, 9))
@pytest.mark.parametrize(("made", "reference"), [("tril_indices", np.tril_indices), ("triu_indices", np.triu_indices)])
def test_triangles_have_the_places_that_numpy_finds(made, reference, offset):
    for rows, columns in itertools.product(range(6), range(6)):
        found = getattr(torch, made)(rows, columns, offset)
        assert found.tolist() == np.stack(reference(rows, offset, columns)).tolist()
        assert getattr(torch, made)(rows, columns, offset, device="meta").shape == found.shape


def test_a_small_triangle_of_a_vast_matrix():
    assert torch.tril_indices(2**40, 2, 1 - 2**40, device="meta").shape == (2, 1)
    assert torch.triu_indices(2**20, 2**20, 2**20 - 1).tolist() == [[0], [2**20 - 1]]
    assert torch.tril_indices(2**20, 2**20, 1 - 2**20).tolist() == [[2**20 - 1], [0]]


@pytest.mark.parametrize("repeats", [False, True])
@pytest.mark.parametrize("size", range(7))
def test_combinations_are_those_of_itertools(size, repeats):
    pick = itertools.combinations_with_replacement if repeats else itertools.combinations
    for count in range(1, 8):
        wanted = [list(row) for row in pick(range(0, 10 * size, 10), count)]
        found = combinations(torch.arange(size) * 10, count, repeats)
        assert found.tolist() == wanted and found.shape == (len(wanted), count)
    assert combinations(torch.arange(30), 28).shape == (435, 28)
