"""The table of operators by device is the dispatcher's own."""

from __future__ import annotations

from collections import Counter

import pytest

import mt_core
from mt_core.devices import backend_key
from mt_core.dispatch.registry import DECLARATIONS, find_overload, register_kernel
from mt_core.plugins.coverage import STATES, coverage
from mt_core.plugins.discovery import PluginError, find_backend, register_backend
from mt_core.testing.null_backend import NullBackend


def is_found(name: str, key: int) -> bool:
    """Whether the dispatcher has something for an operator on a device."""
    try:
        find_overload(name).cache[key]
    except NotImplementedError:
        return False
    return True


@pytest.fixture(scope="module")
def sparse_backend() -> str:
    """A device with hardly a kernel."""
    backend = NullBackend("hardly")
    backend.load = lambda family: None
    register_backend(backend)
    register_kernel(backend_key("hardly"), ("neg",), lambda self: self)
    return "hardly"


def check(device_type: str) -> Counter:
    key = backend_key(device_type)
    table = coverage(device_type)
    assert set(table) == set(DECLARATIONS)
    for name, found in table.items():
        assert found.state in STATES and bool(found.distribution) == (found.state != "missing")
        if DECLARATIONS[name].form not in ("inplace", "out"):  # those are made before their parts are looked for
            assert (found.state != "missing") == is_found(name, key), (device_type, name, found)
    return Counter(found.state for found in table.values())


def test_the_meta_device() -> None:
    counts = check("meta")
    assert counts["contract"] > 400
    # A shape rule goes before a composite that stands in for a kernel.
    assert coverage("meta")["_softmax"].state == coverage("meta")["sub.Tensor"].state == "contract"
    # Nothing but what other tests of this process have registered through torch.library.
    assert all("::" in name for name, found in coverage("meta").items() if found.state == "native")


def test_a_device_with_hardly_a_kernel(sparse_backend: str) -> None:
    counts = check(sparse_backend)
    assert counts["missing"] > 300
    table = coverage(sparse_backend)
    assert table["neg"] == ("native", "this process") and table["neg_"].state == table["neg.out"].state == "derived"
    assert table["exp"].state == table["exp_"].state == table["exp.out"].state == "missing"
    assert table["transpose.int"] == ("contract", "mt-core")
    assert table["sinc"].state in ("composite", "missing")


def test_the_cpu() -> None:
    try:
        find_backend("cpu")
    except PluginError:
        pytest.skip("mt-backend-cpu is not installed")
    counts = check("cpu")
    assert counts["native"] > 300 and counts["composite"] > 300 and counts["derived"] > 300
    table = coverage("cpu")
    assert table["mm"] == table["add.Tensor"] == ("native", "mt-backend-cpu")
    assert mt_core.ones(2).sum().item() == 2


def test_a_device_without_a_backend() -> None:
    with pytest.raises(PluginError, match="no backend for device type 'nowhere'"):
        coverage("nowhere")
