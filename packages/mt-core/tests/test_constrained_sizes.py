"""Numbers that are said to lie in a range: what PyTorch accepts, and its words for the rest."""

from __future__ import annotations

from typing import Any

import pytest

import mt_core

ACCEPTED: list[tuple[float, dict[str, int]]] = [
    (5, {}),
    (0, {}),
    (True, {}),
    (2.5, {}),
    (-0.5, {}),
    (5, {"min": 2, "max": 7}),
]
GREATEST = 2**63 - 1
REFUSED: list[tuple[str, tuple[float, dict[str, int]], str]] = [
    ("sym_constrain_range", (5, {"min": 6}), f"Invalid value range for 5 between [6, {GREATEST}]."),
    ("sym_constrain_range", (5, {"max": 4}), f"Invalid value range for 5 between [{-(2**63)}, 4]."),
    ("sym_constrain_range", (5, {"min": 7, "max": 2}), "Max must be greater than or equal to min. Got min=7 max=2"),
    ("sym_constrain_range_for_size", (-1, {}), f"Invalid value range for -1 between [0, {GREATEST}]."),
    ("sym_constrain_range_for_size", (5, {"max": 4}), "Invalid value range for 5 between [0, 4]."),
    (
        "sym_constrain_range_for_size",
        (1, {"min": 0, "max": 2}),
        "Max value to constrain_range_for_size must be greater than 2. got: 2",
    ),
]


@pytest.mark.parametrize("name", ["sym_constrain_range", "sym_constrain_range_for_size"])
@pytest.mark.parametrize("size, bounds", ACCEPTED)
def test_what_is_in_its_range_is_accepted(name: str, size: float, bounds: dict[str, Any]) -> None:
    assert getattr(mt_core, name)(size, **bounds) is None


def test_a_size_is_not_negative_and_any_other_number_may_be() -> None:
    assert mt_core.sym_constrain_range(-1) is None
    assert mt_core.sym_constrain_range(-1, min=-1, max=1) is None


@pytest.mark.parametrize("name, called, words", REFUSED)
def test_what_is_not_is_refused_in_pytorchs_words(name: str, called: tuple[float, dict[str, int]], words: str) -> None:
    size, bounds = called
    with pytest.raises(RuntimeError) as error:
        getattr(mt_core, name)(size, **bounds)
    assert str(error.value).partition("\n")[0] == words
