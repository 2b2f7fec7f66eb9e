"""The backend is found, and where CuPy or a device is missing it refuses work with a reason and a remedy."""

from __future__ import annotations

import importlib.util
import re
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mt_backend_gpu import detect
from mt_backend_gpu.host_operators import ON_HOST
from mt_core.plugins.discovery import PluginError, find_backend
from mt_core.plugins.protocols import CONTRACT, Backend
from mt_core.plugins.unavailable import UnavailableBackend

without_device = pytest.mark.skipif(detect.what_is_missing() is None, reason="a CUDA device is here")


def test_entry_point_leads_to_the_backend() -> None:
    backend = find_backend("cuda")
    assert isinstance(backend, Backend)
    assert backend.contract == CONTRACT and backend.device_type == "cuda"


@without_device
def test_refuses_memory_and_kernels_with_reason_and_remedy() -> None:
    backend = find_backend("cuda")
    assert isinstance(backend, UnavailableBackend) and backend.device_count() == 0
    for refused in (
        lambda: backend.empty((2, 3), np.dtype("float32"), None, None),
        lambda: backend.from_host(np.zeros(3), np.dtype("float32"), 0),
        lambda: backend.load("elementwise"),
    ):
        with pytest.raises(PluginError, match="device 'cuda' cannot be used: "):
            refused()


@without_device
def test_doctor_lines_hold_the_reason_and_the_remedy() -> None:
    missing = detect.what_is_missing()
    assert missing is not None
    said = " ".join(state for _, state in find_backend("cuda").diagnose())
    assert missing.reason in said and missing.remedy in said


@pytest.mark.parametrize(
    ("absent", "words"),
    [
        ("cupy", "CuPy is not installed.*pip install cupy-cuda13x"),
        ("mt_backend_cpu", "mt-backend-cpu is not installed"),
    ],
)
def test_says_which_distribution_is_missing(monkeypatch: pytest.MonkeyPatch, absent: str, words: str) -> None:
    present = importlib.util.find_spec("json")
    monkeypatch.setattr(detect.importlib.util, "find_spec", lambda name: None if name == absent else present)
    monkeypatch.delitem(detect.sys.modules, "cupy", raising=False)
    missing = detect.what_is_missing()
    assert missing is not None
    assert re.search(words, f"{missing.reason}. {missing.remedy}")


class FakeRuntime:
    """What `detect` asks of CuPy's runtime."""

    class CUDARuntimeError(RuntimeError):
        pass

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def getDeviceCount(self) -> int:
        if isinstance(self.answer, str):
            raise self.CUDARuntimeError(self.answer)
        return int(self.answer)


@pytest.mark.parametrize(
    ("answer", "driver", "words"),
    [
        ("cudaErrorInsufficientDriver", False, "no NVIDIA driver"),
        ("cudaErrorNoDevice", True, "CUDA finds no device \\(cudaErrorNoDevice\\)"),
        (0, True, "no CUDA device is visible"),
    ],
)
def test_says_what_the_driver_said(
    monkeypatch: pytest.MonkeyPatch, answer: Any, driver: bool, words: str
) -> None:  # fmt: skip

    cupy = types.ModuleType("cupy")
    cupy.cuda = types.SimpleNamespace(runtime=FakeRuntime(answer))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(detect, "has_driver", lambda: driver)
    missing = detect.what_is_missing()
    assert missing is not None
    assert re.match(words, missing.reason)


def test_operators_on_the_host_are_documented() -> None:
    text = (Path(__file__).parents[3] / "docs" / "cuda.md").read_text(encoding="utf-8")
    for family, names in ON_HOST.items():
        line = next(line for line in text.splitlines() if line.startswith(f"| {family} |"))
        assert set(re.findall(r"`(\w+)`", line)) == {name.partition(".")[0] for name in names}
