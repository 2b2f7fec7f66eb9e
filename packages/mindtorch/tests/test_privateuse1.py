"""Device types from outside: the name of the private type, its module, the methods that go with it.

A program names the private type once, so each test has a process of its own.
"""

from __future__ import annotations

import mindtorch as torch
from mt_core.plugins.discovery import backend_entry_points

START = """
import types, warnings
import pytest
import mindtorch as torch

def refused(text, use, error=RuntimeError):
    with pytest.raises(error, match=text):
        use()
"""


def test_the_private_type_gets_a_name_once(run_python):
    run_python(
        START
        + """
refused("Cannot register privateuse1 backend with in-tree device name: cpu",
        lambda: torch.utils.rename_privateuse1_backend("cpu"))
refused("Expected one of .* device type at start of device string: foo", lambda: torch.device("foo"))
assert torch.device("privateuseone").type == "privateuseone"
torch.utils.rename_privateuse1_backend("foo")
torch.utils.rename_privateuse1_backend("foo")
refused("has already been set! Current backend: foo", lambda: torch.utils.rename_privateuse1_backend("bar"))
assert torch.device("foo:1") == torch.device("privateuseone:1")
assert repr(torch.device("privateuseone:1")) == "device(type='foo', index=1)"
assert not hasattr(torch, "foo")
refused("Device 'foo' does not have a corresponding module registered as 'torch.foo'.",
        lambda: torch.get_device_module("foo"))
"""
    )


def test_a_module_is_registered_once(run_python):
    run_python(
        START
        + """
torch.utils.rename_privateuse1_backend("foo")
module = types.ModuleType("m")
torch._register_device_module("foo", module)
assert torch.foo is module is torch.get_device_module("foo")
import mindtorch.foo
assert mindtorch.foo is module
for taken in "foo", "cuda", "xpu", "cpu":
    refused(f"The runtime module of '{taken}' has already been registered with",
            lambda: torch._register_device_module(taken, module))
refused("device type at start of device string: nonsense",
        lambda: torch._register_device_module("nonsense", module))
"""
    )


def test_methods_are_generated_once(run_python):
    run_python(
        START
        + """
torch.utils.rename_privateuse1_backend("foo")
torch.utils.generate_methods_for_privateuse1_backend(for_storage=True, unsupported_dtype=[torch.quint8])
refused("The custom device module of <class '.*Tensor'> has already been registered with is_foo",
        torch.utils.generate_methods_for_privateuse1_backend)
x = torch.ones(2)
packed = torch.nn.utils.rnn.pack_sequence([x])
assert not any(value.is_foo for value in (x, packed, x.untyped_storage()))
refused("Invalid device, must be foo device", lambda: x.foo("cpu"))
for use in x.foo, torch.nn.Linear(2, 2).foo, packed.foo, x.untyped_storage().foo:
    refused("no backend for device type 'foo' is installed", use)

class Half(torch.Tensor):
    pass
assert Half.foo is torch.Tensor.foo
"""
    )


def test_a_named_type_with_a_backend_is_the_accelerator(run_python):
    run_python(
        START
        + """
from mt_core.plugins.discovery import register_backend
from mt_core.testing.simulated_backend import SimulatedBackend, SimulatedRuntime

for name in "alpha", "foo":
    register_backend(SimulatedBackend(name, SimulatedRuntime()))
assert torch.accelerator.current_accelerator().type == "alpha"
torch.utils.rename_privateuse1_backend("foo")
assert torch.accelerator.current_accelerator().type == "foo" and torch.device(1) == torch.device("foo:1")
assert torch.get_device_module() is torch.foo and torch.foo.device_count() == 2
torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)
layer = torch.nn.Linear(2, 2).foo(1)
assert layer.weight.is_foo and layer.weight.get_device() == 1
assert torch.ones(2).foo().tolist() == [1, 1]
torch.manual_seed(4)
assert torch.foo.initial_seed() == torch.alpha.initial_seed() == 4
"""
    )


def test_a_device_module_is_there_for_installed_backends_alone():
    for name in "npu", "hpu", "nonsense":
        assert hasattr(torch, name) == hasattr(torch.Tensor, f"is_{name}") == (name in backend_entry_points())
        assert hasattr(torch.nn.Module, name) == (name in backend_entry_points())
