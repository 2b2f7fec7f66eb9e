"""The sampler that shares a dataset among the processes of distributed training."""

import math
from collections.abc import Iterator
from typing import Any, TypeVar

import mt_core as mt

from .._process_groups import default_process_group
from .dataset import Dataset
from .sampler import Sampler

__all__ = ["DistributedSampler"]

T_co = TypeVar("T_co", covariant=True)


class DistributedSampler(Sampler[T_co]):
    """Every ``num_replicas``-th index from ``rank`` on, of an order that is the same in all processes.

    All parts have one length: a few indices come twice, or the last ones are left out.

    Parameters
    ----------
    dataset
        Of a length that does not change.
    num_replicas, rank
        How many processes there are, and which one this is; those of the default process group for None.
    shuffle, seed
        Whether the order is random, and the seed of all processes; call :meth:`set_epoch` before each epoch.
    drop_last
        Whether the last indices are left out where they do not fill all parts.

    Raises
    ------
    ValueError
        Where the rank is out of range; or is not given, and there is no process group that could tell it.
    """

    def __init__(
        self,
        dataset: Dataset[Any],
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            group = default_process_group()
            if group is None:
                raise ValueError(
                    "Default process group has not been initialized, please make sure to call init_process_group."
                )
            num_replicas = group.size() if num_replicas is None else num_replicas
            rank = group.rank() if rank is None else rank
        if rank >= num_replicas or rank < 0:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        length = len(dataset)  # type: ignore[arg-type]
        if drop_last and length % num_replicas != 0:
            self.num_samples = math.ceil((length - num_replicas) / num_replicas)
        else:
            self.num_samples = math.ceil(length / num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[T_co]:
        indices = self._order()
        if not self.drop_last and indices:
            repeats = math.ceil(self.total_size / len(indices))
            indices = indices * repeats
        return iter(indices[self.rank : self.total_size : self.num_replicas])  # type: ignore[arg-type]

    def _order(self) -> list[int]:
        length = len(self.dataset)  # type: ignore[arg-type]
        if not self.shuffle:
            return list(range(length))
        generator = mt.Generator()
        generator.manual_seed(self.seed + self.epoch)
        return mt.randperm(length, generator=generator).tolist()

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of an epoch. Without it, every epoch has the same."""
        self.epoch = epoch
