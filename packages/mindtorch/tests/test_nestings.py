"""Random nestings of transforms give what PyTorch gave (`snapshots/make_nestings.py`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import mindtorch as torch
import mindtorch.func

NESTINGS = json.loads(Path(__file__).with_name("snapshots").joinpath("nestings.json").read_text(encoding="utf-8"))


def written(v: Any) -> Any:
    copied = v.clone()
    copied[0].mul_(3)
    return copied


@pytest.mark.parametrize("stored", NESTINGS, ids=[str(i) for i in range(len(NESTINGS))])
def test_values_are_those_of_pytorch(stored: dict[str, Any]) -> None:
    space: dict[str, Any] = {"torch": torch, "written": written}
    space.update({name: getattr(mindtorch.func, name) for name in mindtorch.func.__all__})
    exec(stored["program"], space)  # noqa: S102 - a stored program
    expected = torch.tensor(stored["values"], dtype=torch.float64).reshape(stored["shape"])
    assert space["result"].shape == expected.shape
    assert torch.allclose(space["result"], expected, atol=1e-6, equal_nan=True), stored["program"]
