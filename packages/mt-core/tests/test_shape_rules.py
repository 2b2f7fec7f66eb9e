"""Every shape rule says its shapes, in named dimensions."""

from __future__ import annotations

import importlib
import pkgutil
import re

import pytest

import mt_core.shape_rules
from mt_core.dispatch.registry import SHAPE_RULES

for _module in pkgutil.iter_modules(mt_core.shape_rules.__path__):
    importlib.import_module(f"mt_core.shape_rules.{_module.name}")


@pytest.mark.parametrize("operator", sorted(SHAPE_RULES))
def test_a_rule_says_its_shapes(operator: str) -> None:
    said = SHAPE_RULES[operator].__doc__ or ""
    arguments, arrow, result = said.partition("->")
    assert arrow, "write `self (N, C), weight (C,) -> (N,)` under the rule's head"
    assert re.search(r"\(.*\)|view|like|without|shape|tensors", result), "the result has no shape"
    assert not arguments.strip() or re.search(r"\(|tensors", arguments), "the arguments have no shapes"
