"""Every operator has all its rooms, but for the gaps listed with their reasons."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from mt_core.testing import declared_operators, empty_slots, read_gaps
from mt_core.testing.slots import constant_arguments

GAPS = read_gaps(Path(__file__).with_name("gaps.toml"))
SLOTS = ("shape", "cpu", "derivative", "samples", "doc")


@pytest.fixture(scope="module")
def slots() -> dict[str, list[str]]:
    for sibling in ("mt_autograd", "mt_backend_cpu"):
        if importlib.util.find_spec(sibling) is None:
            pytest.skip(f"{sibling} is not installed")
    return empty_slots()


def test_enough_operators_are_declared() -> None:
    assert len({o.packet_name for o in declared_operators() if not o.declaration.functional}) >= 250


@pytest.mark.parametrize("slot", SLOTS)
def test_no_slot_is_empty(slots: dict[str, list[str]], slot: str) -> None:
    missing = [name for name in slots[slot] if name not in GAPS.get(slot, {})]
    assert not missing, f"nothing fills the slot '{slot}' of: {', '.join(missing)}"


@pytest.mark.parametrize("slot", SLOTS)
def test_no_gap_is_listed_in_vain(slots: dict[str, list[str]], slot: str) -> None:
    filled = [name for name in GAPS.get(slot, {}) if name not in slots[slot]]
    assert not filled, f"gaps.toml lists operators whose slot '{slot}' is filled: {', '.join(filled)}"


def test_samples_vary_every_argument() -> None:
    """A kernel that ignores an argument shows only where the argument has two values."""
    constant = {f"{name} {argument}" for name, found in constant_arguments().items() for argument in found}
    known = set(GAPS["constant_arguments"])
    assert not constant - known, f"all samples give one value to: {', '.join(sorted(constant - known))}"
    assert not known - constant, f"gaps.toml lists arguments that samples vary: {', '.join(sorted(known - constant))}"


def test_gaps_give_reasons() -> None:
    assert set(GAPS) <= {*SLOTS, "constant_arguments"}
    assert all(len(reason.split()) > 3 for table in GAPS.values() for reason in table.values())
