"""Whether the program of this thread runs in order to be written down as a graph, rather than for its results."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NoReturn

__all__ = ["OpenNumber", "capturing", "opened"]


class _Capturing(threading.local):
    depth = 0


#: ``depth`` counts the captures that are under way in this thread. What a graph is to do at each of its runs must not
#: be decided by elements then: code that would read them takes the way that computes with tensors.
capturing = _Capturing()


class OpenNumber:
    """What stands in the place of a number that a graph is to be given at each of its runs, while it is captured.

    Code that knows of it takes the tensor that is the graph's input (`opened`). Whatever else a program does with a
    number raises: what came of it would be the same at each run. That it is there, and is not None, may be asked.

    Parameters
    ----------
    tensor
        Has no dimensions.
    refuse
        Makes the error.
    """

    __slots__ = ("_refuse", "_tensor")

    def __init__(self, tensor: Any, refuse: Callable[[], Exception]) -> None:
        self._tensor, self._refuse = tensor, refuse

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """Asked by ``isinstance`` of other types: so a program cannot take another way for it."""
        raise self._refuse()


def _refused(self: OpenNumber, *args: Any) -> NoReturn:
    raise self._refuse()


for _name in (
    "abs add and array bool bytes call ceil complex contains copy deepcopy delattr dir divmod eq float floor floordiv "
    "format ge getattr getitem gt hash index int invert iter le len lshift lt matmul mod mul ne neg or pos pow radd "
    "rand rdivmod reduce reduce_ex repr rfloordiv rlshift rmatmul rmod rmul ror round rpow rrshift rshift rsub "
    "rtruediv rxor str sub truediv trunc xor"
).split():
    setattr(OpenNumber, f"__{_name}__", _refused)


def opened(value: Any) -> Any:
    """A number, or the tensor that a graph is given in its place."""
    return value._tensor if type(value) is OpenNumber else value
