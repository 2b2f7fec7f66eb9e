"""How a rule is written, and which of its strategies serves a call.

A rule tells, for one dimension of a mesh, which placements of the arguments give which placements of the results; it
is asked once for each dimension. Of its strategies the one is taken whose arguments cost the least to bring about; of
several that cost nothing the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .placement_types import Partial, Placement, Replicate, Shard, _StridedShard
from .spec import DTensorSpec, shard_sizes, split_dim, splitting

__all__ = ["Call", "Rule", "Strategy", "chosen_strategies", "find_rule", "rule"]


@dataclass(frozen=True)
class Strategy:
    """Placements along one dimension of a mesh: of the results, and of the tensors among the arguments.

    None stands for an argument that may lie as it does.
    """

    outputs: tuple[Placement, ...]
    inputs: tuple[Placement | None, ...]
    #: Which tensor is divided among the ranks, where all have it: a summand of what is a sum to be done.
    divided: int | None = None


@dataclass
class Call:
    """One call of an operator on distributed tensors.

    Parameters
    ----------
    name
        Of the operator, without its namespace, as PyTorch has it: ``"add.Tensor"``; without ``_`` where it is in place.
    args
        All arguments by name, defaults filled in, with specs in place of tensors.
    tensors
        The specs among them, in order.
    """

    name: str
    args: dict[str, Any]
    tensors: list[DTensorSpec]
    #: The strategies of the mesh dimensions before this one.
    before: list[Strategy] = field(default_factory=list)
    #: Which dimension of the mesh this is.
    at: int = 0

    @property
    def count(self) -> int:
        """How many ranks the mesh has along this dimension."""
        return self.tensors[0].mesh.size(self.at)

    def shape(self, index: int = 0) -> tuple[int, ...]:
        """The whole shape of a tensor among the arguments."""
        return tuple(self.tensors[index].tensor_meta.shape)

    def ndim(self, index: int = 0) -> int:
        """How many dimensions a tensor among the arguments has."""
        return len(self.shape(index))

    def parts_before(self, index: int, dim: int) -> int:
        """Into how many parts a tensor's dimension is split by the dimensions of the mesh before this one."""
        total = 1
        for at, strategy in enumerate(self.before):
            placement = strategy.inputs[index]
            if split_dim(placement) == dim:
                total *= self.tensors[0].mesh.size(at)
        return total

    def is_even(self, index: int, dim: int) -> bool:
        """Whether a tensor's dimension, split by this dimension of the mesh, too, has parts of one size."""
        return self.shape(index)[dim] % (self.parts_before(index, dim) * self.count) == 0

    def is_filled(self, index: int, dim: int) -> bool:
        """Whether a tensor's dimension, split by this dimension of the mesh, too, leaves no rank without elements."""
        sizes = [self.shape(index)[dim]]
        counts = [
            self.tensors[0].mesh.size(at)
            for at, strategy in enumerate(self.before)
            if split_dim(strategy.inputs[index]) == dim
        ]
        for count in [*counts, self.count]:
            sizes = [part for size in sizes for part in shard_sizes(size, count)]
        return min(sizes) > 0


Rule = Callable[[Call], Sequence[Strategy]]
_rules: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Enter a rule for operators: ``"add"`` for all of its overloads, or ``"add.Tensor"``; in-place forms share it."""

    def enter(function: Rule) -> Rule:
        for name in names:
            _rules[name] = function
        return function

    return enter


def find_rule(name: str) -> Rule | None:
    """The rule for an operator; None where there is none."""
    return _rules.get(name) or _rules.get(name.partition(".")[0])


def chosen_strategies(call: Call, function: Rule, fixed: bool) -> list[Strategy] | None:
    """A strategy for each dimension of the mesh.

    Parameters
    ----------
    fixed
        Whether the first tensor is written to: its placements stay, and are those of the result.

    Returns
    -------
    list or None
        None where no strategy serves.
    """
    found = _cheapest(call, function, fixed, True)
    if found is not None and not _are_ordered(call, found):
        call.before = []
        found = _cheapest(call, function, fixed, False)
    return found


def _cheapest(call: Call, function: Rule, fixed: bool, strided: bool) -> list[Strategy] | None:
    for at in range(call.tensors[0].mesh.ndim):
        call.at = at
        best, least = None, float("inf")
        for strategy in function(call):
            if not strided and _is_strided(strategy):
                continue
            first = call.tensors[0].placements[at]
            if fixed and (strategy.outputs[0] != first or strategy.inputs[0] not in (first, None)):
                continue
            cost = _cost(call, strategy)
            if cost < least:
                best, least = strategy, cost
        if best is None:
            return None
        call.before.append(best)
    return call.before


def _is_strided(strategy: Strategy) -> bool:
    return any(isinstance(one, _StridedShard) for one in (*strategy.outputs, *strategy.inputs))


def _are_ordered(call: Call, strategies: Sequence[Strategy]) -> bool:
    """Whether strided placements, each chosen for one dimension of the mesh, make orders with those of the others."""
    if not any(map(_is_strided, strategies)):
        return True
    mesh = call.tensors[0].mesh
    inputs = zip(*(strategy.inputs for strategy in strategies), strict=True)
    outputs = zip(*(strategy.outputs for strategy in strategies), strict=True)
    for placements in (*inputs, *outputs):
        given = [Replicate() if one is None else one for one in placements]
        if any(splitting(given, dim, mesh) is None for dim in map(split_dim, given) if dim is not None):
            return False
    return True


def _cost(call: Call, strategy: Strategy) -> float:
    """What it costs to bring the arguments about; infinite where that cannot be."""
    total = 0.0
    for index, wanted in enumerate(strategy.inputs):
        spec = call.tensors[index]
        now = spec.placements[call.at]
        if wanted is None or wanted == now:
            continue
        if isinstance(wanted, Shard) and call.shape(index)[wanted.dim] < call.count * call.parts_before(
            index, wanted.dim
        ):
            return float("inf")
        if not (now.is_replicate() and wanted.is_partial() and index == strategy.divided):
            total += _step_cost(now, wanted, call.count, _bytes(spec))
    return total


#: What a step from one rank to the next takes, in the time that a byte takes.
_LATENCY = 50000.0


def _step_cost(now: Placement, wanted: Placement, count: int, size: float) -> float:
    if isinstance(wanted, Partial):
        return float("inf")
    if now.is_replicate():
        return 0.0
    # More than nothing along a dimension of one rank, too: there, placements are kept as elsewhere.
    travels = 1.0 + (count - 1) * _LATENCY + size * (count - 1) / count
    if isinstance(now, Partial):
        return travels if isinstance(wanted, Shard) else 2 * travels
    return travels if isinstance(wanted, Replicate) else travels * 1.01


def _bytes(spec: DTensorSpec) -> float:
    total = float(spec.tensor_meta.dtype.itemsize)
    for size in spec.tensor_meta.shape:
        total *= size
    return total / spec.num_shards
