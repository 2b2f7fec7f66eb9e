"""Programs of every day give on the backends that prove the contract what they give on the CPU.

One has immutable buffers; one refuses whatever the contract does not list, and notes it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

from mt_core.testing.proofs import registered_proof
from mt_core.testing.strict_backend import asked_for, forget_asked

from .everyday_programs import PROGRAMS

for _name in ("boxed", "strict"):
    registered_proof(_name)


@pytest.mark.parametrize("device", ["boxed", "strict"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_as_on_the_cpu(program: Callable[[str], Any], device: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = program("cpu")
        forget_asked()
        found = program(device)
    assert repr(found).replace(f", device='{device}:0'", "") == repr(wanted)
    assert not asked_for(), f"the contract does not list {', '.join(asked_for())}"
