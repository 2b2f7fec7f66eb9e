"""The bridge says what it lacks; its dtype map names real dtypes on both sides."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError

import numpy as np
import pytest

import mt_core.dtypes
import mt_mindspore
import mt_mindspore.runtime
from mt_core.plugins.discovery import PluginError, find_backend
from mt_core.plugins.protocols import CONTRACT, Backend


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Distribution name to version, in place of what is really installed."""
    versions: dict[str, str] = {}

    def version(name: str) -> str:
        if name not in versions:
            raise PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(mt_mindspore.runtime, "version", version)
    return versions


def test_missing_mindspore_is_named_with_the_remedy(installed: dict[str, str]) -> None:
    installed["numpy"] = "1.26.4"
    with pytest.raises(PluginError, match=r"MindSpore is not installed\. pip install mindspore"):
        mt_mindspore.require_mindspore()


def test_numpy_2_is_refused_before_the_import(installed: dict[str, str]) -> None:
    installed.update(mindspore="2.10.0", numpy="2.4.0")
    with pytest.raises(PluginError, match=r"pip install 'numpy<2'"):
        mt_mindspore.require_mindspore()


def test_nothing_is_missing_with_numpy_1(installed: dict[str, str]) -> None:
    installed.update(mindspore="2.10.0", numpy="1.26.4")
    assert mt_mindspore.why_unavailable() is None


@pytest.mark.parametrize("name", sorted(mt_mindspore.MINDSPORE_NAMES))
def test_dtype_map_names_dtypes_of_the_core(name: str) -> None:
    assert isinstance(getattr(mt_core.dtypes, name), mt_core.dtypes.dtype)


def test_interchange_raises_and_names_the_way_through_numpy() -> None:
    with pytest.raises(PluginError, match=r"no to_mindspore\(\): .*Tensor.from_numpy"):
        mt_mindspore.to_mindspore(np.zeros(3))
    with pytest.raises(PluginError, match=r"no from_mindspore\(\): .*asnumpy"):
        mt_mindspore.from_mindspore(np.zeros(3))


def test_backend_follows_the_contract_and_refuses_work() -> None:
    backend = find_backend("mindspore")
    assert isinstance(backend, Backend)
    assert (backend.contract, backend.device_type, backend.device_count()) == (CONTRACT, "mindspore", 0)
    with pytest.raises(PluginError, match="device 'mindspore' cannot be used: .*no MindSpore kernels"):
        backend.load("elementwise")
