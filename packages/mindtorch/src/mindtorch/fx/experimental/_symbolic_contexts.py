"""Which sizes of a tensor become symbols, and what its caller says of them."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "ConstraintViolationError", "DimDynamic", "EqualityConstraint", "GuardOnDataDependentSymNode",
    "RelaxedUnspecConstraint", "StatefulSymbolicContext", "StatelessSymbolicContext", "StrictMinMaxConstraint",
    "SubclassSymbolicContext", "SymbolicContext",
]  # fmt: skip


class DimDynamic(enum.Enum):
    """What a size, or a stride, becomes.

    ``DYNAMIC``: a symbol of its own. ``DUCK``: the symbol of all sizes that equal it in the example. ``STATIC``: a
    number.
    ``UNBACKED``: a symbol without a hint. ``INFER_STRIDE``: a stride that follows from sizes where it can.
    """

    DYNAMIC = 0
    DUCK = 1
    STATIC = 2
    UNBACKED = 3
    INFER_STRIDE = 4


class GuardOnDataDependentSymNode(RuntimeError):
    """A program asked for the value of a number that depends on elements.

    Attributes
    ----------
    cond
        The expression.
    """

    def __init__(self, cond: Any, *args: Any) -> None:
        super().__init__(*args)
        self.cond = cond


class ConstraintViolationError(RuntimeError):
    """A program relied on more than its caller had said of a size."""


@dataclass(frozen=True)
class StrictMinMaxConstraint:
    """A size is to stay free within a range (`vr`)."""

    warn_only: bool
    vr: Any


@dataclass(frozen=True)
class RelaxedUnspecConstraint:
    """A size is to stay free within some range."""

    warn_only: bool


@dataclass(frozen=True)
class EqualityConstraint:
    """Sizes that are to be equal, or to follow from others, by their sources."""

    warn_only: bool
    source_pairs: list[tuple[Any, Any]]
    derived_equalities: list[tuple[Any, Any, Any]]
    phantom_symbols: list[Any]
    relaxed_sources: set[Any]


class SymbolicContext:
    """What becomes of the sizes of a value."""


@dataclass(frozen=True)
class StatelessSymbolicContext(SymbolicContext):
    """What becomes of the sizes and strides of a tensor.

    Attributes
    ----------
    dynamic_sizes, dynamic_strides
        A `DimDynamic` for each dimension; strides follow from sizes where nothing is said.
    constraint_sizes, constraint_strides
        None, or what the caller says, for each dimension.
    view_base_context
        The context of the tensor that it is a view of.
    """

    dynamic_sizes: Any
    dynamic_strides: Any = None
    constraint_sizes: Any = None
    constraint_strides: Any = None
    specialize_on: Any = None
    view_base_context: Any = None
    shape_ids: Any = None
    unbacked_bounds: Any = None

    def __post_init__(self) -> None:
        for name in ("specialize_on", "shape_ids", "unbacked_bounds"):
            if any(getattr(self, name) or ()):
                raise NotImplementedError(f"StatelessSymbolicContext({name}) is not supported by mindtorch")
        dims = len(self.dynamic_sizes)
        defaults: dict[str, list[Any]] = {
            "dynamic_strides": [DimDynamic.INFER_STRIDE] * dims, "constraint_sizes": [None] * dims,
            "constraint_strides": [None] * dims,
        }  # fmt: skip
        for name, default in defaults.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, default)


@dataclass(frozen=True)
class StatefulSymbolicContext(StatelessSymbolicContext):
    """A context of one tensor, which is given the same symbols again.

    Attributes
    ----------
    tensor_source
        Where the tensor can be read.
    """

    tensor_source: Any = None
    shape_env_to_source_to_symbol_cache: dict[int, dict[str, Any]] = field(default_factory=dict)
    excluded_sizes: Any = None


@dataclass(frozen=True)
class SubclassSymbolicContext(StatefulSymbolicContext):
    """A context of a tensor that is made of others (`inner_contexts`)."""

    inner_contexts: dict[str, Any] = field(default_factory=dict)
