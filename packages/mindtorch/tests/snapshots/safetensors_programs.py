"""What is written to safetensors files, and how; the same for PyTorch and mindtorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_MAPPING = {"half": 1, "model.spread": 2, "model.whole": 1, "single": 2, "double": 3, "empty": 3}

WRITERS: dict[str, dict[str, Any]] = {
    "whole": {"fqn_to_index_mapping": _MAPPING},
    "pieces": {"save_distributed": True},
    "pieces_mapped": {"save_distributed": True, "fqn_to_index_mapping": _MAPPING},
    "consolidated": {"save_distributed": True, "enable_consolidation": True},
    "consolidated_mapped": {
        "save_distributed": True,
        "enable_consolidation": True,
        "fqn_to_index_mapping": _MAPPING,
        "thread_count_consolidation": 2,
    },
}


def saved_state(torch: Any, spread: Callable[[Any], Any]) -> dict[str, Any]:
    """Tensors; `spread` makes those that two ranks share.

    They are of floating dtypes and have dimensions: PyTorch consolidates no others.
    """
    numbers = torch.arange(15.0).reshape(5, 3)
    return {
        "model": {"whole": numbers + 1, "spread": spread(numbers)},
        "half": torch.arange(3.0).bfloat16(),
        "single": spread(torch.full((2,), 7.0)),
        "double": torch.full((2, 2), 0.1, dtype=torch.float64),
        "empty": torch.ones(0, 2),
    }


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two such states have the same numbers."""
    flat, other_flat = ({**state, **state["model"], "model": None} for state in (one, other))
    return all(flat[name] is None or flat[name].tolist() == other_flat[name].tolist() for name in flat)
