"""Random inputs of benchmarks: parameters drawn from distributions, and tensors that they shape."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mt_core import dtypes
from mt_core.api import _functions as ops
from mt_core.random import manual_seed
from mt_core.tensor import Tensor

__all__ = ["FuzzedParameter", "FuzzedTensor", "Fuzzer", "ParameterAlias"]

#: Draws without one that meets all constraints, after which there seems to be none.
_TRIES = 1000


class ParameterAlias:
    """The value of another parameter, as one of those that a distribution draws."""

    def __init__(self, alias_to: str) -> None:
        self.alias_to = alias_to

    def __repr__(self) -> str:
        return f"ParameterAlias[alias_to: {self.alias_to}]"


class FuzzedParameter:
    """A number or a choice.

    Parameters
    ----------
    minval, maxval
        Bounds, both taken in, of a number; integers give integers.
    distribution
        ``"loguniform"``, ``"uniform"``, or each choice with its probability.
    strict
        Whether it is drawn once, and no more where constraints refuse a draw.

    Raises
    ------
    AssertionError
        For another distribution, probabilities that do not add up to 1, or bounds beside them.
    """

    def __init__(
        self,
        name: str,
        minval: float | None = None,
        maxval: float | None = None,
        distribution: str | dict[Any, float] | None = None,
        strict: bool = False,
    ) -> None:
        self._name, self.strict = name, strict
        self._minval, self._maxval, self._distribution = minval, maxval, distribution
        if isinstance(distribution, dict):
            for bound, value in (("minval", minval), ("maxval", maxval)):
                if value is not None:
                    raise AssertionError(f"When passing a custom distribution, '{bound}' must be None")
            if abs(sum(distribution.values()) - 1) > 1e-6:
                raise AssertionError("Distribution is not normalized")
        elif distribution not in ("loguniform", "uniform"):
            raise AssertionError(f"Unknown distribution: {distribution}")

    @property
    def name(self) -> str:
        return self._name

    def sample(self, state: np.random.RandomState) -> Any:
        """A value drawn from `state`."""
        if isinstance(self._distribution, dict):
            choices = list(self._distribution)
            return choices[state.choice(np.arange(len(choices)), p=list(self._distribution.values()))]
        low, high = self._minval, self._maxval
        assert low is not None and high is not None
        if self._distribution == "loguniform":
            # A whole number whatever the bounds are, as in PyTorch.
            return max(low, min(high, int(2 ** state.uniform(low=math.log2(low), high=math.log2(high)))))
        if isinstance(low, int) and isinstance(high, int):
            return state.randint(low, high + 1)
        return state.uniform(low=low, high=high)


class FuzzedTensor:
    """A tensor whose sizes are numbers or names of parameters.

    Parameters
    ----------
    steps
        Of each dimension, as in ``[::step]``.
    probability_contiguous
        Of a tensor whose dimensions lie in memory in their order.
    min_elements, max_elements, max_allocation_bytes
        Draws beyond these are refused.
    dim_parameter
        Names the number of dimensions.
    tensor_constructor
        Called with ``size``, ``dtype`` and all parameters; random numbers without it.

    Raises
    ------
    NotImplementedError
        For ``cuda``, ``roll_parameter``.
    """

    def __init__(
        self,
        name: str,
        size: tuple[str | int, ...],
        steps: tuple[str | int, ...] | None = None,
        probability_contiguous: float = 0.5,
        min_elements: int | None = None,
        max_elements: int | None = None,
        max_allocation_bytes: int | None = None,
        dim_parameter: str | None = None,
        roll_parameter: str | None = None,
        dtype: Any = dtypes.float32,
        cuda: bool = False,
        tensor_constructor: Callable[..., Tensor] | None = None,
    ) -> None:
        if cuda or roll_parameter is not None:
            raise NotImplementedError("FuzzedTensor(cuda=True) and roll_parameter= are not supported")
        self._name, self._size, self._steps = name, size, steps
        self._probability_contiguous = probability_contiguous
        self._min_elements, self._max_elements, self._max_bytes = min_elements, max_elements, max_allocation_bytes
        self._dim_parameter, self._dtype = dim_parameter, dtype
        self._constructor = tensor_constructor or self.default_tensor_constructor

    @property
    def name(self) -> str:
        return self._name

    @staticmethod
    def default_tensor_constructor(size: Any, dtype: Any, **kwargs: Any) -> Tensor:
        """Random numbers: between 0 and 1, or whole ones from 1 to 126."""
        if dtype.is_floating_point or dtype.is_complex:
            return ops.rand(size, dtype=dtype, device="cpu")
        return ops.randint(1, 127, size=size, dtype=dtype, device="cpu")

    def _shape(self, params: dict[str, Any]) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Sizes, steps, and the sizes in memory."""
        dim = len(self._size) if self._dim_parameter is None else params[self._dim_parameter]
        size, steps = (
            [int(params.get(n, n) if isinstance(n, str) else n) for n in given]
            for given in (self._size, self._steps or ())
        )
        size, steps = (list((*given, *[1] * dim)[:dim]) for given in (size, steps))
        return tuple(size), tuple(steps), tuple(n * step for n, step in zip(size, steps, strict=True))

    def _make_tensor(self, params: dict[str, Any], state: np.random.RandomState) -> tuple[Tensor, dict[str, Any]]:
        size, steps, allocated = self._shape(params)
        raw = self._constructor(size=allocated, dtype=self._dtype, **params)
        dim = len(size)
        order = np.arange(dim)
        if state.rand() > self._probability_contiguous:
            while dim > 1 and np.all(order == np.arange(dim)):
                order = state.permutation(dim)
            raw = raw.permute(tuple(order.tolist())).contiguous().permute(tuple(np.argsort(order).tolist()))
        tensor = raw[tuple(slice(0, n * step, step) for n, step in zip(size, steps, strict=True))]
        facts = {
            "numel": int(tensor.numel()),
            "order": order,
            "steps": steps,
            "is_contiguous": tensor.is_contiguous(),
            "dtype": str(self._dtype),
        }
        return tensor, facts

    def satisfies_constraints(self, params: dict[str, Any]) -> bool:
        """Whether a tensor of these parameters is neither too small nor too large."""
        size, _, allocated = self._shape(params)
        count = math.prod(size)
        return not (
            (self._max_bytes is not None and math.prod(allocated) * self._dtype.itemsize > self._max_bytes)
            or (self._max_elements is not None and count > self._max_elements)
            or (self._min_elements is not None and count < self._min_elements)
        )


class Fuzzer:
    """Draws parameters and tensors; the same seed gives the same.

    Parameters
    ----------
    parameters, tensors
        Lists, which may hold lists.
    constraints
        Called with all parameters by name; what they refuse is drawn again.

    Raises
    ------
    ValueError
        For a parameter with the name of a tensor.
    """

    def __init__(
        self,
        parameters: list[FuzzedParameter | list[FuzzedParameter]],
        tensors: list[FuzzedTensor | list[FuzzedTensor]],
        constraints: list[Callable[..., bool]] | None = None,
        seed: int | None = None,
    ) -> None:
        self._seed = int(np.random.RandomState().randint(0, 2**32 - 1, dtype=np.int64)) if seed is None else seed
        self._parameters, self._tensors = _flat(parameters), _flat(tensors)
        self._constraints = tuple(constraints or ())
        twice = {p.name for p in self._parameters} & {t.name for t in self._tensors}
        if twice:
            raise ValueError(f"Duplicate names in parameters and tensors: {twice}")
        self._refused = self._drawn = 0

    def take(self, n: int) -> Iterator[tuple[dict[str, Tensor], dict[str, dict[str, Any]], dict[str, Any]]]:
        """(tensors, facts of each, parameters), n times."""
        state = np.random.RandomState(self._seed)
        manual_seed(int(state.randint(low=0, high=2**63, dtype=np.int64)))
        for _ in range(n):
            params = self._draw(state)
            made = {tensor.name: tensor._make_tensor(params, state) for tensor in self._tensors}
            yield {k: v for k, (v, _) in made.items()}, {k: facts for k, (_, facts) in made.items()}, params

    @property
    def rejection_rate(self) -> float:
        """Draws that were refused, of all."""
        return self._refused / self._drawn if self._drawn else 0.0

    def _draw(self, state: np.random.RandomState) -> dict[str, Any]:
        strict: dict[str, Any] = {}
        for _ in range(_TRIES):
            drawn: dict[str, Any] = {}
            for p in self._parameters:
                if p.strict:
                    drawn[p.name] = strict[p.name] if p.name in strict else strict.setdefault(p.name, p.sample(state))
                else:
                    drawn[p.name] = p.sample(state)
            drawn = _followed(drawn)
            self._drawn += 1
            if all(holds(drawn) for holds in self._constraints) and all(
                tensor.satisfies_constraints(drawn) for tensor in self._tensors
            ):
                return drawn
            self._refused += 1
        raise ValueError("Failed to generate a set of valid parameters.")


def _flat(values: Any) -> tuple[Any, ...]:
    return tuple(item for value in values for item in (value if isinstance(value, (list, tuple)) else (value,)))


def _followed(params: dict[str, Any]) -> dict[str, Any]:
    """Parameters with the values that their aliases stand for; one that stands for itself in the end is refused."""
    found = dict(params)
    for name in params:
        seen = {name}
        while isinstance(value := found[name], ParameterAlias):
            if value.alias_to in seen:
                raise ValueError(f"ParameterAlias cycle detected\n{params}")
            seen.add(value.alias_to)
            found[name] = found[value.alias_to]
    return found
