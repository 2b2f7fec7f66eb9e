"""Every line of the Ascend table is compared with what MindSpore says of its primitives, never with the table.

A stand-in for the primitives gets what they would get in the samples of the exam. Argument for argument, what arrives
must be of a kind that the primitive takes, and go by its name for it.
"""

from __future__ import annotations

import functools
import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mt_core.dtypes
from mt_core.devices import backend_key
from mt_core.dispatch.kernel import Accepts
from mt_core.dispatch.registry import Overload, find_overload, register_kernel
from mt_core.plugins.discovery import register_backend
from mt_core.testing.arguments import REFUSALS, Arguments, samples_on
from mt_core.testing.null_backend import NullArray, NullBackend
from mt_mindspore.kernels.ascend_arguments import Call, Constant
from mt_mindspore.kernels.ascend_calls import CALLS, INPLACE

SNAPSHOT = json.loads(Path(__file__).with_name("snapshots").joinpath("ascend_signatures.json").read_text())
SIGNATURES, MADE_WITH = SNAPSHOT["primitives"], SNAPSHOT["made_with"]
Signature = list[tuple[str, list[str], str]]
#: What a primitive is called with, and made with.
Given = tuple[list[Any], dict[str, Any]]

#: What MindSpore calls an argument -> what PyTorch's operators call it, where the words differ.
WORDS = {
    "input": {"self", "input", "elements", "input_x", "indices", "A"},
    "x": {"self", "input"}, "input_x": {"self", "input"}, "x1": {"self"}, "x2": {"other"}, "y": {"other", "output"},
    "out": {"output"}, "other": {"tensor", "mat2"}, "image": {"self"}, "x_or_out": {"self", "self_or_result"},
    "dout": {"grad_output"}, "dy": {"grad_output", "grad_out"}, "grad": {"grad_output"}, "grads": {"grad_output"},
    "y_grad": {"grad_output"}, "grad_output": {"grad_output"}, "is_result": {"self_is_result"},
    "gradients": {"grad_output", "grad_out"}, "features": {"self"}, "loss_grad": {"grad_output"},
    "padding": {"pad"}, "num_groups": {"group"}, "input_grad": {"grad_output"}, "axis": {"dim", "dims"}, "p": {"p"},
    "strides": {"stride"}, "pads": {"padding"}, "gamma": {"weight"}, "gamma_opt": {"weight"}, "beta": {"bias"},
    "variance": {"rstd"}, "epsilon": {"eps"}, "keep_dims": {"keepdim"}, "labels": {"target"}, "prediction": {"self"},
    "predict": {"self"}, "label": {"target"}, "values": {"self"}, "src": {"value"}, "operands": {"tensors"},
    "scale_value": {"scale"}, "dx_is_require": {"output_mask"}, "dgamma_is_require": {"output_mask"},
    "dbeta_is_require": {"output_mask"}, "b": {"self"}, "n": {"n"}, "m": {"m"},
}  # fmt: skip

#: Operators whose results' shapes depend on elements, of which the recorder has none: their kernels are not reached.
READS_ELEMENTS = {"masked_select", "nonzero"}

#: What single primitives call an argument: (primitive, their word, the operator's).
SAID = {
    ("FlashAttentionScore", "head_num", "query"),
    ("Eye", "m", "n"),
    ("LogSoftmaxGrad", "logits", "output"),
    ("NLLLoss", "logits", "self"),
    ("NLLLossGrad", "logits", "self"),
    ("NotEqual", "other", "self"),
    ("SearchSorted", "dtype", "out_int32"),
}

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
    if isinstance(value, mt_core.dtypes.dtype):
        return "mindspore.dtype" in kinds
    if isinstance(value, (NullArray, np.ndarray, np.generic)):
        return "Tensor" in kinds
    if isinstance(value, (list, tuple)):
        if any(isinstance(item, NullArray) for item in value):
            return any("ensor" in kind and "of" in kind for kind in kinds)
        kind = "tuple of float" if any(type(item) is float for item in value) else "tuple of int"
        return kind in kinds and all(type(item) in (int, float) for item in value)
    if type(value) is bool and "Number" in kinds:
        return True
    return bool(KINDS[type(value)] & set(kinds)) or numbers and "Tensor" in kinds


def complaint(name: str, call: Call, given: Given) -> str:
    """What MindSpore would have against a call; nothing where it takes it."""
    called, made = given
    signature: Signature = SIGNATURES[call.primitive]
    if len(called) > len(signature):
        return f"{name}: {call.primitive} takes {len(signature)} arguments, not {len(called)}"
    described = {theirs: (kinds, need) for theirs, kinds, need in MADE_WITH.get(call.primitive, [])}
    if unknown := sorted(set(made) - set(described)):
        return f"{name}: {call.primitive} is not made with {unknown}"
    rows = [
        *((*row, value, ours) for row, value, ours in zip(signature, called, call.arguments, strict=False)),
        *((theirs, *described[theirs], value, call.made_with[theirs]) for theirs, value in made.items()),
    ]
    for theirs, kinds, need, value, ours in rows:
        if not fits(value, kinds, need, call.numbers):
            return f"{name}: {call.primitive}({theirs}) is one of {kinds}, not {value!r}"
        word = ours if isinstance(ours, str) else getattr(ours, "name", theirs)
        if word != theirs and word not in WORDS.get(theirs, ()) and (call.primitive, theirs, word) not in SAID:
            return f"{name}: {call.primitive}({theirs}) gets {word}"
    left_out = [theirs for theirs, _, need in signature[len(called) :] if need == "required"]
    left_out += [theirs for theirs, (_, need) in described.items() if need == "required" and theirs not in made]
    return f"{name}: {call.primitive} lacks {left_out}" if left_out else ""


def given_to(call: Call, names: list[str], values: tuple[Any, ...]) -> Given:
    return call.given(names, values), call.settings(names, values)


def served(call: Call, names: list[str], *values: Any) -> bool:
    return call.serves(names, values)


class Recorder(NullBackend):
    """Calculates nothing; its kernels are the table's, on a stand-in for each primitive."""

    def __init__(self) -> None:
        super().__init__("ascendcalls")
        self.given: dict[str, list[Given]] = {}

    def load(self, family: str) -> None:
        super().load(family)
        for name in CALLS:
            overload = find_overload(name)
            if overload.family == family:
                names = [argument.name for argument in overload.schema.arguments]
                conditions = Accepts(also=functools.partial(served, CALLS[name], names))
                register_kernel(
                    backend_key(self.device_type), (name,), self.recording(overload), accepts=conditions, half="native"
                )

    def recording(self, overload: Overload) -> Callable[..., Any]:
        names = [argument.name for argument in overload.schema.arguments]
        shaped = self.kernel(overload)

        def run(*args: Any) -> Any:
            self.given.setdefault(overload.name, []).append(given_to(CALLS[overload.name], names, args))
            return shaped(*args)

        return run


@pytest.fixture(scope="module")
def recorded() -> dict[str, list[Given]]:
    """What each primitive was given, in all samples."""
    recorder = Recorder()
    register_backend(recorder)
    for name in CALLS:
        overload = find_overload(name)
        names = [argument.name for argument in overload.schema.arguments]
        for sample in samples_on(overload, recorder.device_type):
            bound = Arguments(overload, sample).bound
            if name in READS_ELEMENTS or not any(a.is_tensor for a in overload.schema.arguments):
                arrays = tuple(getattr(value, "_array", value) for value in bound)
                recorder.given.setdefault(name, []).append(given_to(CALLS[name], names, arrays))
                continue
            try:
                overload.call(*bound)
            except REFUSALS:
                continue
    return recorder.given


def test_every_primitive_has_a_kernel_for_ascend() -> None:
    assert not {call.primitive for call in CALLS.values()} - set(SIGNATURES)


def test_every_operator_reaches_its_primitive(recorded: dict[str, list[Given]]) -> None:
    assert not sorted(set(CALLS) - set(recorded))


@pytest.mark.parametrize("name", sorted(CALLS))
def test_primitives_take_what_they_are_given(name: str, recorded: dict[str, list[Given]]) -> None:
    complaints = {said for given in recorded.get(name, []) if (said := complaint(name, CALLS[name], given))}
    assert not complaints, "\n".join(sorted(complaints))


def swapped() -> Iterator[tuple[str, Call, int, int]]:
    """Fifty operators, each with two of its primitive's arguments exchanged."""
    choose = random.Random(11)
    several = [name for name, call in sorted(CALLS.items()) if len(own_places(call)) > 1]
    for name in choose.sample(several, 50):
        call = CALLS[name]
        i, j = sorted(choose.sample(own_places(call), 2))
        arguments = list(call.arguments)
        arguments[i], arguments[j] = arguments[j], arguments[i]
        yield name, Call(call.primitive, *arguments, made_with=call.made_with, numbers=call.numbers), i, j


def own_places(call: Call) -> list[int]:
    """Places of arguments that are the operator's, and not the same one twice."""
    return [i for i, a in enumerate(call.arguments) if not isinstance(a, Constant) and a not in call.arguments[:i]]


def test_exchanged_arguments_are_noticed(recorded: dict[str, list[Given]]) -> None:
    missed = []
    for name, call, i, j in swapped():
        heard = False
        for called, made in recorded[name]:
            exchanged = list(called)
            exchanged[i], exchanged[j] = exchanged[j], exchanged[i]
            heard = heard or bool(complaint(name, call, (exchanged, made)))
        if not heard:
            missed.append(name)
    assert not missed


def test_exchanged_settings_are_noticed(recorded: dict[str, list[Given]]) -> None:
    """The same for what primitives are made with, of all that are made with several."""
    several = {name: call for name, call in CALLS.items() if len(call.made_with) > 1}
    for name, call in several.items():
        first, second = list(call.made_with)[:2]
        exchanged = call.made_with | {first: call.made_with[second], second: call.made_with[first]}
        wrong = Call(call.primitive, *call.arguments, made_with=exchanged, numbers=call.numbers)
        assert any(
            complaint(name, wrong, (called, made | {first: made[second], second: made[first]}))
            for called, made in recorded[name]
        ), name
    assert len(several) > 5


@pytest.mark.parametrize("name", sorted(INPLACE))
def test_primitives_that_write_are_those_of_the_operator(name: str) -> None:
    """Each takes the operator's arguments by their names, a tensor or a number as the second."""
    names = [argument.name for argument in find_overload(name).schema.arguments]
    array = np.ones(2, np.float32)
    for call, other in zip(INPLACE[name], (array, 0.5), strict=True):
        if call is None:
            continue
        assert call.primitive.startswith("Inplace") and call.arguments[0] == "self"
        values = tuple(array if n == "self" else other if n == "other" else 1.0 for n in names)
        assert not complaint(name, call, given_to(call, names, values))
        # The same arguments, in the same order, as the primitive that makes a new tensor.
        assert call.arguments == CALLS[name].arguments[: len(call.arguments)]


def test_the_page_of_functions_names_what_is_there() -> None:
    """Functions that the wheel has, and the primitives of the table; `./dev exam_npu` compares the whole page."""
    page = Path(__file__).parents[3] / "docs" / "ascend-aclnn.md"
    rows = re.findall(
        r"^\| `([^`]+)` \| `(aclnn\w+)` \| ([^|]*) \| ([^|]*) \|$", page.read_text(encoding="utf-8"), re.M
    )
    assert len(rows) > 260 and not {function for _, function, _, _ in rows} - set(SNAPSHOT["aclnn"])
    for name, _, primitive, reason in rows:
        assert bool(primitive.strip()) != bool(reason.strip()), name
        if name in CALLS:
            assert primitive.startswith(f"`{CALLS[name].primitive}`"), name
