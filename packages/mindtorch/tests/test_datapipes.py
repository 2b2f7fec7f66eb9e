"""Pipes of ``torch.utils.data`` give what PyTorch's give, and raise what they raise."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import mindtorch as torch

SNAPSHOTS = Path(__file__).parent / "snapshots"
sys.path.insert(0, str(SNAPSHOTS))
from datapipe_cases import CALLS, answer  # noqa: E402 - the script beside the snapshot has it, too

STORED = json.loads((SNAPSHOTS / "datapipes.json").read_text(encoding="utf-8"))


def test_every_call_is_stored() -> None:
    assert list(STORED) == list(dict.fromkeys(CALLS))
    assert len(STORED) > 100


@pytest.mark.parametrize("call", CALLS)
def test_a_call_is_pytorchs(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.utils.data.IterDataPipe, "functions", dict(torch.utils.data.IterDataPipe.functions))
    assert answer(torch, call) == STORED[call]


def test_a_hook_sees_what_is_pickled() -> None:
    import pickle

    pipe, seen = torch.utils.data.datapipes.iter.IterableWrapper([1, 2]).shuffle(), []
    pipe.set_getstate_hook(lambda state: seen.append(state) or state)
    try:
        pickle.dumps(pipe)
    finally:
        pipe.set_getstate_hook(None)
    assert len(seen) == 2
    with pytest.raises(NotImplementedError, match="routed_decode is not supported"):
        pipe.routed_decode()
