"""The bridge says what it lacks; its dtype map names real dtypes on both sides."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError

import numpy as np
import pytest

import mt_core
import mt_core.dtypes
import mt_mindspore
import mt_mindspore.interop
import mt_mindspore.runtime
from mt_core.bridges import from_mindspore, set_interop_warning
from mt_core.plugins.discovery import PluginError, find_bridge
from mt_core.plugins.protocols import CONTRACT, Backend
from mt_mindspore.backend import TARGETS, MindSporeBackend
from mt_mindspore.dtypes import DtypeMap


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


def test_interchange_says_what_keeps_it(installed: dict[str, str]) -> None:
    installed["numpy"] = "1.26.4"
    with pytest.raises(PluginError, match="MindSpore is not installed"):
        mt_mindspore.to_mindspore(mt_core.zeros(3))
    with pytest.raises(PluginError, match="MindSpore is not installed"):
        mt_mindspore.from_mindspore(np.zeros(3))
    with pytest.raises(TypeError, match="takes a tensor, not ndarray"):
        mt_mindspore.to_mindspore(np.zeros(3))


def test_a_backend_names_its_target() -> None:
    backend = MindSporeBackend("npu", "CPU")
    assert isinstance(backend, Backend)
    assert (backend.contract, backend.device_type) == (CONTRACT, "npu")
    with pytest.raises(ValueError, match="one of CPU, Ascend, not 'GPU'"):
        MindSporeBackend("npu", "GPU")


class Dtypes:
    """Stands in for the module: each dtype is its name."""

    def __getattr__(self, name: str) -> str:
        return name


def test_dtypes_that_a_target_lacks_are_refused_by_name() -> None:
    known = DtypeMap(Dtypes(), "npu", TARGETS["Ascend"])
    assert known.to_mindspore(mt_core.bfloat16.numpy_dtype) == "bfloat16"
    for missing in (mt_core.float64, mt_core.complex64, mt_core.float8_e4m3fn):
        with pytest.raises(NotImplementedError, match=f"device 'npu' holds no tensors of {missing}"):
            known.to_mindspore(missing.numpy_dtype)


def test_the_names_of_torch_lead_to_the_bridge(installed: dict[str, str]) -> None:
    """`Tensor.to_mindspore` and `mt_core.bridges` find the entry point, which says what keeps it."""
    installed["numpy"] = "1.26.4"
    assert find_bridge("mindspore") is mt_mindspore.interop.BRIDGE
    with pytest.raises(PluginError, match="MindSpore is not installed"):
        mt_core.zeros(3).to_mindspore()
    with pytest.raises(PluginError, match="MindSpore is not installed"):
        from_mindspore(np.zeros(3), copy=True)


def test_tensors_that_stand_for_others_are_refused(installed: dict[str, str]) -> None:
    with pytest.raises(NotImplementedError, match="stands for others"):
        mt_core.zeros(3).to_sparse().to_mindspore()


def test_the_warning_is_switched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mt_mindspore.interop, "_warns", False)
    for enabled in (True, False):
        set_interop_warning(enabled)
        assert mt_mindspore.interop._warns is enabled
