"""Whether nothing has changed, told in a few passes over all that was noted.

A check of its own for each container costs a microsecond; most programs hold dicts and lists of which nothing is
replaced between calls. So the objects in all of them are compared by identity, in passes that run in C. Where a pass
finds another object, the checks themselves are asked, which know equal values.
"""

from __future__ import annotations

import collections
import operator
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

__all__ = ["MISSING", "SameContainers", "SameNames"]

_values = operator.methodcaller("values")
#: Containers whose length and items can be asked for without running a program's code.
_DICTS = frozenset({dict, collections.OrderedDict})
_SEQUENCES = frozenset({list, collections.deque, set})


class _Missing:
    def __repr__(self) -> str:
        return "nothing"


#: What a name stands for that is not there.
MISSING = _Missing()


def _ids(values: Iterable[Any]) -> list[int]:
    return [*map(id, values)]


class SameContainers:
    """Whether dicts, lists, deques and sets hold the objects that they held.

    Parameters
    ----------
    noted
        Container, the keys of a dict, the values; of types that `covers` knows. The objects are kept by whoever noted
        them, so that their ids are not given again.
    """

    def __init__(self, noted: Sequence[tuple[Any, tuple[Any, ...], tuple[Any, ...]]]) -> None:
        self._empty = [container for container, _, values in noted if not values]
        dicts = [one for one in noted if one[2] and type(one[0]) in _DICTS]
        sequences = [one for one in noted if one[2] and type(one[0]) in _SEQUENCES]
        self._dicts, self._sequences = [one[0] for one in dicts], [one[0] for one in sequences]
        self._facts = (
            [len(keys) for _, keys, _ in dicts], [len(values) for _, _, values in sequences],
            _ids(chain.from_iterable(keys for _, keys, _ in dicts)),
            _ids(chain.from_iterable(values for _, _, values in dicts)),
            _ids(chain.from_iterable(values for _, _, values in sequences)),
        )  # fmt: skip

    @staticmethod
    def covers(container: Any) -> bool:
        """Whether containers of this type are compared."""
        return type(container) in _DICTS or type(container) in _SEQUENCES

    def holds(self) -> bool:
        """Whether they hold the same objects, in the same order."""
        dicts, sequences = self._dicts, self._sequences
        return not any(self._empty) and self._facts == (
            [*map(len, dicts)], [*map(len, sequences)], _ids(chain.from_iterable(dicts)),
            _ids(chain.from_iterable(map(_values, dicts))), _ids(chain.from_iterable(sequences)),
        )  # fmt: skip


class SameNames:
    """Whether names of dicts and classes stand for the objects that they stood for, which whoever noted them keeps.

    A name of a class is one that the class has itself. One that is not there stands for `MISSING`.
    """

    def __init__(self, owners: Sequence[dict[Any, Any] | type], names: Sequence[str], values: Sequence[Any]) -> None:
        known: dict[int, Any] = {}
        looked_in = [known.setdefault(id(owner), owner if isinstance(owner, dict) else vars(owner)) for owner in owners]
        self._lookups = [held.get for held in looked_in]
        self._names = names
        self._facts = _ids(values)

    def holds(self) -> bool:
        """Whether each stands for the same object."""
        return [id(look(name, MISSING)) for look, name in zip(self._lookups, self._names, strict=True)] == self._facts
