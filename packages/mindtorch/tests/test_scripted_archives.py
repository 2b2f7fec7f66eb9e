"""``torch.jit.save`` of what was scripted: it writes what PyTorch loaded, which gives the answers that it gave."""

from __future__ import annotations

import io
import json
import math
import sys
import warnings
import zipfile
from pathlib import Path
from typing import Any

import pytest

import mindtorch as torch

_SNAPSHOTS = Path(__file__).parent / "snapshots"
sys.path.insert(0, str(_SNAPSHOTS))

from scripted_programs import scripted, told  # noqa: E402

RECORDED = json.loads((_SNAPSHOTS / "scripted.json").read_text())
PROGRAMS = scripted(torch)
F = torch.nn.functional

pytestmark = pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning")


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_equal, a, b))
    return math.isclose(a, b, rel_tol=1e-3, abs_tol=2e-4) if isinstance(a, float) and isinstance(b, float) else a == b


@pytest.mark.parametrize("name", RECORDED)
def test_archives_are_those_that_pytorch_loaded(name: str) -> None:
    made, calls = PROGRAMS[name]
    file = io.BytesIO()
    made.save(file)
    records = zipfile.ZipFile(file)
    code = {n.partition("/")[2]: records.read(n).decode() for n in records.namelist() if n.endswith(".py")}
    assert code == RECORDED[name]["code"]
    file.seek(0)
    loaded = torch.jit.load(file)
    answers = [told(loaded(*args)) for args in calls]
    for ours, theirs in zip(answers, RECORDED[name]["answers"], strict=True):
        assert _equal(json.loads(json.dumps(ours)), theirs)
    if name != "scripting":  # in Python it is not
        for args, theirs in zip(calls, RECORDED[name]["answers"], strict=True):
            assert _equal(json.loads(json.dumps(told(made(*args)))), theirs)


def test_modules_keep_tensors_and_modes() -> None:
    module = torch.jit.script(torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3)))
    torch.jit.save(module, file := io.BytesIO())
    loaded = torch.jit.load(io.BytesIO(file.getvalue()))
    assert loaded.training
    assert list(loaded.state_dict()) == list(module.state_dict())
    x = torch.randn(4, 2)
    assert torch.equal(loaded(x), module(x))
    for ours, theirs in zip(loaded.state_dict().values(), module.state_dict().values(), strict=True):
        assert torch.equal(ours, theirs)
    assert int(loaded.state_dict()["1.num_batches_tracked"]) == 1


class _Caller(torch.nn.Module):
    def __init__(self, called: torch.nn.Module) -> None:
        super().__init__()
        self.called = called


class _Single(_Caller):
    def forward(self, x: torch.Tensor, state: torch.Tensor | None = None):
        return self.called(x, state)


class _Double(_Caller):
    def forward(self, x: torch.Tensor, state: tuple[torch.Tensor, torch.Tensor] | None = None):
        return self.called(x, state)


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM", "RNNCell", "GRUCell", "LSTMCell"])
def test_recurrent_modules_check_their_arguments_in_archives_as_in_python(kind: str) -> None:
    module = (_Double if kind.startswith("LSTM") else _Single)(getattr(torch.nn, kind)(4, 3))
    torch.jit.save(torch.jit.script(module), file := io.BytesIO())
    loaded = torch.jit.load(io.BytesIO(file.getvalue()))
    leading = () if kind.endswith("Cell") else (5,)
    states = [torch.ones(*leading[1:], *shape) for shape in ((2, 3), (3,), (2, 1), (1, 2, 2, 3))]
    if leading:
        states = [state[None] for state in states]
    inputs = [torch.ones(*leading, *shape) for shape in ((2, 4), (4,), (2, 3), (1, 1, 2, 4))]
    outcomes = set()
    for x in inputs:
        for state in (None, *states):
            given = state if state is None or not kind.startswith("LSTM") else (state, state)
            said = []
            for called in (module, loaded):
                try:
                    said.append(told(called(x, given)))
                except (RuntimeError, ValueError, torch.jit.Error) as error:
                    last = str(error).strip().splitlines()[-1]
                    said.append(
                        last.removeprefix("builtins.").removeprefix("RuntimeError: ").removeprefix("ValueError: ")
                    )
            assert said[0] == said[1]
            outcomes.add(type(said[0]).__name__)
    assert outcomes == {"list", "str"}


# What cannot be written


def _with(x):
    with torch.no_grad():
        return x + 1


def _lambda(x):
    f = lambda y: y * 2
    return f(x)


def _try(x):
    try:
        return x + 1
    except ValueError:
        return x


def _unpacked(x):
    return torch.add(*[x, x])


def _generator(x):
    return sum(y for y in x)


def _global_tensor(x):
    return x + TENSOR


def _numpy(x):
    return json.dumps(x)


def _set(x):
    return {1, 2}, x


def _formatted(x, f: float):
    return f"{f:.2f}"


def _optional(x, other: int = None):  # noqa: RUF013
    return x


def _any_type(x, other: set):
    return x


def _chained(x):
    a = b = x
    return a, b


TENSOR = torch.ones(1)
REFUSED = {
    _with: r"a statement that TorchScript has not: 'with torch.no_grad\(\):' \(.*, line \d+\)",
    _lambda: "an expression that TorchScript has not: 'lambda y: y [*] 2'",
    _try: "a statement that TorchScript has not: 'try:'",
    _unpacked: "arguments that are unpacked",
    _generator: "an expression that TorchScript has not",
    _global_tensor: "a Tensor outside of the function: 'TENSOR'",
    _numpy: r"a call of what TorchScript cannot name|json",
    _set: "an expression that TorchScript has not: '{1, 2}'",
    _formatted: "a format of TorchScript has no such fields",
    _optional: "None as the default of a parameter whose type is not Optional",
    _any_type: "the type <class 'set'>",
    _chained: "several targets: 'a = b = x'",
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda function: function.__name__)
def test_what_cannot_be_written_is_named_with_its_line(function: Any) -> None:
    with pytest.raises(NotImplementedError, match=REFUSED[function]):
        torch.jit.save(torch.jit.script(function), io.BytesIO())


class _Property(torch.nn.Module):
    @property
    def twice(self):
        return 2

    def forward(self, x):
        return x * self.twice


class _Hooked(torch.nn.Module):
    def forward(self, x):
        return x


def test_modules_that_cannot_be_written_are_named() -> None:
    hooked = _Hooked()
    hooked.register_forward_hook(lambda *args: None)
    for module, words in (
        (_Property(), "a property: 'self.twice'"),
        (hooked, "a module with hooks"),
        (torch.nn.MultiheadAttention(2, 2), "the module MultiheadAttention"),
        (torch.nn.Conv1d(1, 1, 1, padding_mode="circular"), "padding_mode='circular'"),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = torch.jit.script(module)
        with pytest.raises(NotImplementedError, match=words):
            torch.jit.save(made, io.BytesIO())
