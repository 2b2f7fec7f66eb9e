"""Values, errors and warnings, word for word as PyTorch's (snapshots/make_expressions.py)."""

from __future__ import annotations

import importlib.util
import sys
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


#: Of these the error is Python's own, in words that 3.11 has changed.
SINCE_PYTHON_3_11 = {'delattr(nn.Linear(2, 3), "nope")'}
EXPRESSIONS = [e for e in evaluation.expressions() if e not in SINCE_PYTHON_3_11 or sys.version_info >= (3, 11)]


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_as_pytorch(text):
    found = evaluation.outcome(lambda: eval(text, dict(SCOPE)))  # noqa: S307
    assert found == RECORDED[text]
