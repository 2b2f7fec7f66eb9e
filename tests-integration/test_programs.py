"""Random programs give PyTorch's values, gradients and second gradients, and refuse the same steps."""

from __future__ import annotations

import importlib.util
import json
import math
from pathlib import Path
from types import ModuleType

import pytest

import mindtorch

SNAPSHOTS = Path(__file__).parent / "snapshots"
STORED = json.loads((SNAPSHOTS / "programs.json").read_text(encoding="utf-8"))


def _programs() -> ModuleType:
    spec = importlib.util.spec_from_file_location("programs", SNAPSHOTS / "programs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


programs = _programs()


@pytest.mark.parametrize("first", range(0, 600, 50))
def test_programs_agree_with_pytorch(first: int) -> None:
    differing = []
    for seed in range(first, first + 50):
        if str(seed) not in STORED:
            continue
        results, refused = programs.run(mindtorch, seed)
        expected, expected_refusals = STORED[str(seed)]
        agree = len(results) == len(expected) and all(
            a is b is None or a is not None and b is not None and math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-6)
            for a, b in zip(results, expected, strict=True)
        )
        if not agree or refused != expected_refusals:
            differing.append((seed, results, expected, refused, expected_refusals))
    assert not differing
