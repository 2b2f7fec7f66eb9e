"""Programs on device ``npu``, each for a process of its own: ``python npu_program.py NAME``. They assert.

MindSpore's device target belongs to a whole process, and MindSpore can end it.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable
from contextlib import contextmanager, nullcontext
from typing import Any

os.environ.setdefault("MT_ASCEND_TARGET", "CPU")
os.environ.setdefault("GLOG_v", "4")

import mindtorch as torch

PROGRAMS: dict[str, Callable[[], None]] = {}


def program(function: Callable[[], None]) -> Callable[[], None]:
    PROGRAMS[function.__name__] = function
    return function


def same(got: Any, wanted: Any, tolerance: float = 1e-5) -> None:
    assert got.device.type == "npu"
    host = got.cpu()
    assert host.shape == wanted.shape and host.dtype == wanted.dtype and got.stride() == wanted.stride()
    if wanted.dtype.is_floating_point or wanted.dtype.is_complex:
        assert torch.allclose(host, wanted, rtol=tolerance, atol=tolerance, equal_nan=True), (host, wanted)
    else:
        assert torch.equal(host, wanted), (host, wanted)


def chain(make: Callable[[], Any], seed: int) -> Any:
    """A tensor after random views, writes through views and calculations with them."""
    choose = random.Random(seed)
    base = make()
    view = base
    for _ in range(12):
        step = choose.randrange(9)
        if step == 0 and view.dim() > 1:
            view = view.transpose(choose.randrange(view.dim()), choose.randrange(view.dim()))
        elif step == 1 and view.dim() and view.shape[0] > 1:
            view = view[choose.randrange(view.shape[0] - 1) :]
        elif step == 2 and view.dim() and view.shape[-1] > 1:
            view = view[..., choose.randrange(2) :: 2]
        elif step == 3 and view.dim() > 1:
            view = view.select(choose.randrange(view.dim()), 0)
        elif step == 4:
            view.add_(choose.randrange(5))
        elif step == 5:
            view.fill_(choose.randrange(5))
        elif step == 6:
            view.mul_(view + 1)
        elif step == 7:
            view.copy_((view * 2).flip(0) if view.dim() else view * 2)
        else:
            view = view.unsqueeze(choose.randrange(view.dim() + 1))
    return base, view + view.sum()


@program
def views_and_writes() -> None:
    """In every dtype, what is written through views lies in the base, as on the CPU."""
    for dtype in (torch.float32, torch.float64, torch.int64, torch.int32, torch.bfloat16, torch.complex64):
        for seed in range(15):
            start = (torch.arange(24) % 7).reshape(2, 3, 4).to(dtype)
            ours, theirs = chain(lambda s=start: s.to("npu"), seed), chain(start.clone, seed)
            for got, wanted in zip(ours, theirs, strict=True):
                same(got, wanted, 2e-2 if dtype is torch.bfloat16 else 1e-5)


@program
def what_the_runtime_asks_mindspore_for() -> None:
    """The wheel has every name that the runtime of an NPU uses; kernels are refused where there is none."""
    import operator

    import mindspore

    from mt_backend_ascend.custom_kernel import places
    from mt_backend_ascend.mindspore_runtime import NAMES

    for name in NAMES:
        operator.attrgetter(name)(mindspore)
    assert "stream_ptr(self: " in mindspore.runtime.Stream.stream_ptr.__doc__
    assert set(mindspore.runtime.memory_stats()) >= {
        "total_allocated_memory", "max_allocated_memory", "total_reserved_memory", "max_reserved_memory",
    }  # fmt: skip
    torch.ones(3, device="npu").add_(1)
    places.drain()
    try:
        places.runtime_for("kernel axpy")
    except RuntimeError as error:
        assert "kernel axpy needs an Ascend device, and MT_ASCEND_TARGET=CPU" in str(error)
    else:
        raise AssertionError("a kernel is taken without a device")


@program
def copies() -> None:
    """`copy_` writes into whole storages, views, 0-dim views, expanded targets and overlapping ones, in every dtype."""
    names = "bool uint8 int8 int16 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128"
    for dtype in [getattr(torch, name) for name in names.split()]:
        host = torch.zeros(4, 6, dtype=dtype)
        device = host.to("npu")
        values = torch.arange(24).reshape(4, 6).remainder(5).to(dtype)
        for t, v in ((host, values), (device, values.to("npu"))):
            t[1:3, ::2].copy_(v[1:3, 1::2])
            t[0, 0].copy_(v[0, 3])
            t.t()[5].copy_(v[:, 2])
            t[3:].copy_(v[0])
        assert torch.equal(device.cpu().view(torch.uint8), host.view(torch.uint8)), dtype
        device.copy_(values.to("npu"))
        assert torch.equal(device.cpu().view(torch.uint8), values.view(torch.uint8)), dtype
    ours, theirs = torch.arange(6.0).to("npu"), torch.arange(6.0)
    for t in (ours, theirs):
        t[1:].copy_(t[:-1].clone())
    same(ours, theirs)


@program
def traps() -> None:
    """What MindSpore does silently wrong on its CPU target."""
    x = torch.arange(4.0).to("npu")
    y = x
    y += 1
    assert x.cpu().tolist() == [1, 2, 3, 4]  # in-place operators that return a new tensor
    x[1:3].copy_(torch.zeros(2).to("npu"))
    assert x.cpu().tolist() == [1, 0, 0, 4]  # copies to views that write nothing
    scalar = torch.tensor(1.5).to("npu")
    assert scalar.view(torch.int32).item() == torch.tensor(1.5).view(torch.int32).item()  # dtype views end the process
    assert x.sum().view(torch.int32).item() == torch.tensor(5.0).view(torch.int32).item()
    assert torch.view_as_real(torch.tensor(1 + 2j).to("npu")).cpu().tolist() == [1, 2]
    product = torch.ones(2, 0).to("npu") @ torch.ones(0, 3).to("npu")
    assert not product.cpu().any()  # products over nothing are uninitialized
    assert torch.ones(0, 3).to("npu").sum().item() == 0
    host = torch.ones(3)
    device = host.to("npu")
    host.fill_(7)
    assert device.cpu().tolist() == [1, 1, 1]  # host memory is shared
    read = device.cpu()
    device.fill_(3)
    assert read.tolist() == [1, 1, 1]
    half = torch.tensor([1.5, -2.0], dtype=torch.bfloat16)  # a dtype of its own
    assert half.to("npu").cpu().view(torch.int16).tolist() == half.view(torch.int16).tolist()
    tall = torch.arange(24.0).reshape(4, 6)
    same(tall.to("npu")[:, 1::2].tanh(), tall[:, 1::2].tanh())  # kernels that misread strides
    same(torch.linspace(-9, 9, 1001).to("npu").tanh(), torch.linspace(-9, 9, 1001).tanh())  # errs by 1e-4
    same(torch.tensor([1.0, float("nan")]).to("npu").amax(), torch.tensor(float("nan")))
    for special in (float("nan"), float("inf"), float("-inf")):  # of which some loops, not all, lose track
        for count in (3, 17, 64):
            row = torch.randn(count)
            row[::3] = special
            for function in (torch.relu, torch.tanh, lambda t: t.softmax(0), lambda t: t.log_softmax(0), torch.sigmoid):
                same(function(row.to("npu")), function(row), 1e-4)
            for function in (torch.maximum, torch.minimum, torch.fmax, torch.fmin):
                same(function(row.to("npu"), row.flip(0).to("npu")), function(row, row.flip(0)))
    values = torch.tensor([float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1.0, -2.5])
    for left, right in ((values, values[:, None]), (values[:1], values[3:4])):
        for function in (torch.add, torch.sub, torch.mul, torch.div):
            same(function(left.to("npu"), right.to("npu")), function(left, right))
    third = torch.tensor([1.0], dtype=torch.float64)
    same(third.to("npu") * (1 / 3), third * (1 / 3), 1e-15)  # numbers beside float64 are of single precision
    tensor = torch.tensor([[1.0, 2.0]]).to("npu")
    try:
        tensor.gather(1, torch.tensor([[5]]).to("npu"))
    except RuntimeError as error:
        assert "out of bounds" in str(error)
    else:
        raise AssertionError("an index out of bounds is not refused")
    try:
        torch.zeros(2, dtype=torch.float8_e4m3fn).to("npu")
    except NotImplementedError as error:
        assert "float8_e4m3fn" in str(error)
    else:
        raise AssertionError("a dtype that MindSpore lacks is not refused")


@program
def errors_are_raised_where_they_happen() -> None:
    """Operators are waited for from the first one on: MindSpore raises errors of others from whatever waits next."""
    import mindspore

    order = []
    blocking, cell = mindspore.runtime.launch_blocking, mindspore.set_device
    mindspore.runtime.launch_blocking = lambda: (order.append("blocking"), blocking())[1]
    mindspore.set_device = lambda *args: (order.append("device"), cell(*args))[1]
    tensor = torch.ones(1, 2).to("npu")
    assert order == ["device", "blocking"], order
    places = torch.tensor([[5]]).to("npu")
    try:
        tensor.gather(1, places)
    except RuntimeError as error:
        assert "out of bounds" in str(error)
    else:
        raise AssertionError("an index out of bounds is not refused by the call")
    assert (tensor + 1).cpu().tolist() == [[2, 2]]  # nothing of it is left for the next one


@program
def results_are_fresh() -> None:
    """No kernel gives back memory of its arguments."""
    from mt_core.dispatch.registry import find_overload
    from mt_core.testing.arguments import Arguments, samples_on, tensors_in
    from mt_mindspore.registry import tables_of

    names = sorted({name for table in tables_of("CPU") for name in table})
    tried = 0
    for name in names:
        overload = find_overload(name)
        for sample in samples_on(overload, "npu"):
            bound = Arguments(overload, sample).bound
            with torch.no_grad():
                try:
                    results = tensors_in(overload.call(*bound))
                except (NotImplementedError, RuntimeError, IndexError, TypeError, ValueError):
                    continue
            given = {t.untyped_storage().data_ptr() for t in tensors_in(bound) if t.numel()}
            for result in results:
                tried += 1
                assert not result.numel() or result.untyped_storage().data_ptr() not in given, f"{name}{sample}"
    assert tried > 500, tried


class Tiny(torch.nn.Module):
    """A BERT with two layers."""

    def __init__(self) -> None:
        super().__init__()
        nn = torch.nn
        self.words, self.places = nn.Embedding(50, 32), nn.Embedding(12, 32)
        self.norm = nn.LayerNorm(32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, activation="gelu", batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(32, 50)

    def forward(self, tokens: Any) -> Any:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        return self.head(self.layers(self.norm(self.words(tokens) + self.places(places))))


def losses(
    device: str, make: Callable[[], Any], inputs: Any, targets: Any, steps: int = 4, around: Any = None
) -> list[float]:
    """The loss of each step; `around` is entered for the steps, not for moving data or reading losses."""
    torch.manual_seed(0)
    model = make().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    inputs, targets = inputs.to(device), targets.to(device)
    found = []
    with around or nullcontext():
        for _ in range(steps):
            out = model(inputs)
            loss = torch.nn.functional.cross_entropy(out.reshape(-1, out.shape[-1]), targets.reshape(-1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            found.append(loss.detach())
    return [loss.item() for loss in found]


def trains_alike(make: Callable[[], Any], inputs: Any, targets: Any) -> None:
    ours, theirs = losses("npu", make, inputs, targets), losses("cpu", make, inputs, targets)
    print(ours, theirs)
    assert all(abs(a - b) < 1e-4 for a, b in zip(ours, theirs, strict=True)), (ours, theirs)
    assert ours[-1] < ours[0]


@program
def bert() -> None:
    torch.manual_seed(1)
    trains_alike(Tiny, torch.randint(0, 50, (3, 12)), torch.randint(0, 50, (3, 12)))


@program
def autocast() -> None:
    """Listed operators compute in the half type, others in float32; a scaler's steps are those on the CPU."""
    x = torch.randn(4, 8, generator=torch.Generator().manual_seed(0))
    layer, ours = torch.nn.Linear(8, 4), torch.nn.Linear(8, 4)
    ours.load_state_dict(layer.state_dict())
    ours.to("npu")
    assert torch.get_autocast_dtype("npu") is torch.float16
    for dtype in (torch.float16, torch.bfloat16):
        for model in (layer, ours):
            model.zero_grad()
            device = model.weight.device
            given = x.to(device)
            with torch.autocast(device.type, dtype=dtype):
                assert torch.is_autocast_enabled(device.type)
                made = model(given)
                assert made.dtype is dtype and (given * given).dtype is torch.float32
                with torch.autocast(device.type, enabled=False):
                    assert model(given).dtype is torch.float32
                loss = torch.nn.functional.mse_loss(made, torch.zeros_like(made))
                # PyTorch's list for the CPU leaves softmax as it is; the one for accelerators does not.
                assert made.softmax(0).dtype is (torch.float32 if device.type == "npu" else dtype)
                assert loss.dtype is torch.float32
            scaler = torch.amp.GradScaler(device.type, init_scale=64.0)
            optimizer = torch.optim.SGD(model.parameters(), 0.1)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        same(ours.weight.detach(), layer.weight.detach(), 4e-2 if dtype is torch.bfloat16 else 4e-3)
    seen = []

    class Cast(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="npu", cast_inputs=torch.float32)
        def forward(ctx: Any, given: Any) -> Any:
            seen.append((given.dtype, torch.is_autocast_enabled("npu")))
            return given * 2

        @staticmethod
        @torch.amp.custom_bwd(device_type="npu")
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    with torch.autocast("npu"):
        Cast.apply(x.half().to("npu").requires_grad_()).sum().backward()
    assert seen == [(torch.float32, False)]
    infinite = torch.nn.Parameter(torch.ones(2, device="npu"))
    scaler, optimizer = torch.amp.GradScaler("npu"), torch.optim.SGD([infinite], 0.1)
    (scaler.scale(infinite.sum()) * float("inf")).backward()
    scaler.step(optimizer)
    scaler.update()
    assert infinite.detach().cpu().tolist() == [1.0, 1.0] and scaler.get_scale() == 2.0**15


@program
def programs_for_cuda() -> None:
    """What `transfer_to_npu` renames is renamed everywhere that a device's name decides what is computed."""
    import warnings

    from torch_npu.contrib import transfer_to_npu  # noqa: F401 - importing it does it

    warnings.simplefilter("ignore", FutureWarning)
    weight = torch.nn.Parameter(torch.ones(2, 2, device="cuda"))
    assert weight.is_cuda and weight.device.type == "npu"
    seen = []

    class Cast(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float32)
        def forward(ctx: Any, given: Any) -> Any:
            seen.append((given.dtype, torch.is_autocast_enabled("cuda")))
            return given * 2

        @staticmethod
        @torch.amp.custom_bwd(device_type="cuda")
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    for scaler, around in (
        (torch.cuda.amp.GradScaler(init_scale=8.0), torch.cuda.amp.autocast()),
        (torch.amp.GradScaler("cuda", 8.0), torch.autocast("cuda")),
    ):
        optimizer = torch.optim.SGD([weight], 0.125)
        weight.grad = None
        before = weight.detach().cpu()
        with around:
            loss = Cast.apply(weight.half()).sum()
            assert (weight @ weight).dtype is torch.float16
        scaled = scaler.scale(loss)
        assert scaler.is_enabled() and scaled.item() == 8 * loss.item()
        scaled.backward()
        scaler.step(optimizer)
        assert torch.equal(weight.detach().cpu(), before - 0.25)
    assert seen == [(torch.float32, False)] * 2
    torch.set_autocast_enabled(True)
    assert torch.is_autocast_enabled() and torch.is_autocast_enabled("npu")
    torch.set_autocast_enabled(False)


class Residual(torch.nn.Module):
    """A ResNet with one block."""

    def __init__(self) -> None:
        super().__init__()
        nn = torch.nn
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2))
        self.block = nn.Sequential(
            nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1)
        )
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5))

    def forward(self, x: Any) -> Any:
        x = self.stem(x)
        return self.head(torch.relu(x + self.block(x)))


@program
def resnet() -> None:
    torch.manual_seed(1)
    trains_alike(Residual, torch.randn(4, 3, 8, 8), torch.randint(0, 5, (4,)))


class Recurrent(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.cells, self.head = torch.nn.Embedding(20, 8), torch.nn.LSTM(8, 16), torch.nn.Linear(16, 20)

    def forward(self, tokens: Any) -> Any:
        return self.head(self.cells(self.words(tokens))[0])


@program
def lstm() -> None:
    torch.manual_seed(1)
    trains_alike(Recurrent, torch.randint(0, 20, (5, 3)), torch.randint(0, 20, (5, 3)))


class Reached(Exception):
    """NumPy was reached."""


@contextmanager
def no_numpy() -> Any:
    """MindSpore's ways to NumPy and back raise; what calls them by another name does, too."""
    import mindspore

    from mt_core.plugins.discovery import find_backend

    def raises(*args: Any, **kwargs: Any) -> Any:
        raise Reached(f"called with {[type(a).__name__ for a in args]}")

    memory = find_backend("npu").memory
    owners = [(mindspore.Tensor, name) for name in ("asnumpy", "from_numpy", "__array__")] + [(memory, "_from_numpy")]
    kept = [(owner, name, vars(owner)[name]) for owner, name in owners if name in vars(owner)]
    assert len(kept) >= 3, kept
    for owner, name in owners:
        setattr(owner, name, raises)
    try:
        yield
    finally:
        for owner, name in owners:
            delattr(owner, name)
        for owner, name, value in kept:
            setattr(owner, name, value)


@program
def training_without_numpy() -> None:
    """Steps of training leave MindSpore's memory nowhere; reading the losses is apart."""
    torch.manual_seed(1)
    host = torch.ones(2)
    device = host.to("npu")
    with no_numpy():
        for reach in (device.cpu, lambda: host.to("npu")):
            refused(reach, Reached, "called with")  # type: ignore[arg-type]
    tokens, words = torch.randint(0, 50, (3, 12)), torch.randint(0, 20, (5, 3))
    images, classes = torch.randn(4, 3, 8, 8), torch.randint(0, 5, (4,))
    for make, inputs, targets in ((Tiny, tokens, tokens), (Residual, images, classes), (Recurrent, words, words)):
        found = losses("npu", make, inputs, targets, around=no_numpy())
        assert found[-1] < found[0], (make, found)


def refused(call: Callable[[], Any], error: type[Exception], words: str) -> None:
    try:
        call()
    except error as raised:
        assert words in str(raised), raised
    else:
        raise AssertionError(f"not refused: {words}")


def interchanged(home: str) -> None:
    """MindSpore's tensors and ours share memory both ways, outlive each other, and copy where they must.

    `home` is the device that MindSpore's tensors come to.
    """
    import gc
    import warnings

    import mindspore

    for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.int64, torch.bool, torch.complex64):
        for device in dict.fromkeys((home, "cpu")):
            ours = (torch.arange(6).reshape(2, 3) % 2).to(dtype).to(device).requires_grad_(dtype is torch.float32)
            theirs = ours.to_mindspore()
            assert tuple(theirs.shape) == (2, 3)
            with torch.no_grad():
                ours[1, 2] = 0
            back = torch.from_mindspore(theirs)
            assert back.device.type == home and back.dtype is dtype and not back.requires_grad
            assert torch.equal(back.cpu(), ours.detach().cpu()), (dtype, device)
            back[0, 0] = 1
            assert torch.equal(back.cpu(), ours.detach().cpu()), (dtype, device)
            del ours, theirs
            gc.collect()
            assert back.cpu()[0, 0].item() == 1
            apart = torch.from_mindspore(back.to_mindspore(), copy=True)
            apart.fill_(0)
            assert back.cpu()[0, 0].item() == 1
    for number in (torch.tensor(1.5), torch.tensor(1.5, dtype=torch.bfloat16)):
        for device in dict.fromkeys((home, "cpu")):
            ours = number.to(device)
            theirs = ours.to_mindspore()
            ours.add_(1)
            assert tuple(theirs.shape) == () and torch.from_mindspore(theirs).item() == 2.5
    parameter = mindspore.Parameter(mindspore.Tensor([[1.0, 2.0], [3.0, 4.0]]))
    held, column = torch.from_mindspore(parameter), torch.from_mindspore(parameter[:, 1])
    held.mul_(2)
    assert parameter.asnumpy().tolist() == [[2, 4], [6, 8]]
    assert not held.requires_grad and column.stride() == (2,) and column.storage_offset() in (0, 1)
    assert column.cpu().tolist() == [4, 8]
    del parameter
    gc.collect()
    assert held.cpu().tolist() == [[2, 4], [6, 8]]
    turned = torch.from_mindspore(mindspore.Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).T)
    assert turned.stride() == (1, 3) and turned.cpu().tolist() == [[1, 4], [2, 5], [3, 6]]
    number = mindspore.Tensor(3.0)
    shared, copied = torch.from_mindspore(number), torch.from_mindspore(number, copy=True)
    shared.add_(1)
    assert float(number) == 4 and copied.item() == 3 and copied.view(torch.int32).item()
    if home == "npu":
        refused(lambda: shared.view(torch.int32), NotImplementedError, "copy=True")
    assert torch.from_mindspore(torch.empty(0, 3).to_mindspore()).shape == (0, 3)
    tall = torch.arange(6.0).reshape(2, 3)
    for device in dict.fromkeys((home, "cpu")):
        across = tall.clone().to(device).t()
        for enabled in (True, False):
            torch.set_interop_warning(enabled)
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                apart = across.to_mindspore()
            assert apart.asnumpy().tolist() == tall.t().tolist()
            assert len(told) == enabled and all("copies" in str(one.message) for one in told)
        across.zero_()
        assert apart.asnumpy().tolist() == tall.t().tolist()
        pair = torch.tensor([1 + 2j], device="cpu").to(device).conj()
        assert pair.to_mindspore().asnumpy().tolist() == [1 - 2j]
    refused(lambda: torch.zeros(2, device="meta").to_mindspore(), NotImplementedError, "meta")
    refused(lambda: torch.zeros(2).to_sparse().to_mindspore(), NotImplementedError, "stands for others")
    refused(lambda: torch.zeros(2, dtype=torch.float8_e4m3fn).to_mindspore(), NotImplementedError, "float8_e4m3fn")
    refused(lambda: torch.from_mindspore(tall.numpy()), TypeError, "takes a mindspore.Tensor, not ndarray")
    later = mindspore.common.initializer.initializer("ones", [2, 3], mindspore.float32)
    refused(lambda: torch.from_mindspore(later), ValueError, "init_data()")


@program
def interchange() -> None:
    interchanged("npu")


@program
def interchange_on_the_host() -> None:
    """Without the device npu MindSpore's tensors come to the CPU."""
    del os.environ["MT_ASCEND_TARGET"]  # before the backend is looked for
    interchanged("cpu")


if __name__ == "__main__":
    PROGRAMS[sys.argv[1]]()
    print("done")
