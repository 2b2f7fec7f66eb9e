"""What is said of single operators under a `FakeTensorMode`."""

from __future__ import annotations

from typing import Any

from mt_core import dtypes
from mt_library.ops import ops

from ._errors import DynamicOutputShapeException
from ._fake import fakes_among

__all__ = ["LIFTING", "refuse_elements"]

#: Operators that a tensor made of Python data goes through.
LIFTING = frozenset("lift lift_fresh lift_fresh_copy".split())

#: Operators whose indices may be masks, which select as many elements as they have ones.
_INDEXING = frozenset(["index"])
_MASKS = (dtypes.bool, dtypes.uint8)


def refuse_elements(func: Any, args: tuple[Any, ...]) -> None:
    """Refuse a mask as an index: how much it selects is not known.

    Raises
    ------
    DynamicOutputShapeException
        Naming ``nonzero``, which a mask is turned into indices by.
    """
    if func._opname in _INDEXING and any(index.dtype in _MASKS for index in fakes_among(args[1])):
        raise DynamicOutputShapeException(ops.aten.nonzero.default)
