"""`torch.compile` runs programs as they are, wrapped as PyTorch wraps them."""

from __future__ import annotations

import copy

import pytest

import mindtorch as torch
from mindtorch import nn


class Doubling(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.factor = 2

    def forward(self, x):
        return self.linear(x) * self.factor


@pytest.fixture
def module():
    return Doubling()


def test_a_compiled_module_is_a_module_around_the_module(module):
    compiled = torch.compile(module)
    assert type(compiled) is torch._dynamo.eval_frame.OptimizedModule
    assert compiled._orig_mod is module
    assert list(compiled.state_dict()) == ["_orig_mod.linear.weight", "_orig_mod.linear.bias"]
    assert [name for name, _ in compiled.named_modules()] == ["", "_orig_mod", "_orig_mod.linear"]
    inputs = torch.ones(3, 2)
    assert torch.equal(compiled(inputs), module(inputs))


def test_attributes_are_those_of_the_wrapped_module(module):
    compiled = torch.compile(module)
    compiled.factor = 5
    compiled.added = 1
    assert (module.factor, module.added) == (5, 1)
    assert compiled.linear is module.linear
    del compiled.added
    assert not hasattr(module, "added")
    with pytest.raises(AttributeError, match="'Doubling' object has no attribute 'nothing'"):
        compiled.nothing  # noqa: B018


def test_training_mode_is_that_of_the_wrapped_module(module):
    compiled = torch.compile(module)
    compiled.eval()
    assert (compiled.training, module.training, module.linear.training) == (False, False, False)
    module.train()
    assert compiled.training


def test_a_compiled_module_can_be_copied(module):
    compiled = copy.deepcopy(torch.compile(module))
    assert compiled._orig_mod is not module
    assert compiled.factor == 2


def test_functions_are_wrapped():
    def function(x):
        """Add one."""
        return x + 1

    compiled = torch.compile(function)
    assert compiled(torch.ones(1)).item() == 2
    assert compiled.__doc__ == function.__doc__
    assert compiled.__wrapped__ is function


def test_as_a_decorator(module):
    @torch.compile(dynamic=False)
    def function(x):
        return -x

    assert function(3) == -3
    assert torch.compile(backend="eager")(module)._orig_mod is module


def test_disabled_it_does_nothing(module):
    assert torch.compile(module, disable=True) is module


@pytest.mark.parametrize("backend", ["inductor", "eager", "aot_eager"])
def test_backends_that_exist(module, backend):
    assert torch.compile(module, backend=backend)._orig_mod is module


def test_backends_that_do_not_exist(module):
    for compile in torch.compile, torch.compiler.compile:
        with pytest.raises(torch._dynamo.exc.InvalidBackend, match="Invalid backend: 'foo'"):
            compile(module, backend="foo")


def test_functions_as_backends_are_not_supported(module):
    with pytest.raises(NotImplementedError, match="without a graph"):
        torch.compile(module, backend=lambda graph, inputs: graph)


def test_modes_and_options(module):
    torch.compile(module, mode="max-autotune")
    with pytest.raises(RuntimeError, match="Unrecognized mode=fast"):
        torch.compile(module, mode="fast")
    with pytest.raises(RuntimeError, match="Either mode or options"):
        torch.compile(module, mode="default", options={})
    with pytest.raises(AssertionError, match="A callable function is expected"):
        torch.compile(3)


def test_stances():
    with torch.compiler.set_stance("force_eager"):
        pass
    with pytest.raises(RuntimeError, match="stance 'lazy'"):
        torch.compiler.set_stance("lazy")
