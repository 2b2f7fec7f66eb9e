"""Exported programs as modules again: they call each other as the exported ones did, and give what these gave."""

from __future__ import annotations

import copy
import sys
from pathlib import Path

import pytest

import mindtorch as torch
from mindtorch.export import FlatArgsAdapter, unflatten
from mindtorch.utils._pytree import tree_leaves

sys.path.insert(0, str(Path(__file__).with_name("snapshots")))

from exported_programs import PROGRAMS


class Inner(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)
        self.register_buffer("calls", torch.zeros(3))

    def forward(self, x, *, k=None):
        self.calls.add_(1)
        return torch.relu(self.linear(x)) + self.calls, x * 2


class Outer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
        self.rest = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())
        self.scale = torch.nn.Parameter(torch.ones(3))
        self.offset = torch.ones(3)

    def forward(self, x, table):
        first, doubled = self.inner(x, k=1)
        second, _ = self.inner(first * self.scale)
        return {"sum": self.rest(second) + doubled + self.offset, "product": self.rest[0](x) * table["w"]}


def exported():
    module, args = Outer(), (torch.ones(2, 3), {"w": torch.full((3,), 2.0)})
    return torch.export.export(module, args), module, args


def test_steps_know_the_modules_that_they_are_in():
    program, module, _ = exported()
    stacks = [node.meta["nn_module_stack"] for node in program.graph.nodes if node.op == "call_function"]
    own = f"{__name__}.Outer", f"{__name__}.Inner"
    inner = {"L__self__": ("", own[0]), "L__self__inner": ("inner", own[1])}
    assert stacks[0] == inner
    assert stacks[1] == inner | {"L__self__inner.linear": ("inner.linear", "torch.nn.modules.linear.Linear")}
    again = [key for stack in stacks for key in stack if "@" in key]
    assert dict.fromkeys(again) == dict.fromkeys(["L__self__inner@1", "L__self__inner.linear@1", "L__self__rest.0@1"])
    assert not any(submodule._forward_hooks or submodule._forward_pre_hooks for submodule in module.modules())


@pytest.mark.parametrize("taken_apart", [False, True])
def test_modules_call_each_other_as_they_did(taken_apart):
    program, module, args = exported()
    made = unflatten(program.run_decompositions() if taken_apart else program)
    assert {name for name, _ in made.named_modules()} >= {"inner", "inner.linear", "rest.0", "rest.1", "inner@1"}
    called = [node.target for node in made.graph.find_nodes(op="call_module")]
    assert called == ["inner", "inner@1", "rest", "rest.0"]
    assert [node.target for node in made.rest.graph.find_nodes(op="call_module")] == ["0", "1"]
    assert made.get_submodule("inner@1").calls is made.inner.calls
    assert made.inner.linear.weight is not module.inner.linear.weight
    for _ in range(2):
        for one, other in zip(tree_leaves(made(*args)), tree_leaves(module(*args)), strict=True):
            torch.testing.assert_close(one, other)
    sum(leaf.sum() for leaf in tree_leaves(made(*args))).backward()
    sum(leaf.sum() for leaf in tree_leaves(module(*args))).backward()
    torch.testing.assert_close(made.inner.linear.weight.grad, module.inner.linear.weight.grad)
    torch.testing.assert_close(made.scale.grad, module.scale.grad)
    assert program.state_dict["inner.calls"].tolist() == module.inner.calls.tolist()
    assert made.inner.calls.tolist() == [6, 6, 6]


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_do_what_they_did(name):
    module, args, kwargs = PROGRAMS[name](torch)
    made = unflatten(torch.export.export(module, args, kwargs))
    given = copy.deepcopy((args, kwargs))
    for one, other in zip(tree_leaves(made(*given[0], **given[1])), tree_leaves(module(*args, **kwargs)), strict=True):
        if isinstance(other, torch.Tensor):
            torch.testing.assert_close(one, other)
        else:
            assert one == other


def test_a_module_that_holds_another_ones_parameter():
    class Reads(torch.nn.Module):
        def __init__(self, other):
            super().__init__()
            self.other = [other]

        def forward(self, x):
            return self.other[0](x) + self.other[0].weight.sum()

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(3, 3)
            self.reads = Reads(self.linear)

        def forward(self, x):
            return self.reads(x)

    module = Net()
    made = unflatten(torch.export.export(module, (torch.ones(2, 3),)))
    torch.testing.assert_close(made(torch.ones(2, 3)), module(torch.ones(2, 3)))


def test_what_is_refused():
    class Net(torch.nn.Module):
        def forward(self, x, *, k=None):
            return x * 2

    program = torch.export.export(Net(), (torch.ones(2, 3),), {"k": None})
    with pytest.raises(RuntimeError, match=r"Expected input at \*args\[0\].shape\[0\] to be equal to 2, but got 4."):
        unflatten(program)(torch.ones(4, 3), k=None)
    with pytest.raises(TypeError, match="There is no flat args adapter specified."):
        unflatten(program)(torch.ones(2, 3))

    class Adds(FlatArgsAdapter):
        def adapt(self, target_spec, input_spec, input_args, metadata=None, obj=None):
            return [*input_args, None]

    assert unflatten(program, Adds())(torch.ones(2, 3)).tolist() == torch.full((2, 3), 2.0).tolist()
