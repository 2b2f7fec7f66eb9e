"""Whole training steps: what they compute, and what is left of them, is as in eager execution."""

from __future__ import annotations

import copy

import pytest

import mindtorch as torch
from mindtorch import nn
from mindtorch._dynamo.utils import counters
from mindtorch.nn import functional as F

STEPS = 20


class Language(nn.Module):
    """A small transformer with dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(50, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.1, activation="gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(32, 50)

    def forward(self, x):
        return self.head(self.encoder(self.tokens(x))).reshape(-1, 50)


class Recurrent(nn.Module):
    """An LSTM and a layer on its last output."""

    def __init__(self) -> None:
        super().__init__()
        self.cells = nn.LSTM(6, 12, batch_first=True)
        self.head = nn.Linear(12, 3)

    def forward(self, x):
        return self.head(self.cells(x)[0][:, -1])


def perceptron():
    return nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Dropout(0.2), nn.Linear(32, 16), nn.GELU(), nn.Linear(16, 3))


def convolutional():
    return nn.Sequential(
        nn.Conv2d(2, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3, groups=2),
        nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 3),
    )  # fmt: skip


def optimizers():
    def of(name, **settings):
        return pytest.param(lambda p: getattr(torch.optim, name)(p, **settings), id=f"{name}{settings or ''}")

    yield of("SGD", lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-3)
    yield of("Adam", lr=1e-2, amsgrad=True)
    yield of("AdamW", lr=1e-2)
    yield of("AdamW", lr=1e-2, foreach=True)
    yield of("AdamW", lr=1e-2, fused=True)
    yield of("RMSprop", lr=1e-3, momentum=0.9, centered=True)
    yield of("Adagrad", lr=1e-2, lr_decay=1e-2)
    yield of("Adadelta")
    yield of("Adamax")
    yield of("NAdam", lr=1e-3)
    yield of("RAdam", lr=1e-3)
    yield of("Rprop")


def trained(make, make_optimizer, data, compiles, clip=None, steps=STEPS, into=F.cross_entropy):
    """The losses of some steps, the model, and the optimizer."""
    torch.manual_seed(0)
    model = make()
    optimizer = make_optimizer(model.parameters())

    def step(x, y):
        loss = into(model(x), y)
        loss.backward()
        if clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    run = torch.compile(step, backend="xla") if compiles else step
    losses = [run(*data[i % len(data)]).item() for i in range(steps)]
    return losses, model, optimizer


def check_same(make, make_optimizer, data, apart=(), **settings):
    eager, model, optimizer = trained(make, make_optimizer, data, False, **settings)
    draws = torch.rand(3)
    losses, compiled, after = trained(make, make_optimizer, data, True, **settings)
    assert torch.equal(torch.rand(3), draws)
    # The first step makes the optimizer's state, which no graph does.
    assert set(counters["graph_break"]) <= {"changes L.optimizer.state"}
    assert counters["stats"]["unique_graphs"] >= 1
    torch.testing.assert_close(torch.tensor(losses), torch.tensor(eager), rtol=1e-4, atol=1e-4)
    for name, tensor in model.state_dict().items():
        if name.endswith(apart):
            continue
        torch.testing.assert_close(compiled.state_dict()[name], tensor, rtol=2e-3, atol=1e-4, msg=name)
    ours, theirs = after.state_dict()["state"], optimizer.state_dict()["state"]
    assert ours.keys() == theirs.keys()
    for key, state in theirs.items():
        assert ours[key].keys() == state.keys()
        if "step" in state:
            assert ours[key]["step"] == state["step"]


def images(count=1):
    torch.manual_seed(1)
    return [(torch.randn(4, 2, 10, 10), torch.randint(0, 3, (4,))) for _ in range(count)]


def rows(count=1, sizes=(5,)):
    torch.manual_seed(1)
    return [(torch.randn(n, 8), torch.randint(0, 3, (n,))) for n in sizes for _ in range(count)]


@pytest.mark.parametrize("make_optimizer", list(optimizers()))
def test_every_optimizer_does_in_a_graph_what_it_does(make_optimizer):
    check_same(perceptron, make_optimizer, rows(2), steps=8)


def test_an_image_model_with_running_statistics():
    check_same(convolutional, lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9), images(2))


def test_a_language_model_with_dropout_and_clipping():
    torch.manual_seed(1)
    x = torch.randint(0, 50, (4, 12))
    # The gradient of the keys' bias is zero but for rounding, which AdamW makes steps of full size of.
    data = [(x, x.roll(-1, 1).reshape(-1))]
    check_same(Language, lambda p: torch.optim.AdamW(p, lr=1e-3), data, clip=0.5, apart=("in_proj_bias",))


def test_a_recurrent_model():
    torch.manual_seed(1)
    data = [(torch.randn(4, 7, 6), torch.randint(0, 3, (4,)))]
    check_same(Recurrent, lambda p: torch.optim.RMSprop(p, lr=1e-3), data)


def test_batches_of_other_sizes_have_programs_of_their_own():
    check_same(perceptron, lambda p: torch.optim.AdamW(p, lr=1e-2), rows(sizes=(5, 3, 7)), steps=9)


def test_gradients_add_up_over_calls():
    def losses(compiles):
        torch.manual_seed(0)
        model = perceptron()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def accumulate(x, y):
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            return loss.detach()

        run = torch.compile(accumulate, backend="xla", fullgraph=True) if compiles else accumulate
        found = []
        for _ in range(3):
            found += [run(*batch) for batch in rows(3)]
            optimizer.step()
            optimizer.zero_grad()
        return torch.stack(found)

    torch.testing.assert_close(losses(True), losses(False), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("rate", [0.5, "a tensor"])
def test_schedules_change_rates_and_one_program_serves_all(rate):

    def losses(compiles):
        torch.manual_seed(0)
        model = nn.Linear(8, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=torch.tensor(0.5) if rate == "a tensor" else rate)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 3, gamma=0.1)

        def step(x, y):
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            return loss.detach()

        step(*rows()[0])
        run = torch.compile(step, backend="xla", fullgraph=True) if compiles else step
        found = []
        for _ in range(8):
            found.append(run(*rows()[0]))
            schedule.step()
        return torch.stack(found)

    torch.testing.assert_close(losses(True), losses(False), rtol=1e-5, atol=1e-5)
    assert counters["stats"]["unique_graphs"] == 1


def test_a_loss_that_was_gone_through_refuses_a_second_time():
    weight = nn.Parameter(torch.ones(3))

    def step(x):
        loss = (weight * x).square().sum()
        loss.backward()
        return loss

    compiled = torch.compile(step, backend="xla", fullgraph=True)
    loss = compiled(torch.arange(3.0))
    torch.testing.assert_close(weight.grad, 2 * torch.arange(3.0).square())
    assert loss.requires_grad
    assert not loss.is_leaf
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        loss.backward()


def test_gradients_outside_of_the_graph():
    model = perceptron().eval()
    compiled = torch.compile(model, backend="xla", fullgraph=True)
    x = torch.randn(5, 8, requires_grad=True)
    twin = x.detach().clone().requires_grad_()
    compiled(x).square().sum().backward()
    found = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    model(twin).square().sum().backward()
    torch.testing.assert_close(x.grad, twin.grad)
    for ours, parameter in zip(found, model.parameters(), strict=True):
        torch.testing.assert_close(ours, parameter.grad)


def test_autocast_in_a_step():
    def losses(compiles):
        torch.manual_seed(0)
        model = perceptron().eval()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)

        def step(x, y):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            return loss.detach()

        run = torch.compile(step, backend="xla") if compiles else step
        return torch.stack([run(*rows()[0]) for _ in range(8)])

    torch.testing.assert_close(losses(True), losses(False), rtol=2e-2, atol=2e-2)


def test_copies_of_a_model_do_not_share_a_program_s_memory():
    model = nn.Linear(3, 2)
    compiled = torch.compile(lambda m, x: m(x), backend="xla", fullgraph=True)
    other = copy.deepcopy(model)
    with torch.no_grad():
        other.weight.zero_()
    x = torch.ones(1, 3)
    torch.testing.assert_close(compiled(model, x), model(x))
    torch.testing.assert_close(compiled(other, x), other.bias[None])
