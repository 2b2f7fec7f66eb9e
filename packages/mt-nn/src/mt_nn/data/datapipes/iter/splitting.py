"""One stream as several: copies of it, or parts by a function. What one part has not read yet waits in a buffer."""

from __future__ import annotations

import copy as copying
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from .._decorator import functional_datapipe
from .._watching import described
from ..datapipe import IterDataPipe
from ..utils import refuse_what_is_no_function

__all__ = ["DemultiplexerIterDataPipe", "ForkerIterDataPipe"]

_UNLIMITED = "Unlimited buffer size is set for `{}`, please be aware of OutOfMemory issues"


def _checked(num_instances: int, buffer_size: int, name: str) -> None:
    if num_instances < 1:
        raise ValueError(f"Expected `num_instances` larger than 0, but {num_instances} is found")
    if buffer_size < 0:
        warnings.warn(_UNLIMITED.format(name), stacklevel=4)


class _Splitter(IterDataPipe[Any]):
    """What the parts of a stream have in common: the one iterator, and what waits for each."""

    def __init__(self, datapipe: Any, num_instances: int, buffer_size: int) -> None:
        self.main_datapipe = datapipe
        self.num_instances = num_instances
        self.buffer_size = buffer_size
        self._source: Iterator[Any] | None = None
        self._waiting: list[deque[Any]] = [deque() for _ in range(num_instances)]
        self._running: set[int] = set()
        self._ended = False

    def begin(self, which: int) -> int:
        """A new iterator of one part; where that one had begun, all begin anew.

        The number it has among the rounds of this stream.
        """
        if self._valid_iterator_id is None:
            self._valid_iterator_id = 0
        elif which in self._running:
            self._valid_iterator_id += 1
            if not self._ended:
                warnings.warn(
                    "Some child DataPipes are not exhausted when __iter__ is called. We are resetting the buffer and "
                    "each child DataPipe will read from the start again.",
                    stacklevel=4,
                )
            self._restart()
        self._running.add(which)
        return self._valid_iterator_id

    def _restart(self) -> None:
        self._source, self._ended = None, False
        self._running.clear()
        for buffer in self._waiting:
            buffer.clear()

    def reset(self) -> None:
        """Begin anew, for all parts."""
        self._restart()

    def next_of(self, which: int) -> Any:
        """The next sample of a part; StopIteration where there is none."""
        while not self._waiting[which]:
            if self._ended:
                raise StopIteration
            self._refuse_to_fetch()
            if self._source is None:
                self._source = iter(self.main_datapipe)
            try:
                sample = next(self._source)
            except StopIteration:
                self._ended = True
                raise
            self._hand_out(sample, which)
        return self._waiting[which].popleft()

    def _refuse_to_fetch(self) -> None:
        """Raise where the buffer is full."""

    def _hand_out(self, sample: Any, which: int) -> None:
        raise NotImplementedError

    def __getstate__(self) -> Any:
        state = {
            **vars(self), "_source": None, "_ended": False, "_running": set(),
            "_waiting": [deque() for _ in range(self.num_instances)],
        }  # fmt: skip
        return self._state(state)


class _ChildDataPipe(IterDataPipe[Any]):
    """One part of a stream; its iterator is valid until that part, with all others, begins anew."""

    _is_child_datapipe = True

    def __init__(self, main_datapipe: _Splitter, instance_id: int) -> None:
        self.main_datapipe = main_datapipe
        self.instance_id = instance_id

    def __iter__(self) -> Iterator[Any]:
        number = self.main_datapipe.begin(self.instance_id)
        self._valid_iterator_id = number
        return self._samples(number)

    def _samples(self, number: int) -> Iterator[Any]:
        while True:
            if number != self.main_datapipe._valid_iterator_id:
                raise RuntimeError(
                    "This iterator has been invalidated, because a new iterator has been created from one of the "
                    f"ChildDataPipes of {described(self.main_datapipe)}.\n"
                    "For feedback regarding this single iterator per IterDataPipe constraint, feel free to comment on "
                    "this issue: https://github.com/pytorch/data/issues/45."
                )
            try:
                sample = self.main_datapipe.next_of(self.instance_id)
            except StopIteration:
                return
            yield sample

    def __len__(self) -> int:
        return len(self.main_datapipe)

    def __getattr__(self, attribute_name: str) -> Any:
        if attribute_name in type(self).functions:
            return super().__getattr__(attribute_name)
        if attribute_name == "main_datapipe" or attribute_name.startswith("__"):
            raise AttributeError(attribute_name)
        return getattr(self.main_datapipe, attribute_name)


class _ForkerIterDataPipe(_Splitter):
    def __init__(self, datapipe: Any, num_instances: int, buffer_size: int, copy: str | None) -> None:
        super().__init__(datapipe, num_instances, buffer_size)
        if copy not in (None, "shallow", "deep"):
            raise ValueError(f"Unknown copy method `{copy}` requested, choose one of None, `shallow` or `deep`.")
        self._copying = copy

    def _hand_out(self, sample: Any, which: int) -> None:
        for buffer in self._waiting:
            if self._copying is None:
                buffer.append(sample)
            else:
                buffer.append(copying.copy(sample) if self._copying == "shallow" else copying.deepcopy(sample))

    def _refuse_to_fetch(self) -> None:
        """Raise where the slowest part would be further behind than the buffer is long; asked at the end as well."""
        if 0 <= self.buffer_size <= max(map(len, self._waiting)):
            raise BufferError(f"ForkerIterDataPipe buffer overflow,buffer size {self.buffer_size} is insufficient.")

    def __len__(self) -> int:
        return len(self.main_datapipe)


@functional_datapipe("fork")
class ForkerIterDataPipe(IterDataPipe[Any]):
    """A list of streams of the same samples.

    Parameters
    ----------
    buffer_size
        So many samples may wait for the slowest; BufferError for more, -1 for any number.
    copy
        ``"shallow"`` or ``"deep"``: each stream has samples of its own.
    """

    def __new__(cls, datapipe: Any, num_instances: int, buffer_size: int = 1000, copy: str | None = None) -> Any:
        _checked(num_instances, buffer_size, "fork")
        if num_instances == 1:
            return datapipe
        main = _ForkerIterDataPipe(datapipe, num_instances, buffer_size, copy)
        return [_ChildDataPipe(main, which) for which in range(num_instances)]


class _DemultiplexerIterDataPipe(_Splitter):
    def __init__(
        self, datapipe: Any, num_instances: int, classifier_fn: Callable[[Any], int | None], drop_none: bool, size: int
    ) -> None:
        super().__init__(datapipe, num_instances, size)
        self.classifier_fn = classifier_fn
        self.drop_none = drop_none

    def _hand_out(self, sample: Any, which: int) -> None:
        part = self.classifier_fn(sample)
        if part is None and self.drop_none:
            return
        if part is None or part >= self.num_instances or part < 0:
            raise ValueError(
                f"Output of the classification fn should be between 0 and {self.num_instances - 1}. {part} is returned."
            )
        if part != which and 0 <= self.buffer_size <= sum(map(len, self._waiting)):
            raise BufferError(
                f"DemultiplexerIterDataPipe buffer overflow, buffer size {self.buffer_size} is insufficient."
            )
        self._waiting[part].append(sample)


@functional_datapipe("demux")
class DemultiplexerIterDataPipe(IterDataPipe[Any]):
    """A list of streams, each of the samples for which a function gives its number.

    Parameters
    ----------
    drop_none
        Whether samples for which it gives None are dropped; else they are an error.
    buffer_size
        So many samples may wait together; BufferError for more, -1 for any number.
    """

    def __new__(
        cls,
        datapipe: Any,
        num_instances: int,
        classifier_fn: Callable[[Any], int | None],
        drop_none: bool = False,
        buffer_size: int = 1000,
    ) -> Any:
        _checked(num_instances, buffer_size, "demux")
        refuse_what_is_no_function(classifier_fn)
        main = _DemultiplexerIterDataPipe(datapipe, num_instances, classifier_fn, drop_none, buffer_size)
        return [_ChildDataPipe(main, which) for which in range(num_instances)]
