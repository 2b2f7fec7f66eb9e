"""What a graph takes for granted is compared in a few passes, which see what the checks one by one see."""

from __future__ import annotations

import argparse
import array
import collections
import contextvars
import os
import sys
import types
import weakref

import pytest

import mindtorch as torch
from mindtorch import nn
from mindtorch._dynamo.guards import ProgramState


class Held:
    __slots__ = ("inner",)


class Ordered(dict):
    """A dict of a program's own type."""


def held():
    slotted = Held()
    slotted.inner = [1.5]
    return {
        "net": nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5)), "empty": {}, "none": None, "numbers": [1, 2.5, 10**20],
        "queue": collections.deque([1]), "set": {1, "a"}, "order": collections.OrderedDict(a=1, b=2),
        "own": Ordered(a=1), "slotted": slotted, "tensor": torch.ones(2, 3), "view": torch.zeros(2, 3)[0],
        "parameter": nn.Parameter(torch.ones(2)), "pair": (1, [2]), "nothing": [], "zero": 0.0,
    }  # fmt: skip


def _gradient(d):
    d["parameter"].grad = torch.ones(2)


def _history_of_a_view(d):
    d["view"]._base.mul_(d["parameter"].sum())


def _swap(d):
    d["numbers"][0], d["numbers"][1] = d["numbers"][1], d["numbers"][0]


CHANGES = {
    "a dict is filled": lambda d: d["empty"].update(a=1),
    "a list is filled": lambda d: d["nothing"].append(1),
    "a key is gone": lambda d: d.pop("none"),
    "None is something": lambda d: d.update(none=0),
    "another number": lambda d: d["numbers"].__setitem__(0, 3),
    "a number more": lambda d: d["numbers"].append(3),
    "swapped": _swap,
    "an int in place of a float": lambda d: d.update(zero=0),
    "the other zero": lambda d: d.update(zero=-0.0),
    "a queue turns": lambda d: d["queue"].append(2),
    "a set grows": lambda d: d["set"].add(2),
    "another order": lambda d: d["order"].move_to_end("a"),
    "a key by another name": lambda d: d["order"].update(c=d["order"].pop("b")),
    "a dict of another type": lambda d: d["own"].update(a=2),
    "a slot": lambda d: setattr(d["slotted"], "inner", [1.5]),
    "in a slot": lambda d: d["slotted"].inner.append(1),
    "in a tuple": lambda d: d["pair"][1].append(1),
    "a module's flag": lambda d: d["net"].eval(),
    "a submodule's number": lambda d: setattr(d["net"][1], "p", 0.25),
    "a hook": lambda d: d["net"][0].register_forward_hook(lambda *a: None),
    "a module more": lambda d: d["net"].append(nn.ReLU()),
    "another parameter": lambda d: setattr(d["net"][0], "weight", nn.Parameter(torch.ones(2, 2))),
    "a frozen parameter": lambda d: d["net"][0].weight.requires_grad_(False),
    "another shape": lambda d: d["tensor"].resize_(3, 2),
    "another geometry": lambda d: d["tensor"].t_(),
    "other memory": lambda d: setattr(d["tensor"], "data", torch.ones(2, 3, dtype=torch.float64)),
    "records": lambda d: d["tensor"].requires_grad_(),
    "a gradient": _gradient,
    "a view's base has a history": _history_of_a_view,
}
SAME = {
    "nothing": lambda d: None,
    "an equal number": lambda d: d["numbers"].__setitem__(2, 10**20 + 0),
    "an equal text": lambda d: d["order"].update({"".join(["a"]): 1}),
    "elements": lambda d: d["tensor"].add_(1),
    "there and back": lambda d: (d["net"].eval(), d["net"].train()),
}


def noted():
    state, program = ProgramState(), held()
    state.note(program, "program")
    for source, tensor in state.tensors.values():
        state.needs_layout_of(tensor, source)
    assert state.holds()
    assert state._quick.holds(), "the passes suffice while nothing changes"
    return state, program


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_seen(name):
    state, program = noted()
    assert state.holds()
    CHANGES[name](program)
    assert not state.holds()
    assert state.first_difference() is not None


@pytest.mark.parametrize("name", SAME)
def test_what_is_the_same_is_not_told_to_be_changed(name):
    state, program = noted()
    SAME[name](program)
    assert state.holds()
    assert state.first_difference() is None


def test_a_name_that_is_gone_is_another_than_one_for_none():
    state, names = ProgramState(), {"a": None}
    state._note_name(names, "a", None, "a")
    assert state.holds()
    del names["a"]
    assert not state.holds()


# What is read where no container and no argument holds it


class Kept:
    """Its attributes are read through what refers to it."""

    value = 1


class Heir(Kept):
    def __enter__(self):
        return 2

    def __exit__(self, *error):
        return None

    def __add__(self, other):
        return other * 2


class Kind(type):
    value = 1


class OfKind(metaclass=Kind):
    pass


class Own(nn.Module):
    def forward(self, x):
        return x * 2


class Inherited(Own):
    pass


class Pair(tuple):
    pass


space, parsed, user = types.SimpleNamespace(a=1), argparse.Namespace(a=1), collections.UserDict(a=1)
memory, numbers = bytearray(b"ab"), array.array("i", [1, 2])
view, chained = memoryview(memory), collections.ChainMap({"a": 1})
variable = contextvars.ContextVar("variable", default=1)
kept, heir, pair, marked, own, inherited = Kept(), Heir(), Pair((1,)), torch.ones(2), Own(), Inherited()
pair.a = marked.a = 1
reference, relu = weakref.ref(kept), nn.ReLU()
loaded = types.ModuleType("loaded_by_a_function")
loaded.value = 1
schedule = torch.optim.lr_scheduler.StepLR(torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0), 1)


def _enters(x):
    with heir as factor:
        return x * factor


def _imports(x):
    import loaded_by_a_function  # in a function: that is what is tested

    return x * loaded_by_a_function.value


def _imports_a_name(x):
    from loaded_by_a_function import value  # as above

    return x * value


READERS = {
    "a namespace": (lambda x: x * space.a, lambda m: m.setattr(space, "a", 2)),
    "parsed arguments": (lambda x: x * parsed.a, lambda m: m.setattr(parsed, "a", 2)),
    "a dict of Python's": (lambda x: x * user["a"], lambda m: m.setitem(user, "a", 2)),
    "a chain of dicts": (lambda x: x * chained["a"], lambda m: m.setitem(chained, "a", 2)),
    "bytes": (lambda x: x * memory[0], lambda m: memory.__setitem__(0, memory[0] + 1)),
    "the length of bytes": (lambda x: x * sum(bytes(view)), lambda m: view.__setitem__(1, view[1] + 1)),
    "an array": (lambda x: x * numbers[0], lambda m: numbers.__setitem__(0, numbers[0] + 1)),
    "a context variable": (lambda x: x * variable.get(), lambda m: variable.set(variable.get() + 1)),
    "through a reference": (lambda x: x * reference().a, lambda m: m.setattr(kept, "a", 2)),
    "a name that hides a base's": (lambda x: x * heir.value, lambda m: m.setattr(Heir, "value", 2, raising=False)),
    "a base's name": (lambda x: x * heir.value, lambda m: m.setattr(Kept, "value", 3)),
    "a name of a metaclass": (lambda x: x * OfKind.value, lambda m: m.setattr(Kind, "value", 2)),
    "an attribute of a tuple": (lambda x: x * pair.a, lambda m: m.setattr(pair, "a", 2)),
    "an attribute of a tensor": (lambda x: x * marked.a, lambda m: m.setattr(marked, "a", 2)),
    "an operator": (lambda x: heir + x, lambda m: m.setattr(Heir, "__add__", lambda self, other: other * 3)),
    "a context manager": (_enters, lambda m: m.setattr(Heir, "__enter__", lambda self: 3)),
    "a module's class": (lambda x: own(x), lambda m: m.setattr(Own, "forward", lambda self, x: x * 3)),
    "a heir's class": (
        lambda x: inherited(x),
        lambda m: m.setattr(Inherited, "forward", lambda self, x: x * 3, raising=False),
    ),
    "a module of ours": (lambda x: relu(x), lambda m: m.setattr(nn.ReLU, "forward", lambda self, x: x * 3)),
    "a hook of all modules": (
        lambda x: relu(x),
        lambda m: m.setitem(nn.modules.module._global_forward_hooks, 1, lambda module, args, result: result * 3),
    ),
    "a builtin's name": (lambda x: abs(x), lambda m: m.setitem(globals(), "abs", lambda x: x * 3)),
    "by a text": (lambda x: x * getattr(loaded, "value"), lambda m: m.setattr(loaded, "value", 2)),  # noqa: B009
    "an import": (_imports, lambda m: m.setattr(loaded, "value", 2)),
    "an import of a name": (_imports_a_name, lambda m: m.setattr(loaded, "value", 2)),
    "the command line": (lambda x: x * len(sys.argv), lambda m: m.setattr(sys, "argv", [*sys.argv, "more"])),
    "threads": (lambda x: x * torch.get_num_threads(), lambda m: torch.set_num_threads(torch.get_num_threads() + 1)),
    "a setting": (
        lambda x: x * (2 if torch.backends.cudnn.enabled else 3),
        lambda m: m.setattr(torch.backends.cudnn, "enabled", False),
    ),
    "a schedule": (lambda x: x * schedule.last_epoch, lambda m: m.setattr(schedule, "last_epoch", 5)),
    "the folder": (lambda x: x * len(os.getcwd()), lambda m: m.chdir("/")),
    "a file": (lambda x: x * len(open(__file__).readline()), lambda m: m.setitem(globals(), "__file__", os.devnull)),
}
kept.a = 1


@pytest.mark.parametrize("name", READERS)
def test_no_stale_result(name, monkeypatch):
    program, change = READERS[name]
    monkeypatch.setitem(sys.modules, "loaded_by_a_function", loaded)
    x, threads = torch.tensor([1.0, -2.0]), torch.get_num_threads()
    compiled = torch.compile(program, backend=lambda graph, inputs: graph.forward)
    before = compiled(x)
    assert torch.equal(compiled(x), before)
    try:
        change(monkeypatch)
        changed = program(x)
        assert not torch.equal(changed, before), "the change makes a difference"
        assert torch.equal(compiled(x), changed)
    finally:
        torch.set_num_threads(threads)
