"""What loaders do with pipes of `mt_nn.data.datapipes`: shuffling, seeds that all workers share, shards."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import mt_core as mt

__all__ = ["apply_seed", "is_stream", "set_shuffle", "shard"]


def is_stream(dataset: Any) -> bool:
    """Whether a dataset is an `IterDataPipe`; programs without pipes do not load them for this."""
    module = sys.modules.get("mt_nn.data.datapipes.datapipe")
    return module is not None and isinstance(dataset, module.IterDataPipe)


def _settings() -> Any:
    # late: pipes are loaded by programs that have them
    return importlib.import_module("mt_nn.data.graph_settings")


def set_shuffle(dataset: Any, shuffle: bool | None) -> None:
    """Switch the shuffling pipes of a stream; where there are none, the order is kept with a warning, as in PyTorch."""
    _settings().apply_shuffle_settings(dataset, shuffle=shuffle)


def apply_seed(dataset: Any, seed: int) -> None:
    """Give the pipes that draw numbers seeds, the same in every worker."""
    generator = mt.Generator()
    generator.manual_seed(seed)
    _settings().apply_random_seed(dataset, generator)


def shard(dataset: Any, count: int, which: int) -> None:
    """Let the sharding pipes of a worker keep its part."""
    _settings().apply_sharding(dataset, count, which)
