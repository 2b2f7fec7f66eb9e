"""Functions from one set of values to another, and their inverses."""

from __future__ import annotations

import weakref
from typing import Any

from .. import constraints

__all__ = ["Transform"]


class Transform:
    """A function from one set of values to another.

    A class defines `_call`, and `_inverse` and `log_abs_det_jacobian` where there are any.

    Parameters
    ----------
    cache_size
        1 keeps the last pair of argument and result, so that the inverse of a result is its argument; 0 keeps none.

    Attributes
    ----------
    domain, codomain
        The sets of arguments and results.
    bijective
        Whether there is one argument for each result.
    sign
        Of bijective functions of numbers: 1 where they rise, -1 where they fall.
    """

    bijective = False
    domain: Any
    codomain: Any

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._inv: weakref.ref[Transform] | None = None
        if cache_size == 1:
            self._cached_x_y: tuple[Any, Any] = None, None
        super().__init__()

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state["_inv"] = None
        return state

    @property
    def event_dim(self) -> int:
        """How many dimensions are one value, of arguments and results alike."""
        if self.domain.event_dim == self.codomain.event_dim:
            return int(self.domain.event_dim)
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Transform:
        """The inverse function; ``t.inv.inv is t``."""
        inverse = self._inv() if self._inv is not None else None
        if inverse is None:
            inverse = _InverseTransform(self)
            self._inv = weakref.ref(inverse)
        return inverse

    @property
    def sign(self) -> Any:
        """Whether a bijective function of numbers rises."""
        raise NotImplementedError

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same function with another cache."""
        if self._cache_size == cache_size:
            return self
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        raise NotImplementedError(f"{type(self)}.with_cache is not implemented")

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        # Spelled out, so that classes define equality alone.
        return not self.__eq__(other)

    def __call__(self, x: Any) -> Any:
        """The result for an argument."""
        if self._cache_size == 0:
            return self._call(x)
        x_old, y_old = self._cached_x_y
        if x is x_old:
            return y_old
        y = self._call(x)
        self._cached_x_y = x, y
        return y

    def _inv_call(self, y: Any) -> Any:
        """The argument for a result."""
        if self._cache_size == 0:
            return self._inverse(y)
        x_old, y_old = self._cached_x_y
        if y is y_old:
            return x_old
        x = self._inverse(y)
        self._cached_x_y = x, y
        return x

    def _call(self, x: Any) -> Any:
        raise NotImplementedError

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of by how much volumes grow at `x`, whose result is `y`; without the dimensions of values."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.__class__.__name__ + "()"

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the result for a shape of the argument."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of the argument for a shape of the result."""
        return shape


class _InverseTransform(Transform):
    """The inverse of a function; keeps it alive."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._inv: Transform = transform  # type: ignore[assignment]

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:  # type: ignore[override]
        """The results of the function."""
        if self._inv is None:
            raise AssertionError("_inv is unexpectedly None")
        return self._inv.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:  # type: ignore[override]
        """The arguments of the function."""
        if self._inv is None:
            raise AssertionError("_inv is unexpectedly None")
        return self._inv.domain

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        """As the function."""
        return self._inv.bijective

    @property
    def sign(self) -> Any:
        """As the function."""
        return self._inv.sign

    @property
    def inv(self) -> Transform:
        """The function."""
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self.inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    __hash__ = Transform.__hash__

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self._inv!r})"

    def __call__(self, x: Any) -> Any:
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._inv.forward_shape(shape)
