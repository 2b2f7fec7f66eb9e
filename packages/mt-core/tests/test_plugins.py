"""Discovery: what is missing, ambiguous, broken or of another contract says so, and harms nothing else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Protocol

import pytest

import mt_core
from mt_core.plugins import discovery, protocols
from mt_core.plugins.activation import activate, load_layers
from mt_core.plugins.contract import members
from mt_core.plugins.discovery import (
    PluginError,
    find_backend,
    find_bridge,
    find_collectives,
    find_compiler,
    find_layer,
    load_extensions,
    register_backend,
)
from mt_core.plugins.protocols import CONTRACT, Backend
from mt_core.plugins.remedies import REMEDIES
from mt_core.testing.null_backend import NullBackend


class Point:
    """An entry point of a distribution, without one being installed."""

    is_own = False

    def __init__(self, name: str, distribution: str, load) -> None:
        self.name, self.value, self.distribution, self.load = name, f"{distribution}:backend", distribution, load
        self.group = "?"


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
            point.group = group
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
        PluginError, match=f"toy-next .*was written for plugin contract {CONTRACT + 1}.*speaks contract {CONTRACT}"
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
    with pytest.raises(PluginError, match="in a clone of mindtorch, pip install packages/mt-autograd"):
        find_layer("autograd")
    with pytest.raises(PluginError, match="pip install packages/mt-backend-cpu"):
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


class Endless:
    """Answers to every name: as much of a plugin as the checks of names can see."""

    contract = CONTRACT
    device_type = "toy"

    def __getattr__(self, name: str):
        return lambda *args: None


class Partial:
    """A backend of another device type that has nothing but its name."""

    contract = CONTRACT
    device_type = "toy"


def refusal_of(claim, group: str, plugin) -> str:
    claim(group, Point("toy", "toy-dist", lambda: plugin))
    find = {
        "mindtorch.backends": find_backend,
        "mindtorch.layers": find_layer,
        "mindtorch.compilers": find_compiler,
        "mindtorch.bridges": find_bridge,
    }
    with pytest.raises(PluginError) as caught:
        find.get(group, find_collectives)("toy")
    assert "toy-dist" in str(caught.value) and "'toy = toy-dist:backend'" in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    "group",
    [
        "mindtorch.backends",
        "mindtorch.layers",
        "mindtorch.compilers",
        "mindtorch.collectives",
        "mindtorch.bridges",
    ],
)
def test_a_plugin_without_a_contract(claim, group: str) -> None:
    text = refusal_of(claim, group, object())
    assert f"add contract = {CONTRACT}" in text


def test_what_a_backend_lacks_is_listed(claim) -> None:
    text = refusal_of(claim, "mindtorch.backends", Partial())
    lacking = text.partition(": ")[2].partition(". Add it")[0].split(", ")
    assert lacking == [name for name in members(Backend) if name not in ("contract", "device_type")]


def test_what_a_backend_of_an_older_contract_must_add_is_listed(claim, monkeypatch: pytest.MonkeyPatch) -> None:
    class Newer(Backend, Protocol):
        contract: int
        device_type: str
        streams: int

        def graphs(self) -> None: ...

    monkeypatch.setattr(protocols, "Backend", Newer)
    monkeypatch.setattr(protocols, "CONTRACT", CONTRACT + 1)
    text = refusal_of(claim, "mindtorch.backends", Partial())
    assert f"contract {CONTRACT}, and this mt-core speaks contract {CONTRACT + 1}" in text
    assert f"For contract {CONTRACT + 1} it lacks: streams, graphs" in text


def test_a_backend_of_another_device_type_than_its_entry(claim) -> None:
    plugin = Endless()
    plugin.device_type = "other"
    assert "has the device type 'other', and was found as 'toy'" in refusal_of(claim, "mindtorch.backends", plugin)


def test_what_a_layer_and_a_compiler_lack(claim) -> None:
    assert "lacks, of plugin contract" in refusal_of(claim, "mindtorch.layers", Partial())
    assert "compile" in refusal_of(claim, "mindtorch.compilers", Partial())


def test_a_layer_that_does_not_say_its_key(claim) -> None:
    class Keyless:
        contract = CONTRACT

        def __getattr__(self, name: str):
            if name == "dispatch_key":
                raise AttributeError(name)
            return None

    assert "dispatch_key" in refusal_of(claim, "mindtorch.layers", Keyless())


@pytest.mark.parametrize("key", ["NOTHING", "CPU", "STRIDED", 7, None])
def test_a_layer_at_a_key_that_no_layer_can_serve(claim, key) -> None:
    layer = Endless()
    layer.dispatch_key = key
    claim("mindtorch.layers", Point("toy", "toy-dist", lambda: layer))
    with pytest.warns(UserWarning, match="cannot serve the key.*must be one of .*AUTOGRAD"):
        assert load_layers() == []


def test_a_layer_at_a_key_that_is_served(claim) -> None:
    layer = Endless()
    layer.dispatch_key = "TORCH_FUNCTION"
    claim("mindtorch.layers", Point("toy", "toy-dist", lambda: layer))
    with pytest.warns(UserWarning, match="'toy' wants the key TORCH_FUNCTION, which .* serves"):
        assert load_layers() == []


def leave():
    raise SystemExit(3)


@pytest.mark.parametrize("group", ["mindtorch.backends", "mindtorch.layers", "mindtorch.extensions"])
def test_a_plugin_cannot_end_the_program(claim, group: str) -> None:
    claim(group, Point("toy", "toy-dist", leave))
    with pytest.warns(UserWarning, match="toy-dist.*SystemExit: 3"):
        activate()
        if group == "mindtorch.backends":
            with pytest.raises(PluginError, match="toy-dist failed to load: SystemExit: 3"):
                find_backend("toy")


def test_an_interrupt_is_the_users(claim) -> None:
    def interrupted():
        raise KeyboardInterrupt

    claim("mindtorch.backends", Point("toy", "toy-dist", interrupted))
    with pytest.raises(KeyboardInterrupt):
        find_backend("toy")


def test_a_failure_is_told_once(claim) -> None:
    loads = []

    def failing():
        loads.append(1)
        raise OSError("no driver")

    claim("mindtorch.backends", Point("toy", "toy-dist", failing))
    with pytest.warns(UserWarning) as warned:
        for _ in range(3):
            with pytest.raises(PluginError, match="no driver"):
                find_backend("toy")
    assert len(warned) == len(loads) == 1


def test_every_remedy_names_what_is_in_the_repository() -> None:
    packages = Path(__file__).parents[2]
    if not (packages / "mt-core").is_dir():
        pytest.skip("the other distributions are part of the repository")
    for text in REMEDIES.values():
        for path in re.findall(r"packages/([\w-]+)", text):
            assert (packages / path / "pyproject.toml").is_file(), text
        assert "pip install mt-" not in text
    assert "packages/mt-backend-cpu" in REMEDIES["mindtorch.backends", "cpu"]
