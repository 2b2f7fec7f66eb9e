"""``torch.utils.data``: datasets, samplers and the loader that makes batches of them."""

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

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "default_collate",
    "default_convert",
    "get_worker_info",
    "random_split",
]
