"""Memory of large arrays is kept when they end, used again, cleared where zeros are asked for, and given back."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mt_core as torch
from mt_backend_cpu import native
from mt_backend_cpu.memory import address_of, memory_counts, release_memory

pytestmark = pytest.mark.skipif(native.library is None, reason="the native library is not used")

library: Any = native.library
#: Elements of float32 in the smallest block that is kept.
LARGE = 1 << 16
SLACK = 1 << 28


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    gc.collect()
    release_memory()
    yield
    release_memory()


def test_an_array_takes_the_memory_of_one_that_ended() -> None:
    first = library.new_empty((LARGE + 100,), np.dtype(np.float32))
    place, before = address_of(first), memory_counts()
    assert place % 64 == 0
    assert before["in_use"] >= first.nbytes
    del first
    assert memory_counts()["kept"] >= LARGE * 4
    assert address_of(library.new_empty((LARGE + 50,), np.dtype(np.float32))) == place
    release_memory()
    assert memory_counts()["kept"] == 0


def test_zeros_are_zeros_on_memory_that_was_used() -> None:
    for threads in (1, 2):
        library.set_num_threads(threads)
        for n in (LARGE, LARGE * 9 + 5):
            library.new_empty((n,), np.dtype(np.float32)).fill(7)
            assert not library.new_zeros((n,), np.dtype(np.float32)).any()
            (torch.ones(n) + 1).sum()
            assert not torch.zeros(n).numpy().any()


def test_arrays_of_operators_are_on_it() -> None:
    x = torch.ones(LARGE)
    before = memory_counts()["in_use"]
    made = [x + 1, x.log(), x.cumsum(0), x.double(), torch.cat([x, x]), x[x > 0], torch.where(x > 0, x, 2.0).t()]
    assert memory_counts()["in_use"] >= before + sum(m.numpy().nbytes for m in made)
    del made
    assert memory_counts()["in_use"] == before


def test_small_arrays_stay_with_numpy() -> None:
    before = memory_counts()
    held = library.new_zeros((LARGE - 1,), np.dtype(np.float32))
    assert memory_counts() == before
    assert not held.any()


def test_what_is_enlarged_keeps_its_elements() -> None:
    """NumPy tells no size of what it enlarges, small to large, large to larger, and large to small."""
    for start, end in ((10, LARGE), (LARGE, 3 * LARGE), (3 * LARGE, LARGE + 1), (LARGE, 10)):
        before = memory_counts()["in_use"]
        x = library.new_empty((start,), np.dtype(np.float32))
        x[...] = np.arange(start)
        x.resize((end,), refcheck=False)
        both = min(start, end)
        np.testing.assert_array_equal(x[:both], np.arange(both))
        del x
        assert memory_counts()["in_use"] == before


def test_no_more_is_kept_than_was_in_use_and_some() -> None:
    """Arrays of ever other sizes do not make the process larger than its largest array and the slack."""
    for n in range(1, 60):
        x = library.new_empty((n * 4 * LARGE,), np.dtype(np.float32))
        del x
        counts = memory_counts()
        assert counts["kept"] + counts["in_use"] <= counts["most_in_use"] + SLACK // 4
        assert counts["kept"] <= counts["in_use"] + SLACK


def test_sizes_that_nobody_has() -> None:
    for shape in ((1 << 50,), (1 << 31, 1 << 31)):
        with pytest.raises((MemoryError, ValueError)):
            library.new_empty(shape, np.dtype(np.float32))
        with pytest.raises((RuntimeError, MemoryError)):
            torch.empty(*shape)


def test_threads_share_it() -> None:
    wrong = []

    def work(number: int) -> None:
        for _ in range(30):
            x = torch.full((LARGE,), float(number))
            if not bool(((x + x) == 2 * number).all()):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_forked_process_uses_what_was_kept() -> None:
    program = (
        "import os, mt_core as torch\n"
        "x = torch.ones(1 << 20); del x\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os._exit(0 if bool(((torch.zeros(1 << 20) + torch.ones(1 << 20)) == 1).all()) else 1)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
