"""``torch.distributions.constraints``: sets that values can be tested for: ``positive.check(tensor)``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mt_core as mt
from mt_core import Tensor

from .. import linalg

__all__ = [
    "Constraint",
    "boolean",
    "cat",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "independent",
    "integer_interval",
    "interval",
    "half_open_interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "MixtureSameFamilyConstraint",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_semidefinite",
    "positive_definite",
    "positive_integer",
    "real",
    "real_vector",
    "simplex",
    "square",
    "stack",
    "symmetric",
    "unit_interval",
]


class Constraint:
    """A set of values, each made of the last `event_dim` dimensions of a tensor.

    Attributes
    ----------
    is_discrete
        Whether the set has no limit points.
    event_dim
        How many dimensions, from the last, are one value.
    """

    is_discrete: Any = False
    event_dim: Any = 0

    def check(self, value: Tensor) -> Tensor:
        """Whether each value is in the set; of the shape of `value` without its last `event_dim` dimensions."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return type(self).__name__[1:] + "()"


# Sets that depend on more than the value


class _Dependent(Constraint):
    """A set that depends on other values, which are not known."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._is_discrete = is_discrete
        self._event_dim = event_dim
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        """Whether the set is discrete, where that was told."""
        if self._is_discrete is NotImplemented:
            raise NotImplementedError(".is_discrete cannot be determined statically")
        return bool(self._is_discrete)

    @property
    def event_dim(self) -> int:
        """How many dimensions are one value, where that was told."""
        if self._event_dim is NotImplemented:
            raise NotImplementedError(".event_dim cannot be determined statically")
        return int(self._event_dim)

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> _Dependent:
        """The same of which more is told: ``dependent(event_dim=1)``."""
        if is_discrete is NotImplemented:
            is_discrete = self._is_discrete
        if event_dim is NotImplemented:
            event_dim = self._event_dim
        return _Dependent(is_discrete=is_discrete, event_dim=event_dim)

    def check(self, value: Tensor) -> Tensor:
        """Refused: what the set depends on is not known."""
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint: Constraint) -> bool:
    """Whether a set depends on values that are not known."""
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property that is a set: of the class, dependent; of an object, what the method gives.

    A decorator: ``@constraints.dependent_property(is_discrete=False, event_dim=0)``.
    """

    def __init__(
        self,
        fn: Callable[..., Any] | None = None,
        *,
        is_discrete: Any = NotImplemented,
        event_dim: Any = NotImplemented,
    ) -> None:
        super().__init__(fn)
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    def __call__(self, fn: Callable[..., Any]) -> _DependentProperty:  # type: ignore[override]
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


# Numbers


class _Bounded(Constraint):
    """Numbers between bounds, either of which may belong to them or be missing."""

    def __repr__(self) -> str:
        given = ", ".join(
            f"{name}={getattr(self, name)}" for name in ("lower_bound", "upper_bound") if hasattr(self, name)
        )
        return f"{type(self).__name__[1:]}({given})"


class _Between(_Bounded):
    """Numbers with bounds on both sides."""

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound


class _Interval(_Between):
    """Numbers from `lower_bound` to `upper_bound`."""

    def check(self, value: Tensor) -> Tensor:
        """Whether each number is among them."""
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Between):
    """Numbers from `lower_bound` to below `upper_bound`."""

    def check(self, value: Tensor) -> Tensor:
        """Whether each number is among them."""
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _IntegerInterval(_Between):
    """Whole numbers from `lower_bound` to `upper_bound`."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        """Whether each number is among them."""
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _FromBelow(_Bounded):
    """Numbers with a bound below."""

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound


class _GreaterThan(_FromBelow):
    """Numbers above `lower_bound`."""

    def check(self, value: Tensor) -> Tensor:
        """Whether each number is among them."""
        return self.lower_bound < value


class _GreaterThanEq(_FromBelow):
    """Numbers from `lower_bound`."""

    def check(self, value: Tensor) -> Tensor:
        """Whether each number is among them."""
        return self.lower_bound <= value


class _IntegerGreaterThan(_FromBelow):
    """Whole numbers from `lower_bound`."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        """Whether each number is among them."""
        return (value % 1 == 0) & (value >= self.lower_bound)


class _FromAbove(_Bounded):
    """Numbers with a bound above."""

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound


class _LessThan(_FromAbove):
    """Numbers below `upper_bound`."""

    def check(self, value: Tensor) -> Tensor:
        """Whether each number is among them."""
        return value < self.upper_bound


class _IntegerLessThan(_FromAbove):
    """Whole numbers up to `upper_bound`."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        """Whether each number is among them."""
        return (value % 1 == 0) & (value <= self.upper_bound)


class _Boolean(Constraint):
    """0 and 1."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        """Whether each number is one of them."""
        return (value == 0) | (value == 1)


class _Real(Constraint):
    """All numbers; NaN is none."""

    def check(self, value: Tensor) -> Tensor:
        """Whether each element is a number."""
        return value == value


# Vectors


class _OneHot(Constraint):
    """Vectors with one 1 and else zeros."""

    is_discrete = True
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        """Whether each vector, along the last dimension, is one."""
        return ((value == 0) | (value == 1)).all(-1) & value.sum(-1).eq(1)


class _Simplex(Constraint):
    """Vectors of numbers from 0 that sum to 1, to 1e-6."""

    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        """Whether each vector, along the last dimension, is one."""
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(Constraint):
    """Vectors of numbers from 0 whose sum is at most `upper_bound`."""

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, x: Tensor) -> Tensor:
        """Whether each vector, along the last dimension, is one."""
        return (x >= 0).all(dim=-1) & (x.sum(dim=-1) <= self.upper_bound)


# Matrices


class _Square(Constraint):
    """Square matrices."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        """Whether each matrix is one."""
        is_square = value.shape[-2] == value.shape[-1]
        return mt.full(value.shape[:-2], is_square, dtype=mt.bool, device=value.device)


class _Symmetric(_Square):
    """Symmetric matrices, to 1e-6."""

    def check(self, value: Tensor) -> Tensor:
        """Whether each matrix is one."""
        square = super().check(value)
        if not square.all():
            return square
        return mt.isclose(value, value.mT, atol=1e-6).all(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    """Symmetric matrices without negative eigenvalues."""

    def check(self, value: Tensor) -> Tensor:
        """Whether each matrix is one."""
        symmetric = super().check(value)
        if not symmetric.all():
            return symmetric
        return linalg.eigvalsh(value).ge(0).all(-1)


class _PositiveDefinite(_Symmetric):
    """Symmetric matrices with positive eigenvalues."""

    def check(self, value: Tensor) -> Tensor:
        """Whether each matrix has a Cholesky factor."""
        symmetric = super().check(value)
        if not symmetric.all():
            return symmetric
        return linalg.cholesky_ex(value).info.eq(0)


class _LowerTriangular(Constraint):
    """Lower triangular matrices."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        """Whether each matrix is one."""
        return _all_of_matrices(value.tril() == value)


class _LowerCholesky(Constraint):
    """Lower triangular matrices with a positive diagonal."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        """Whether each matrix is one."""
        lower = _all_of_matrices(value.tril() == value)
        return lower & (value.diagonal(dim1=-2, dim2=-1) > 0).min(-1)[0]


class _CorrCholesky(Constraint):
    """Lower triangular matrices with a positive diagonal and rows of norm 1."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        """Whether each matrix is one."""
        tolerance = mt.finfo(value.dtype).eps * value.size(-1) * 10
        off = (linalg.norm(value.detach(), dim=-1) - 1).abs()
        return _LowerCholesky().check(value) & off.le(tolerance).all(dim=-1)


def _all_of_matrices(equal: Tensor) -> Tensor:
    return equal.view(equal.shape[:-2] + (-1,)).min(-1)[0]


# Sets of sets


class _IndependentConstraint(Constraint):
    """Values whose last dimensions, besides those that `base_constraint` looks at, are all in its set."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def is_discrete(self) -> bool:
        """As the base's."""
        return bool(self.base_constraint.is_discrete)

    @property
    def event_dim(self) -> int:
        """The base's, and the dimensions that were added."""
        return int(self.base_constraint.event_dim + self.reinterpreted_batch_ndims)

    def check(self, value: Tensor) -> Tensor:
        """Whether all parts of each value are in the set."""
        result = self.base_constraint.check(value)
        if result.dim() < self.reinterpreted_batch_ndims:
            expected = self.base_constraint.event_dim + self.reinterpreted_batch_ndims
            raise ValueError(f"Expected value.dim() >= {expected} but got {value.dim()}")
        result = result.reshape(result.shape[: result.dim() - self.reinterpreted_batch_ndims] + (-1,))
        return result.all(-1)

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """Values that are in a set for each of the components of a mixture, whose dimension stands before the value's."""

    def __init__(self, base_constraint: Constraint) -> None:
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(f"base_constraint must be a Constraint, got {type(base_constraint).__name__}")
        self.base_constraint = base_constraint

    @property
    def is_discrete(self) -> bool:
        """As the base's."""
        return bool(self.base_constraint.is_discrete)

    @property
    def event_dim(self) -> int:
        """As the base's."""
        return int(self.base_constraint.event_dim)

    def check(self, value: Tensor) -> Tensor:
        """Whether each value is in the sets of all components."""
        component_dim = -1 - self.event_dim
        result = self.base_constraint.check(value.unsqueeze(component_dim))
        if value.dim() < self.event_dim:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        batch_dims = value.dim() - self.event_dim
        return result.reshape(result.shape[:batch_dims] + (-1,)).all(-1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_constraint!r})"


class _Joined(Constraint):
    """Tensors whose parts along a dimension are each in a set of their own."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        if not all(isinstance(c, Constraint) for c in cseq):
            raise AssertionError("All elements of cseq must be Constraint instances")
        self.cseq = list(cseq)
        self.dim = dim

    @property
    def is_discrete(self) -> bool:
        """Whether one of the sets is discrete."""
        return any(c.is_discrete for c in self.cseq)

    def _check_dim(self, value: Tensor) -> None:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for value with {value.dim()} dimensions")


class _Cat(_Joined):
    """Tensors whose stretches of `lengths` along `dim` are each in a set of their own."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match cseq ({len(self.cseq)})")

    @property
    def event_dim(self) -> int:
        """The greatest of the sets."""
        return max(c.event_dim for c in self.cseq)

    def check(self, value: Tensor) -> Tensor:
        """Whether the values of each stretch are in its set, one stretch after the other along `dim`."""
        self._check_dim(value)
        checks, start = [], 0
        for part, length in zip(self.cseq, self.lengths):
            checks.append(part.check(value.narrow(self.dim, start, length)))
            start += length
        return mt.cat(checks, self.dim)


class _Stack(_Joined):
    """Tensors whose slices along `dim` are each in a set of their own."""

    @property
    def event_dim(self) -> int:
        """The greatest of the sets, and one more where `dim` is among its dimensions."""
        dim = max(c.event_dim for c in self.cseq)
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value: Tensor) -> Tensor:
        """Whether each slice is in its set, stacked along `dim`."""
        self._check_dim(value)
        slices = [value.select(self.dim, i) for i in range(value.size(self.dim))]
        return mt.stack([c.check(v) for v, c in zip(slices, self.cseq)], self.dim)


dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack
