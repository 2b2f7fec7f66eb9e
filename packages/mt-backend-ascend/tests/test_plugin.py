"""The backend is found, follows the contract, and refuses work with a reason and a remedy where it cannot be had."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mt_backend_ascend.plugin
from mt_backend_ascend.plugin import CANN_LIBRARIES, why_no_ascend
from mt_core.plugins.discovery import PluginError, find_backend
from mt_core.plugins.protocols import CONTRACT, Backend
from mt_mindspore import why_unavailable
from mt_mindspore.backend import MindSporeBackend


def test_entry_point_leads_to_the_backend() -> None:
    assert find_backend("npu") is mt_backend_ascend.plugin.backend


def test_follows_the_contract() -> None:
    backend = find_backend("npu")
    assert isinstance(backend, Backend)
    assert backend.contract == CONTRACT
    assert backend.device_type == "npu"


def test_refuses_memory_and_kernels_with_reason_and_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mt_backend_ascend.plugin, "why_unavailable", lambda: "MindSpore is not installed")
    backend = mt_backend_ascend.plugin._made()
    assert backend.device_count() == 0
    for refused in (
        lambda: backend.empty((2, 3), np.dtype("float32"), None, None),
        lambda: backend.from_host(np.zeros(3), np.dtype("float32"), 0),
        lambda: backend.load("elementwise"),
    ):
        with pytest.raises(
            PluginError, match="device 'npu' cannot be used: MindSpore is not.*Use device='cpu', or set"
        ):
            refused()


def test_reason_holds_what_keeps_mindspore_from_use() -> None:
    reason = why_unavailable()
    assert reason is None or reason in dict(find_backend("npu").diagnose())["devices"]


def test_target_cpu_asks_for_no_cann(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mt_backend_ascend.plugin, "why_unavailable", lambda: None)
    monkeypatch.setenv("MT_ASCEND_TARGET", "CPU")
    backend = mt_backend_ascend.plugin._made()
    assert isinstance(backend, MindSporeBackend)
    assert (backend.device_type, backend.target) == ("npu", "CPU")
    monkeypatch.setenv("MT_ASCEND_TARGET", "GPU")
    with pytest.raises(ValueError, match="one of CPU, Ascend, not 'GPU'"):
        mt_backend_ascend.plugin._made()


@pytest.mark.parametrize("missing", CANN_LIBRARIES)
def test_the_missing_library_is_named(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(name: str, **options: Any) -> Any:
        if name == missing:
            raise OSError(f"{name}: cannot open shared object file: No such file or directory")

    monkeypatch.setattr(ctypes, "CDLL", load)
    assert missing in (why_no_ascend() or "")


def test_doctor_names_the_missing_library_beside_mindspore(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mt_backend_ascend.plugin, "why_unavailable", lambda: "MindSpore is not installed")
    said = dict(mt_backend_ascend.plugin._made().diagnose())["devices"]
    assert "MindSpore is not installed; CANN is not there" in said
    assert all(name in said for name in CANN_LIBRARIES)


def test_cann_alone_is_refused_with_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MT_ASCEND_TARGET", "ACL")
    backend = mt_backend_ascend.plugin._made()
    assert backend.device_count() == 0 and "libascendcl.so" in dict(backend.diagnose())["devices"]


def test_a_machine_without_device_files_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name, **options: None)
    assert "no Ascend device" in (why_no_ascend(tmp_path) or "")
    (tmp_path / "davinci0").touch()
    assert why_no_ascend(tmp_path) is None
