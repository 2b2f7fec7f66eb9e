"""The whole exam on one device: `python -m tools.exam [DEVICE]`, and its single checks for `tools.mutate`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from mt_autograd.testing import DerivativeExam, check_recording
from mt_core.dtypes import float64
from mt_core.testing import BackendExam, DeviceReference, StoredReference, read_gaps
from mt_core.testing.altered import Differences, StoredCalls, check_altered, has_altered_calls
from mt_core.testing.exam import APPLIES
from mt_core.testing.gaps import Gaps, merge_gaps
from mt_core.testing.proofs import NAMES, Proof, registered_proof
from mt_core.testing.sample import examined_operators, holds

__all__ = ["Check", "Exams", "make_exams"]

PACKAGES = Path(__file__).parents[2] / "packages"
ALTERED = PACKAGES / "mt-backend-cpu" / "tests" / "altered_differences.toml"
#: Device type -> the backend's name, where that is another.
BACKENDS = {"cuda": "gpu", "npu": "ascend"}
#: Device types that lack kernels: operators whose samples find none are passed over, and the report names them.
PARTIAL = {"xla": PACKAGES / "mt-xla" / "tests" / "gaps.toml"}
STORED = PACKAGES / "mt-backend-cpu" / "tests" / "snapshots" / "samples"


class Check(NamedTuple):
    """One check of one operator; `run` raises where it fails. With a `reason`, it is known to fail."""

    name: str
    operator: str
    run: Callable[[], None]
    reason: str = ""


class Exams(NamedTuple):
    """What a device is asked: results, and derivatives where it calculates."""

    results: BackendExam
    derivatives: DerivativeExam | None

    def checks(self, operators: Iterable[str] | None = None) -> Iterator[Check]:
        """All checks, or those of some operators."""
        wanted = None if operators is None else set(operators)
        for name in APPLIES:
            for operator in self.results.operators(name):
                if wanted is None or operator in wanted:
                    yield _check(self.results, name, operator)
        if isinstance(self.results.reference, StoredReference):
            yield from self._recordings(wanted)
            yield from _altered_calls(wanted)
        if self.derivatives is None or not holds(self.results.device_type, float64):
            return  # derivatives are compared with differences in double precision
        for operator in self.derivatives.operators():
            if wanted is None or operator in wanted:
                yield _check(self.derivatives, "test_first_derivative", operator)
                yield _check(self.derivatives, "test_second_derivative", operator)

    def _recordings(self, wanted: set[str] | None) -> Iterator[Check]:
        """What requires grad, where PyTorch's answers are stored."""
        reference, gaps = self.results.reference, self.results.gaps
        for overload in examined_operators():
            if overload.declaration.form == "functional" and (wanted is None or overload.name in wanted):
                reason = gaps.get("recording", {}).get(overload.name, "")
                yield Check(
                    "recording", overload.name, partial(check_recording, overload.name, reference, gaps), reason
                )


@cache
def _stored_calls() -> tuple[StoredCalls, Differences]:
    """What PyTorch said to altered calls, and what is known to differ; both take long to read."""
    return StoredCalls(STORED.with_name("altered")), read_gaps(ALTERED)


def _altered_calls(wanted: set[str] | None) -> Iterator[Check]:
    """Calls with one argument altered, where PyTorch's answers are stored."""
    stored, known = _stored_calls()
    for overload in examined_operators():
        if has_altered_calls(overload) and (wanted is None or overload.name in wanted):
            yield Check("altered calls", overload.name, partial(check_altered, overload.name, stored, known))


def _check(exam: BackendExam | DerivativeExam, name: str, operator: str) -> Check:
    reason = exam.gaps.get(name.removeprefix("test_"), {}).get(operator, "")
    return Check(name.removeprefix("test_"), operator, partial(getattr(exam, name), operator), reason)


def make_exams(device_type: str, gaps: Path | None = None, share: float = 1) -> Exams:
    """The exams of a device, or of a proof; its gaps are those of the distribution that brings it, unless told.

    Of the derivatives, a `share` of the samples is checked.
    """
    proof = registered_proof(device_type) if device_type in NAMES else Proof(None)
    known = merge_gaps(*(read_gaps(path) for path in ([gaps] if gaps else gaps_of(device_type)) if path.is_file()))
    reference = StoredReference(STORED, "run make_samples.py") if device_type == "cpu" else DeviceReference("cpu")
    facts = {"device_type": device_type, "gaps": known, "reference": reference, "calculates": proof.calculates}
    facts["partial"] = device_type in PARTIAL
    results = type("Results", (*proof.bases, BackendExam), facts)()
    return Exams(results, _derivatives(device_type, proof, known, share) if proof.calculates else None)


def gaps_of(device_type: str) -> list[Path]:
    """Where the known gaps of a device are listed, if it has any."""
    if device_type in NAMES:
        tests = PACKAGES / "mt-core" / "tests"
        return [tests / "proof_gaps.toml", tests / f"{device_type}_gaps.toml"]
    if device_type in PARTIAL:
        return [PARTIAL[device_type]]
    if device_type == "npu" and os.environ.get("MT_ASCEND_TARGET") != "CPU":
        return []  # those that are listed are of MindSpore's kernels for the CPU
    return [PACKAGES / f"mt-backend-{BACKENDS.get(device_type, device_type)}" / "tests" / "gaps.toml"]


def _derivatives(device_type: str, proof: Proof, known: Gaps, share: float) -> DerivativeExam:
    general = read_gaps(PACKAGES / "mt-autograd" / "tests" / "derivative_gaps.toml")
    facts = {"device_type": device_type, "gaps": merge_gaps(general, known), "share": share}
    return type("Derivatives", (*proof.bases, DerivativeExam), facts)()
