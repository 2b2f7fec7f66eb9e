"""Every public operator in a program that is captured: its graph gives what the program gives."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from tools.fuzz.catalogue import Call, catalogue
from tools.fuzz.worker import load

import mindtorch as torch
from mindtorch._dynamo.testing import CompileCounter
from mindtorch._dynamo.utils import counters

#: What reads elements, or gives as many as these say: no fake tensor stands for that.
UNCAPTURED = """
    allclose argwhere bincount ctc_loss.IntList ctc_loss.Tensor equal gru.data istft lstm.data masked_select
    narrow.Tensor nonzero one_hot randint_like.Tensor_generator repeat_interleave.Tensor
    repeat_interleave.self_Tensor rnn_relu.data rnn_tanh.data segment_reduce tensor_split.tensor_indices_or_sections
    where rand.generator rand_like.generator randint.generator randint.low_generator randint_like.generator
    randint_like.low_generator_dtype randn.generator randn_like.generator randperm.generator
""".split()


def _written(argument: dict[str, Any], tensors: list[str]) -> str:
    if "text" in argument:
        return str(argument["text"])
    if "items" in argument:
        return f"[{', '.join(_written(item, tensors) for item in argument['items'])}]"
    tensors.append(argument["tensor"])
    return f"t{len(tensors) - 1}"


def program_of(call: Call) -> tuple[Any, list[Any]]:
    """A function of the call's tensors, and these."""
    tensors: list[str] = []
    positional = [_written(argument, tensors) for argument in call["positional"]]
    named = [f"{name}={_written(argument, tensors)}" for name, argument in call["named"].items()]
    called, given = call["name"], [*positional, *named]
    if call["form"] == "method":
        called, given = f"{positional[0]}.{called.rpartition('.')[2]}", given[1:]
    names = ", ".join(f"t{i}" for i in range(len(tensors)))
    space: dict[str, Any] = {"torch": torch, "__name__": "program"}
    exec(f"def program({names}): return {called}({', '.join(given)})", space)  # noqa: S102 - calls of the catalogue
    return space["program"], [eval(t, {"torch": torch}) for t in tensors]  # noqa: S307


def outcome(program: Any, tensors: list[Any]) -> tuple[list[Any], Any]:
    """What a call gives and leaves behind, as leaves and their structure."""
    torch.manual_seed(0)
    given = copy.deepcopy(tensors)
    return torch.utils._pytree.tree_flatten((program(*given), given, torch.get_rng_state()))


def same(a: Any, b: Any) -> bool:
    """Whether two results are the same: elements, dtype, strides and whether they require grad."""
    if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
        return type(a) is type(b) and (a == b or a != a)
    facts = [(t.dtype, t.shape, t.stride(), t.requires_grad) for t in (a, b)]
    try:
        torch.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True)
    except AssertionError:
        return False
    return facts[0] == facts[1]


def expected(program: Any, tensors: list[Any]) -> tuple[list[Any], Any] | None:
    """What the program gives as it is; None where it takes no such arguments."""
    try:
        return outcome(program, tensors)
    except (RuntimeError, TypeError, NotImplementedError):
        return None


def check(name: str, program: Any, tensors: list[Any]) -> bool:
    """Compare a program with its graph; tells whether there is one."""
    before = expected(program, tensors)
    if before is None:
        return True
    counters.clear()
    after = outcome(torch.compile(program, backend=CompileCounter()), tensors)
    assert after[1] == before[1], name
    assert all(map(same, after[0], before[0])), name
    return not counters["graph_break"]


@pytest.mark.parametrize("part", range(6))
def test_operators(part: int) -> None:
    load("mindtorch")
    calls = catalogue()
    compared, uncaptured = 0, []
    for name in sorted(calls)[part::6]:
        call = calls[name][0]
        if call["form"] == "out" or not call["elements"]:
            continue
        program, tensors = program_of(call)
        differentiable = [t.detach().requires_grad_() if t.is_floating_point() else t for t in tensors]
        given = tensors if expected(program, differentiable) is None else differentiable
        if not check(name, program, given):
            uncaptured.append(name)
        compared += 1
    assert compared > 100
    assert [name for name in uncaptured if name not in UNCAPTURED] == []
