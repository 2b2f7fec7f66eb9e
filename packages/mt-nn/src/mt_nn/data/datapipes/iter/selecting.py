"""Some of the samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..utils import check_column, refuse_what_is_no_function

__all__ = ["FilterIterDataPipe"]


@functional_datapipe("filter")
class FilterIterDataPipe(IterDataPipe[Any]):
    """The samples for which a function, of the sample or of columns of it, is true.

    Raises
    ------
    ValueError
        Where the function's answer is no bool.
    """

    def __init__(self, datapipe: Any, filter_fn: Callable[..., Any], input_col: Any = None) -> None:
        super().__init__()
        self.datapipe = datapipe
        refuse_what_is_no_function(filter_fn)
        self.filter_fn = filter_fn
        self.input_col = input_col
        check_column(filter_fn, input_col)

    def __iter__(self) -> Iterator[Any]:
        for data in self.datapipe:
            if self._is_wanted(data):
                yield data

    def _is_wanted(self, data: Any) -> bool:
        if self.input_col is None:
            answer = self.filter_fn(data)
        elif isinstance(self.input_col, list | tuple):
            answer = self.filter_fn(*(data[column] for column in self.input_col))
        else:
            answer = self.filter_fn(data[self.input_col])
        if not isinstance(answer, bool):
            raise ValueError("Boolean output is required for `filter_fn` of FilterIterDataPipe, got", type(answer))
        return answer
