"""Random numbers of the device: Random123's known answers, and what PyTorch drew on an H100."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from mt_backend_gpu.compiled import random

HERE = Path(__file__).parent
_spec = importlib.util.spec_from_file_location("cpu_machine", HERE / "cpu_machine.py")
assert _spec is not None and _spec.loader is not None
_tool = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_tool)

pytestmark = pytest.mark.skipif(_tool.COMPILER is None, reason="no g++ to compile the CUDA sources with")

#: Recorded on an H100 by ``snapshots/make_cuda_streams.py``.
STREAMS: dict[str, Any] = json.loads((HERE / "snapshots" / "cuda_streams.json").read_text())["streams"]
DTYPES = {"torch.bfloat16": np.dtype(ml_dtypes.bfloat16), "torch.bool": np.dtype(bool)}
PARAMETERS = {"uniform": (0, 1), "uniform -2 3": (-2, 3), "normal": (0, 1), "exponential": (1.5,), "bernoulli": (0.3,)}


@pytest.fixture(scope="module")
def h100(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A machine whose grids are those of an H100."""
    instances = json.loads((HERE / "snapshots" / "compiled_instances.json").read_text())
    machine = _tool.CpuMachine(tmp_path_factory.mktemp("random"), together=instances)
    machine.processors, machine.threads_per_processor = 132, 2048
    yield machine


def parsed(key: str) -> tuple[str, np.dtype, int]:
    """Distribution, dtype and count of an entry."""
    name, count = key.split("|")[:2]
    name, _, dtype = name.rpartition(" ")
    return name, DTYPES.get(dtype) or np.dtype(dtype.removeprefix("torch.")), int(count)


def test_known_answers(h100: Any) -> None:
    """Random123 1.14, ``kat_vectors``: philox4x32 of 10 rounds."""
    counters = np.array([[0] * 4, [0xFFFFFFFF] * 4, [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344]], np.uint32)
    keys = np.array([[0] * 2, [0xFFFFFFFF] * 2, [0xA4093822, 0x299F31D0]], np.uint32)
    assert random.philox_words(h100, counters, keys).tolist() == [
        [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8],
        [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD],
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ]


@pytest.mark.parametrize("key", [key for key in STREAMS if key.startswith(tuple(PARAMETERS)) and "|" in key])
def test_distributions_are_pytorchs(h100: Any, key: str) -> None:
    """Exactly, but where the device's fast functions take part: there the CPU's are close."""
    name, dtype, count = parsed(key)
    out = h100.empty((count,), dtype)
    random.draw(h100, name.split()[0], out, 1234 + count, 0, *PARAMETERS[name])
    want = np.array(STREAMS[key])
    if name.startswith(("normal", "exponential")):
        width = 1e-2 if dtype.itemsize == 2 else 3e-5
        assert np.allclose(out.astype(float), want, rtol=width, atol=width)
    else:
        assert np.array_equal(out.astype(float), want)


@pytest.mark.parametrize("key", [key for key in STREAMS if key.startswith("randint")])
def test_integers_are_pytorchs(h100: Any, key: str) -> None:
    name, dtype, count = parsed(key)
    low, high = map(int, name.split()[1:])
    out = h100.empty((count,), dtype)
    random.draw_integers(h100, out, 1234 + count, 0, low, high)
    assert np.array_equal(out.astype(float), np.array(STREAMS[key], float))


@pytest.mark.parametrize("key", [key for key in STREAMS if key.startswith("dropout")])
def test_dropouts_masks_are_pytorchs(h100: Any, key: str) -> None:
    _, dtype, count = parsed(key)
    probability = float(key.split("|")[2])
    out, mask, growth = random.dropout(h100, np.ones(count, dtype), probability, 77 + count, 0)
    assert "".join(map(str, mask.astype(int))) == STREAMS[key]
    assert np.array_equal(out != 0, mask)
    assert growth == 4


def test_the_second_draw_goes_on(h100: Any) -> None:
    first, second, offset = STREAMS["two rands"]
    out = h100.empty((10,), np.dtype("float32"))
    grown = 0
    for want in (first, second):
        grown += random.draw(h100, "uniform", out, 5, grown, 0, 1)
        assert np.array_equal(out, np.array(want, np.float32))
    assert grown == offset


def test_growth_of_the_offset(h100: Any) -> None:
    """PyTorch's rule, as observed: four for every round of all threads over the elements."""
    everyone = 132 * 2048
    assert random.grid_of(h100, everyone + 1) == random.grid_of(h100, everyone) == 132 * 8
    counts = {1: 4, 4 * everyone: 4, 4 * everyone + 1: 8, 5_000_001: 20}
    assert {count: random.growth(count, random.grid_of(h100, count), 4) for count in counts} == counts
