"""Values that a program reads from elsewhere: they count when they change, or there is no graph."""

from __future__ import annotations

import array
import collections
import contextvars
import dataclasses
import functools
import itertools
import os
import random
import weakref

import numpy as np
import pytest

import mindtorch as torch
from mindtorch import nn

NUMBERS = {"factor": 2.0}
LISTED = [2.0]
HELD = torch.tensor(2.0)
ARRAY = np.array([2.0])
COUNT = 2
QUEUE = collections.deque([2.0])
CHOSEN = {2.0}
BYTES = bytearray([2])
PACKED = array.array("d", [2.0])
VARIABLE = contextvars.ContextVar("factor", default=2.0)
STEPS = itertools.count(2)
OPTIMIZER = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=2.0)
SCHEDULE = torch.optim.lr_scheduler.StepLR(OPTIMIZER, 1, gamma=1.5)


class Holder:
    factor = 2.0

    def scaled(self, x):
        return x * 2


@dataclasses.dataclass
class Settings:
    factor: float = 2.0
    nested: list = dataclasses.field(default_factory=lambda: [{"factor": 2.0}])


HOLDER = Holder()
REFERENCE = weakref.ref(HOLDER)
SETTINGS = Settings()


def _set(place, key, value):
    place[key] = value


def _count(value):
    global COUNT
    COUNT = value


def _default(x, factor=2.0):
    return x * factor


def _made_at(at):
    """A program with a number in its closure, and what changes it."""

    def program(x):
        return x * at

    def change():
        nonlocal at
        at = 3.0

    return program, change


CLOSED, CHANGE_CLOSED = _made_at(2.0)
PARTIAL = functools.partial(lambda x, place: x * place["factor"], place=NUMBERS)

READS = {
    "counter": (lambda x: x * COUNT, lambda: _count(3)),
    "global dict": (lambda x: x * NUMBERS["factor"], lambda: _set(NUMBERS, "factor", 3.0)),
    "global list": (lambda x: x * LISTED[0], lambda: _set(LISTED, 0, 3.0)),
    "length of a list": (lambda x: x * (len(LISTED) + 1), lambda: LISTED.append(0.0)),
    "deque": (lambda x: x * QUEUE[-1], lambda: QUEUE.append(3.0)),
    "set": (lambda x: x * sum(CHOSEN), lambda: CHOSEN.add(1.0)),
    "bytes": (lambda x: x * BYTES[0], lambda: _set(BYTES, 0, 3)),
    "packed numbers": (lambda x: x * PACKED[0], lambda: _set(PACKED, 0, 3.0)),
    "context variable": (lambda x: x * VARIABLE.get(), lambda: VARIABLE.set(3.0)),
    "environment": (lambda x: x * float(os.environ.get("D_FACTOR", "2")), lambda: _set(os.environ, "D_FACTOR", "3")),
    "iterator": (lambda x: x * next(STEPS), lambda: None),
    "held tensor": (lambda x: x * HELD, lambda: HELD.fill_(3.0)),
    "item of a held tensor": (lambda x: x * HELD.item(), lambda: HELD.fill_(3.0)),
    "float of a held tensor": (lambda x: x * float(HELD), lambda: HELD.fill_(3.0)),
    "list of a held tensor": (lambda x: x * HELD.tolist(), lambda: HELD.fill_(3.0)),
    "NumPy of a held tensor": (lambda x: x * torch.from_numpy(HELD.numpy().copy()), lambda: HELD.fill_(3.0)),
    "NumPy array": (lambda x: x * float(ARRAY[0]), lambda: _set(ARRAY, 0, 3.0)),
    "tensor of a NumPy array": (lambda x: x * torch.from_numpy(ARRAY)[0], lambda: _set(ARRAY, 0, 3.0)),
    "attribute of a class": (lambda x: x * Holder.factor, lambda: setattr(Holder, "factor", 3.0)),
    "attribute by a reference": (lambda x: x * REFERENCE().factor, lambda: setattr(HOLDER, "factor", 3.0)),
    "method": (lambda x: HOLDER.scaled(x), lambda: setattr(Holder, "scaled", lambda self, x: x * 3)),
    "field": (lambda x: x * SETTINGS.factor, lambda: setattr(SETTINGS, "factor", 3.0)),
    "dict in a list in a field": (lambda x: x * SETTINGS.nested[0]["factor"],
                                  lambda: _set(SETTINGS.nested[0], "factor", 3.0)),
    "closure": (CLOSED, CHANGE_CLOSED),
    "default": (lambda x: _default(x), lambda: setattr(_default, "__defaults__", (3.0,))),
    "argument of a partial": (lambda x: PARTIAL(x), lambda: _set(NUMBERS, "factor", 3.0)),
    "learning rate": (lambda x: x * OPTIMIZER.param_groups[0]["lr"],
                      lambda: _set(OPTIMIZER.param_groups[0], "lr", 3.0)),
    "rate of a schedule": (lambda x: x * SCHEDULE.get_last_lr()[0], lambda: _scheduled()),
    "default dtype": (lambda x: x * torch.tensor(1.5).numel() + torch.zeros(1).element_size(),
                      lambda: torch.set_default_dtype(torch.float64)),
    "random of Python": (lambda x: x * random.random(), lambda: None),
}  # fmt: skip


def _scheduled():
    OPTIMIZER.step()
    SCHEDULE.step()


@pytest.fixture
def restored():
    method = Holder.scaled
    yield
    NUMBERS["factor"] = LISTED[0] = ARRAY[0] = Holder.factor = PACKED[0] = SETTINGS.factor = 2.0
    SETTINGS.nested[0]["factor"] = OPTIMIZER.param_groups[0]["lr"] = 2.0
    del LISTED[1:]
    BYTES[0] = 2
    _count(2)
    CHOSEN.discard(1.0)
    HELD.fill_(2.0)
    Holder.scaled = method
    vars(HOLDER).clear()
    VARIABLE.set(2.0)
    _default.__defaults__ = (2.0,)
    os.environ.pop("D_FACTOR", None)
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("name", READS)
def test_what_is_read_from_elsewhere_counts_when_it_changes(name, restored):
    global STEPS
    program, change = READS[name]
    x = torch.arange(3.0)
    run = torch.compile(program, backend="xla")
    for place in range(3):
        random.seed(4)
        STEPS = itertools.count(2 + place)
        got = run(x)
        random.seed(4)
        STEPS = itertools.count(2 + place)
        torch.testing.assert_close(got, program(x))
        if place == 0:
            change()
