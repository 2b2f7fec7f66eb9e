"""`torch.jit`: what is scripted runs as the Python that it is; what would need TorchScript raises by name."""

from __future__ import annotations

import copy
import io
import pickle
from enum import Enum

import pytest

import mindtorch as torch
from mindtorch import nn

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.bn = nn.BatchNorm1d(3)
        self.again = self.fc
        self.scale = 2
        self.seen = []
        self.helper = self.doubled

    def doubled(self, x):
        self.scale += 0
        return x * self.scale

    def forward(self, x):
        # Not TorchScript: what is decorated stays Python.
        parts = {name: layer for name, layer in self.named_children() if name != "again"}
        return self.helper(sum(layer(x) for layer in parts.values()))


def test_a_scripted_module_computes_with_the_same_tensors():
    net, x = Net(), torch.randn(4, 3)
    scripted = torch.jit.script(net)
    assert isinstance(scripted, torch.jit.RecursiveScriptModule)
    assert isinstance(scripted, torch.jit.ScriptModule)
    assert isinstance(scripted.fc, torch.jit.RecursiveScriptModule)
    assert scripted.fc is scripted.again
    assert scripted.fc.weight is net.fc.weight
    assert list(scripted.state_dict()) == list(net.state_dict())
    assert torch.equal(scripted(x), net(x))
    assert torch.jit.script(scripted) is scripted


def test_attributes_of_a_scripted_module_are_its_own():
    net = Net()
    scripted = torch.jit.script(net)
    net.scale, net.fc.weight = 5, nn.Parameter(torch.zeros(3, 3))
    scripted.eval()
    assert scripted.scale == 2
    assert scripted.fc.weight is not net.fc.weight
    assert net.training
    scripted.scale = 0
    assert not scripted(torch.ones(2, 3)).any()  # by the method that is kept as an attribute, too


def test_a_scripted_module_is_printed_as_pytorch_prints_it():
    scripted = torch.jit.script(nn.Sequential(nn.Linear(2, 2)))
    assert repr(scripted) == (
        "RecursiveScriptModule(\n  original_name=Sequential\n  (0): RecursiveScriptModule(original_name=Linear)\n)"
    )
    assert scripted.original_name == "Sequential"


def test_scripted_modules_are_copied_and_not_pickled():
    scripted = torch.jit.script(Net())
    copied = copy.deepcopy(scripted)
    assert copied.fc is copied.again
    assert copied.fc.weight is not scripted.fc.weight
    assert torch.equal(copied.fc.weight, scripted.fc.weight)
    assert copy.copy(scripted).fc is scripted.fc
    for save in (pickle.dumps, lambda value: torch.save(value, io.BytesIO())):
        with pytest.raises(RuntimeError, match="Tried to serialize object __torch__.Net which does not have"):
            save(scripted)


def test_a_scripted_module_trains():
    scripted = torch.jit.script(nn.Linear(2, 1))
    before = scripted.weight.detach().clone()
    optimizer = torch.optim.SGD(scripted.parameters(), lr=0.1)
    scripted(torch.ones(3, 2)).sum().backward()
    optimizer.step()
    torch.testing.assert_close(scripted.weight, (before - 0.1 * 3).requires_grad_())  # kernels may round once or twice


@pytest.mark.parametrize("name", ["code", "graph", "inlined_graph", "save_to_buffer"])
def test_what_would_show_torchscript_raises(name):
    @torch.jit.script
    def function(x):
        return x + 1

    for scripted, cls in ((torch.jit.script(nn.ReLU()), "ScriptModule"), (function, "ScriptFunction")):
        with pytest.raises(NotImplementedError, match=rf"torch\.jit\.{cls}\.{name} is not supported"):
            getattr(scripted, name)()


def test_a_scripted_function_calls_the_function():
    def function(x, *, scale=1):
        return x * scale

    scripted = torch.jit.script(function)
    assert isinstance(scripted, torch.jit.ScriptFunction)
    assert (scripted.name, scripted.qualified_name) == ("function", "__torch__.function")
    assert scripted(torch.ones(1), scale=3).item() == 3
    with pytest.raises(pickle.PickleError, match="ScriptFunction cannot be pickled"):
        pickle.dumps(scripted)
    graph = torch.fx.symbolic_trace(lambda x: scripted(x) + 1).graph
    assert [node.target for node in graph.nodes][1] is scripted


def test_what_can_be_scripted():
    class Colour(Enum):
        RED = 1

    class Plain:
        pass

    class Derived(Plain):
        pass

    assert torch.jit.script(Colour) is Colour
    assert torch.jit.script(Plain) is Plain
    held = [1, 2]
    made = torch.jit.script(held)
    assert made == held
    assert made is not held
    with pytest.raises(RuntimeError, match="does not support inheritance yet"):
        torch.jit.script(Derived)
    with pytest.raises(RuntimeError, match="inherits from nn.Module, pass an instance instead"):
        torch.jit.script(Net)
    with pytest.raises(TypeError, match="<class 'int'> is a built-in class"):
        torch.jit.script(3)
    with pytest.raises(TypeError, match="was expected, got Plain"):
        torch.jit.script(Plain())


def test_script_methods_stay_python():
    class Old(torch.jit.ScriptModule):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(2))

        @torch.jit.script_method
        def forward(self, x):
            return self.weight * x

    assert torch.equal(Old()(torch.ones(2)), torch.ones(2))


def test_overloads_leave_the_definition():
    @torch.jit._overload
    def function(x: int) -> int: ...

    def function(x):  # noqa: F811 - as overloads are written
        return x + 1

    assert function(2) == 3


def test_forked_functions_run_at_once():
    seen = []
    future = torch.jit.fork(seen.append, 1)
    assert seen == [1]
    assert torch.jit.wait(future) is None
    with pytest.raises(ZeroDivisionError):
        torch.jit.fork(lambda: 1 / 0)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        torch.jit.wait(3)


def test_a_frozen_module_is_what_it_was():
    net, x = Net(), torch.randn(4, 3)
    with pytest.raises(RuntimeError, match="Please call .eval"):
        torch.jit.freeze(torch.jit.script(net))
    with pytest.raises(RuntimeError, match="Freezing expects a ScriptModule"):
        torch.jit.freeze(net)
    scripted = torch.jit.script(net.eval())
    expected = scripted(x)
    frozen = torch.jit.freeze(scripted, preserved_attrs=["scale", "doubled"])
    with torch.no_grad():
        net.fc.weight.zero_()
    assert torch.equal(frozen(x), expected.detach())
    assert not frozen(x).requires_grad
    assert not list(frozen.parameters())
    assert not frozen.state_dict()
    assert repr(frozen) == "RecursiveScriptModule(original_name=Net)"
    assert frozen.scale == 2
    assert torch.equal(frozen.doubled(x), 2 * x)
    with pytest.raises(AttributeError):
        frozen.fc  # noqa: B018 - asked for
    assert torch.jit.optimize_for_inference(frozen) is frozen
    with pytest.raises(NotImplementedError, match="preserve_parameters"):
        torch.jit.freeze(scripted, preserve_parameters=True)


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.jit.script(nn.ReLU()),
        lambda: torch.jit.script_method(lambda self: self),
        lambda: torch.jit.fork(lambda: 1),
        lambda: torch.jit.interface(Net),
    ],
)
@pytest.mark.filterwarnings("default::DeprecationWarning")
def test_pytorchs_deprecation_is_told_where_it_is_called(call):
    with pytest.warns(DeprecationWarning, match=r"`torch\.jit\.\w+` is deprecated") as told:
        call()
    assert told[0].filename == __file__


class Holding(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("kept", nn.UninitializedBuffer())


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: nn.LazyLinear(3), r"'torch\.nn\.modules\.linear\.LazyLinear' has uninitialized parameters weight"),
        (lambda: nn.Sequential(nn.LazyConv1d(3, 2)), r"LazyConv1d' has uninitialized parameters weight"),
        (Holding, "Holding' has uninitialized buffers kept. Did you forget to run a forward pass"),
    ],
)
def test_modules_without_shapes_are_not_scripted(make, message):
    with pytest.raises(RuntimeError, match=message):
        torch.jit.script(make())
