"""Learning rates as inputs of a graph: schedules change them, and what the program itself reads is never baked in."""

from __future__ import annotations

import copy
import math

import pytest

import mindtorch as torch
from mindtorch import nn
from mindtorch._dynamo.eval_frame import CapturedProgram
from mindtorch._dynamo.utils import counters
from mt_core.capturing import OpenNumber, opened


class Opening(CapturedProgram):
    """A program whose graphs run as they are, with rates for inputs."""

    opens_rates = True

    def __init__(self, program, **settings):
        super().__init__(program, lambda graph, inputs: graph.forward, **settings)


@pytest.fixture(autouse=True)
def fresh():
    torch.compiler.reset()
    counters.clear()


OPTIMIZERS = {
    "SGD": {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
    "Adam": {"amsgrad": True},
    "AdamW": {"weight_decay": 0.1},
    "NAdam": {},
    "RAdam": {},
    "Adamax": {},
    "Adadelta": {},
    "Adagrad": {"lr_decay": 0.1},
    "RMSprop": {"momentum": 0.5, "centered": True},
}


def trained(make, compiles, rates, use=lambda loss, optimizer: loss):
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    optimizer = make(model.parameters())

    def step(x):
        loss = model(x).square().sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return use(loss.detach(), optimizer)

    x = torch.randn(4, 3)
    step(x)  # makes the optimizer's state, which no graph does
    run = Opening(step) if compiles else step
    found = []
    for rate in rates:
        for group in optimizer.param_groups:
            group["lr"] = rate
        found.append(run(x))
    assert all(group["lr"] == rates[-1] and type(group["lr"]) is float for group in optimizer.param_groups)
    return found, [p.detach() for p in model.parameters()]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_one_graph_serves_all_rates(name):
    def make(parameters):
        return getattr(torch.optim, name)(parameters, lr=0.1, **OPTIMIZERS[name])

    rates = [0.1, 0.05, 0.2, 0.05, 0.0, 0.01]
    torch.testing.assert_close(trained(make, True, rates), trained(make, False, rates), rtol=1e-4, atol=1e-5)
    assert counters["stats"]["unique_graphs"] == 1
    assert not counters["graph_break"]


def test_groups_have_rates_of_their_own_and_schedules_change_them():
    def losses(compiles):
        torch.manual_seed(0)
        model = nn.Linear(3, 2)
        groups = [{"params": [model.weight], "lr": 0.1}, {"params": [model.bias]}]
        optimizer = torch.optim.AdamW(groups, lr=0.01)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, [lambda n: 0.9**n, lambda n: 1 + n])

        def step(x):
            loss = model(x).square().sum()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            return loss.detach()

        x = torch.randn(4, 3)
        step(x)
        run = Opening(step) if compiles else step
        found = []
        for _ in range(12):
            found.append(run(x))
            schedule.step()
        return found

    torch.testing.assert_close(losses(True), losses(False), rtol=1e-4, atol=1e-5)
    assert counters["stats"]["unique_graphs"] == 1


#: What a program may make of a rate by itself: its value counts then.
USES = {
    "product": lambda loss, o: loss * o.param_groups[0]["lr"],
    "result": lambda loss, o: (loss, o.param_groups[0]["lr"]),
    "text": lambda loss, o: loss * len(f"{o.param_groups[0]['lr']}"),
    "comparison": lambda loss, o: loss if o.param_groups[0]["lr"] > 0.07 else -loss,
    "kind": lambda loss, o: loss if isinstance(o.param_groups[0]["lr"], float) else -loss,
    "dtype": lambda loss, o: torch.tensor(o.param_groups[0]["lr"]) + loss,
    "size": lambda loss, o: torch.full((2,), o.param_groups[0]["lr"]),
    "root": lambda loss, o: loss * math.sqrt(o.param_groups[0]["lr"]),
    "copy": lambda loss, o: loss * copy.copy(o.param_groups[0]["lr"]),
    "state": lambda loss, o: loss * o.state_dict()["param_groups"][0]["lr"],
    "swallowed": lambda loss, o: loss * swallowed(o.param_groups[0]),
}  # fmt: skip


def swallowed(group):
    try:
        return 2 * group["lr"]
    except Exception:  # noqa: BLE001 - a program's own, which must not hide why the capture has ended
        return 5.0


@pytest.mark.parametrize("name", USES)
def test_what_a_program_reads_of_a_rate_counts_when_it_changes(name):
    def make(parameters):
        return torch.optim.SGD(parameters, lr=0.1)

    rates = [0.1, 0.05, 0.1, 0.2]
    ours, theirs = (trained(make, compiles, rates, USES[name]) for compiles in (True, False))
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
    assert counters["stats"]["unique_graphs"] != 1


def test_other_options_and_rates_of_another_kind_are_guarded():
    torch.manual_seed(0)
    model, x = nn.Linear(2, 1), torch.ones(1, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.1)
    group = optimizer.param_groups[0]

    def step(x):
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    step(x)
    run = Opening(step)
    twin = copy.deepcopy((model, optimizer))
    for key, value in (("lr", 0.5), ("momentum", 0.7), ("lr", 1), ("lr", torch.tensor(0.25)), ("lr", 0.125)):
        group[key] = value
        other_model, other = twin
        other.param_groups[0][key] = copy.deepcopy(value)
        run(x)
        other_model(x).sum().backward()
        other.step()
        other.zero_grad()
        torch.testing.assert_close(list(model.parameters()), list(other_model.parameters()))
        assert group[key] is value
    assert counters["stats"]["unique_graphs"] == 5 - 1  # the last rate is a number as the second was


def test_an_open_number_gives_nothing_away():
    class Refused(Exception):
        pass

    number = OpenNumber(torch.tensor(0.5), Refused)
    doings = [
        float, int, bool, str, repr, hash, abs, round, math.sqrt, math.floor, list, copy.copy, copy.deepcopy,
        lambda n: n + 1, lambda n: 1 - n, lambda n: n * 2, lambda n: 2 / n, lambda n: n**2, lambda n: 2.0**n,
        lambda n: -n, lambda n: n == 0.5, lambda n: 0.5 != n, lambda n: n < 1, lambda n: 1 >= n, lambda n: max(n, 0.1),
        lambda n: f"{n:.2f}", lambda n: ascii(n), lambda n: isinstance(n, float), lambda n: n.is_integer(),
        lambda n: 0.5 in [n], lambda n: {n: 1}, lambda n: torch.tensor(1.0) * n, lambda n: torch.full((2,), n),
    ]  # fmt: skip
    for doing in doings:
        with pytest.raises(Refused):
            doing(number)
    assert opened(number).item() == 0.5
    assert opened(0.5) == 0.5
