"""`fully_shard`: the parameters of a module are spread over ranks, and whole while it is computed with them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, NoReturn

from mt_nn.modules.module import Module

from ..device_mesh import init_device_mesh
from ..tensor.placement_types import Shard
from ..world import _get_default_group
from .parameter_group import ParameterGroup
from .policies import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy
from .sharded_parameter import ShardedParameter
from .state import FSDPState, state_of

__all__ = ["FSDPModule", "UnshardHandle", "fully_shard", "register_fsdp_forward_method"]


class UnshardHandle:
    """A gathering that goes on."""

    def __init__(self, group: ParameterGroup | None) -> None:
        self._group = group

    def wait(self) -> None:
        """Let the module have its whole parameters."""
        if self._group is not None:
            self._group.unshard()
            self._group = None


class FSDPModule:
    """What a module is, besides what it was, once `fully_shard` was called on it."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """An instance of the module's own class: parts of a spread module are made anew unspread."""
        own = cls.__mro__[2]
        made = own.__new__(own, *args, **kwargs)
        made.__init__(*args, **kwargs)
        return made

    def _get_fsdp_state(self) -> FSDPState:
        state = vars(self).get("_fsdp_state")
        if state is None:
            raise AssertionError(f"No FSDP state found on {self}")
        found: FSDPState = state
        return found

    def _states(self, recurse: bool = True) -> Iterator[FSDPState]:
        modules: Iterable[Module] = self.modules() if recurse else [self]  # type: ignore[attr-defined, list-item]
        for module in modules:
            state = state_of(module)
            if state is not None:
                yield state

    def _groups(self, recurse: bool = True) -> Iterator[ParameterGroup]:
        for state in self._states(recurse):
            if state.group is not None:
                yield state.group

    def reshard(self) -> None:
        """Let the module have its parts, not those below that were spread by themselves."""
        self._get_fsdp_state().reshard()

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Let the module have its whole parameters, not those below that were spread by themselves.

        Parameters
        ----------
        async_op
            Whether they are to come later, when `UnshardHandle.wait` is called, or a forward.
        """
        group = self._get_fsdp_state().group
        handle = UnshardHandle(group)
        if async_op:
            if group is not None:
                group.begin_unshard()
            return handle
        handle.wait()
        return None

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Whether the backwards to come wait for the reductions that they begin; by default they do."""
        self._get_fsdp_state().is_last_backward = is_last_backward

    def set_requires_gradient_sync(self, requires_gradient_sync: bool, *, recurse: bool = True) -> None:
        """Whether gradients are reduced; else whole ones are added up until they are."""
        for group in self._groups(recurse):
            group.syncs = requires_gradient_sync

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """Whether gradients are summed over replicas, on a mesh of two dimensions; else parts are added up until."""
        for group in self._groups(recurse):
            group.reduces_over_replicas = requires_all_reduce

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Whether the memory of whole parameters goes after a forward."""
        if not isinstance(reshard_after_forward, bool):
            raise ValueError(f"reshard_after_forward should be a bool, got {type(reshard_after_forward)}")
        for state in self._states(recurse):
            state.reshard_after_forward = reshard_after_forward

    def set_reshard_after_backward(self, reshard_after_backward: bool, *, recurse: bool = True) -> None:
        """Whether the memory of whole parameters goes after a backward."""
        for group in self._groups(recurse):
            group.reshards_after_backward = reshard_after_backward

    def set_modules_to_forward_prefetch(self, modules: list[FSDPModule]) -> None:
        """Whose parameters are begun to be gathered before this module's forward."""
        self._get_fsdp_state().forward_prefetch = [_spread(module) for module in modules]

    def set_modules_to_backward_prefetch(self, modules: list[FSDPModule]) -> None:
        """Whose parameters are begun to be gathered before this module's backward; by default the one before."""
        self._get_fsdp_state().backward_prefetch = [_spread(module) for module in modules]

    def set_all_reduce_hook(self, hook: Callable[[Any], None], *, stream: Any = None) -> None:
        """Call a function on reduced gradients, in flat memory, before parts take them."""
        if stream is not None:
            raise NotImplementedError("set_all_reduce_hook(stream=) is not supported by mindtorch: there are none")
        group = self._get_fsdp_state().group
        if group is not None:
            group.all_reduce_hook = hook

    def set_gradient_divide_factor(self, factor: float) -> None:
        """What sums of gradients are divided by, in the place of the number of ranks."""
        group = self._get_fsdp_state().group
        if group is not None:
            group.divisor = factor

    set_reduce_scatter_divide_factor = set_gradient_divide_factor

    def _apply(self, *args: Any, **kwargs: Any) -> Any:
        for state in self._states():
            state.reshard()
        applied = super()._apply(*args, **kwargs)  # type: ignore[misc]
        for group in self._groups():
            for parameter in group.parameters:
                parameter.adopt()
        return applied


def _refused(name: str) -> Callable[..., NoReturn]:
    def method(self: FSDPModule, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"FSDPModule.{name} is not supported by mindtorch")

    method.__name__ = name
    method.__doc__ = "Not supported: raises NotImplementedError."
    return method


for _name in """reset_iter_state set_custom_all_gather set_custom_reduce_scatter set_post_optim_event
        set_force_sum_reduction_for_comms set_reduce_scatter_unused_params set_reduce_scatter_max_input_buffers
        set_separate_reduce_scatter_group set_unshard_in_backward set_allocate_memory_from_process_group_for_comm
        set_symm_mem_for_comm""".split():
    setattr(FSDPModule, _name, _refused(_name))


def _spread(module: Any) -> FSDPState:
    if not isinstance(module, FSDPModule):
        raise ValueError(f"expected modules that fully_shard was called on, but got {type(module)}")
    return module._get_fsdp_state()


def _no_copy(self: Any, memo: Any) -> NoReturn:
    raise AssertionError("FSDP does not support deepcopy. Please use state dict for serialization.")


@functools.cache
def _class_of(cls: Any) -> Any:
    return type(f"FSDP{cls.__name__}", (FSDPModule, cls), {"__deepcopy__": _no_copy})


class _Found(NamedTuple):
    parameter: Any
    places: list[tuple[Module, str]]


def _parameters_of(modules: list[Module], ignored: set[Any]) -> list[_Found]:
    """Parameters of modules and of what is below, except where that was spread by itself; and who has each."""
    found: dict[int, _Found] = {}
    seen: set[Module] = set()

    def visit(module: Module) -> None:
        if module in seen or (state_of(module) is not None):
            return
        seen.add(module)
        for name, parameter in module._parameters.items():
            if parameter is not None and not any(parameter is one for one in ignored):
                found.setdefault(id(parameter), _Found(parameter, [])).places.append((module, name))
        for child in module.children():
            visit(child)

    for module in modules:
        visit(module)
    return list(found.values())


def fully_shard(
    module: Any,
    *,
    mesh: Any = None,
    reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Callable[[Any], Shard | None] | None = None,
    mp_policy: MixedPrecisionPolicy | None = None,
    offload_policy: OffloadPolicy | None = None,
    ignored_params: set[Any] | None = None,
    dp_mesh_dims: Any = None,
) -> Any:
    """Spread a module's parameters over ranks: each is a `DTensor` of which a rank has a part.

    They are gathered before a forward and a backward, and gradients are averaged and spread as soon as all have come.
    Call it on modules below first: each call makes one group that is gathered at once. What `parallelize_module` has
    spread over one dimension of a mesh is spread further over another (``mesh=mesh["data"]``).

    Parameters
    ----------
    module
        A module, or several that are gathered together. Its class becomes one that is an `FSDPModule`, too.
    mesh
        Of one dimension, by default all ranks; of two: parameters are spread over the second, and the same over the
        first.
    reshard_after_forward
        Whether the memory of whole parameters goes after a forward and is gathered again; None: except of the root.
    shard_placement_fn
        Which dimension of a parameter is spread: the first for None.
    offload_policy
        `CPUOffloadPolicy` changes nothing, for parameters lie on the CPU; memory for transfers (`pin_memory`) needs
        another device.
    mp_policy
        In which dtypes is computed and reduced.
    ignored_params
        Parameters that stay as they are.

    Returns
    -------
    Module
        The same module.

    Raises
    ------
    ValueError
        For scalars, containers without a forward, modules that are spread already, and parameters that tensor
        parallelism spread over a mesh that is no part of the same mesh as `mesh`.
    RuntimeError
        For an `offload_policy` that pins memory.
    NotImplementedError
        With a number for `reshard_after_forward`, and `dp_mesh_dims`.
    """
    policy = mp_policy if mp_policy is not None else MixedPrecisionPolicy()
    if isinstance(offload_policy, CPUOffloadPolicy) and offload_policy.pin_memory:
        raise RuntimeError(
            "Cannot access accelerator device when none is available. CPUOffloadPolicy(pin_memory=False) needs none"
        )
    if dp_mesh_dims is not None:
        raise NotImplementedError(
            "fully_shard with dp_mesh_dims is not supported by mindtorch: give a mesh of the data"
        )
    if reshard_after_forward is not None and not isinstance(reshard_after_forward, bool):
        raise NotImplementedError(
            f"fully_shard with reshard_after_forward={reshard_after_forward} is not supported by mindtorch: True and "
            "False are"
        )
    modules = list(module) if isinstance(module, (list, tuple)) else [module]
    for one in modules:
        _check_module(one)
    mesh = mesh if mesh is not None else init_device_mesh("cpu", (_get_default_group().size(),))
    if mesh.ndim not in (1, 2):
        raise ValueError(f"fully_shard expects a 1D or 2D DeviceMesh but got {mesh}")
    found = _parameters_of(modules, ignored_params or set())
    sharded = [
        ShardedParameter(one.parameter, one.places, mesh, _dim_of(one.parameter, shard_placement_fn)) for one in found
    ]
    group = ParameterGroup(sharded, mesh, policy) if sharded else None
    state = FSDPState(modules, group, reshard_after_forward, policy)
    for one in modules:
        vars(one)["_fsdp_state"] = state
        own: Any = type(one)
        one.__class__ = _class_of(own)
    return module


def _check_module(module: Any) -> None:
    if not isinstance(module, Module):
        raise ValueError(f"fully_shard expects modules, but got {type(module)}")
    if type(module).forward is Module.forward:
        raise ValueError(f"fully_shard does not support containers that do not implement forward: {module}")
    if isinstance(module, FSDPModule):
        raise ValueError(f"fully_shard was called on {type(module).__name__} before")


def _dim_of(parameter: Any, choose: Callable[[Any], Shard | None] | None) -> int:
    placement = None if choose is None else choose(parameter)
    if placement is None:
        return 0
    if not isinstance(placement, Shard):
        raise NotImplementedError(f"shard_placement_fn gave {placement}: Shard and None are supported by mindtorch")
    dim = placement.dim + parameter.dim() if placement.dim < 0 else placement.dim
    if not 0 <= dim < parameter.dim():
        raise ValueError(f"{placement} of a parameter of {parameter.dim()} dimensions")
    return dim


def register_fsdp_forward_method(module: Module, method_name: str) -> None:
    """Let another method of a module that is spread be one like ``forward``: parameters are whole while it runs.

    Raises
    ------
    ValueError
        Where there is no such method.
    """
    if not isinstance(module, FSDPModule):
        return
    if not hasattr(module, method_name):
        raise ValueError(f"{type(module)} does not have a method {method_name}")
    method = getattr(module, method_name)
    state = module._get_fsdp_state()

    @functools.wraps(method)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = state._before_forward(module, args, kwargs)
        return state._after_forward(module, args, method(*args, **kwargs))

    setattr(module, method_name, wrapped)
