"""The backend hccl: what MindSpore's communication functions are called with, and what comes of their results.

A recorder stands in for ``mindspore.mint.distributed``. It takes calls by the signatures of the wheel (MindSpore 2.10,
`snapshots/hccl_signatures.json`), and carries them out as if every rank had the same tensors.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import pytest

import mindtorch as torch
import torch_npu
from torch_npu import _hccl

dist = torch.distributed
SIGNATURES = json.loads((Path(__file__).parent / "snapshots" / "hccl_signatures.json").read_text(encoding="utf-8"))
REDUCED = {"sum": lambda t, n: t * n, "prod": lambda t, n: t**n, "min": lambda t, n: t, "max": lambda t, n: t}


class Handle:
    """Carries out what was begun when it is waited for, once."""

    def __init__(self, run: Any) -> None:
        self.run = run
        self.waits = 0

    def wait(self) -> None:
        self.waits += 1
        with torch.no_grad():
            self.run()


class Recorder:
    """Functions of the wheel's signatures; `calls` lists (name, arguments by name), `handles` what they gave."""

    def __init__(self, size: int = 2, rank: int = 1) -> None:
        self.size, self.own = size, rank
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.handles: list[Handle] = []
        self.ready = False

    def __getattr__(self, name: str) -> Any:
        if name not in SIGNATURES:
            raise AttributeError(f"MindSpore has no mint.distributed.{name}")
        parameters = [
            inspect.Parameter(p[0], inspect.Parameter.POSITIONAL_OR_KEYWORD, default=(*p, inspect.Parameter.empty)[1])
            for p in SIGNATURES[name]
        ]
        signature = inspect.Signature(parameters)

        def call(*args: Any, **kwargs: Any) -> Any:
            given = dict(signature.bind(*args, **kwargs).arguments)
            self.calls.append((name, given))
            return getattr(self, f"_{name}")(**given)

        return call

    def begun(self, run: Any, async_op: bool) -> Handle:
        assert async_op, "nothing may wait"
        self.handles.append(Handle(run))
        return self.handles[-1]

    def _all_reduce(self, tensor: Any, op: str, group: Any, async_op: bool) -> Handle:
        return self.begun(lambda: tensor.copy_(REDUCED[op](tensor, self.size)), async_op)

    def _reduce(self, tensor: Any, dst: int, op: str, group: Any, async_op: bool) -> Handle:
        return self.begun(lambda: tensor.copy_(REDUCED[op](tensor, self.size)), async_op)

    def _broadcast(self, tensor: Any, src: int, group: Any, async_op: bool) -> Handle:
        return self.begun(lambda: None, async_op)

    def _all_gather_into_tensor(self, output_tensor: Any, input_tensor: Any, group: Any, async_op: bool) -> Handle:
        whole = torch.cat([input_tensor.reshape(-1)] * self.size)
        return self.begun(lambda: output_tensor.copy_(whole.reshape(output_tensor.shape)), async_op)

    def _reduce_scatter_tensor(self, output: Any, input: Any, op: str, group: Any, async_op: bool) -> Handle:
        part = input.reshape(self.size, *output.shape)[self.own]
        return self.begun(lambda: output.copy_(REDUCED[op](part, self.size)), async_op)

    def _all_to_all_single(self, output: Any, input: Any, async_op: bool, **rest: Any) -> Handle:
        part = input.chunk(self.size)[self.own]
        return self.begun(lambda: output.copy_(torch.cat([part] * self.size)), async_op)

    def _isend(self, tensor: Any, dst: int, group: Any) -> Handle:
        return self.begun(lambda: None, True)

    def _irecv(self, tensor: Any, src: int, group: Any) -> Handle:
        return self.begun(lambda: tensor.fill_(src), True)

    def _barrier(self, group: Any, async_op: bool) -> Handle:
        return self.begun(lambda: None, async_op)

    def _is_initialized(self) -> bool:
        return self.ready

    def _init_process_group(self, backend: str, init_method: str, world_size: int, rank: int) -> None:
        assert backend == "hccl" and init_method.startswith("tcp://")
        self.ready, self.size, self.own = True, world_size, rank

    def _new_group(self, ranks: list[int]) -> str:
        return f"group-{'-'.join(map(str, ranks))}"

    def _destroy_process_group(self, group: Any) -> None:
        self.ready = False


def group_of(recorder: Recorder, ranks: tuple[int, ...] = (4, 7)) -> Any:
    return _hccl.ProcessGroupHCCL(recorder, "part", ranks, 1, "3", export=lambda tensor: tensor.detach())


@pytest.mark.parametrize(
    ("op", "theirs", "wanted"),
    [("SUM", "sum", 6.0), ("AVG", "sum", 3.0), ("PRODUCT", "prod", 9.0), ("MIN", "min", 3.0), ("MAX", "max", 3.0)],
)
def test_reductions(op: str, theirs: str, wanted: float) -> None:
    recorder = Recorder()
    group, tensor = group_of(recorder), torch.full((2, 3), 3.0)
    options = dist.AllreduceOptions()
    options.reduceOp = getattr(dist.ReduceOp, op)
    work = group.allreduce([tensor], options)
    assert tensor[0, 0] == 3 and not work.is_completed()  # it has begun, and nobody has waited
    assert work.wait() and work.is_completed() and work.wait()
    assert [handle.waits for handle in recorder.handles] == [1]
    assert torch.equal(tensor, torch.full((2, 3), wanted))
    name, given = recorder.calls[0]
    assert (name, given["op"], given["group"]) == ("all_reduce", theirs, "part")
    scattered = torch.zeros(3)
    options = dist.ReduceScatterOptions()
    options.reduceOp = getattr(dist.ReduceOp, op)
    group._reduce_scatter_base(scattered, torch.full((6,), 3.0), options).wait()
    assert torch.equal(scattered, torch.full((3,), wanted))


def test_what_hccl_lacks_is_refused() -> None:
    group = group_of(Recorder())
    options = dist.AllreduceOptions()
    options.reduceOp = dist.ReduceOp.BXOR
    with pytest.raises(RuntimeError, match="Cannot use ReduceOp.BXOR with HCCL"):
        group.allreduce([torch.ones(2)], options)
    with pytest.raises(ValueError, match="Tensors must be contiguous"):
        group.allreduce([torch.ones(2, 3).t()])
    with pytest.raises(RuntimeError, match="tag=3"):
        group.send([torch.ones(2)], 0, 3)
    with pytest.raises(RuntimeError, match="recvAnysource"):
        group.recv_anysource([torch.ones(2)])


def test_ranks_of_a_group_are_those_of_the_world_to_mindspore() -> None:
    recorder = Recorder()
    group = group_of(recorder)
    options = dist.BroadcastOptions()
    options.rootRank = 1
    group.broadcast([torch.ones(2)], options).wait()
    received = torch.zeros(2)
    group.recv([received], 0).wait()
    group.send([received], 1).wait()
    group.reduce([received], 0, dist.ReduceOp.MAX).wait()
    assert [(name, given.get("src", given.get("dst"))) for name, given in recorder.calls] == [
        ("broadcast", 7), ("irecv", 4), ("isend", 7), ("reduce", 4),
    ]  # fmt: skip
    assert received.tolist() == [4, 4] and (group.rank(), group.size()) == (1, 2)


def test_gathering_and_exchanging() -> None:
    recorder = Recorder()
    group, tensor = group_of(recorder), torch.arange(3.0)
    parts = [torch.zeros(3), torch.zeros(3)]
    group.allgather([parts], [tensor]).wait()
    assert all(torch.equal(part, tensor) for part in parts)
    output = torch.zeros(4)
    group.alltoall_base(output, torch.arange(4.0), [2, 2], [2, 2]).wait()
    assert output.tolist() == [2, 3, 2, 3]
    assert recorder.calls[-1][1]["output_split_sizes"] == [2, 2]
    scattered = torch.zeros(3)
    group.reduce_scatter([scattered], [[torch.zeros(3), tensor]]).wait()
    assert torch.equal(scattered, tensor * 2)
    group.barrier().wait()
    group.shutdown()
    assert [name for name, _ in recorder.calls][-2:] == ["barrier", "destroy_process_group"]


def test_it_is_refused_with_the_reason_where_cann_is_missing(tmp_path: Path) -> None:
    with pytest.raises(dist.DistBackendError, match="a group over HCCL cannot be made: (MindSpore|CANN)"):
        dist.init_process_group("hccl", store=dist.HashStore(), rank=0, world_size=1)
    assert not dist.is_initialized()


def test_functions_of_torch_distributed_reach_it(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(1, 0)

    class MindSpore:
        class mint:
            distributed = recorder

    monkeypatch.setattr(_hccl, "why_unavailable", lambda: None)
    monkeypatch.setattr(_hccl, "why_no_ascend", lambda: None)
    monkeypatch.setattr(_hccl, "require_mindspore", lambda: MindSpore)
    monkeypatch.setattr(_hccl.ProcessGroupHCCL, "_theirs", lambda self, tensor: tensor.detach())
    dist.init_process_group("hccl", store=dist.HashStore(), rank=0, world_size=1)
    try:
        tensor = torch.ones(2)
        dist.all_reduce(tensor)
        dist.broadcast(tensor, 0)
        gathered = [torch.zeros(2)]
        dist.all_gather(gathered, tensor)
        dist.barrier()
        assert dist.get_backend() == "hccl" and gathered[0].tolist() == [1, 1]
    finally:
        dist.destroy_process_group()
    assert [name for name, _ in recorder.calls][:6] == [
        "is_initialized", "init_process_group", "all_reduce", "broadcast", "all_gather_into_tensor", "barrier",
    ]  # fmt: skip
    assert torch_npu.distributed is dist
