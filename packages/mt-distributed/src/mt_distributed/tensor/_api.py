"""``DTensor``, and what makes tensors and modules distributed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mt_core as mt
from mt_autograd.function import Function
from mt_core.overriding import disabled_torch_function
from mt_core.plugins.discovery import find_backend
from mt_core.subclasses import make_wrapper_subclass
from mt_nn import Module, Parameter

from ..device_mesh import DeviceMesh, current_mesh
from ..functional.waiting import AsyncCollectiveTensor
from ..options import ScatterOptions
from .placement_types import Partial, Placement, Replicate, Shard
from .redistribution import broadcast_along, redistributed, split_at
from .spec import DTensorSpec, TensorMeta, in_order, normalized, shard_sizes, split_dim

__all__ = ["DTensor", "distribute_module", "distribute_tensor"]


class Operators:
    """Where operators are carried out: the rules make tensors of the class, stand above it, and enter this."""

    run: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]


class DTensor(mt.Tensor):
    """A tensor whose elements the ranks of a mesh have, as its placements say; a program is written as for one process.

    Operators run on what each rank has, and where they need other placements, collectives come before. Shape, strides
    and dtype are those of the whole tensor. It is made by `from_local`, `distribute_tensor`, or as the result of an
    operator.

    Raises
    ------
    NotImplementedError
        From an operator that has no rule: named.
    """

    __slots__ = ("_is_copy", "_local_tensor", "_spec")
    __torch_function__ = disabled_torch_function  # type: ignore[assignment]

    #: Read by derivatives: they write out of place, for an operator in place cannot bring elements elsewhere.
    _writes_out_of_place = True
    _local_tensor: mt.Tensor
    _spec: DTensorSpec
    #: Set where the tensor was to be a view of another, and is a copy, as the other lay otherwise.
    _is_copy: bool

    @staticmethod
    def __new__(cls: type, local_tensor: mt.Tensor, spec: DTensorSpec, *, requires_grad: bool = False) -> DTensor:
        if not isinstance(local_tensor, mt.Tensor):
            raise TypeError(
                f"DTensor(): argument 'local_tensor' (position 2) must be Tensor, not {type(local_tensor).__name__}"
            )
        made = make_wrapper_subclass(
            cls, spec.tensor_meta.shape, strides=spec.tensor_meta.stride, dtype=local_tensor.dtype,
            device=local_tensor.device, requires_grad=requires_grad,
        )  # fmt: skip
        made._spec, made._local_tensor = spec, local_tensor
        return made  # type: ignore[no-any-return]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __repr__(self, *, tensor_contents: str | None = None) -> str:  # type: ignore[override]
        local = self._local_tensor
        shown = repr(local.item()) if local.ndim == 0 and local.device.type != "meta" else repr(local)
        return f"DTensor(local_tensor={shown}, device_mesh={self._spec.mesh}, placements={self._spec.placements})"

    def __tensor_flatten__(self) -> tuple[list[str], tuple[DTensorSpec, bool]]:
        return ["_local_tensor"], (self._spec, self.requires_grad)

    @staticmethod
    def __tensor_unflatten__(inner: dict[str, mt.Tensor], context: Any, size: Any, stride: Any) -> DTensor:
        spec, requires_grad = context
        meta = TensorMeta(mt.Size(size), tuple(stride), spec.tensor_meta.dtype)
        whole = DTensorSpec(spec.mesh, spec.placements, meta)
        return DTensor(inner["_local_tensor"], whole, requires_grad=requires_grad)

    @classmethod
    def __torch_dispatch__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return Operators.run(func, args, kwargs or {})

    @property
    def device_mesh(self) -> DeviceMesh:
        """The mesh whose ranks have it."""
        return self._spec.mesh

    @property
    def placements(self) -> tuple[Placement, ...]:
        """One placement for each dimension of the mesh."""
        return self._spec.placements

    @staticmethod
    def from_local(
        local_tensor: mt.Tensor,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        run_check: bool = False,
        shape: Any = None,
        stride: Any = None,
        grad_placements: Sequence[Placement] | None = None,
    ) -> DTensor:
        """The tensor of which each rank has `local_tensor`; gradients go through.

        Parameters
        ----------
        placements
            What the local tensors are of the whole; by default all are the same.
        run_check
            Whether ranks that are to have the same take that of the first.
        shape, stride
            Of the whole; without them all parts are taken to be as large as this rank's.
        grad_placements
            What the gradient's placements are to be when it comes back; by default `placements`.

        Raises
        ------
        RuntimeError
            For a tensor that is one already, placements that do not fit, and without a mesh.
        """
        mesh = device_mesh or current_mesh()
        if isinstance(local_tensor, DTensor):
            raise RuntimeError(
                f"the local_tensor argument only accepts torch.Tensor but got {type(local_tensor)} value."
            )
        if device_type_of(mesh) != local_tensor.device.type and local_tensor.device.type != "meta":
            local_tensor = local_tensor.to(device_type_of(mesh))
        if placements is None:
            placements = [Replicate()] * mesh.ndim
        chosen = list(normalized(placements, local_tensor.ndim))
        for at, placement in enumerate(chosen):
            dim = split_dim(placement)
            if dim is not None and not 0 <= dim < local_tensor.ndim:
                raise RuntimeError(
                    f"Sharding dim {dim} greater than tensor ndim {local_tensor.ndim} for placement number {at}"
                )
        if len(chosen) != mesh.ndim:
            raise ValueError(
                "`placements` must have the same length as `device_mesh.ndim`! "
                f"Found placements length: {len(chosen)}, and device_mesh.ndim: {mesh.ndim}."
            )
        back = None if grad_placements is None else normalized(grad_placements, local_tensor.ndim)
        return _FromTorchTensor.apply(local_tensor, mesh, tuple(chosen), run_check, shape, stride, back)  # type: ignore[no-any-return]

    def to_local(self, *, grad_placements: Sequence[Placement] | None = None) -> mt.Tensor:
        """What this rank has; gradients go through.

        Parameters
        ----------
        grad_placements
            What the gradient of it is to be taken for; by default it has the placements of the tensor.
        """
        if not mt.is_grad_enabled():
            return self._local_tensor
        back = None if grad_placements is None else normalized(grad_placements, self.ndim)
        return _ToTorchTensor.apply(self, back)  # type: ignore[no-any-return]

    def redistribute(
        self,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        async_op: bool = False,
        forward_dtype: Any = None,
        backward_dtype: Any = None,
    ) -> DTensor:
        """The same tensor under other placements; gradients go through, and get this one's placements again.

        Raises
        ------
        RuntimeError
            Without placements, and for partial ones where this one's are not.
        NotImplementedError
            For another mesh.
        """
        mesh = device_mesh or self.device_mesh
        if placements is None:
            raise RuntimeError("placements is needed for redistribute!")
        chosen = list(normalized(placements, self.ndim))
        for old, new in zip(self.placements, chosen, strict=False):
            if new.is_partial() and old != new:
                raise RuntimeError(
                    f"Can not redistribute from {old} to {new}, redistributing to Partial is for internal use only!"
                )
            if isinstance(new, Shard) and not 0 <= new.dim < self.ndim:
                raise IndexError(f"redistribute: {new!r} for a tensor of {self.ndim} dimensions")
        if mesh != self.device_mesh:
            raise NotImplementedError("Cross device mesh comm not supported yet!")
        if len(chosen) != mesh.ndim:
            raise ValueError(
                "`placements` must have the same length as `device_mesh.ndim`! "
                f"Found placements length: {len(chosen)}, and device_mesh.ndim: {mesh.ndim}."
            )
        if forward_dtype is not None or backward_dtype is not None:
            raise NotImplementedError("DTensor.redistribute(forward_dtype=, backward_dtype=) is not supported")
        return _Redistribute.apply(self, tuple(chosen), async_op)  # type: ignore[no-any-return]

    def full_tensor(self, *, grad_placements: Sequence[Placement] | None = None) -> mt.Tensor:
        """All of it, on every rank; gradients go through."""
        whole = self.redistribute(placements=[Replicate()] * self.device_mesh.ndim)
        return whole.to_local(grad_placements=grad_placements)


def device_type_of(mesh: DeviceMesh) -> str:
    """The kind of device on which the ranks of a mesh keep their parts."""
    return mesh.device_type


def _without_partial(placements: Sequence[Placement]) -> tuple[Placement, ...]:
    """Placements for a gradient: that of a sum is the same for all that was added."""
    return tuple(Replicate() if placement.is_partial() else placement for placement in placements)


def respecified(tensor: DTensor, placements: Sequence[Placement]) -> DTensor:
    """A tensor under other placements, outside of its history."""
    local = redistributed(tensor._local_tensor, tensor._spec, placements)
    return DTensor(local, DTensorSpec(tensor._spec.mesh, tuple(placements), tensor._spec.tensor_meta))


class _ToTorchTensor(Function):
    @staticmethod
    def forward(ctx: Any, input: DTensor, grad_placements: Any) -> mt.Tensor:
        ctx.spec, ctx.grad_placements = input._spec, grad_placements
        local = input._local_tensor
        return local.view_as(local)

    @staticmethod
    def backward(ctx: Any, grad: mt.Tensor) -> Any:
        spec = ctx.spec
        placements = _without_partial(spec.placements) if ctx.grad_placements is None else ctx.grad_placements
        meta = TensorMeta(spec.tensor_meta.shape, spec.tensor_meta.stride, grad.dtype)
        return DTensor(grad, DTensorSpec(spec.mesh, placements, meta), requires_grad=grad.requires_grad), None


class _FromTorchTensor(Function):
    @staticmethod
    def forward(
        ctx: Any, local: mt.Tensor, mesh: DeviceMesh, placements: Any, run_check: bool, shape: Any, stride: Any,
        grad_placements: Any,
    ) -> DTensor:  # fmt: skip
        ctx.placements, ctx.grad_placements = placements, grad_placements
        if (shape is None) != (stride is None):
            raise RuntimeError(
                f"Found shape:{shape}, stride:{stride}.", "Please pass both shape and stride at the same time."
            )
        if shape is None:
            shape, stride = _of_equal_parts(local, mesh, placements)
        if mesh.get_coordinate() is None:
            local = local.new_empty(0, requires_grad=local.requires_grad)
        elif run_check:
            for at, placement in enumerate(placements):
                if placement.is_replicate():
                    local = broadcast_along(local.contiguous(), mesh, at)
        meta = TensorMeta(mt.Size(shape), tuple(stride), local.dtype)
        return DTensor(local.view_as(local), DTensorSpec(mesh, placements, meta), requires_grad=local.requires_grad)

    @staticmethod
    def backward(ctx: Any, grad: DTensor) -> Any:
        wanted = _without_partial(ctx.placements) if ctx.grad_placements is None else ctx.grad_placements
        if grad.placements != wanted:
            grad = _Redistribute.apply(grad, wanted, False)
        return grad.to_local(), None, None, None, None, None, None


def _of_equal_parts(local: mt.Tensor, mesh: DeviceMesh, placements: Sequence[Placement]) -> tuple[list[int], list[int]]:
    shape, stride = list(local.shape), list(local.stride())
    for at, placement in enumerate(placements):
        split = split_dim(placement)
        if split is not None:
            count, own = mesh.size(at), stride[split]
            shape[split] *= count
            stride = [size * count if dim != split and size >= own else size for dim, size in enumerate(stride)]
    return shape, stride


class _Redistribute(Function):
    @staticmethod
    def forward(ctx: Any, input: DTensor, placements: Any, is_async: bool) -> DTensor:
        ctx.placements = input.placements
        if placements == input.placements:
            local = input._local_tensor
            return DTensor(local.view_as(local), input._spec, requires_grad=input.requires_grad)
        made = respecified(input, placements)
        if is_async:
            made = DTensor(AsyncCollectiveTensor(made._local_tensor), made._spec)
        return made

    @staticmethod
    def backward(ctx: Any, grad: DTensor) -> Any:
        wanted = _without_partial(ctx.placements)
        return (grad if grad.placements == wanted else _Redistribute.apply(grad, wanted, False)), None, None


def distribute_tensor(
    tensor: mt.Tensor,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> DTensor:
    """A leaf of which each rank gets its part, from the ranks with the index `src_data_rank` along each dimension.

    Parameters
    ----------
    tensor
        All of it, a leaf; on ranks other than the source's, only its shape and dtype matter.
    placements
        By default all ranks get all.
    src_data_rank
        None to take each rank's part of its own tensor, without a collective.

    Returns
    -------
    DTensor
        On a mesh of device ``xla``, as in PyTorch, a tensor of that device instead, whose memory is spread over the
        mesh's devices; operators and compiled programs take it as any other.

    Raises
    ------
    ValueError
        For placements that are too few, and a tensor that lies otherwise already.
    NotImplementedError
        For ``Partial``, and parts of several sizes, on device ``xla``.
    RuntimeError
        For a tensor that is no leaf.
    """
    mesh = device_mesh or current_mesh()
    chosen = normalized([Replicate()] * mesh.ndim if placements is None else placements, tensor.ndim)
    if len(chosen) != mesh.ndim:
        raise ValueError(
            "`placements` must have the same length as `device_mesh.ndim`! "
            f"Found placements length: {len(chosen)}, and device_mesh.ndim: {mesh.ndim}."
        )
    if isinstance(tensor, DTensor):
        if tensor.device_mesh != mesh:
            raise ValueError(
                f"Cannot distribute a DTensor with device mesh {tensor.device_mesh} to a different device mesh {mesh}."
            )
        if tensor.placements != chosen:
            raise ValueError(
                f"Cannot distribute a DTensor with placements {tensor.placements} to a different placements "
                f"{list(chosen)}. do you want to call `redistribute` instead?"
            )
        return tensor
    if not tensor.is_leaf:
        raise RuntimeError("`distribute_tensor` should be used to distribute leaf tensors! but found non-leaf tensor!")
    if device_type_of(mesh) != tensor.device.type and tensor.device.type != "meta":
        tensor = tensor.to(device_type_of(mesh))
    for placement in chosen:
        dim = split_dim(placement)
        if dim is not None:
            assert 0 <= dim < tensor.ndim, f"Sharding dim {dim} greater than tensor ndim {tensor.ndim}"
        elif not isinstance(placement, (Replicate, Partial)):
            raise RuntimeError(
                f"Trying to distribute tensor with unsupported placements {placement} on device mesh dimension!"
            )
    if device_type_of(mesh) == "xla":
        return spread_over_devices(tensor, mesh, chosen)
    spec = DTensorSpec(mesh, chosen, TensorMeta(tensor.shape, tensor.stride(), tensor.dtype))
    with mt.no_grad():
        local = _own_part(tensor.detach(), spec, src_data_rank)
    return DTensor(local.requires_grad_(tensor.requires_grad), spec, requires_grad=tensor.requires_grad)


def is_distributed(tensor: mt.Tensor) -> bool:
    """Whether a tensor is a `DTensor`, or one of device ``xla`` whose memory is spread over several devices."""
    if tensor.device.type == "xla":
        return bool(find_backend("xla").is_spread(tensor._array))
    return isinstance(tensor, DTensor)


def spread_over_devices(tensor: mt.Tensor, mesh: DeviceMesh, placements: Sequence[Placement]) -> Any:
    """A leaf whose memory is spread over the devices of this process."""
    split: list[int | None] = []
    for placement in placements:
        if not isinstance(placement, Replicate) and type(placement) is not Shard:
            raise NotImplementedError(f"distribute_tensor on device 'xla' takes Shard and Replicate, not {placement}")
        split.append(placement.dim if isinstance(placement, Shard) else None)
    with mt.no_grad():
        made = tensor.detach().clone(memory_format=mt.contiguous_format)
    find_backend("xla").spread(made._array, mesh._ranks, split)
    return made.requires_grad_(tensor.requires_grad)


def _own_part(tensor: mt.Tensor, spec: DTensorSpec, source: int | None) -> mt.Tensor:
    mesh = spec.mesh
    coordinate = mesh.get_coordinate()
    if coordinate is None:
        return tensor.new_empty(0)
    given = tensor
    for at in in_order(spec.placements, mesh):
        placement = spec.placements[at]
        count, rank, dim = mesh.size(at), coordinate[at], split_dim(placement)
        if source is not None and tensor.device.type != "meta":
            if dim is not None:
                tensor = _scattered(tensor, dim, mesh, at, rank, source)
                continue
            tensor = broadcast_along(tensor.contiguous(), mesh, at, source)
        if dim is not None:
            tensor = split_at(tensor, dim, count, rank)
        elif isinstance(placement, Partial):
            before = DTensorSpec(mesh, (Replicate(),) * mesh.ndim, spec.tensor_meta)
            single = [placement if one == at else Replicate() for one in range(mesh.ndim)]
            tensor = redistributed(tensor, before, single)
    return tensor.clone() if tensor.data_ptr() == given.data_ptr() and tensor.numel() else tensor


def _scattered(tensor: mt.Tensor, dim: int, mesh: DeviceMesh, at: int, rank: int, source: int) -> mt.Tensor:
    """This rank's part of the source's tensor; all parts travel with the largest one's size."""
    sizes = shard_sizes(tensor.shape[dim], mesh.size(at))
    rows = [*tensor.shape[:dim], sizes[0], *tensor.shape[dim + 1 :]]
    parts = []
    if rank == source:
        for part in tensor.split(sizes, dim):
            padded = tensor.new_zeros(rows)
            padded.narrow(dim, 0, part.shape[dim]).copy_(part)
            parts.append(padded)
    own = tensor.new_empty(rows)
    mesh.get_group(at).scatter([own], [parts] if parts else [], ScatterOptions(rootRank=source)).wait()
    return own.narrow(dim, 0, sizes[rank]).contiguous()


def distribute_module(
    module: Module,
    device_mesh: DeviceMesh | None = None,
    partition_fn: Callable[[str, Module, DeviceMesh], None] | None = None,
    input_fn: Callable[[Module, Any, DeviceMesh], Any] | None = None,
    output_fn: Callable[[Module, Any, DeviceMesh], Any] | None = None,
) -> Module:
    """Make all parameters and buffers of a module distributed, in place; the module.

    Parameters
    ----------
    partition_fn
        ``partition_fn(name, submodule, device_mesh)`` distributes what it wants to; what it leaves, all ranks have.
    input_fn, output_fn
        ``f(module, inputs, device_mesh)`` before, ``f(module, outputs, device_mesh)`` after the forward.
    """
    mesh = device_mesh or current_mesh()

    def replicate(part: Module) -> None:
        everywhere = [Replicate()] * mesh.ndim
        for name, parameter in part._parameters.items():
            if parameter is not None and not is_distributed(parameter):
                spread = distribute_tensor(parameter.data, mesh, everywhere)
                part.register_parameter(name, Parameter(spread, requires_grad=parameter.requires_grad))
        for name, buffer in part._buffers.items():
            if buffer is not None and not is_distributed(buffer):
                part._buffers[name] = distribute_tensor(buffer, mesh, everywhere)

    for name, part in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, part, mesh)
        replicate(part)
    if input_fn is not None:
        module.register_forward_pre_hook(lambda mod, inputs: input_fn(mod, inputs, mesh))
    if output_fn is not None:
        module.register_forward_hook(lambda mod, inputs, outputs: output_fn(mod, outputs, mesh))
    return module
