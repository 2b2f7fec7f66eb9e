"""The derivatives take their exam on the CPU: a tenth of the samples here, all of them in ``./dev exam``."""

from __future__ import annotations

from pathlib import Path

from mt_autograd.testing import DerivativeExam, is_chosen
from mt_core.testing import read_gaps
from mt_core.testing.basis_backend import OfTheBasis
from mt_core.testing.proofs import AsksNothingElse, registered_proof

for _name in ("boxed", "strict", "basis"):
    registered_proof(_name)


class TestDerivatives(DerivativeExam):
    gaps = read_gaps(Path(__file__).with_name("derivative_gaps.toml"))


class TestBoxedDerivatives(TestDerivatives):
    """On immutable buffers."""

    device_type = "boxed"
    share = 0.02


class TestStrictDerivatives(AsksNothingElse, TestBoxedDerivatives):
    """On a backend with the contract's attributes only."""

    device_type = "strict"


class TestBasisDerivatives(OfTheBasis, TestDerivatives):
    """On ten kernels: derivatives are written in them too."""

    device_type = "basis"
    share = 0.02


def test_the_share_is_the_same_everywhere() -> None:
    assert [is_chosen(f"mul.Tensor(sample {i})", 0.1) for i in range(12)].count(True) <= 4
    assert is_chosen("anything", 1) and not is_chosen("anything", 0)
