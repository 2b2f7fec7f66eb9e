"""One parameter of which each rank has a part, and that is whole while it is computed with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mt_core as mt
from mt_nn.modules.module import Module
from mt_nn.parameter import Parameter

from ..device_mesh import DeviceMesh
from ..tensor._api import DTensor, respecified
from ..tensor.placement_types import Placement, Replicate, Shard, _StridedShard
from ..tensor.spec import DTensorSpec, TensorMeta, shard_sizes, split_dim

__all__ = ["ShardedParameter", "set_parameter"]


def set_parameter(module: Module, name: str, parameter: Any) -> None:
    """Let a module have a parameter, without the checks of an assignment where it has no assignment of its own."""
    if type(module).__setattr__ is not Module.__setattr__:
        setattr(module, name, parameter)
    else:
        module._parameters[name] = parameter


class ShardedParameter:
    """A parameter that is spread along one dimension of itself.

    One that tensor parallelism has spread over another mesh is spread further: each rank's part of it is what is said
    to be whole here.

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

    #: How tensor parallelism has spread it; None where it has not.
    parallel: DTensorSpec | None = None

    def __init__(self, parameter: Any, places: Sequence[tuple[Module, str]], mesh: Any, dim: int) -> None:
        if parameter.dim() == 0:
            raise ValueError(
                f"fully_shard doesn't support scalar parameters. Change {places[0][1]} to a 1D tensor with numel "
                "equal to 1."
            )
        self.places, self.dim = list(places), dim
        if isinstance(parameter, DTensor):
            self.parallel = parameter._spec
        meta = TensorMeta(parameter.shape, tuple(parameter.stride()), parameter.dtype)
        placements: tuple[Placement, ...] = (*[Replicate()] * (mesh.ndim - 1), Shard(dim))
        spread_over = mesh
        if self.parallel is not None:
            spread_over, placements = _further(self.parallel, mesh, dim)
            parameter = parameter._local_tensor.detach().requires_grad_(parameter.requires_grad)
        self.rank, self.count = mesh.get_local_rank(mesh.ndim - 1), mesh.size(mesh.ndim - 1)
        self.shape, self.dtype = parameter.shape, parameter.dtype
        self.sizes = shard_sizes(parameter.shape[dim], self.count)
        self.trained = parameter.requires_grad
        with mt.no_grad():
            own = parameter.detach().split(self.sizes, dim)[self.rank].clone(memory_format=mt.contiguous_format)
        spread = DTensor(own, DTensorSpec(spread_over, placements, meta))
        self.sharded: Any = Parameter(spread, requires_grad=self.trained)
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
            self.whole = self._as_parameter(mt.empty(self.shape, dtype=dtype, device=self.local.device))
        memory = self._memory
        storage = memory.untyped_storage()
        if storage.nbytes() == 0:
            storage.resize_(memory.numel() * memory.element_size())
        # `data` has no version of its own: what was saved for a backward is the same again.
        whole = memory.data
        start = 0
        for size, part in zip(self.sizes, parts, strict=True):
            whole.narrow(self.dim, start, size).copy_(part)
            start += size

    @property
    def _memory(self) -> Any:
        """The elements of the whole that this rank has."""
        return self.whole if self.parallel is None else self.whole._local_tensor

    def _as_parameter(self, tensor: Any) -> Any:
        if self.parallel is None:
            return Parameter(tensor, self.trained)
        meta = self.parallel.tensor_meta._replace(dtype=tensor.dtype)
        return Parameter(DTensor(tensor, DTensorSpec(self.parallel.mesh, self.parallel.placements, meta)), self.trained)

    def free(self) -> None:
        """Let the memory of the whole go."""
        if self.whole is not None:
            self._memory.untyped_storage().resize_(0)

    def take_gradient(self) -> Any:
        """The whole's gradient, with what was accumulated before; None where there is none."""
        grad, self.whole.grad = self.whole.grad, None
        if isinstance(grad, DTensor):
            assert self.parallel is not None
            grad = respecified(grad, self.parallel.placements)._local_tensor
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


def _further(spec: DTensorSpec, mesh: Any, dim: int) -> tuple[DeviceMesh, tuple[Placement, ...]]:
    """Mesh and placements of what tensor parallelism has spread, once the ranks of another mesh have parts of that.

    The dimensions of the other mesh come first, and split last: along a dimension that is split already, strided.
    """
    if spec.mesh._get_root_mesh() != mesh._get_root_mesh():
        raise ValueError(
            "FSDP requires the DP and model parallel TP/EP mesh to have the same parent mesh but got: \n"
            f"DP's global mesh: {mesh._get_root_mesh()}\nTP/EP's global mesh: {spec.mesh._get_root_mesh()}"
        )
    parts = 1
    for at, placement in enumerate(spec.placements):
        if isinstance(placement, _StridedShard) or placement.is_partial():
            raise NotImplementedError(f"fully_shard of a tensor that lies {placement!r} is not supported by mindtorch")
        parts *= spec.mesh.size(at) if split_dim(placement) == dim else 1
    own: Placement = Shard(dim) if parts == 1 else _StridedShard(dim, split_factor=parts)
    joint = DeviceMesh._concatenate([mesh, spec.mesh])
    return joint, (*[Replicate()] * (mesh.ndim - 1), own, *spec.placements)
