"""Values, errors and warnings, word for word as PyTorch's (snapshots/make_expressions.py)."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import mt_core
import mt_nn
import mt_nn.utils.prune


def load_snapshots():
    path = Path(__file__).parent / "snapshots" / "evaluation.py"
    spec = importlib.util.spec_from_file_location("mt_nn_evaluation", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


evaluation = load_snapshots()
RECORDED = evaluation.recorded()
SCOPE = evaluation.names(mt_nn, mt_core)


def test_every_expression_is_recorded():
    assert list(RECORDED) == evaluation.expressions()


@pytest.mark.parametrize("text", evaluation.expressions())
def test_as_pytorch(text):
    found = evaluation.outcome(lambda: eval(text, dict(SCOPE)))  # noqa: S307
    assert found == RECORDED[text]
