"""``torch.utils.data``: datasets, samplers and the loader that makes batches of them."""

import importlib
from typing import Any

from mt_nn.data.dataloader import DataLoader as DataLoader
from mt_nn.data.dataloader import _DatasetKind as _DatasetKind
from mt_nn.data.dataloader import default_collate as default_collate
from mt_nn.data.dataloader import default_convert as default_convert
from mt_nn.data.dataloader import get_worker_info as get_worker_info
from mt_nn.data.dataset import ChainDataset as ChainDataset
from mt_nn.data.dataset import ConcatDataset as ConcatDataset
from mt_nn.data.dataset import Dataset as Dataset
from mt_nn.data.dataset import IterableDataset as IterableDataset
from mt_nn.data.dataset import StackDataset as StackDataset
from mt_nn.data.dataset import Subset as Subset
from mt_nn.data.dataset import TensorDataset as TensorDataset
from mt_nn.data.dataset import random_split as random_split
from mt_nn.data.distributed import DistributedSampler as DistributedSampler
from mt_nn.data.sampler import BatchSampler as BatchSampler
from mt_nn.data.sampler import RandomSampler as RandomSampler
from mt_nn.data.sampler import Sampler as Sampler
from mt_nn.data.sampler import SequentialSampler as SequentialSampler
from mt_nn.data.sampler import SubsetRandomSampler as SubsetRandomSampler
from mt_nn.data.sampler import WeightedRandomSampler as WeightedRandomSampler

_PIPES = frozenset("IterDataPipe MapDataPipe DFIterDataPipe DataChunk".split())
_DECORATORS = frozenset(
    """
    argument_validation functional_datapipe guaranteed_datapipes_determinism non_deterministic runtime_validation
    runtime_validation_disabled
    """.split()
)


def __getattr__(name: str) -> Any:
    """What belongs to `datapipes`, loaded when it is first asked for."""
    if name in ("datapipes", "graph", "graph_settings"):
        return importlib.import_module(f".{name}", __name__)
    if name in _PIPES or name in _DECORATORS:
        # The pipes register themselves as methods of the base classes.
        importlib.import_module(".datapipes", __name__)
        module = ".datapipes.datapipe" if name in _PIPES else ".datapipes._decorator"
        return getattr(importlib.import_module(module, __name__), name)
    raise AttributeError(f"module 'torch.utils.data' has no attribute '{name}'")


__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DFIterDataPipe",
    "DataChunk",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterDataPipe",
    "IterableDataset",
    "MapDataPipe",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "argument_validation",
    "default_collate",
    "default_convert",
    "functional_datapipe",
    "get_worker_info",
    "guaranteed_datapipes_determinism",
    "non_deterministic",
    "random_split",
    "runtime_validation",
    "runtime_validation_disabled",
]
