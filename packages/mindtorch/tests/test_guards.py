"""What a graph takes for granted is compared in a few passes, which see what the checks one by one see."""

from __future__ import annotations

import collections

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
