"""Discovery: what is missing, ambiguous, broken or of another contract says so, and harms nothing else."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from types import SimpleNamespace

import pytest

import mt_core
from mt_core.plugins import discovery
from mt_core.plugins.discovery import PluginError, find_backend, find_layer, load_extensions, register_backend
from mt_core.plugins.protocols import CONTRACT, Backend
from mt_core.testing.null_backend import NullBackend


class Point:
    """An entry point of a distribution, without one being installed."""

    def __init__(self, name: str, distribution: str, load) -> None:
        self.name, self.value, self.dist, self.load = (
            name,
            f"{distribution}:backend",
            SimpleNamespace(name=distribution),
            load,
        )


@pytest.fixture
def claim(monkeypatch: pytest.MonkeyPatch):
    """Put entry points in a group, for one test."""
    found: dict[str, dict[str, list[Point]]] = {}
    real = discovery._entry_points
    monkeypatch.setattr(discovery, "_entry_points", lambda group: {**real(group), **found.get(group, {})})
    monkeypatch.setattr(discovery, "_loaded", dict(discovery._loaded))
    monkeypatch.setattr(discovery, "_failures", {})

    def enter(group: str, *points: Point) -> None:
        for point in points:
            found.setdefault(group, {}).setdefault(point.name, []).append(point)

    return enter


def broken():
    raise OSError("libtoy.so: cannot open shared object file")


def test_two_plugins_for_one_device_type(claim) -> None:
    claim("mindtorch.backends", Point("toy", "toy-one", NullBackend), Point("toy", "toy-two", NullBackend))
    with pytest.raises(PluginError, match="'toy' is claimed by toy-one and toy-two: uninstall one of them"):
        find_backend("toy")


def test_a_plugin_of_another_contract(claim) -> None:
    backend = NullBackend("toy")
    backend.contract = CONTRACT + 1
    claim("mindtorch.backends", Point("toy", "toy-next", lambda: backend))
    with pytest.raises(
        PluginError, match=f"toy-next was written for plugin contract {CONTRACT + 1}.*speaks contract {CONTRACT}"
    ):
        find_backend("toy")


def test_a_plugin_that_fails_warns_and_is_an_error_when_asked_for(claim) -> None:
    claim("mindtorch.backends", Point("toy", "toy-broken", broken))
    with (
        pytest.warns(UserWarning, match="toy-broken.*libtoy.so"),
        pytest.raises(PluginError, match="Repair or uninstall toy-broken"),
    ):
        find_backend("toy")
    assert "OSError" in discovery.failures()["mindtorch.backends", "toy"]
    assert find_backend("cpu").device_type == "cpu" and mt_core.ones(2).sum().item() == 2


def test_a_missing_backend_names_the_remedy(claim) -> None:
    with pytest.raises(PluginError, match="no backend for device type 'toy' is installed"):
        find_backend("toy")


def test_a_missing_layer_names_the_remedy(claim, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "_entry_points", lambda group: {})
    monkeypatch.setattr(discovery, "_loaded", {})
    with pytest.raises(PluginError, match="pip install mt-autograd"):
        find_layer("autograd")
    with pytest.raises(PluginError, match="pip install mt-backend-cpu"):
        find_backend("cpu")


def test_a_broken_extension_does_not_keep_others_from_loading(claim) -> None:
    called = []
    claim(
        "mindtorch.extensions",
        Point("bad", "ext-bad", broken),
        Point("good", "ext-good", lambda: lambda: called.append("good")),
    )
    with pytest.warns(UserWarning, match="ext-bad.*'bad' failed to load"):
        names = load_extensions()
    assert "good" in names and "bad" not in names and called == ["good"]


def test_registered_backends_are_exclusive(claim) -> None:
    first = NullBackend("toy")
    register_backend(first)
    register_backend(first)
    assert find_backend("toy") is first
    with pytest.raises(PluginError, match="already served"):
        register_backend(NullBackend("toy"))


@pytest.mark.parametrize("device_type", ["cpu", "meta"])
def test_backends_follow_the_protocol(device_type: str) -> None:
    assert isinstance(mt_core.empty(1, device=device_type)._backend, Backend)
    assert isinstance(NullBackend("toy"), Backend)


def test_an_unknown_device_string() -> None:
    with pytest.raises(RuntimeError, match="Expected one of cpu, cuda.*at start of device string: nonsense"):
        mt_core.device("nonsense")


def test_entry_points_listed_twice_count_once(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("toy", "toy.plugin:backend", "mindtorch.backends")
    monkeypatch.setattr(discovery, "entry_points", lambda group: [point, point])
    assert len(discovery._entry_points.__wrapped__("mindtorch.backends")["toy"]) == 1
