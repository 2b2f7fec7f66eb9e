"""Every line of the Ascend table is compared with what MindSpore says of its primitives, never with the table.

A stand-in for the primitives gets what they would get in the samples of the exam. Argument for argument, what arrives
must be of a kind that the primitive takes, and go by its name for it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mt_core.devices import backend_key
from mt_core.dispatch.registry import Overload, find_overload, register_kernel
from mt_core.plugins.discovery import register_backend
from mt_core.testing.arguments import REFUSALS, Arguments, samples_on
from mt_core.testing.null_backend import NullArray, NullBackend
from mt_mindspore.kernels.ascend_calls import CALLS, Call, Constant

SIGNATURES = json.loads(Path(__file__).with_name("snapshots").joinpath("ascend_signatures.json").read_text())[
    "primitives"
]
Signature = list[tuple[str, list[str], str]]

#: What MindSpore calls an argument -> what PyTorch's operators call it, where the words differ.
WORDS = {
    "input": {"self", "input", "elements", "input_x", "indices"},
    "x": {"self"}, "input_x": {"self"}, "x1": {"self"}, "x2": {"other"}, "y": {"other", "output"}, "out": {"output"},
    "other": {"tensor", "mat2"}, "image": {"self"}, "x_or_out": {"self"},
    "dout": {"grad_output"}, "dy": {"grad_output", "grad_out"}, "grad": {"grad_output"}, "grads": {"grad_output"},
    "y_grad": {"grad_output"}, "grad_output": {"grad_output"}, "is_result": {"self_is_result"},
    "padding": {"pad"}, "num_groups": {"group"}, "input_grad": {"grad_output"},
}  # fmt: skip

#: Operators whose results' shapes depend on elements, of which the recorder has none: their kernels are not reached.
READS_ELEMENTS = {"masked_select", "nonzero"}

KINDS = {
    bool: {"bool"},
    int: {"int", "Number", "float"},
    float: {"float", "Number"},
    complex: {"Number"},
    str: {"string"},
}


def fits(value: Any, kinds: list[str], need: str, numbers: bool) -> bool:
    """Whether a primitive takes a value for an argument of these kinds."""
    if value is None:
        return need == "None"
    if isinstance(value, (NullArray, np.ndarray, np.generic)):
        return "Tensor" in kinds
    if isinstance(value, (list, tuple)):
        if any(isinstance(item, NullArray) for item in value):
            return any("ensor" in kind and "of" in kind for kind in kinds)
        return "tuple of int" in kinds and all(type(item) is int for item in value)
    if type(value) is bool and "Number" in kinds:
        return True
    return bool(KINDS[type(value)] & set(kinds)) or numbers and "Tensor" in kinds


def complaint(name: str, call: Call, given: list[Any]) -> str:
    """What MindSpore would have against a call; nothing where it takes it."""
    signature: Signature = SIGNATURES[call.primitive]
    if len(given) > len(signature):
        return f"{name}: {call.primitive} takes {len(signature)} arguments, not {len(given)}"
    for (theirs, kinds, need), value, ours in zip(signature, given, call.arguments, strict=False):
        if not fits(value, kinds, need, call.numbers):
            return f"{name}: {call.primitive}({theirs}) is one of {kinds}, not {value!r}"
        word = ours if isinstance(ours, str) else getattr(ours, "name", theirs)
        if word != theirs and word not in WORDS.get(theirs, ()):
            return f"{name}: {call.primitive}({theirs}) gets {word}"
    left_out = [theirs for theirs, _, need in signature[len(given) :] if need == "required"]
    return f"{name}: {call.primitive} lacks {left_out}" if left_out else ""


class Recorder(NullBackend):
    """Calculates nothing; its kernels are the table's, on a stand-in for each primitive."""

    def __init__(self) -> None:
        super().__init__("ascendcalls")
        self.given: dict[str, list[list[Any]]] = {}

    def load(self, family: str) -> None:
        super().load(family)
        for name in CALLS:
            overload = find_overload(name)
            if overload.family == family:
                register_kernel(backend_key(self.device_type), (name,), self.recording(overload), half="native")

    def recording(self, overload: Overload) -> Callable[..., Any]:
        names = [argument.name for argument in overload.schema.arguments]
        shaped = self.kernel(overload)

        def run(*args: Any) -> Any:
            self.given.setdefault(overload.name, []).append(CALLS[overload.name].given(names, args))
            return shaped(*args)

        return run


@pytest.fixture(scope="module")
def recorded() -> dict[str, list[list[Any]]]:
    """What each primitive was given, in all samples."""
    recorder = Recorder()
    register_backend(recorder)
    for name in CALLS:
        overload = find_overload(name)
        names = [argument.name for argument in overload.schema.arguments]
        for sample in samples_on(overload, recorder.device_type):
            bound = Arguments(overload, sample).bound
            if name in READS_ELEMENTS:
                arrays = tuple(getattr(value, "_array", value) for value in bound)
                recorder.given.setdefault(name, []).append(CALLS[name].given(names, arrays))
                continue
            try:
                overload.call(*bound)
            except REFUSALS:
                continue
    return recorder.given


def test_every_primitive_has_a_kernel_for_ascend() -> None:
    assert not {call.primitive for call in CALLS.values()} - set(SIGNATURES)


def test_every_operator_reaches_its_primitive(recorded: dict[str, list[list[Any]]]) -> None:
    assert not set(CALLS) - set(recorded)


@pytest.mark.parametrize("name", sorted(CALLS))
def test_primitives_take_what_they_are_given(name: str, recorded: dict[str, list[list[Any]]]) -> None:
    complaints = {said for given in recorded.get(name, []) if (said := complaint(name, CALLS[name], given))}
    assert not complaints, "\n".join(sorted(complaints))


def swapped() -> Iterator[tuple[str, Call, int, int]]:
    """Fifty operators, each with two of its primitive's arguments exchanged."""
    choose = random.Random(11)
    several = [name for name, call in sorted(CALLS.items()) if sum(isinstance(a, str) for a in call.arguments) > 1]
    for name in choose.sample(several, 50):
        call = CALLS[name]
        places = [i for i, a in enumerate(call.arguments) if not isinstance(a, Constant)]
        i, j = sorted(choose.sample(places, 2))
        arguments = list(call.arguments)
        arguments[i], arguments[j] = arguments[j], arguments[i]
        yield name, Call(call.primitive, *arguments, numbers=call.numbers), i, j


def test_exchanged_arguments_are_noticed(recorded: dict[str, list[list[Any]]]) -> None:
    missed = []
    for name, call, i, j in swapped():
        heard = False
        for given in recorded[name]:
            exchanged = list(given)
            exchanged[i], exchanged[j] = exchanged[j], exchanged[i]
            heard = heard or bool(complaint(name, call, exchanged))
        if not heard:
            missed.append(name)
    assert not missed
