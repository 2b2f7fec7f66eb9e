"""The classes that count as tensors: `Tensor` and every subclass, entered as each is made.

``value.__class__ in TENSORS`` is an exact test at a quarter of the price of ``isinstance``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

#: Of Any, because a type checker takes what passes the test for an instance of the set's items' common class.
TENSORS: set[Any] = set()


def tensors_in(value: Any) -> Iterator[Any]:
    """The tensors of an argument or result, in order, those in lists and tuples too."""
    if value.__class__ in TENSORS:
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)
