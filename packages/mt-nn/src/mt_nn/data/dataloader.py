"""``DataLoader``: batches of a dataset, fetched here or by worker processes."""

import itertools
import multiprocessing
import multiprocessing.context
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

import mt_core as mt
from mt_core.pinned import can_pin

from . import _utils
from ._utils import pipes
from ._utils.collate import default_collate, default_convert
from ._utils.pin_memory import pin_memory
from ._utils.worker import get_worker_info
from .dataset import Dataset, IterableDataset
from .multiprocess import WorkerPool
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, random_seed

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

T_co = TypeVar("T_co", covariant=True)


class _DatasetKind:
    """Whether samples are looked up or streamed."""

    Map = 0
    Iterable = 1

    @staticmethod
    def fetcher(kind: int) -> type:
        """The class that fetches from datasets of a kind."""
        if kind == _DatasetKind.Map:
            return _utils.fetch._MapDatasetFetcher
        return _utils.fetch._IterableDatasetFetcher

    @staticmethod
    def create_fetcher(kind: int, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool) -> Any:
        """A fetcher for a dataset."""
        return _DatasetKind.fetcher(kind)(dataset, auto_collation, collate_fn, drop_last)


class _InfiniteConstantSampler(Sampler[None]):
    """Stands in for an order where there is none: the dataset is a stream."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


class DataLoader(Generic[T_co]):
    """Iterates over a dataset in batches.

    Parameters
    ----------
    dataset
        A map from keys to samples, or an `IterableDataset`.
    batch_size, drop_last
        How many samples make a batch, None to yield them one by one; and whether a last, shorter batch is left out.
    shuffle
        Whether a new random order is drawn for every epoch.
    sampler, batch_sampler
        An order of one's own, of keys or of lists of keys; each excludes the options whose part it takes.
    num_workers
        How many processes fetch; with 0 this one does.
    collate_fn
        Combines a list of samples; `default_collate` by default, `default_convert` without batches.
    pin_memory, pin_memory_device
        Whether batches are put into page-locked memory for the accelerator, with a warning where there is none.
    timeout
        How many seconds to wait for a batch of the workers; 0 for ever.
    worker_init_fn
        Called with its number in every worker, after its generators are seeded.
    multiprocessing_context
        How workers are started: a context of `multiprocessing`, or ``"fork"``, ``"spawn"``, ``"forkserver"``.
    generator
        Draws the order and the workers' base seed; by default the default generator.
    prefetch_factor
        How many batches each worker fetches ahead; 2 by default.
    persistent_workers
        Whether workers live on for the next epoch.
    in_order
        Whether batches come in order although another worker may be ready first.

    Raises
    ------
    ValueError
        For options that contradict each other.
    """

    dataset: Dataset[T_co]
    batch_size: int | None
    num_workers: int
    pin_memory: bool
    drop_last: bool
    timeout: float
    sampler: Sampler[Any] | Iterable[Any]
    pin_memory_device: str
    prefetch_factor: int | None
    _iterator: "_BaseDataLoaderIter | None"
    __initialized = False
    __multiprocessing_context: Any = None

    def __init__(
        self,
        dataset: Dataset[T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler[Any] | Iterable[Any] | None = None,
        batch_sampler: Sampler[list[Any]] | Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: mt.Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_worker_options(num_workers, timeout, prefetch_factor, persistent_workers)
        if pipes.is_stream(dataset):
            pipes.set_shuffle(dataset, shuffle)
            shuffle = None
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if prefetch_factor is None and num_workers > 0 else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self._dataset_kind = _DatasetKind.Iterable if isinstance(dataset, IterableDataset) else _DatasetKind.Map
        if self._dataset_kind == _DatasetKind.Iterable:
            _check_iterable_options(shuffle, sampler, batch_sampler)
        _check_exclusive_options(batch_size, shuffle, sampler, batch_sampler, drop_last)
        if batch_sampler is not None:
            batch_size, drop_last = None, False
        if sampler is None:
            sampler = self._default_sampler(bool(shuffle), generator)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        self.persistent_workers = persistent_workers
        self.__initialized = True
        self._IterableDataset_len_called: int | None = None
        self._iterator = None
        self.check_worker_number_rationality()

    def _default_sampler(self, shuffle: bool, generator: mt.Generator | None) -> Sampler[Any]:
        if self._dataset_kind == _DatasetKind.Iterable:
            return _InfiniteConstantSampler()
        if shuffle:
            return RandomSampler(self.dataset, generator=generator)  # type: ignore[arg-type]
        return SequentialSampler(self.dataset)  # type: ignore[arg-type]

    @property
    def multiprocessing_context(self) -> Any:
        """How workers are started; None for the platform's default."""
        return self.__multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, multiprocessing_context: Any) -> None:
        self.__multiprocessing_context = _checked_context(multiprocessing_context, self.num_workers)

    def __setattr__(self, name: str, value: Any) -> None:
        fixed = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")
        if self.__initialized and name in fixed:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        """Yields what one fetch is given: lists of keys, or keys where there are no batches."""
        return self.batch_sampler if self._auto_collation else self.sampler

    def __iter__(self) -> "_BaseDataLoaderIter":
        if not self.persistent_workers or self.num_workers == 0:
            return self._get_iterator()
        if self._iterator is None:
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)
        return self._iterator

    def _get_iterator(self) -> "_BaseDataLoaderIter":
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        self.check_worker_number_rationality()
        return _MultiProcessingDataLoaderIter(self)

    def __len__(self) -> int:
        """How many batches an epoch has; of a stream, as many as its length promises."""
        if self._dataset_kind != _DatasetKind.Iterable:
            return len(self._index_sampler)
        length = self._IterableDataset_len_called = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)

    def check_worker_number_rationality(self) -> None:
        """Warn where there are more workers than processors for them."""
        if not self.num_workers:
            return
        available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        if available is not None and self.num_workers > available:
            warnings.warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. Our suggested max number "
                f"of worker in current system is {available}, which is smaller than what this DataLoader is going to "
                "create. Please be aware that excessive worker creation might get DataLoader running slow or even "
                "freeze, lower the worker number to avoid potential slowness/freeze if necessary.",
                stacklevel=3,
            )


def _check_worker_options(
    num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool
) -> None:
    if num_workers < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing."
            "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_iterable_options(shuffle: bool | None, sampler: Any, batch_sampler: Any) -> None:
    prefix = "DataLoader with IterableDataset: expected unspecified"
    if shuffle not in (False, None):
        raise ValueError(f"{prefix} shuffle option, but got shuffle={shuffle}")
    if sampler is not None:
        raise ValueError(f"{prefix} sampler option, but got sampler={sampler}")
    if batch_sampler is not None:
        raise ValueError(f"{prefix} batch_sampler option, but got batch_sampler={batch_sampler}")


def _check_exclusive_options(
    batch_size: int | None, shuffle: bool | None, sampler: Any, batch_sampler: Any, drop_last: bool
) -> None:
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
        raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
    if batch_sampler is None and batch_size is None and drop_last:
        raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")


def _checked_context(context: Any, num_workers: int) -> Any:
    if context is None:
        return None
    if not num_workers > 0:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading (num_workers > 0), "
            f"but got num_workers={num_workers}"
        )
    if isinstance(context, str):
        methods = multiprocessing.get_all_start_methods()
        if context not in methods:
            raise ValueError(
                f"multiprocessing_context option should specify a valid start method in {methods!r}, "
                f"but got multiprocessing_context={context!r}"
            )
        return multiprocessing.get_context(context)
    if not isinstance(context, multiprocessing.context.BaseContext):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string specifying the start method, "
            f"but got multiprocessing_context={context}"
        )
    return context


class _BaseDataLoaderIter:
    """One pass over a loader."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._dataset = loader.dataset
        self._dataset_kind = loader._dataset_kind
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._auto_collation = loader._auto_collation
        self._drop_last = loader.drop_last
        self._index_sampler = loader._index_sampler
        self._num_workers = loader.num_workers
        self._timeout = loader.timeout
        self._collate_fn = loader.collate_fn
        self._sampler_iter = iter(self._index_sampler)
        self._shared_seed = self._seed_of_pipes(loader)
        # Drawn without workers too, so that the default stream goes on alike.
        self._base_seed = random_seed(loader.generator)
        self._persistent_workers = loader.persistent_workers
        self._num_yielded = 0
        self._pin_memory = loader.pin_memory and can_pin()
        if loader.pin_memory:
            _warn_about_pinning(loader.pin_memory_device, self._pin_memory)

    def __iter__(self) -> "_BaseDataLoaderIter":
        return self

    def _seed_of_pipes(self, loader: DataLoader[Any]) -> int | None:
        """What pipes that draw numbers start from in this epoch, here and in every worker; None without such."""
        if not pipes.is_stream(self._dataset):
            return None
        seed = random_seed(loader.generator)
        pipes.apply_seed(self._dataset, seed)
        return seed

    def _reset(self, loader: DataLoader[Any], first_iter: bool = False) -> None:
        self._shared_seed = self._seed_of_pipes(loader)
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._IterableDataset_len_called = loader._IterableDataset_len_called

    def _next_index(self) -> Any:
        return next(self._sampler_iter)

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __next__(self) -> Any:
        data = self._next_data()
        if self._pin_memory:
            data = pin_memory(data)
        self._num_yielded += 1
        promised = self._IterableDataset_len_called
        if self._dataset_kind == _DatasetKind.Iterable and promised is not None and self._num_yielded > promised:
            self._warn_about_length(promised)
        return data

    def _warn_about_length(self, promised: int) -> None:
        message = (
            f"Length of IterableDataset {self._dataset} was reported to be {promised}(when accessing len(dataloader)), "
            f"but {self._num_yielded} samples have been fetched. "
        )
        if self._num_workers > 0:
            message += (
                "For multiprocessing data-loading, this could be caused by not properly configuring the "
                "IterableDataset replica at each worker. Please see https://pytorch.org/docs/stable/data.html"
                "#torch.utils.data.IterableDataset for examples."
            )
        warnings.warn(message, stacklevel=3)

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} cannot be pickled")


def _warn_about_pinning(device: str, pinned: bool) -> None:
    if device:
        warnings.warn(
            "pin_memory_device is deprecated, the current accelerator will be used as the device,"
            f"ignore pin_memory_device='{device}'.",
            stacklevel=4,
        )
    if not pinned:
        warnings.warn(
            "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be "
            "used.",
            stacklevel=4,
        )


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """Fetches each batch when it is asked for."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        self._dataset_fetcher = _DatasetKind.create_fetcher(
            self._dataset_kind, self._dataset, self._auto_collation, self._collate_fn, self._drop_last
        )

    def _next_data(self) -> Any:
        return self._dataset_fetcher.fetch(self._next_index())


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Has worker processes fetch batches ahead."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        fetcher = _DatasetKind.fetcher(self._dataset_kind)
        self._pool = WorkerPool(loader, fetcher, self._base_seed, self._shared_seed)
        # PyTorch draws another here, so that the default stream goes on alike; workers have the first.
        self._shared_seed = self._seed_of_pipes(loader)
        self._pool.begin(self._sampler_iter)

    def _reset(self, loader: DataLoader[Any], first_iter: bool = False) -> None:
        super()._reset(loader, first_iter)
        self._pool.resume(self._shared_seed)
        self._pool.begin(self._sampler_iter)

    def _next_data(self) -> Any:
        return self._pool.next_batch()
