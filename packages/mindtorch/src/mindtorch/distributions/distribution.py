"""``torch.distributions.distribution``: what all distributions have."""

from __future__ import annotations

import warnings
from typing import Any

import mt_core as mt
from mt_core import Tensor

from ..types import _size
from . import constraints
from .utils import lazy_property

__all__ = ["Distribution"]


_NO_SHAPE = mt.Size()


class Distribution:
    """A probability distribution, or a batch of them.

    A class of distributions says in `_parameters` which of its attributes are parameters, and how many dimensions of
    each, from the last, are one value; `expand` follows from that.

    Parameters
    ----------
    batch_shape
        The shape of the batch of distributions, which may differ in their parameters.
    event_shape
        The shape of one draw from one distribution.
    validate_args
        Whether parameters are checked against `arg_constraints`, and values against `support`; None for what
        `set_default_validate_args` said (True in the beginning, False under ``python -O``).

    Raises
    ------
    ValueError
        Where a parameter is not in the set of its constraint.
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__
    _parameters: dict[str, int] = {}

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Say whether distributions made from now on validate, where that is not given.

        Raises
        ------
        ValueError
            For what is not True or False.
        """
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(
        self, batch_shape: mt.Size = _NO_SHAPE, event_shape: mt.Size = _NO_SHAPE, validate_args: bool | None = None
    ) -> None:
        self._batch_shape = batch_shape
        self._event_shape = event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _check_parameters(self) -> None:
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            warnings.warn(
                f"{self.__class__} does not define `arg_constraints`. "
                "Please set `arg_constraints = {}` or initialize the distribution with `validate_args=False` to turn "
                "off validation.",
                stacklevel=3,
            )
            return
        for name, constraint in arg_constraints.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                continue  # computed from another parameter
            value = getattr(self, name)
            if not constraint.check(value).all():
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                    f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                )

    def expand(self, batch_shape: _size, _instance: Any = None) -> Any:
        """The same distribution for a larger batch; parameters are expanded as by `Tensor.expand`.

        Raises
        ------
        NotImplementedError
            Of a subclass with other arguments that does not define `expand`.
        """
        owner = next((c for c in type(self).__mro__ if "_parameters" in vars(c)), Distribution)
        if owner is Distribution:
            raise NotImplementedError
        made = self._get_checked_instance(owner, _instance)
        batch_shape = mt.Size(batch_shape)
        for name, event_dims in self._parameters.items():
            if name in self.__dict__:
                value = getattr(self, name)
                made.__dict__[name] = value.expand(batch_shape + value.shape[value.dim() - event_dims :])
        self._expand_rest(made, batch_shape)
        Distribution.__init__(made, batch_shape, self._event_shape, validate_args=False)
        made._validate_args = self._validate_args
        return made

    def _expand_rest(self, made: Any, batch_shape: mt.Size) -> None:
        """Give an expanded distribution what it has besides its parameters."""

    @property
    def batch_shape(self) -> mt.Size:
        """The shape of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> mt.Size:
        """The shape of one draw from one distribution."""
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        """The set that each parameter is in."""
        raise NotImplementedError

    @property
    def support(self) -> Any:
        """The set that draws are in."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The expectation, of shape ``batch_shape + event_shape``."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The most probable value, of shape ``batch_shape + event_shape``."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance, of shape ``batch_shape + event_shape``."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape: _size = ()) -> Tensor:
        """Draws without gradients, of shape ``sample_shape + batch_shape + event_shape``."""
        with mt.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: _size = ()) -> Tensor:
        """Draws with gradients by the parameters; as `sample`."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """``sample((n,))``; deprecated."""
        warnings.warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning, stacklevel=2)
        return self.sample(mt.Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density or probability at `value`, of shape ``sample_shape + batch_shape``."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw up to `value`."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The inverse of `cdf`."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution along a new first dimension; expanded to the batch, or of size 1."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy in nats, of shape ``batch_shape``."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """The exponential of the entropy."""
        return mt.exp(self.entropy())

    def _extended_shape(self, sample_shape: _size = ()) -> mt.Size:
        """The shape of a sample."""
        if not isinstance(sample_shape, mt.Size):
            sample_shape = mt.Size(sample_shape)
        return mt.Size(sample_shape + self._batch_shape + self._event_shape)

    def _validate_sample(self, value: Tensor) -> None:
        """Refuse what cannot be a draw.

        Raises
        ------
        ValueError
            For what is no tensor, does not broadcast against the distribution, or is not in the support.
        """
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        batch_start = value.dim() - len(self._event_shape)
        if value.shape[max(batch_start, 0) :] != self._event_shape:
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.size()} vs {self._event_shape}."
            )
        expected = self._batch_shape + self._event_shape
        for i, j in zip(reversed(value.shape), reversed(expected)):
            if i != 1 and j != 1 and i != j:
                raise ValueError(
                    f"Value is not broadcastable with batch_shape+event_shape: {value.size()} vs {expected}."
                )
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{self.__class__} does not define `support` to enable sample validation. Please initialize the "
                "distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        if support is None:
            raise AssertionError("support is unexpectedly None")
        if not support.check(value).all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the "
                f"support ({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        if _instance is None and type(self).__init__ is not cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom __init__ method must also "
                "define a custom .expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    def __repr__(self) -> str:
        shown = [name for name in self.arg_constraints if name in self.__dict__]
        values = {name: self.__dict__[name] for name in shown}
        texts = [f"{n}: {v if v.numel() == 1 else v.size()}" for n, v in values.items()]
        return self.__class__.__name__ + "(" + ", ".join(texts) + ")"
