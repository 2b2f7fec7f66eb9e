"""What programs do every day, on any device: each returns what must be the same on all of them."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import mindtorch as torch
from mindtorch import nn
from mindtorch.nn import functional as F

PROGRAMS: list[Callable[[str], Any]] = []


def program(function: Callable[[str], Any]) -> Callable[[str], Any]:
    PROGRAMS.append(function)
    return function


def numbers(device: str, *shape: int) -> torch.Tensor:
    """(-3, -2, ...) / 4."""
    return torch.arange(float(torch.Size(shape).numel())).reshape(shape).sub(3).div(4).to(device)


def indices(device: str, *values: int) -> torch.Tensor:
    return torch.tensor(values).to(device)


def seeded(make: Callable[[], nn.Module], device: str) -> nn.Module:
    torch.manual_seed(0)
    return make().to(device)


def rounded(tensor: torch.Tensor) -> list[float]:
    return [round(x, 4) for x in tensor.detach().cpu().flatten().tolist()]


def saved(value: Any) -> io.BytesIO:
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return file


# Files and copies


@program
def saving(device: str) -> Any:
    """Tensors come back to their device, views to their memory; to the CPU where told."""
    x = numbers(device, 2, 3)
    back = torch.load(saved({"whole": x, "row": x[1], "count": 3}))
    assert back["whole"].device == x.device
    back["whole"][1] = 9
    on_cpu = torch.load(saved(x), map_location="cpu")
    assert on_cpu.device.type == "cpu"
    return back["row"].tolist(), back["count"], on_cpu.tolist()


@program
def loading_what_the_cpu_saved(device: str) -> Any:
    places = (device, torch.device(device), {"cpu": device})
    loaded = [torch.load(saved(numbers("cpu", 2, 3)), map_location=place) for place in places]
    assert all(x.device.type == device for x in loaded)
    return [x.tolist() for x in loaded]


@program
def saving_modules(device: str) -> Any:
    trained = seeded(lambda: nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)), device)
    fresh = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)).to(device)
    fresh.load_state_dict(torch.load(saved(trained.state_dict())))
    whole = torch.load(saved(trained), weights_only=False)
    return rounded(fresh(numbers(device, 2, 3))), rounded(whole(numbers(device, 2, 3)))


@program
def copying(device: str) -> Any:
    x = numbers(device, 2, 3).requires_grad_()
    pair = copy.deepcopy([x.detach(), x.detach()[0]])
    pair[0][0] = 5
    module = copy.deepcopy(nn.Linear(3, 2).to(device))
    assert module.weight.device.type == device
    return copy.deepcopy(x).requires_grad, pair[1].tolist(), x.tolist(), pickle.loads(pickle.dumps(x)).tolist()


@program
def moving(device: str) -> Any:
    host = numbers("cpu", 2, 3)
    x = host.to(device)
    moved = [
        x.to("cpu"), x.to(torch.float64), host.t().to(device), host.to(device, torch.int32), x.cpu().to(x),
        torch.empty(2, 3).copy_(x), torch.empty(3, 2, device=device).copy_(host.t()), x.type(torch.float16),
        x.to(device, copy=True), x.to(device, non_blocking=True),
        numbers("cpu", 1, 2, 3, 4).to(device, memory_format=torch.channels_last), torch.as_tensor(host.numpy()).to(x),
    ]  # fmt: skip
    assert x.to(device) is x and x.to(device, copy=True) is not x
    assert x.to("meta").shape == (2, 3)
    return [(y.tolist(), y.stride(), y.dtype) for y in moved], x.numpy(force=True).tolist()


@program
def gradients_of_moves(device: str) -> Any:
    x, y = numbers("cpu", 3).requires_grad_(), numbers(device, 3).requires_grad_()
    (x.to(device, torch.float64) * y.cpu().to(device).double()).sum().backward()
    target = torch.zeros(3, device=device)
    target.copy_(x * 2)
    (slope,) = torch.autograd.grad((target * target).sum(), x, create_graph=True)
    slope.sum().backward()
    assert x.grad.device.type == "cpu" and y.grad.device.type == device
    return x.grad.tolist(), y.grad.tolist()


@program
def foreign_arrays(device: str) -> Any:
    """NumPy and DLPack have no arrays of the device, and say so."""
    x = numbers(device, 3)
    if device != "cpu":
        for use in (x.numpy, lambda: torch.from_dlpack(x), lambda: __import__("numpy").asarray(x)):
            try:
                use()
            except (TypeError, ValueError) as error:
                assert device in str(error), error
            else:
                raise AssertionError("not refused")
    return x.cpu().numpy().tolist(), torch.from_dlpack(x.cpu()).tolist()


@program
def storages(device: str) -> Any:
    x = numbers(device, 2, 3)
    storage = x.untyped_storage()
    window = torch.empty(0, device=device).set_(storage, 1, (2,), (2,))
    assert window.untyped_storage().data_ptr() == storage.data_ptr()
    copied = storage.clone()
    storage.resize_(40)
    x.resize_(3, 3)[2] = 1
    x.data[0] = 8
    head = x.tolist()
    x.data = numbers(device, 2)
    raw = numbers(device, 3).view(torch.uint8)
    return head, window.tolist(), x.tolist(), raw.tolist(), copied.nbytes(), storage.nbytes()


# Elements


@program
def printing(device: str) -> Any:
    shown = [
        numbers(device, 2, 3), numbers(device, 0), numbers(device, 2).bool(), numbers(device, 3).long(),
        numbers(device, 3).to(torch.complex64), numbers(device, 3).bfloat16(), numbers(device, 40, 40),
        numbers(device, 2).requires_grad_(), torch.tensor([float("nan"), float("inf")]).to(device),
    ]  # fmt: skip
    return [repr(x).replace(f", device='{device}:0'", "") for x in shown], f"{numbers(device, 2)[1]:.3f}"


@program
def writing_to_parts(device: str) -> Any:
    x = numbers(device, 4, 5)
    x[0], x[:, 1], x[[1, 2], [3, 4]] = 1, numbers(device, 4), 7
    x[x > 1] = 0
    x[indices(device, 0, 1)] *= 2
    x[..., -1] += 1
    x[1:3, ::2] = numbers(device, 2, 3)
    x[None, 2] = 3.5
    x[torch.tensor([True, False, False, True]).to(device)] = numbers(device, 5)
    x.index_add_(0, indices(device, 0, 0), numbers(device, 2, 5)).masked_fill_(x < 0, -1)
    x.scatter_(1, indices(device, 0, 1, 2, 3)[:, None], 9.0).index_fill_(1, indices(device, 4), 2)
    x.put_(indices(device, 0), numbers(device, 1))
    x.diagonal().fill_(6)
    x[0, 0] = torch.tensor(4)
    x.select(0, 1).zero_()
    x.t()[2:].mul_(3)
    return x.tolist(), x[1:, [0, 2]].tolist(), x[x > 2].tolist(), x.nonzero().tolist(), x._version


@program
def calculating(device: str) -> Any:
    x = numbers(device, 3, 4)
    results = [
        torch.einsum("ij,kj->ik", x, x), x.softmax(1), x.sort(1).values, x.topk(2).indices, x.cumsum(0), x.norm(),
        torch.cat([x, x]), torch.stack([x, x], -1), torch.where(x > 0, x, 0.0), x.std(), x.var(1), x.median(),
        torch.linalg.svdvals(x), x.max(0)[0], x.unique(), x.flip(0), x.roll(1), torch.histc(x, 3), x.quantile(0.5),
        x.repeat(2, 1), torch.bincount(indices(device, 1, 1)), x.to(torch.complex64).conj().imag, x.unfold(1, 2, 1),
        torch.fft.rfft(x).abs(), x.bfloat16() @ x.t().bfloat16(), nn.utils.rnn.pad_sequence([x[0], x[1, :2]]),
        F.scaled_dot_product_attention(x[None], x[None], x[None], is_causal=True),
    ]  # fmt: skip
    assert all(y.device.type == device for y in results)
    plain = torch.equal(x, x), torch.allclose(x, x + 0), len(x), bool(x[0, 0]), int(x[0, 0]), x.nbytes, x.t().stride()
    return [rounded(y) for y in results], plain, [row.sum().item() for row in x]


@program
def random_numbers(device: str) -> Any:
    """The same seed gives the same numbers, from the device's own generators too; which, is the device's affair."""
    torch.manual_seed(1)
    first = torch.randn(3, 4, device=device)
    torch.manual_seed(1)
    assert torch.equal(first, torch.randn(3, 4, device=device))
    generator = torch.Generator(device=device).manual_seed(3)
    state = generator.get_state()
    drawn = torch.randint(1000, (50,), device=device, generator=generator)
    generator.set_state(state)
    assert torch.equal(drawn, torch.randint(1000, (50,), device=device, generator=generator))
    x = torch.empty(1000, device=device)
    means = [x.uniform_().mean(), x.normal_().mean(), x.exponential_().mean(), x.bernoulli_(0.5).mean()]
    assert [abs(mean.item() - wanted) < 0.2 for mean, wanted in zip(means, (0.5, 0, 1, 0.5))] == [True] * 4
    shapes = [
        torch.randperm(6, device=device), torch.multinomial(torch.ones(4, device=device), 2), F.dropout(first, 0.5),
        torch.normal(first, first.abs()), torch.bernoulli(first.sigmoid()), torch.poisson(first.abs()),
        torch.rand_like(first), first.geometric_(0.3), first.cauchy_(), first.log_normal_(),
    ]  # fmt: skip
    return [(y.shape, y.dtype, y.device.type == device) for y in shapes]


@program
def default_devices(device: str) -> Any:
    with torch.device(device):
        made = [torch.ones(2), nn.Linear(2, 2).weight, torch.tensor([1, 2]), torch.randn(2)]
    torch.set_default_device(device)
    made.append(torch.zeros(2))
    torch.set_default_device("cpu")
    return [x.device.type == device for x in made], torch.zeros(1).device.type


@program
def loading_data(device: str) -> Any:
    data = torch.utils.data.TensorDataset(numbers(device, 6, 2), numbers(device, 6))
    return [[part.tolist() for part in batch] for batch in torch.utils.data.DataLoader(data, batch_size=4)]


# Gradients


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return 2 * ctx.saved_tensors[0] * grad


@program
def differentiating(device: str) -> Any:
    x, sums = numbers(device, 3, 3).requires_grad_(), []
    (x @ x.t()).relu().sum().backward()
    (slope,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    slope.sum().backward()
    middle = x * 2
    middle.register_hook(lambda grad: sums.append(grad.sum().item()))
    middle.retain_grad()
    middle.pow(2).sum().backward()
    written = numbers(device, 4).requires_grad_()
    copied = written.clone()
    copied[1:3] *= 2
    copied.view(2, 2)[0].sum().backward()
    own = numbers(device, 3).requires_grad_()
    (Square.apply(own).sum() + torch.utils.checkpoint.checkpoint(torch.sin, own, use_reentrant=False).sum()).backward()
    hessian = torch.autograd.functional.hessian(lambda v: (v**3).sum(), numbers(device, 2))
    assert torch.autograd.gradcheck(torch.tanh, numbers(device, 2).double().requires_grad_())
    return [rounded(y) for y in (x.grad, middle.grad, written.grad, own.grad, hessian)], sums


@program
def training(device: str) -> Any:
    """Every optimizer, with the states saved and loaded in between."""
    found = []
    for name in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop"):
        for foreach in (False, True):
            model = seeded(lambda: nn.Linear(3, 2), device)
            optimizer = getattr(torch.optim, name)(model.parameters(), lr=0.1, foreach=foreach)
            schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
            for _ in range(3):
                step(model, optimizer)
                schedule.step()
            optimizer.load_state_dict(torch.load(saved(optimizer.state_dict())))
            step(model, optimizer)
            found.append((name, rounded(model.weight)))
    model = seeded(lambda: nn.Linear(3, 2), device)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)
    optimizer.step(lambda: loss_of(model, optimizer))
    return found, rounded(model.weight)


def loss_of(model: nn.Module, optimizer: Any) -> torch.Tensor:
    optimizer.zero_grad()
    loss = model(numbers(model.weight.device.type, 4, 3)).pow(2).mean()
    loss.backward()
    return loss


def step(model: nn.Module, optimizer: Any) -> None:
    loss_of(model, optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


@program
def networks(device: str) -> Any:
    convolutions = seeded(
        lambda: nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
            nn.Linear(16, 3), nn.LayerNorm(3), nn.GELU(),
        ),
        device,
    )  # fmt: skip
    loss = F.cross_entropy(convolutions(numbers(device, 2, 1, 4, 4)), indices(device, 0, 2))
    loss.backward()
    recurrent = seeded(lambda: nn.LSTM(3, 4, batch_first=True, bidirectional=True), device)
    states, _ = recurrent(numbers(device, 2, 5, 3))
    states.sum().backward()
    words = seeded(lambda: nn.Embedding(5, 3), device)
    words(indices(device, 1, 2)).sum().backward()
    encoder = seeded(lambda: nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True), device)
    encoded = encoder(numbers(device, 2, 3, 4))
    encoded.sum().backward()
    gradients = [convolutions[0].weight.grad, recurrent.weight_hh_l0.grad, words.weight.grad, encoder.linear1.bias.grad]
    return [rounded(x) for x in (loss, states, encoded, *gradients)]
