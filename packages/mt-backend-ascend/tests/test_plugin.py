"""The backend is found, follows the contract, and refuses work with a reason and a remedy."""

from __future__ import annotations

import numpy as np
import pytest

import mt_backend_ascend.plugin
from mt_core.plugins.discovery import PluginError, find_backend
from mt_core.plugins.protocols import CONTRACT, Backend
from mt_mindspore import why_unavailable


def test_entry_point_leads_to_the_backend() -> None:
    assert find_backend("npu") is mt_backend_ascend.plugin.backend


def test_follows_the_contract() -> None:
    backend = find_backend("npu")
    assert isinstance(backend, Backend)
    assert backend.contract == CONTRACT
    assert backend.device_count() == 0


def test_refuses_memory_and_kernels_with_reason_and_remedy() -> None:
    backend = find_backend("npu")
    for refused in (
        lambda: backend.empty((2, 3), np.dtype("float32"), None, None),
        lambda: backend.from_host(np.zeros(3), np.dtype("float32"), 0),
        lambda: backend.load("elementwise"),
    ):
        with pytest.raises(PluginError, match="device 'npu' cannot be used: .*no kernels.*Use device='cpu'"):
            refused()


def test_reason_holds_what_keeps_mindspore_from_use() -> None:
    reason = why_unavailable()
    assert reason is None or reason in dict(find_backend("npu").diagnose())["devices"]
