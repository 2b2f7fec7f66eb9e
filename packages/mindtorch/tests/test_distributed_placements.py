"""``torch.distributed.tensor``: placements are values; what would place tensors by them says that it does not."""

from __future__ import annotations

import copy
import importlib
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import mindtorch as torch
from mindtorch.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard, _StridedShard

#: How to make each -> (repr, str, is_shard(), is_shard(1), is_replicate(), is_partial(), is_partial("sum")) of PyTorch.
PLACEMENTS: dict[Any, tuple[Any, ...]] = {
    lambda: Shard(1): ("Shard(dim=1)", "S(1)", True, True, False, False, False),
    lambda: Shard(-1): ("Shard(dim=-1)", "S(-1)", True, False, False, False, False),
    lambda: _StridedShard(1): ("_StridedShard(dim=1, sf=1)", "_S(1, 1)", False, False, False, False, False),
    lambda: _StridedShard(1, sf=2): ("_StridedShard(dim=1, sf=2)", "_S(1, 2)", False, False, False, False, False),
    lambda: Replicate(): ("Replicate()", "R", False, False, True, False, False),
    lambda: Partial(): ("Partial(sum)", "P(sum)", False, False, False, True, True),
    lambda: Partial("avg"): ("Partial(avg)", "P(avg)", False, False, False, True, False),
}
UNSUPPORTED = """
    pipelining.PipelineStage pipelining.ScheduleGPipe pipelining.pipeline
    rpc.init_rpc rpc.rpc_sync rpc.remote rpc.RRef
""".split()


@pytest.mark.parametrize("make", PLACEMENTS)
def test_placements_answer(make: Any) -> None:
    p = make()
    assert isinstance(p, Placement)
    answers = repr(p), str(p), p.is_shard(), p.is_shard(1), p.is_replicate(), p.is_partial(), p.is_partial("sum")
    assert answers == PLACEMENTS[make]
    assert pickle.loads(pickle.dumps(p)) == copy.deepcopy(p) == p


def test_placements_are_alike_where_they_say_the_same() -> None:
    made = [make() for make in PLACEMENTS]
    for i, make in enumerate(PLACEMENTS):
        assert [make() == other for other in made] == [i == j for j in range(len(made))]
        assert hash(make()) == hash(made[i])


def test_placements_refuse_what_says_nothing() -> None:
    with pytest.raises(TypeError, match="integer"):
        Shard(1.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="reduce_op"):
        Partial(1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="received both split_factor and sf"):
        _StridedShard(0, split_factor=2, sf=3)
    with pytest.raises(AttributeError):
        Shard(0).dim = 1  # type: ignore[misc]


@pytest.mark.parametrize("size", range(1, 12))
def test_parts_are_those_of_chunk(size: int) -> None:
    whole = torch.arange(size)
    for ranks in range(1, 7):
        chunks = whole.chunk(ranks)
        for rank in range(ranks):
            length, offset = Shard.local_shard_size_and_offset(size, ranks, rank)
            if rank < len(chunks):
                assert torch.equal(whole[offset : offset + length], chunks[rank])
            else:
                assert (length, offset) == (0, size)
    assert Shard.local_shard_size_and_offset(0, 3, 1) == (0, 0)


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_what_is_not_supported_says_so(name: str) -> None:
    module, _, own = f"torch.distributed.{name}".rpartition(".")
    asked = getattr(importlib.import_module(module.replace("torch", "mindtorch", 1)), own)
    with pytest.raises(NotImplementedError, match=rf"torch\.distributed\.[\w.]*{own} is not supported"):
        asked("cpu", (1,))
    if isinstance(asked, type):
        assert not isinstance(torch.ones(1), asked)
        assert not hasattr(asked, "from_local")
        with pytest.raises(NotImplementedError, match=rf"{own}\.from_local is not supported"):
            asked.from_local()


def test_parts_of_elastic_say_why_they_are_not_there() -> None:
    elastic = importlib.import_module("mindtorch.distributed.elastic")
    assert not hasattr(elastic, "agent")
    with pytest.raises(AttributeError, match=r"torch\.distributed\.elastic\.agent is not supported by mindtorch"):
        elastic.agent  # noqa: B018
    assert importlib.import_module("mindtorch.distributed.rpc").is_available() is False


def test_what_is_recorded_of_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    errors = importlib.import_module("mindtorch.distributed.elastic.multiprocessing.errors")

    @errors.record
    def main(divisor: int) -> float:
        return 1 / divisor

    file = tmp_path / "rank" / "error.json"
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(file))
    assert main(2) == 0.5
    assert not file.exists()
    with pytest.raises(ZeroDivisionError):
        main(0)
    said = json.loads(file.read_text())["message"]
    assert said["message"] == "ZeroDivisionError: division by zero"
    assert "return 1 / divisor" in said["extraInfo"]["py_callstack"]
    with pytest.raises(NotImplementedError, match="error_handler"):
        errors.record(main, error_handler=1)
