"""Random programs show after each line what they show in PyTorch; and the tools that make and compare them."""

from __future__ import annotations

import copy
import sys
from pathlib import Path
from typing import Any

import pytest

import mindtorch
from mt_core.testing.gaps import read_gaps

sys.path.insert(0, str(Path(__file__).parent))

from fuzz_sample import DIFFERENCES, PROGRAMS, differences_of
from tools.fuzz.catalogue import calls_of, catalogue
from tools.fuzz.comparison import Difference, compare
from tools.fuzz.generator import Generator
from tools.fuzz.machine import Machine
from tools.fuzz.noise import OF_BUILDS, reason_for
from tools.fuzz.nudges import Nudge
from tools.fuzz.report import Report
from tools.fuzz.undetermined import ends_undetermined, reads_what_it_writes

KNOWN: dict[str, dict[str, list[int]]] = read_gaps(DIFFERENCES)  # type: ignore[assignment]

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("seed", PROGRAMS)
def test_a_random_program_shows_what_it_shows_in_pytorch(seed: int) -> None:
    found = differences_of(seed)
    listed = {(field, kind) for field, kinds in KNOWN.items() for kind, seeds in kinds.items() if seed in seeds}
    new = {key: difference for key, difference in found.items() if key not in listed}
    assert not new, f"{new} after {PROGRAMS[seed]['lines'][: next(iter(new.values())).line + 1]}"
    gone = listed - set(found)
    assert not gone, f"no difference is left in {gone}: run tests-integration/list_fuzz.py"


def notes(*lines: str) -> list[Any]:
    return Machine(mindtorch, 0).replay(lines)


@pytest.mark.parametrize(
    ("field", "ours", "theirs"),
    [
        ("elements", "v0 = torch.ones(2)", "v0 = torch.zeros(2)"),
        ("elements", "v0 = torch.tensor([float('inf')])", "v0 = torch.tensor([-float('inf')])"),
        ("dtype", "v0 = torch.ones(2)", "v0 = torch.ones(2).double()"),
        ("shape", "v0 = torch.ones(2)", "v0 = torch.ones(3)"),
        ("strides", "v0 = torch.ones(2, 3)", "v0 = torch.ones(3, 2).t()"),
        ("offset", "v0 = torch.ones(3)[1:]", "v0 = torch.ones(3)[:-1]"),
        ("requires_grad", "v0 = torch.ones(2)", "v0 = torch.ones(2, requires_grad=True)"),
        ("version", "v0 = torch.ones(2)", "v0 = torch.ones(2).mul_(1)"),
        ("is_view", "v0 = torch.ones(2)", "v0 = torch.ones(2)[:]"),
        ("lazy", "v0 = torch.ones(2) + 0j", "v0 = (torch.ones(2) + 0j).conj()"),
        ("class", "v0 = torch.ones(2)", "v0 = torch.nn.Parameter(torch.ones(2), False)"),
        ("number", "v0 = 2", "v0 = 2.0"),
        ("sequence", "v0 = [1]", "v0 = (1,)"),
        ("raises", "v0 = torch.ones(2)", "v0 = torch.ones(-1)"),
        ("missing", "v0 = torch.ones(2)", "v0 = torch.onse(2)"),
        ("accepts", "v0 = torch.ones(-1)", "v0 = torch.ones(2)"),
        ("type", "raise IndexError", "raise KeyError"),
        ("text", "raise IndexError('a')", "raise IndexError('b')"),
    ],
)
def test_each_field_is_compared(field: str, ours: str, theirs: str) -> None:
    assert not compare(notes(ours), notes(ours))
    assert field in {difference.field for difference in compare(notes(ours), notes(theirs))}


def test_gradients_and_shared_memory_are_compared() -> None:
    leaf = "v0 = torch.ones(2, requires_grad=True)"
    once = notes(leaf, "(v0 * 1).sum().backward()")
    twice = notes(leaf, "(v0 * 2).sum().backward()")
    assert [(d.name, d.field) for d in compare(once, twice)] == [("v0.grad", "elements")]
    shared, apart = notes("v0 = torch.ones(2)", "v1 = v0.detach()"), notes("v0 = torch.ones(2)", "v1 = v0.clone()")
    assert "shares" in {difference.field for difference in compare(shared, apart)}


def test_a_write_shows_every_variable() -> None:
    seen = notes("v0 = torch.ones(2)", "v1 = v0[:1]", "v1.mul_(2)")
    assert [name for name, _ in seen[2]] == ["v0", "v1"]
    assert [name for name, _ in notes("v0 = torch.ones(2)", "v1 = v0 * 2")[1]] == ["v1"]


def test_programs_follow_from_their_seeds() -> None:
    first, again, other = (Generator(mindtorch, seed, []).write(12) for seed in (5, 5, 6))
    assert first.lines == again.lines != other.lines
    assert compare(first.notes, again.notes) == []


def test_a_program_makes_the_calls_that_it_is_given() -> None:
    calls = [
        next(calls_of(overload)) for overload in map(mindtorch_overload, ("add.Tensor", "linalg_norm", "fill_.Scalar"))
    ]
    program = Generator(mindtorch, 0, calls).write(4)
    assert [k for k in program.kinds if k.startswith("sample")][:3] == [
        "sample: add.Tensor", "sample: linalg_norm", "sample: fill_.Scalar",
    ]  # fmt: skip


def mindtorch_overload(name: str) -> Any:
    from mt_core.dispatch.registry import find_overload  # here alone

    return find_overload(name)


def test_the_report_counts_what_ran_and_what_differs() -> None:
    program = {
        "seed": 1,
        "lines": ["v0 = torch.ones(2)"],
        "kinds": ["sample: ones"],
        "notes": notes("v0 = torch.ones(2)"),
    }
    wrong = copy.deepcopy(program["notes"])
    wrong[0][0][1]["dtype"] = "float64"
    report = Report(["ones", "zeros"])
    report.enter(program, program["notes"])
    assert not report.failures() and report.runs == {"ones": 1, "zeros": 0}
    report.enter(program, wrong)
    report.enter(program, None)
    assert report.counts == {("dtype", "sample: ones"): 1, ("ends", "at the end"): 1}
    assert report.failures() == ["hard: 2 of 3 programs differ, 0.0% may"]


def test_the_stored_programs_call_every_public_operator() -> None:
    called = {kind.removeprefix("sample: ") for program in PROGRAMS.values() for kind in program["kinds"]}
    assert len(called & set(catalogue())) >= 0.95 * len(catalogue())


INFERENCE = "with torch.inference_mode(): v0 = torch.ones(3)"
ORDER = "reads memory while it is written, in an order that PyTorch leaves open"
SHARED = "several elements of what is written share memory"
REFUSED = {"kind": "error", "type": "RuntimeError", "text": "Inplace update to inference tensor outside InferenceMode"}


@pytest.mark.parametrize(
    ("lines", "error", "reason"),
    [
        (["v0 = torch.ones(3)"], None, ""),
        ([INFERENCE, "v0.add_(1)"], REFUSED, "written to an inference tensor before PyTorch refuses it"),
        (["v0 = torch.ones(3)", "v0.add_(1)"], None, ""),
        (["v0 = torch.ones(3)", "v0.add_(v0)"], None, ""),
        (["v0 = torch.ones(3)", "v0[1:].add_(v0[:-1])"], None, ORDER),
        (["v0 = torch.ones(3)", "torch.add(v0, 1, out=v0.flip(0))"], None, ORDER),
        (["v1 = torch.ones(3)", "v0 = v1.flip(0)", "v0[1:].add_(v1[:-1])"], None, ""),
        (["v1 = torch.ones(3)", "v0 = v1[:]", "v0[1:].add_(v1[:-1])"], None, ORDER),
        (["v0 = torch.ones(4).unfold(0, 2, 1)", "v0.mul_(v0)"], None, SHARED),
        (["v0 = torch.ones(4)", "v0.unfold(0, 2, 2).mul_(2)"], None, SHARED),
        (["v0 = torch.ones(4).unfold(0, 2, 2)", "v0.mul_(v0)"], None, ""),
        (["v0 = torch.ones(3).view(torch.int32)"], None, "bits of rounded numbers"),
    ],
)  # fmt: skip
def test_noise_is_told_from_differences(lines: list[str], error: Any, reason: str) -> None:
    wanted = notes(*lines)
    got = copy.deepcopy(wanted)
    name, sight = got[-2][-1]
    assert name == "v0"
    sight["elements"] = bytes(byte ^ 3 << 6 for byte in bytes.fromhex(sight["elements"])).hex()
    if error is not None:
        for side in (wanted, got):
            side[-2] = [("error", error), *(note for note in side[-2] if note[0] != "error")]
    (difference,) = compare(wanted, got)
    assert difference.field == "elements" and reason_for(lines, difference, wanted, got) == reason


TOO_SMALL = "gets a shape that its memory is too small for"
READ_LATE = "resizes an input before it is read"
FIXED = "Trying to resize storage that is not resizable"


@pytest.mark.parametrize(
    ("line", "error", "after", "reason"),
    [
        ("torch.arange(4, out=v0)", ("RuntimeError", FIXED), [4], TOO_SMALL),
        ("v0.resize_(4)", ("RuntimeError", FIXED), [4], TOO_SMALL),
        ("v0.resize_(4)", ("RuntimeError", "something else"), [4], ""),
        ("torch.stack([v0, v0], out=v0)", None, [2, 3], READ_LATE),
        ("torch.sum(v0, 1, out=v0)", ("IndexError", "Dimension out of range"), [], READ_LATE),
        ("torch.stack([v1, v1], out=v0)", None, [2, 3], ""),
        ("torch.add(v0, 1, out=v0)", None, [3], ""),
    ],
)
def test_resizing_is_told_from_differences(line: str, error: Any, after: list[int], reason: str) -> None:
    seen = notes("v0 = torch.ones(3)", "v1 = torch.ones(3)", "v0.add_(1)")
    wanted, got = copy.deepcopy(seen), copy.deepcopy(seen)
    dict(wanted[2])["v0"]["shape"] = after
    if error is not None:
        wanted[2].append(("error", {"kind": "error", "type": error[0], "text": error[1]}))
    lines = ["v0 = torch.ones(3)", "v1 = torch.ones(3)", line]
    found = Difference("shape", 2, "v0", after, [3])
    assert reason_for(lines, found, wanted, got) == reason
    assert not reason_for(lines, found._replace(field="dtype"), wanted, got)


NOTHING, SIDE_BY_SIDE = "a Fourier transform of nothing", "read as if its elements lay side by side"
OWN_WRITE = "an operator of PyTorch's writes what it has saved"
A_LAYOUT = "a layout that PyTorch's kernel refuses"
LAYOUT = "view size is not compatible with input tensor's size and stride"
INFERENCE_LEAF = "with torch.inference_mode(): v0 = torch.ones(3).requires_grad_()"
MODIFIED = ("RuntimeError", "one of the variables has been modified by an inplace operation: at version 1")


@pytest.mark.parametrize(
    ("lines", "error", "reason"),
    [
        (["v0 = torch.ones(3)", "torch.vander(v0)"], MODIFIED, "an operator of PyTorch's writes what it has saved"),
        (["v0 = torch.ones(3).exp_()", "torch.vander(v0)"], MODIFIED, ""),
        (["v0 = torch.ones(3)", "v0[0] = 1"], MODIFIED, ""),
        (["v0 = torch.ones(3)", "torch.vander(v0)"], ("RuntimeError", "something else"), ""),
        (["v0 = torch.ones(3)", "torch.fft.fft(v0)"], ("RuntimeError", "MKL FFT error: no"), NOTHING),
        (["v0 = torch.ones(3)", "v0.add(1)"], ("Late", ""), "takes PyTorch too long"),
        (["v0 = torch.ones(6)[::2]", "torch.gru(v0)"], ("RuntimeError", "no"), SIDE_BY_SIDE),
        (["v0 = torch.ones(6)[::2]", "torch.gru(torch.ones(3))"], ("RuntimeError", "no"), ""),
        (["v0 = torch.ones(6)", "torch.gru(v0)"], ("RuntimeError", "no"), ""),
        (["v0 = torch.ones(6)", "v0.max_unpool(2)"], ("RuntimeError", LAYOUT), A_LAYOUT),
        (["v0 = torch.ones(6)", "v0.view(2)"], ("RuntimeError", LAYOUT), ""),
        (["v0 = torch.ones(6)", "v0.cos()"], ("RuntimeError", "x INTERNAL ASSERT FAILED at y"), "PyTorch fails inside"),
        ([INFERENCE_LEAF, "v1 = v0.var()"], ("RuntimeError", "no"), "an inference tensor that requires grad"),
        ([INFERENCE, "v1 = v0.var()"], ("RuntimeError", "no"), ""),
        (["v1 = torch.ones(3)", "v1.mul_(2)", "torch.vander(v0)"], MODIFIED, OWN_WRITE),
    ],
)  # fmt: skip
def test_what_pytorch_alone_refuses_is_told_from_differences(
    lines: list[str], error: tuple[str, str], reason: str
) -> None:
    wanted = notes(*lines[:-1])[:-1] + [[("error", {"kind": "error", "type": error[0], "text": error[1]})], []]
    found = Difference("accepts", len(lines) - 1, "error", f"{error[0]}: {error[1]}", None)
    assert reason_for(lines, found, wanted, [[]] * len(wanted)) == reason


LIBRARY, LARGER, INSIDE = OF_BUILDS["grad_fn"], OF_BUILDS["nbytes"], OF_BUILDS["text"]


@pytest.mark.parametrize(
    ("line", "name", "wanted", "got", "reasons"),
    [
        ("v1 = torch.nn.LSTM(1, 2)(v0)", "v1", "MkldnnRnnLayerBackward0", "StackBackward0", LIBRARY),
        ("v1 = torch.nn.LSTM(1, 2)(v0)", "v1", "StackBackward0", "MkldnnRnnLayerBackward0", {}),
        ("v1 = torch.sin(v0)", "v1", "SinBackward0", "MulBackward0", {}),
        ("v1 = torch._C._nn.col2im(v0, [2, 2])", "v1 shares", 96, 48, LARGER),
        ("v1 = torch.sin(v0)", "v1 shares", 96, 48, {}),
        ("v0.index_fill_(0, i, 1)", "error", "setStorage: sizes [1], strides [0]", "index 0 is out of bounds", INSIDE),
        ("v0.index_fill_(0, i, 1)", "error", "index 0 is out of bounds", "something else", {}),
    ],
)
def test_what_follows_from_the_build_is_told_from_differences(
    line: str, name: str, wanted: Any, got: Any, reasons: dict[str, Any]
) -> None:
    field = {"v1": "grad_fn", "v1 shares": "nbytes", "error": "text"}[name]
    kind = {"v1": "tensor", "v1 shares": "memory", "error": "error"}[name]
    notes_of = [[[], [(name, {"kind": kind, field: value})]] for value in (wanted, got)]
    difference = Difference(field, 1, name, wanted, got)
    assert reason_for(["v0 = torch.ones(3)", line], difference, *notes_of) == next(iter(reasons), "")


def test_a_polynomial_of_nan_is_noise_where_nothing_else_differs() -> None:
    lines = ["v0 = torch.tensor([float('nan'), 2.0])", "v1 = torch.special.chebyshev_polynomial_w(v0, 9)"]
    wanted = notes(*lines)
    for place, reason in ((0, "polynomials of NaN"), (4, "")):
        other = copy.deepcopy(wanted)
        sight = dict(other[1])["v1"]
        sight["elements"] = (b"\0" * 4).hex().join((sight["elements"][: 2 * place], sight["elements"][2 * place + 8 :]))
        (difference,) = compare(other[:2], wanted[:2])
        assert reason_for(lines, difference, other[:2], wanted[:2]) == reason


def test_elements_that_nobody_wrote_are_noise_where_both_refuse() -> None:
    lines = ["v0 = torch.zeros([0])", "torch.gather(torch.ones(3), 0, torch.tensor([9]), out=v0)"]
    wanted = notes(*lines)
    assert dict(wanted[1])["error"] and dict(wanted[1])["v0"]["shape"] == [1]
    got = copy.deepcopy(wanted)
    dict(wanted[1])["v0"]["elements"], dict(got[1])["v0"]["elements"] = "00000040", "0" * 8
    (difference,) = compare(wanted[:2], got[:2])
    assert reason_for(lines, difference, wanted, got) == "resized for a result that was refused"
    got[1] = [note for note in got[1] if note[0] != "error"]
    assert reason_for(lines, difference, wanted, got) == ""


def test_what_is_written_before_a_bad_index_is_noise_where_both_refuse() -> None:
    lines = ["v0 = torch.zeros(3)", "v0.index_fill_(0, torch.tensor([0, 9]), 1)"]
    wanted = notes(*lines)
    got = copy.deepcopy(wanted)
    assert dict(wanted[1])["error"]["type"] == "IndexError"
    dict(wanted[1])["v0"]["elements"] = "0000803f" + "0" * 16
    (difference,) = compare(wanted[:2], got[:2])
    assert reason_for(lines, difference, wanted, got) == "written before an index out of range is met"
    got[1] = [note for note in got[1] if note[0] != "error"]
    assert reason_for(lines, difference, wanted, got) == ""


@pytest.mark.parametrize(("error", "reason"), [(1e-3, "rounded to half precision on the way"), (0.5, "")])
def test_what_was_rounded_to_half_precision_agrees_to_its_tolerance(error: float, reason: str) -> None:
    line = "v0 = torch.full((3,), {}).to(torch.float32)"
    lines = ["w0 = torch.ones(2, dtype=torch.float16)", line.format(1.0)]
    wanted, got = notes(*lines), notes(lines[0], line.format(1 + error))
    (difference,) = compare(wanted[:2], got[:2])
    assert reason_for(lines, difference, wanted, got) == reason


@pytest.mark.parametrize(
    ("lines", "whole", "changes"),
    [
        (["v0 = torch.tensor([0.5, 2.0]).exp()", "v1 = v0.exp()"], False, False),
        (["v0 = torch.tensor([0.5, 2.0])", "v1 = v0 == 2"], False, False),
        (["v0 = torch.tensor([0.1, 0.1])", "v1 = v0.max(0)"], False, True),
        (["v0 = torch.tensor([0.1, 0.2]) - torch.tensor([0.1, 0.1])", "v1 = v0.sign()"], False, True),
        (["v0 = torch.ones(2, 2)", "v1 = torch.linalg.det(v0).sign()"], False, False),
        (["v0 = torch.ones(2, 2)", "v1 = torch.linalg.det(v0).sign()"], True, True),
        (["v0 = torch.ones(2).expand(2, 2)", "v1 = v0 * float('nan')"], True, False),
    ],
)
def test_nudged_numbers_change_what_hangs_on_rounding(lines: list[str], whole: bool, changes: bool) -> None:
    plain = notes(*lines)
    nudged = (Machine(mindtorch, 0).replay(lines, Nudge(mindtorch, seed, whole=whole)) for seed in range(8))
    fields = {d.field for seen in nudged for d in compare(plain, seen) if d.line == 1}
    assert ("elements" in fields) == changes and fields <= {"elements"}


def test_a_reason_is_asked_for_where_no_predicate_knows_one() -> None:
    program = {
        "seed": 1,
        "lines": ["v0 = torch.ones(2)"],
        "kinds": ["sample: ones"],
        "notes": notes("v0 = torch.ones(2)"),
    }
    wrong = notes("v0 = torch.zeros(2)")
    for answers in ({"is_rounding": lambda *_: True}, {"is_rounding": lambda *_: False}, {}):
        report = Report(["ones"], **answers)
        report.enter(program, wrong)
        expected = (1, 0) if answers.get("is_rounding", bool)() else (0, 1)
        assert (report.noise.total(), report.differing["hard"]) == expected


@pytest.mark.parametrize(
    ("line", "reads"),
    [
        ("v1.add_(v0)", True),
        ("v0[..., 1:].copy_(v0[..., :-1])", True),
        ("torch.add(v1, 1, out=v0)", True),
        ("torch.add(v0, 1, out=v0[..., ::2])", True),
        ("v0.add_(v0)", False),
        ("v0.add_(v2)", False),
        ("v0 = torch.add(v2, 1, out=v1)", False),
    ],
)
def test_lines_that_read_what_they_write_are_known(line: str, reads: bool) -> None:
    whole = mindtorch.ones(4)
    assert reads_what_it_writes(line, {"v0": whole, "v1": whole[1:], "v2": mindtorch.ones(4)}) is reads


def test_refusals_after_a_write_end_a_program() -> None:
    made = notes("v0 = torch.ones(2)", "v1 = torch.zeros(2)")
    before, written = dict(made[0])["v0"], dict(made[1])["v1"]
    refused = ("error", {"kind": "error", "type": "IndexError", "text": "out of range"})
    inside = ("error", {"kind": "error", "type": "RuntimeError", "text": "false INTERNAL ASSERT FAILED at x.cpp"})
    assert ends_undetermined("v0.index_fill_()", [refused, ("v0", written)], {"v0": before})
    assert not ends_undetermined("v0.index_fill_()", [refused, ("v0", before)], {"v0": before})
    assert not ends_undetermined("v0.zero_()", [("v0", written)], {"v0": before})
    assert ends_undetermined("v0.sum()", [inside], {})
