"""Functions of samples."""

from __future__ import annotations

import functools
from collections import namedtuple
from collections.abc import Callable, Iterator
from typing import Any

from ..._utils.collate import default_collate
from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..utils import check_column, refuse_what_is_no_function

__all__ = ["CollatorIterDataPipe", "MapperIterDataPipe"]


@functional_datapipe("map")
class MapperIterDataPipe(IterDataPipe[Any]):
    """What a function makes of each sample, or of columns of it.

    Parameters
    ----------
    input_col
        Key of the argument in the sample, or a list of keys of several; None: the sample itself.
    output_col
        Key under which the result is put into the sample, -1: behind the last; None: in the place of (the first)
        `input_col`, the other ones being removed.

    Raises
    ------
    ValueError
        For `output_col` without `input_col`, for several `output_col`, and where the function takes another number.
    """

    def __init__(self, datapipe: Any, fn: Callable[..., Any], input_col: Any = None, output_col: Any = None) -> None:
        super().__init__()
        refuse_what_is_no_function(fn)
        self.datapipe = datapipe
        self.fn = fn
        self.input_col = input_col
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        if isinstance(output_col, list | tuple):
            if len(output_col) > 1:
                raise ValueError("`output_col` must be a single-element list or tuple")
            output_col = output_col[0]
        self.output_col = output_col
        check_column(fn, input_col)

    def _apply_fn(self, data: Any) -> Any:
        if self.input_col is None and self.output_col is None:
            return self.fn(data)
        several = isinstance(self.input_col, list | tuple)
        made = self.fn(*(data[column] for column in self.input_col)) if several else self.fn(data[self.input_col])
        was_tuple = isinstance(data, tuple)
        changed = list(data) if was_tuple else data
        if self.output_col is None:
            self._put_in_place(changed, made, several)
        elif self.output_col == -1:
            changed.append(made)
        else:
            changed[self.output_col] = made
        return tuple(changed) if was_tuple else changed

    def _put_in_place(self, data: Any, made: Any, several: bool) -> None:
        if not several:
            data[self.input_col] = made
            return
        data[self.input_col[0]] = made
        for column in sorted(self.input_col[1:], reverse=True):
            del data[column]

    def __iter__(self) -> Iterator[Any]:
        for data in self.datapipe:
            yield self._apply_fn(data)

    def __len__(self) -> int:
        if hasattr(type(self.datapipe), "__len__"):
            return len(self.datapipe)
        raise TypeError(f"{type(self).__name__} instance doesn't have valid length")


def _collated(conversion: Any, sample: Any) -> Any:
    """Columns of data frames as tensors of a named tuple, as a dictionary of conversions says."""
    columns = list(sample[0].keys())
    wrong = [column for column in conversion if column not in columns]
    if wrong:
        raise RuntimeError("Conversion keys missmatch")
    converted = {}
    for column in columns:
        convert = conversion.get(column, default_collate)
        converted[column] = convert([row[column] for row in sample]) if callable(convert) else convert
    return namedtuple("CollateResult", columns)(**converted)  # type: ignore[misc]


@functional_datapipe("collate")
class CollatorIterDataPipe(MapperIterDataPipe):
    """Batches as tensors: `default_collate` of each, or what a function, or a dictionary by column, makes of it."""

    def __init__(
        self, datapipe: Any, conversion: Any = default_collate, collate_fn: Callable[..., Any] | None = None
    ) -> None:
        if collate_fn is not None:
            super().__init__(datapipe, fn=collate_fn)
        elif callable(conversion):
            super().__init__(datapipe, fn=conversion)
        else:
            super().__init__(datapipe, fn=functools.partial(_collated, conversion))
