"""One parameter of which each rank has a part, and that is whole while it is computed with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mt_core as mt
from mt_nn.modules.module import Module
from mt_nn.parameter import Parameter

from ..tensor._api import DTensor
from ..tensor.placement_types import Placement, Replicate, Shard
from ..tensor.spec import DTensorSpec, TensorMeta, shard_sizes

__all__ = ["ShardedParameter", "set_parameter"]


def set_parameter(module: Module, name: str, parameter: Any) -> None:
    """Let a module have a parameter, without the checks of an assignment where it has no assignment of its own."""
    if type(module).__setattr__ is not Module.__setattr__:
        setattr(module, name, parameter)
    else:
        module._parameters[name] = parameter


class ShardedParameter:
    """A parameter that is spread along one dimension of itself.

    Parameters
    ----------
    parameter
        All of it.
    places
        Modules that have it, and under which names.
    mesh
        One dimension, or two: over the first all have the same.
    dim
        Which dimension is spread.
    """

    def __init__(self, parameter: Any, places: Sequence[tuple[Module, str]], mesh: Any, dim: int) -> None:
        if parameter.dim() == 0:
            raise ValueError(
                f"fully_shard doesn't support scalar parameters. Change {places[0][1]} to a 1D tensor with numel "
                "equal to 1."
            )
        if isinstance(parameter, DTensor):
            raise NotImplementedError(
                f"fully_shard of {places[0][1]}, which is spread over a mesh already, is not supported by mindtorch"
            )
        self.places, self.dim = list(places), dim
        self.rank, self.count = mesh.get_local_rank(mesh.ndim - 1), mesh.size(mesh.ndim - 1)
        self.shape, self.dtype = parameter.shape, parameter.dtype
        self.sizes = shard_sizes(parameter.shape[dim], self.count)
        self.trained = parameter.requires_grad
        placements: tuple[Placement, ...] = (*[Replicate()] * (mesh.ndim - 1), Shard(dim))
        meta = TensorMeta(parameter.shape, tuple(parameter.stride()), parameter.dtype)
        with mt.no_grad():
            own = parameter.detach().split(self.sizes, dim)[self.rank].clone(memory_format=mt.contiguous_format)
        self.sharded: Any = Parameter(DTensor(own, DTensorSpec(mesh, placements, meta)), requires_grad=self.trained)
        #: All of it; its memory is empty while it is not computed with.
        self.whole: Any = None
        self.accumulated: Any = None
        self.give(self.sharded)

    def give(self, parameter: Any) -> None:
        """Let the modules have a parameter."""
        for module, name in self.places:
            set_parameter(module, name, parameter)

    def adopt(self) -> None:
        """Take what a program has put in the place of the parts: another dtype, values that were assigned."""
        module, name = self.places[0]
        given = module._parameters[name]
        if given is self.sharded or given is self.whole:
            return
        if not isinstance(given, DTensor) or given.placements != self.sharded.placements:
            raise RuntimeError(f"{name} was replaced by a tensor that is not spread as fully_shard spread it")
        self.sharded, self.dtype, self.whole = given, given.dtype, None
        self.give(given)

    @property
    def local(self) -> Any:
        """This rank's part."""
        return self.sharded._local_tensor

    @property
    def padded(self) -> int:
        """How many elements the largest part has: as many travel for each rank."""
        return self.sizes[0] * self._row

    @property
    def _row(self) -> int:
        count = 1
        for at, size in enumerate(self.shape):
            count *= 1 if at == self.dim else size
        return count

    def _part_shape(self, rank: int) -> list[int]:
        return [self.sizes[rank] if at == self.dim else size for at, size in enumerate(self.shape)]

    def write_part(self, flat: Any) -> None:
        """Copy this rank's part to flat memory."""
        flat[: self.local.numel()].copy_(self.local.detach().reshape(-1))

    def fill(self, flats: Sequence[Any], dtype: Any) -> None:
        """Put the whole together of flat memory of all ranks."""
        parts = [flat[: self.sizes[rank] * self._row].view(self._part_shape(rank)) for rank, flat in enumerate(flats)]
        if self.whole is None or self.whole.dtype != dtype:
            self.whole = Parameter(mt.empty(self.shape, dtype=dtype, device=self.local.device), self.trained)
        storage = self.whole.untyped_storage()
        if storage.nbytes() == 0:
            storage.resize_(self.whole.numel() * self.whole.element_size())
        # `data` has no version of its own: what was saved for a backward is the same again.
        whole = self.whole.data
        start = 0
        for size, part in zip(self.sizes, parts, strict=True):
            whole.narrow(self.dim, start, size).copy_(part)
            start += size

    def free(self) -> None:
        """Let the memory of the whole go."""
        if self.whole is not None:
            self.whole.untyped_storage().resize_(0)

    def take_gradient(self) -> Any:
        """The whole's gradient, with what was accumulated before; None where there is none."""
        grad, self.whole.grad = self.whole.grad, None
        if self.accumulated is not None:
            grad = self.accumulated if grad is None else self.accumulated + grad
            self.accumulated = None
        return grad

    def write_gradient(self, flat: Any, grad: Any) -> None:
        """Copy a whole gradient to flat memory with a row for each rank."""
        for row, part in zip(flat, grad.split(self.sizes, self.dim), strict=True):
            row[: part.numel()].copy_(part.reshape(-1))

    def accumulate(self, flat: Any) -> None:
        """Add to the gradient of this rank's part."""
        local = flat[: self.local.numel()].view(self.local.shape).to(self.dtype)
        if self.sharded.grad is None:
            spec = self.sharded._spec
            self.sharded.grad = DTensor(local.clone(), DTensorSpec(spec.mesh, spec.placements, spec.tensor_meta))
        else:
            self.sharded.grad._local_tensor.add_(local)
