"""``ReduceOp``: how values of several ranks become one."""

from __future__ import annotations

import enum
from typing import Any

__all__ = ["RedOpType", "ReduceOp", "kind_of"]


class RedOpType(enum.IntEnum):
    """The kinds of reductions."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8

    def __repr__(self) -> str:
        return f"<RedOpType.{self.name}: {self.value}>"

    def __str__(self) -> str:
        return f"RedOpType.{self.name}"


class _Named(type):
    """``isinstance(ReduceOp.SUM, ReduceOp)`` holds, as in PyTorch."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, RedOpType) or super().__instancecheck__(instance)


class ReduceOp(metaclass=_Named):
    """A reduction: one of the kinds, or a sum of multiples (``PREMUL_SUM``, by a factor)."""

    RedOpType = RedOpType
    SUM = RedOpType.SUM
    AVG = RedOpType.AVG
    PRODUCT = RedOpType.PRODUCT
    MIN = RedOpType.MIN
    MAX = RedOpType.MAX
    BAND = RedOpType.BAND
    BOR = RedOpType.BOR
    BXOR = RedOpType.BXOR
    PREMUL_SUM = RedOpType.PREMUL_SUM

    def __init__(self, op: Any, factor: Any = None) -> None:
        self.op, self.factor = RedOpType(op), factor

    def __eq__(self, other: object) -> bool:
        if isinstance(other, RedOpType):
            return self.op is other
        return type(other) is ReduceOp and self.op is other.op

    def __hash__(self) -> int:
        return hash(self.op)

    def __repr__(self) -> str:
        return repr(self.op)


def kind_of(op: Any) -> tuple[RedOpType, Any]:
    """The kind of a reduction, and its factor.

    Raises
    ------
    TypeError
        For what is no reduction.
    """
    if isinstance(op, RedOpType):
        return op, None
    if type(op) is ReduceOp:
        return op.op, op.factor
    raise TypeError(f"expected a ReduceOp, and got {op!r}")
