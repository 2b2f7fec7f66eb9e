"""Wrong arguments: PyTorch's error types and words."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import mt_core
from mt_core.api.binder import bind_schema
from mt_core.dispatch.registry import find_overload
from mt_core.schema import parse_schema
from mt_core.testing import read_gaps
from mt_core.testing.gaps import run_unless_known

SNAPSHOTS = Path(__file__).parent / "snapshots"
sys.path.insert(0, str(SNAPSHOTS))
from binder_calls import calls, refusal  # noqa: E402

GAPS = read_gaps(Path(__file__).with_name("binder_gaps.toml"))
SNAPSHOT = json.loads((SNAPSHOTS / "binder_errors.json").read_text())


@pytest.mark.parametrize("call", SNAPSHOT)
def test_refusals_are_those_of_pytorch(call: str) -> None:
    def check() -> None:
        assert refusal(calls(mt_core)[call]) == SNAPSHOT[call]

    run_unless_known(GAPS, "words", call, check)


@pytest.mark.parametrize("call", SNAPSHOT)
def test_refusals_have_the_type_of_pytorch(call: str) -> None:
    assert refusal(calls(mt_core)[call])[0] == SNAPSHOT[call][0]


def test_binding_by_schema_fills_defaults() -> None:
    x = mt_core.ones(2)
    assert bind_schema(find_overload("add.Tensor").schema, (x, x), {}) == [x, x, 1]


@pytest.mark.parametrize(
    ("args", "kwargs", "words"),
    [
        ((), {}, "missing value for argument 'self'"),
        ((1, 2, 3), {}, "takes 2 arguments but 3 were given"),
        ((1,), {"other": 2}, "Unknown keyword argument 'other'"),
        (("a",), {}, "Expected a value of type 'int' for argument 'self'"),
    ],
)
def test_binding_by_schema_refuses(args, kwargs, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        bind_schema(parse_schema("f(int self, int n=0) -> int"), args, kwargs)


def test_python_names_stand_for_schema_names() -> None:
    x = mt_core.ones(2, 3)
    assert tuple(mt_core.sum(input=x, axis=1).shape) == (2,)
    assert tuple(x.sum(axis=(0, 1), keepdims=True).shape) == (1, 1)
