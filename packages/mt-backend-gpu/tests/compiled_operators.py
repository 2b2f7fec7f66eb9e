"""Operators of device ``cuda`` that take compiled kernels, on the stand-in: ``python compiled_operators.py``.

It asserts, and says ``done``. What training launches and waits for is held to budgets (`launches`).
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from take_exam import compiled, stand_in

stand_in()
MACHINES = compiled()

import fake_cupy  # noqa: E402 - on the path by now
import launches  # noqa: E402

import mindtorch as torch  # noqa: E402 - on the stand-in
from mt_backend_gpu.registry import waited_for  # noqa: E402

F = torch.nn.functional
REPORT: list[str] = []
STREAMS: dict[str, Any] = json.loads((Path(__file__).parent / "snapshots" / "cuda_streams.json").read_text())["streams"]


@contextlib.contextmanager
def raises(words: str, error: type[Exception] = RuntimeError) -> Iterator[None]:
    try:
        yield
    except error as caught:
        assert words in str(caught), f"{words!r} is not in {str(caught)!r}"
        return
    raise AssertionError(f"nothing was raised; wanted {words!r}")


def generators() -> None:
    """Seed and offset are the state; the numbers are those that PyTorch drew on an H100."""
    first, second, offset = STREAMS["two rands"]
    torch.manual_seed(5)
    assert torch.rand(10, device="cuda").tolist() == torch.tensor(first).tolist()
    state = torch.cuda.get_rng_state()
    assert state.tolist() == [5, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0]
    assert torch.rand(10, device="cuda").tolist() == torch.tensor(second).tolist()
    generator = torch.cuda.default_generators[0]
    assert generator.get_offset() == offset
    torch.cuda.set_rng_state(state)
    assert torch.rand(10, device="cuda").tolist() == torch.tensor(second).tolist()
    torch.cuda.set_rng_state(state[:8])
    assert (generator.initial_seed(), generator.get_offset()) == (5, 0)
    with raises("RNG state is wrong size"):
        torch.cuda.set_rng_state(state[:12])
    with raises("offset must be a multiple of 4"):
        generator.set_offset(6)
    own = torch.Generator("cuda").manual_seed(-1)
    torch.rand(3, generator=own, device="cuda")
    assert own.initial_seed() == 2**64 - 1 and own.get_offset() == 4 and generator.get_offset() == 0
    columns = torch.empty(4, 3, device="cuda").t().uniform_()
    torch.cuda.manual_seed(5)
    assert torch.equal(torch.rand(4, 3, device="cuda").t(), columns)  # drawn in the order of memory
    for draw in (lambda: torch.randperm(9, device="cuda"), lambda: torch.poisson(torch.full((9,), 4.0, device="cuda"))):
        torch.cuda.manual_seed(7)
        once, again = draw(), draw()
        torch.cuda.manual_seed(7)
        assert torch.equal(once, draw()) and not torch.equal(once, again)


def dropout() -> None:
    """The masks are those of an H100, forward and backward, and move the stream."""
    key = next(key for key in STREAMS if key.startswith("dropout torch.float32"))
    _, count, probability = key.split("|")
    torch.manual_seed(77 + int(count))
    x = torch.ones(int(count), device="cuda", requires_grad=True)
    y = F.dropout(x, float(probability))
    y.sum().backward()
    assert "".join(str(int(kept != 0)) for kept in y.tolist()) == STREAMS[key]
    assert torch.equal(x.grad, y.detach()) and torch.cuda.default_generators[0].get_offset() == 4
    assert F.dropout(x, 1.0).eq(0).all() and F.dropout(x, 0.5, training=False) is x


def faults() -> None:
    """An index out of bounds is told by what waits next, once; the device goes on."""
    table, x = torch.ones(4, 3, device="cuda"), torch.randn(3, 5, device="cuda")
    far = torch.tensor([1, 7], device="cuda")
    for run, words in (
        (lambda: table.index_add(0, far, table[:2]), "an index of rows (embedding, index_select or index_add) is 7"),
        (lambda: F.embedding(far, table), "an index of rows (embedding, index_select or index_add) is 7"),
        (lambda: table[torch.tensor([0, -5], device="cuda")], "an index tensor is -5"),
        (lambda: table.gather(0, far.reshape(2, 1)), "an index of gather is 7"),
        (lambda: table.scatter(0, far.reshape(2, 1), 1.0), "an index of scatter is 7"),
        (lambda: F.cross_entropy(x, torch.tensor([1, 9, 2], device="cuda")), "a class in nll_loss"),
    ):
        run()
        with raises(f"CUDA error: device-side assert triggered: {words}"):
            torch.cuda.synchronize()
        torch.cuda.synchronize()
    made = table[far]
    with raises("an index tensor is 7"):
        made.tolist()
    with raises("embedding: CUDA error: device-side assert triggered"):
        waited_for("embedding", F.embedding)(far, table)  # what CUDA_LAUNCH_BLOCKING=1 makes of a kernel
    assert made.tolist()[0] == [1.0] * 3


def graphs() -> None:
    """A replay goes on in the stream of the seed that holds then (the stand-in does not record: the words are seen)."""
    engine, stream, graph = torch.cuda.default_generators[0].engine, torch.cuda.Stream(), torch.cuda.CUDAGraph()
    torch.cuda.manual_seed(3)
    torch.rand(8, device="cuda")
    with torch.cuda.graph(graph, stream=stream):
        drawn = torch.rand(8, device="cuda")
        again = torch.rand(8, device="cuda")
        with raises("cannot be recorded in a CUDA graph", NotImplementedError):
            torch.randperm(4, device="cuda")
    assert engine.offset == 4 and engine.recording is None and drawn.shape == again.shape
    torch.cuda.manual_seed(11)
    graph.replay()
    assert graph._handle._drawn.words.tolist() == [0, 11] and engine.offset == 8
    graph.replay()
    assert graph._handle._drawn.words.tolist() == [8, 11] and engine.offset == 16


def norms_and_losses() -> None:
    """Gradients of what is written in several kernels agree with the CPU's."""
    for make, shape in (
        (lambda: torch.nn.BatchNorm2d(3), (4, 3, 5, 2)), (lambda: torch.nn.BatchNorm1d(6, affine=False), (8, 6)),
    ):  # fmt: skip
        results = []
        for device in ("cpu", "cuda"):
            torch.manual_seed(0)
            net, x = make().to(device), torch.arange(float(math.prod(shape))).reshape(shape).sin().to(device)
            x.requires_grad_()
            for _ in range(2):
                net(x).square().mul(torch.arange(float(x.numel())).reshape(shape).to(device)).mean().backward()
            results.append([x.grad, *(p.grad for p in net.parameters()), *net.buffers(), net.eval()(x)])
        for ours, theirs in zip(*results, strict=True):
            assert torch.allclose(ours, theirs.cpu(), rtol=2e-4, atol=2e-5), (ours, theirs)
    rows, weight = torch.arange(12.0, device="cuda").reshape(3, 4).t(), torch.ones(3, device="cuda") / 2
    for given in ((rows, (3,), weight), (rows, (3,)), (rows.double(), (4, 3), None, 0.5)):
        found = launches.of_step(lambda given=given: F.rms_norm(*given), MACHINES, warm=0)
        assert found.launches == 2 and found.own == 1, found  # the copy that lies row by row is CuPy's
        wanted = F.rms_norm(*(part.cpu() if isinstance(part, torch.Tensor) else part for part in given))
        assert torch.allclose(F.rms_norm(*given).cpu(), wanted)


def optimizers() -> None:
    """Steps in lists and fused ones are those of the CPU, and take a launch for each dtype."""
    for make, most in (
        (lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.01, nesterov=True), 6),
        (lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, maximize=True, fused=True), 1),
        (lambda p: torch.optim.Adam(p, 0.1, weight_decay=0.1, amsgrad=True, fused=True), 2),
        (lambda p: torch.optim.AdamW(p, 0.1, fused=True), 2),
    ):
        results = []
        for device in ("cpu", "cuda"):
            given = [torch.arange(6.0), torch.ones(3, 2), torch.zeros(0)]
            parameters = [torch.nn.Parameter(p.to(device)) for p in given]
            optimizer = make(parameters)
            for p in parameters:
                p.grad = (p.detach() + 1.0).sin()
            for _ in range(3):
                optimizer.step()
            if device == "cuda":
                found = launches.of_step(optimizer.step, MACHINES, warm=0)
                assert found.launches <= most and found.waits == 0, (optimizer, found)
            else:
                optimizer.step()
            results.append(parameters)
        for ours, theirs in zip(*results, strict=True):
            assert torch.allclose(ours, theirs.cpu(), rtol=1e-5), (optimizer, ours, theirs)


def capturable() -> None:
    """Counts of steps lie on the device, where a graph can raise them: nothing is waited for, nothing copied."""
    for name in "Adadelta Adam Adamax AdamW ASGD NAdam RAdam RMSprop Rprop".split():
        results = []
        for device, options in (("cpu", {}), ("cuda", {"capturable": True})):
            parameters = [torch.nn.Parameter(p.to(device)) for p in (torch.arange(6.0), torch.ones(3, 2))]
            optimizer = getattr(torch.optim, name)(parameters, 0.1, **options)
            for turn in range(4):
                for p in parameters:
                    p.grad = (p.detach() + turn).sin()
                if device == "cuda" and turn == 3:
                    found = launches.of_step(optimizer.step, MACHINES, warm=0)
                    assert found.waits == found.copies == 0, (name, found)
                else:
                    optimizer.step()
            results.append(parameters)
        assert optimizer.state[parameters[0]]["step"].is_cuda
        for ours, theirs in zip(*results, strict=True):
            assert torch.allclose(ours, theirs.cpu(), rtol=1e-5, atol=1e-6), (name, ours, theirs)


def devices() -> None:
    """What lists write lies on one device: a number of the CPU is not brought there to be written and lost."""
    there, here = torch.ones(2, device="cuda"), torch.tensor(1.0)
    with raises("Expected all tensors to be on the same device"):
        torch.ops.aten._foreach_mul_.Scalar([there, here], 2.0)
    assert here.item() == 1 and there.tolist() == [1, 1]
    torch.ops.aten._foreach_mul_.List([there], [torch.tensor(3.0)])
    assert there.tolist() == [3, 3]


def in_place() -> None:
    """One launch, on the same memory; operands that lie across it are refused."""
    x = torch.arange(6.0, device="cuda")
    for change, wanted in (
        (lambda: x.add_(x, alpha=2), [0, 3, 6, 9, 12, 15]), (lambda: x.mul_(2.0), [0, 6, 12, 18, 24, 30]),
        (lambda: x.addcmul_(x, torch.ones_like(x), value=-0.5), [0, 3, 6, 9, 12, 15]),
        (lambda: x.div_(3), [0, 1, 2, 3, 4, 5]), (lambda: x.sub_(1), [-1, 0, 1, 2, 3, 4]),
    ):  # fmt: skip
        found = launches.of_step(change, MACHINES, warm=0)
        assert x.tolist() == wanted and found.launches <= 2, (x, found)
    square = torch.arange(9.0, device="cuda").reshape(3, 3)
    assert square.clone().add_(square.t()).tolist() == (square + square.t()).tolist()
    for overlapping in (lambda: square.add_(square.t()), lambda: x[1:].add_(x[:-1])):
        with raises("some elements of the input tensor and the written-to tensor refer to a single memory location"):
            overlapping()


def budgets() -> None:
    """Launches, copies and synchronizations of training steps; see `launches.BUDGETS`."""
    for name, (most, step) in launches.BUDGETS.items():
        found = launches.of_step(step(), MACHINES)
        REPORT.append(f"{name}: {found}")
        assert found.waits == 0 and found.copies == 0, (name, found)
        assert found.launches <= most, (name, found)


def planted() -> None:
    """A synchronization, a copy and a launch more are seen."""
    x = torch.ones(8, 4, device="cuda")
    quiet = launches.of_step(lambda: x * 2, MACHINES)
    assert (quiet.launches, quiet.waits, quiet.copies) == (1, 0, 0), quiet
    waiting = launches.of_step(lambda: (x * 2).sum().item(), MACHINES)
    assert waiting.waits == 1 and waiting.launches == 2, waiting
    assert launches.of_step(lambda: x + torch.ones(4).to("cuda"), MACHINES).copies == 1
    assert launches.of_step(lambda: torch.linalg.inv(x[:4] + torch.eye(4, device="cuda")), MACHINES).waits > 0
    unknown = launches.of_step(lambda: fake_cupy.COUNTS.update({"launch of nobody_knows": 1}), MACHINES)
    assert unknown.launches == launches.UNKNOWN == 5


PARTS: tuple[Callable[[], None], ...] = (
    generators, dropout, faults, graphs, norms_and_losses, optimizers, capturable, devices, in_place, budgets, planted,
)  # fmt: skip

if __name__ == "__main__":
    for machine in MACHINES:
        machine.noted = set()
    for part in PARTS:  # once for the kernels that it launches, which are compiled together
        with contextlib.suppress(Exception):
            part()
    for machine in MACHINES:
        machine.prepare_noted()
    for part in PARTS:
        part()
    print(*REPORT[-len(launches.BUDGETS) :], "done", sep="\n")
