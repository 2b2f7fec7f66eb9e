"""``torch.distributions.constraints``: sets that values can be tested for: ``positive.check(tensor)``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mt_core
from mt_core import Tensor

from .. import linalg

__all__ = [
    "Constraint",
    "boolean",
    "dependent",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_definite",
    "positive_integer",
    "positive_semidefinite",
    "real",
    "real_vector",
    "simplex",
    "square",
    "symmetric",
    "unit_interval",
]


class Constraint:
    """A set of values, each made of the last `event_dim` dimensions of a tensor."""

    is_discrete = False
    event_dim = 0

    def check(self, value: Tensor) -> Tensor:
        """Whether each value is in the set; of the shape of `value` without its last `event_dim` dimensions."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return type(self).__name__[1:] + "()"


class _Rule(Constraint):
    """A set told by a function of a tensor."""

    def __init__(
        self, name: str, rule: Callable[[Tensor], Tensor], event_dim: int = 0, is_discrete: bool = False
    ) -> None:
        self.name = name
        self.rule = rule
        self.event_dim = event_dim
        self.is_discrete = is_discrete

    def check(self, value: Tensor) -> Tensor:
        return self.rule(value)

    def __repr__(self) -> str:
        return self.name


class _Dependent(Constraint):
    """A set that depends on other values, which are not known."""

    def check(self, value: Tensor) -> Tensor:
        raise ValueError("Cannot determine validity of dependent constraint")


class _Bounded(Constraint):
    """Numbers between bounds, either of which may belong to them or be missing."""

    def __init__(self, lower_bound: Any = None, upper_bound: Any = None) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound

    def __repr__(self) -> str:
        bounds = {"lower_bound": self.lower_bound, "upper_bound": self.upper_bound}
        given = ", ".join(f"{name}={bound}" for name, bound in bounds.items() if bound is not None)
        return f"{type(self).__name__[1:]}({given})"


class _Interval(_Bounded):
    """Numbers from `lower_bound` to `upper_bound`."""

    def check(self, value: Tensor) -> Tensor:
        """Whether each number is among them."""
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Bounded):
    """Numbers from `lower_bound` to below `upper_bound`."""

    def check(self, value: Tensor) -> Tensor:
        """Whether each number is among them."""
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _IntegerInterval(_Bounded):
    """Whole numbers from `lower_bound` to `upper_bound`."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        """Whether each number is among them."""
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _GreaterThan(_Bounded):
    """Numbers above `lower_bound`."""

    def __init__(self, lower_bound: Any) -> None:
        super().__init__(lower_bound=lower_bound)

    def check(self, value: Tensor) -> Tensor:
        """Whether each number is among them."""
        return self.lower_bound < value


class _GreaterThanEq(_GreaterThan):
    """Numbers from `lower_bound`."""

    def check(self, value: Tensor) -> Tensor:
        """Whether each number is among them."""
        return self.lower_bound <= value


class _LessThan(_Bounded):
    """Numbers below `upper_bound`."""

    def __init__(self, upper_bound: Any) -> None:
        super().__init__(upper_bound=upper_bound)

    def check(self, value: Tensor) -> Tensor:
        """Whether each number is among them."""
        return value < self.upper_bound


class _IndependentConstraint(Constraint):
    """Values whose last dimensions, besides those that `base_constraint` looks at, are all in its set."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        self.is_discrete = base_constraint.is_discrete
        self.event_dim = base_constraint.event_dim + reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        """Whether all parts of each value are in the set."""
        result = self.base_constraint.check(value)
        if result.dim() < self.reinterpreted_batch_ndims:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        for _ in range(self.reinterpreted_batch_ndims):
            result = result.all(-1)
        return result

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


def is_dependent(constraint: Constraint) -> bool:
    """Whether a set depends on values that are not known."""
    return isinstance(constraint, _Dependent)


def _is_simplex(value: Tensor) -> Tensor:
    return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


def _is_one_hot(value: Tensor) -> Tensor:
    return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


def _is_square(value: Tensor) -> Tensor:
    return mt_core.full(value.shape[:-2], value.shape[-2] == value.shape[-1], dtype=mt_core.bool, device=value.device)


def _is_symmetric(value: Tensor) -> Tensor:
    if value.shape[-2] != value.shape[-1]:
        return _is_square(value)
    return ((value - value.mT).abs() <= 1e-6 + 1e-5 * value.mT.abs()).flatten(-2).all(-1)


def _is_lower_triangular(value: Tensor) -> Tensor:
    return (value.tril() == value).flatten(-2).all(-1)


def _is_lower_cholesky(value: Tensor) -> Tensor:
    return _is_lower_triangular(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


def _is_positive_definite(value: Tensor) -> Tensor:
    if not bool(_is_symmetric(value).all()):
        return _is_symmetric(value)
    return linalg.cholesky_ex(value).info == 0


def _is_positive_semidefinite(value: Tensor) -> Tensor:
    if not bool(_is_symmetric(value).all()):
        return _is_symmetric(value)
    return (linalg.eigvalsh(value) >= 0).all(-1)


interval = _Interval
half_open_interval = _HalfOpenInterval
integer_interval = _IntegerInterval
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
independent = _IndependentConstraint

dependent = _Dependent()
boolean = _Rule("boolean", lambda value: (value == 0) | (value == 1), is_discrete=True)
nonnegative = greater_than_eq(0.0)
nonnegative_integer = _Rule("nonnegative_integer", lambda value: (value % 1 == 0) & (value >= 0), is_discrete=True)
one_hot = _Rule("one_hot", _is_one_hot, event_dim=1, is_discrete=True)
positive = greater_than(0.0)
positive_integer = _Rule("positive_integer", lambda value: (value % 1 == 0) & (value >= 1), is_discrete=True)
real = _Rule("real", lambda value: value == value)
real_vector = independent(real, 1)
simplex = _Rule("simplex", _is_simplex, event_dim=1)
square = _Rule("square", _is_square, event_dim=2)
symmetric = _Rule("symmetric", _is_symmetric, event_dim=2)
lower_triangular = _Rule("lower_triangular", _is_lower_triangular, event_dim=2)
lower_cholesky = _Rule("lower_cholesky", _is_lower_cholesky, event_dim=2)
positive_semidefinite = _Rule("positive_semidefinite", _is_positive_semidefinite, event_dim=2)
positive_definite = _Rule("positive_definite", _is_positive_definite, event_dim=2)
unit_interval = interval(0.0, 1.0)
