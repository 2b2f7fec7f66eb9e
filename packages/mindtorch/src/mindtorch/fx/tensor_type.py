"""``torch.fx.tensor_type``: types of tensors by their shapes, of which dimensions may be unknown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Dyn", "TensorType", "is_consistent", "is_more_precise"]


class _TensorTypeMeta(type):
    """So that ``TensorType[1, 2]`` is ``TensorType((1, 2))``."""

    def __getitem__(cls, shape: Any) -> Any:
        return cls(shape if isinstance(shape, tuple) else (shape,))


class TensorType(metaclass=_TensorTypeMeta):
    """The type of tensors of a shape.

    Parameters
    ----------
    dim
        The sizes; `Dyn` for one that is not known.
    """

    def __init__(self, dim: Any) -> None:
        self.__origin__ = TensorType
        self.__args__ = dim

    def __repr__(self) -> str:
        return f"TensorType[{self.__args__}]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, self.__class__) and list(self.__args__) == list(other.__args__)

    __hash__ = None  # type: ignore[assignment]


class _DynType:
    """The type of anything."""

    def __init__(self) -> None:
        self.__name__ = "_DynType"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, self.__class__)

    def __hash__(self) -> int:
        return hash(_DynType)

    def __str__(self) -> str:
        return "Dyn"

    __repr__ = __str__


Dyn = _DynType()


def is_consistent(t1: Any, t2: Any) -> bool:
    """Whether a value can be of both types: they differ in nothing that both know."""
    return t1 == t2 or t1 == Dyn or t2 == Dyn or _dimensions_agree(is_consistent, t1, t2)


def is_more_precise(t1: Any, t2: Any) -> bool:
    """Whether the first type says all that the second says."""
    return t1 == t2 or t2 == Dyn or _dimensions_agree(is_more_precise, t1, t2)


def _dimensions_agree(relation: Callable[[Any, Any], bool], t1: Any, t2: Any) -> bool:
    if not isinstance(t1, TensorType) or not isinstance(t2, TensorType) or len(t1.__args__) != len(t2.__args__):
        return False
    return all(relation(one, other) for one, other in zip(t1.__args__, t2.__args__, strict=True))
