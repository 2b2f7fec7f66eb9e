"""`./dev surface`: how it judges, and some of its calls."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tools.surface.__main__ import Finding, find, judged, shares  # noqa: E402
from tools.surface.calling import evaluated, outcome_of  # noqa: E402
from tools.surface.describing import described, differ  # noqa: E402
from tools.surface.snapshot import read  # noqa: E402

import mindtorch  # noqa: E402

SNAPSHOT = read()


@pytest.mark.parametrize(
    "one, other",
    [
        ("f(3)", "f(3) * 1.001"), ("f(3)", "f(3).double()"), ("f(3)", "f(1, 3)"), ("f(3)", "g(3)"), ("f(3)", "p(3)"),
        ("3", "3.0"), ("True", "1"), ("[1]", "(1,)"), ("{'a': 1}", "{'a': 2}"), ("f(20)", "f(20).flip(0)"),
        ("torch.nn.Linear(2, 2)", "torch.nn.Linear(2, 2, bias=False)"), ("float('nan')", "0.0"),
    ],
)  # fmt: skip
def test_other_values_are_told_apart(one: str, other: str) -> None:
    first, second = evaluated(mindtorch, one), evaluated(mindtorch, other)
    assert judged(first, first) == ("works", "")
    assert judged(second, first)[0] == "differs"


def test_rounding_is_no_difference() -> None:
    tensor = mindtorch.linspace(0.1, 1, 5)
    assert not differ(described(mindtorch, tensor * (1 + 1e-6)), described(mindtorch, tensor))
    assert not differ(described(mindtorch, [math.pi, math.nan]), described(mindtorch, [math.pi + 1e-9, math.nan]))


def test_refusals_and_errors() -> None:
    refused = evaluated(mindtorch, "torch.parse_ir('')")
    assert judged(refused, {"gives": 1}) == ("refused", refused["says"])
    assert judged(refused, {"raises": "NotImplementedError"}) == ("works", "")
    assert judged({"raises": "TypeError", "says": ""}, {"raises": "ValueError"})[0] == "differs"
    assert judged({"gives": 1}, {"raises": "ValueError"})[0] == "differs"
    assert judged({"ends": "killed by signal 11"}, {"gives": 1})[0] == "differs"
    assert outcome_of(mindtorch, "__import__('time').sleep(60)", seconds=0.5) == {"ends": "late"}


def test_a_name_that_is_not_there() -> None:
    missing = find(mindtorch, "torch", "no_such_name", ["function", "torch.no_such_name()", {"gives": 1}])
    assert missing.state == "absent"
    assert shares([missing, Finding("torch", "add", "function", "works")]) == (50.0, 50.0)


#: One in so many, and none that reads files, draws without a seed or waits for processes.
CALLS = [
    (path, name)
    for path in ("torch", "torch.Tensor", "torch.nn.functional", "torch.linalg", "torch.special", "torch.fft")
    for name, entry in list(SNAPSHOT[path].items())[::31]
    if entry[0] == "function" and len(entry) > 2 and "gives" in entry[2]
]


@pytest.mark.parametrize("path, name", CALLS)
def test_some_calls_work(path: str, name: str) -> None:
    _, expression, stored = SNAPSHOT[path][name]
    state, why = judged(evaluated(mindtorch, expression), stored)
    assert state in ("works", "refused"), why


def test_there_are_enough_of_them() -> None:
    assert len(CALLS) > 30
