"""Random numbers: batching rules, which the randomness of the level decides.

With ``different``, numbers for all lanes are drawn at once, in the order in which they lie in memory; with ``same``,
for one lane. What PyTorch refuses is refused in its words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...api import _functions as ops
from ..batched import Lanes
from ._rules import DRAWS, Batch, Rule, batching_rule, one_lane, pointwise

_ERROR = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
    "randomness flags on vmap or perform the randomness operation out of vmap"
)
_SAME_OF_BATCHED = (
    "Vmap does not currently support same randomness with a batched tensor input. Please file an issue with functorch"
)
_BATCHED_IN_SHARED = (
    "vmap: inplace bernoulli(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args "
    "that has more elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped "
    "over in a vmap. Please try to use out-of-place operators instead of inplace bernoulli. If said operator is being "
    "called inside the PyTorch framework, please file a bug report instead."
)
_DIFFERENT_IN_SHARED = (
    "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same randomness. "
    "If this is necessary for your usage, please file an issue with functorch."
)


def drawing_rule(*names: str) -> Callable[[Rule], Rule]:
    """`batching_rule` of operators that draw: it is asked even where no argument is batched."""
    DRAWS.update(names)
    return batching_rule(*names)


def refuse_in_error_mode(batch: Batch) -> None:
    """Raise PyTorch's error where the user has not said what random numbers are to be."""
    if batch.randomness == "error":
        raise RuntimeError(_ERROR)


def _shared(result: Any) -> Any:
    return Lanes(result, None)


# Factories


def _sized(names: str, at: int) -> None:
    """Factories whose argument `at` is the size."""

    def rule(batch: Batch, *args: Any) -> Any:
        refuse_in_error_mode(batch)
        if batch.randomness == "same":
            return _shared(batch.overload.call(*args))
        return batch.overload.call(*args[:at], [batch.size, *args[at]], *args[at + 1 :])

    drawing_rule(*names.split())(rule)


_sized("rand rand.generator randn randn.generator", 0)
_sized("randint randint.generator", 1)
_sized("randint.low randint.low_generator normal.float_float", 2)


@drawing_rule("randperm", "randperm.generator")
def randperm(batch: Batch, *args: Any) -> Any:
    refuse_in_error_mode(batch)
    if batch.randomness == "same":
        return _shared(batch.overload.call(*args))
    return ops.stack([batch.overload.call(*args) for _ in range(batch.size)])


@drawing_rule(
    "rand_like", "rand_like.generator", "randn_like", "randn_like.generator", "randint_like", "randint_like.generator",
    "randint_like.low_dtype", "randint_like.low_generator_dtype",
)  # fmt: skip
def like(batch: Batch, self: Lanes, *rest: Any) -> Any:
    refuse_in_error_mode(batch)
    if batch.randomness == "different":
        return batch.overload.call(self.spread(batch.size), *rest)
    return _shared(batch.overload.call(_of_one(self), *rest))


def _of_one(lanes: Lanes) -> Any:
    """The first lane."""
    return lanes.value if lanes.dim is None else lanes.value.select(lanes.dim, 0)


# In place


@drawing_rule(
    "normal_", "uniform_", "bernoulli_.float", "exponential_", "geometric_", "cauchy_", "log_normal_", "random_",
    "random_.from", "random_.to",
)  # fmt: skip
def fill_(batch: Batch, self: Lanes, *rest: Any) -> None:
    refuse_in_error_mode(batch)
    if batch.randomness == "same":
        _fill_alike(batch, self, *rest)
        return
    if self.dim is None:
        raise RuntimeError(_DIFFERENT_IN_SHARED)
    batch.overload.call(self.front(), *rest)


def _fill_alike(batch: Batch, self: Lanes, *rest: Any) -> None:
    if self.dim is None:
        batch.overload.call(self.value, *rest)
        return
    self.front().copy_(batch.overload.call(self.value.new_empty(self.shape), *rest))


@drawing_rule("bernoulli_.Tensor")
def bernoulli_tensor_(batch: Batch, self: Lanes, p: Lanes, generator: Any = None) -> None:
    refuse_in_error_mode(batch)
    if batch.randomness == "same" and p.dim is not None:
        raise RuntimeError(_SAME_OF_BATCHED)
    if p.rank > self.rank:
        batch.overload.call(one_lane(self), one_lane(p), None)
    if batch.randomness == "same":
        _fill_alike(batch, self, p.value, generator)
        return
    if self.dim is None:
        raise RuntimeError(_DIFFERENT_IN_SHARED if p.dim is None else _BATCHED_IN_SHARED)
    batch.overload.call(self.front(), p.at_rank(self.rank), generator)


# From tensors of parameters

batching_rule("_standard_gamma_grad", "_dirichlet_grad")(pointwise)


@drawing_rule(
    "bernoulli", "bernoulli.p", "poisson", "binomial", "normal.Tensor_Tensor", "normal.Tensor_float",
    "normal.float_Tensor", "_standard_gamma", "_sample_dirichlet",
)  # fmt: skip
def from_parameters(batch: Batch, *args: Any) -> Any:
    _refuse(batch, *args)
    if batch.randomness == "same":
        return _shared(batch.overload.call(*(a.value if isinstance(a, Lanes) else a for a in args)))
    rank = max(a.rank for a in args if isinstance(a, Lanes))
    whole = [Lanes(a.spread(batch.size), 0).at_rank(rank) if isinstance(a, Lanes) else a for a in args]
    return batch.overload.call(*whole)


def _refuse(batch: Batch, *args: Any) -> None:
    refuse_in_error_mode(batch)
    if batch.randomness == "same" and any(isinstance(a, Lanes) and a.dim is not None for a in args):
        raise RuntimeError(_SAME_OF_BATCHED)


@drawing_rule("multinomial")
def multinomial(batch: Batch, self: Lanes, *rest: Any) -> Any:
    """Rows of all lanes are drawn from as rows of one matrix."""
    _refuse(batch, self)
    if batch.randomness == "same":
        return _shared(batch.overload.call(self.value, *rest))
    if self.rank not in (1, 2):
        batch.overload.call(one_lane(self), *rest)
    whole = self.spread(batch.size).contiguous()
    if self.rank == 1:
        return batch.overload.call(whole, *rest)
    return batch.overload.call(whole.flatten(0, 1), *rest).unflatten(0, whole.shape[:2])


# Dropout


@drawing_rule("native_dropout")
def native_dropout(batch: Batch, input: Lanes, p: float, train: bool | None) -> Any:
    if train is False or not p:
        return _dropped(batch, input, p, train)
    refuse_in_error_mode(batch)
    if batch.randomness == "different":
        return batch.overload.call(input.spread(batch.size), p, train)
    if input.dim is None:
        return tuple(_shared(part) for part in batch.overload.call(input.value, p, train))
    scaled, mask = batch.overload.call(ops.ones_like(_of_one(input)), p, train)
    return input.front() * scaled, _shared(mask.to(scaled.dtype))


def _dropped(batch: Batch, input: Lanes, p: float, train: bool | None) -> Any:
    made = batch.overload.call(input.front(), p, train)
    return made if input.dim is not None else tuple(_shared(part) for part in made)


@drawing_rule("dropout", "alpha_dropout")
def dropout(batch: Batch, input: Lanes, p: float, train: bool) -> Any:
    """Of a batched tensor, the parts draw; one that all lanes share is dropped from for each of them."""
    if input.dim is not None or not train or batch.randomness != "different":
        return NotImplemented
    return batch.overload.call(input.spread(batch.size), p, train)


@drawing_rule("feature_dropout", "feature_alpha_dropout")
def feature_dropout(batch: Batch, input: Lanes, p: float, train: bool) -> Any:
    """As `dropout`, of channels (N, C, *): those of all lanes are (batch * N, C, *)."""
    if input.dim is not None or not train or batch.randomness != "different" or input.rank < 2:
        return NotImplemented
    whole = input.spread(batch.size)
    return batch.overload.call(whole.flatten(0, 1), p, train).unflatten(0, whole.shape[:2])


@drawing_rule("dropout_", "alpha_dropout_", "feature_dropout_", "feature_alpha_dropout_")
def by_parts(batch: Batch, *args: Any) -> Any:
    return NotImplemented
