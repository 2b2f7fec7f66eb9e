"""`DistributedDataParallel`: a module whose gradients are averaged over processes while the backward runs."""

from __future__ import annotations

import contextlib
import copy
import inspect
import itertools
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import mt_core as mt
from mt_core import pytree
from mt_core.futures import Future
from mt_nn.modules.module import Module
from mt_nn.parameter import UninitializedBuffer, UninitializedParameter

from ..algorithms.join import Join, Joinable, JoinHook
from ..grad_bucket import GradBucket
from ..world import _get_default_group
from .initial_state import BROADCAST_BYTES, broadcast_coalesced, verify_parameters
from .joining import DDPJoinHook, common_rank, requires_sync
from .reducer import Reducer
from .sink import find_tensors, through_sink

__all__ = ["DistributedDataParallel"]

_MB = 1024 * 1024
_FIRST_BUCKET_BYTES = _MB
_BUFFERS_DEPRECATED = (
    "`broadcast_buffers` is deprecated. Use `forward_sync_buffers` instead. IMPORTANT: unlike "
    "`broadcast_buffers=False`, `forward_sync_buffers=False` still syncs buffers at init. If you rely on buffers NOT "
    "being synced at init (e.g. rank-local buffers), keep using `broadcast_buffers=False` until `init_sync_buffers` is "
    "available."
)


class DistributedDataParallel(Module, Joinable):
    """Runs a module on this process's part of the batch, and averages gradients over the processes of a group.

    All processes start with the parameters and buffers of rank 0. In the backward, gradients are copied to buckets, and
    each bucket is reduced as soon as its last gradient is there, while the backward goes on.

    Parameters
    ----------
    module
        The module, of which all processes have one of the same parameters.
    device_ids, output_device, dim
        At most one device, for inputs of modules on an accelerator.
    broadcast_buffers, forward_sync_buffers
        Whether each forward takes the buffers of rank 0; the first is deprecated.
    init_sync
        Whether parameters and buffers of rank 0 are given to all now.
    process_group, device_mesh
        The processes; all of them for None.
    bucket_cap_mb, bucket_cap_mb_list
        The size of the buckets; 25 MB, and 1 MB for the first, for None. A list is of the first, the second, and so on.
    find_unused_parameters
        Whether each forward is searched for parameters that it does not use.
    gradient_as_bucket_view
        Whether ``.grad`` are views of the buckets.
    static_graph
        Whether all iterations use the same parameters equally often.

    Raises
    ------
    RuntimeError
        Where no parameter requires grad, one is not initialized, or the processes' parameters differ.
    NotImplementedError
        For mixed_precision, delay_all_reduce_named_params, skip_all_reduce_unused_params and batched_grad_copy.
    """

    _active_ddp_module: DistributedDataParallel | None = None

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[int | mt.device] | None = None,
        output_device: int | mt.device | None = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
        bucket_cap_mb_list: Sequence[float] | None = None,
        batched_grad_copy: bool = False,
        forward_sync_buffers: bool | None = None,
    ) -> None:
        super().__init__()
        Joinable.__init__(self)
        self._refuse_unsupported(
            delay_all_reduce_named_params,
            param_to_hook_all_reduce,
            mixed_precision,
            skip_all_reduce_unused_params,
            batched_grad_copy,
        )
        if process_group and device_mesh is not None:
            raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
        if device_mesh is not None:
            if device_mesh.ndim != 1:
                raise RuntimeError(f"Only 1D device mesh is supported, but got {device_mesh}.")
            self.process_group = device_mesh.get_group(mesh_dim=0)
        else:
            self.process_group = process_group if process_group else _get_default_group()
        self.parameters_to_ignore = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        self._module_parameters = [p for name, p in module.named_parameters() if name not in self.parameters_to_ignore]
        if not any(parameter.requires_grad for parameter in self._module_parameters):
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a "
                "gradient."
            )
        self._choose_devices(device_ids, output_device)
        if any(isinstance(p, (UninitializedParameter, UninitializedBuffer)) for p in self._module_parameters):
            raise RuntimeError(
                "Modules with uninitialized parameters can't be used with `DistributedDataParallel`. Run a dummy "
                "forward pass to correctly initialize the modules"
            )
        self.dim = dim
        self.module = module
        self.device = self._module_parameters[0].device
        syncs_buffers_at_first = self._choose_buffers(broadcast_buffers, forward_sync_buffers)
        self.static_graph = False
        self.find_unused_parameters = find_unused_parameters
        self.require_backward_grad_sync = True
        self.require_forward_param_sync = True
        self.gradient_as_bucket_view = gradient_as_bucket_view
        if check_reduction:
            warnings.warn(
                "The `check_reduction` argument in `DistributedDataParallel` module is deprecated. Please avoid using "
                "it.",
                FutureWarning,
                stacklevel=2,
            )
        self.broadcast_bucket_size = BROADCAST_BYTES
        self._choose_bucket_sizes(bucket_cap_mb, bucket_cap_mb_list)
        self._divide_by_initial_world_size = True
        self._static_graph_delay_allreduce_enqueued = False
        self._comm_hooks: list[tuple[Callable[..., Any], Any]] = []
        self._find_buffers()
        parameters, names = self._trained()
        if init_sync:
            verify_parameters(self.process_group, parameters)
            self._sync_module_states(0, with_buffers=syncs_buffers_at_first)
        if static_graph:
            self._set_static_graph()
        self._make_reducer(parameters, names)
        self._has_rebuilt_buckets = False

    # Construction

    @staticmethod
    def _refuse_unsupported(named: Any, hooked: Any, mixed: Any, skip: bool, batched: bool) -> None:
        if (named is None) != (hooked is None):
            raise ValueError(
                "delay_all_reduce_named_params and param_to_hook_all_reduce need to be set at the same time."
            )
        options = {
            "delay_all_reduce_named_params": named,
            "mixed_precision": mixed,
            "skip_all_reduce_unused_params": skip,
            "batched_grad_copy": batched,
        }
        for name, value in options.items():
            if value is not None and value is not False:
                raise NotImplementedError(f"DistributedDataParallel with {name} is not supported by mindtorch")

    def _choose_devices(self, device_ids: Any, output_device: Any) -> None:
        if device_ids is not None and len(device_ids) > 1:
            raise ValueError("device_ids can only be None or contain a single element.")
        devices = {parameter.device for parameter in self._module_parameters}
        types = {device.type for device in devices}
        self.is_multi_device_module = len(devices) > 1
        if len(types) != 1:
            raise ValueError(
                "DistributedDataParallel's input module must be on the same type of devices, but input module "
                f"parameters locate in {types}."
            )
        self.device_type = next(iter(types))
        if not device_ids or self.is_multi_device_module or self.device_type == "cpu":
            if device_ids or output_device:
                raise ValueError(
                    "DistributedDataParallel device_ids and output_device arguments only work with "
                    "single-device/multiple-device GPU modules or CPU modules, but got device_ids "
                    f"{device_ids}, output_device {output_device}, and module parameters {devices}."
                )
            self.device_ids = None
            self.output_device = None
            return
        self.device_ids = [_index_of(device_ids[0], self.device_type)]
        self.output_device = _index_of(device_ids[0] if output_device is None else output_device, self.device_type)

    def _choose_buffers(self, broadcast_buffers: bool | None, forward_sync_buffers: bool | None) -> bool:
        if broadcast_buffers is not None:
            both = (
                "Both `broadcast_buffers` and `forward_sync_buffers` were specified. `broadcast_buffers` is deprecated "
                "and its value is ignored when `forward_sync_buffers` is provided."
            )
            message = _BUFFERS_DEPRECATED if forward_sync_buffers is None else both
            warnings.warn(message, FutureWarning, stacklevel=3)
        if forward_sync_buffers is not None:
            self.forward_sync_buffers = forward_sync_buffers
            return True
        self.forward_sync_buffers = True if broadcast_buffers is None else broadcast_buffers
        return self.forward_sync_buffers

    def _choose_bucket_sizes(self, cap: float | None, caps: Sequence[float] | None) -> None:
        self.bucket_bytes_cap_list = [int(size * _MB) for size in caps or ()]
        self.bucket_bytes_cap_default = cap is None and not caps
        if self.bucket_bytes_cap_list:
            self.bucket_bytes_cap = self.bucket_bytes_cap_list[-1]
        else:
            self.bucket_bytes_cap = int((25 if cap is None else cap) * _MB)

    def _limits(self) -> list[int]:
        if self.bucket_bytes_cap_list:
            return self.bucket_bytes_cap_list
        first = _FIRST_BUCKET_BYTES if self.bucket_bytes_cap_default else self.bucket_bytes_cap
        return [first, self.bucket_bytes_cap]

    def _trained(self) -> tuple[list[mt.Tensor], list[str]]:
        found: dict[int, tuple[mt.Tensor, str]] = {}
        for prefix, module in self.module.named_modules():
            for name, parameter in module.named_parameters(recurse=False):
                full = f"{prefix}.{name}" if prefix else name
                if parameter.requires_grad and full not in self.parameters_to_ignore:
                    found.setdefault(id(parameter), (parameter, full))
        return [parameter for parameter, _ in found.values()], [name for _, name in found.values()]

    def _find_buffers(self) -> None:
        self.named_module_buffers = {
            name: buffer for name, buffer in self.module.named_buffers() if name not in self.parameters_to_ignore
        }
        self.modules_buffers = list(self.named_module_buffers.values())

    def _make_reducer(self, parameters: Sequence[mt.Tensor], names: Sequence[str]) -> None:
        limits = self._limits()
        waits_for_order = (self.static_graph or not self.find_unused_parameters) and not self.bucket_bytes_cap_list
        self.reducer = Reducer(
            parameters,
            names,
            self.process_group,
            [sys.maxsize] if waits_for_order else limits,
            limits,
            self.find_unused_parameters,
            self.gradient_as_bucket_view,
            self.static_graph,
        )

    def _set_static_graph(self) -> None:
        """Let all iterations be like the first from now on."""
        if self.static_graph:
            warnings.warn("You've set static_graph to be True, no need to set it again.", stacklevel=2)
            return
        self.static_graph = True
        self._static_graph_delay_allreduce_enqueued = False
        if self.find_unused_parameters:
            warnings.warn(
                "You passed find_unused_parameters=true to DistributedDataParallel, `_set_static_graph` will detect "
                "unused parameters automatically, so you do not need to set find_unused_parameters=true, just be sure "
                "these unused parameters will not change during training loop while calling `_set_static_graph`.",
                stacklevel=2,
            )
        if "reducer" in self.__dict__:
            self.reducer.is_static = True

    # Pickles and copies: all but what belongs to this process

    def __getstate__(self) -> dict[str, Any]:
        if self.process_group is not _get_default_group():
            raise RuntimeError(
                "DDP Pickling/Unpickling are only supported when using DDP with the default process group. That is, "
                "when you have called init_process_group and have not passed process_group argument to DDP constructor"
            )
        state = copy.copy(self.__dict__)
        del state["process_group"], state["reducer"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.process_group = _get_default_group()
        super().__setstate__(state)
        self.__dict__.setdefault("require_forward_param_sync", True)
        self.__dict__.setdefault("require_backward_grad_sync", True)
        parameters, names = self._trained()
        self._find_buffers()
        is_static, self.static_graph = self.static_graph, False
        if is_static:
            self._set_static_graph()
        self._make_reducer(parameters, names)

    # Running

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Let gradients of forwards in here stay this process's own; the first outside reduces their sum."""
        old = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = old

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The module's own, with buffers taken from rank 0 before, and gradients expected afterwards."""
        inputs, kwargs = self._before(inputs, kwargs)
        DistributedDataParallel._active_ddp_module = self
        try:
            output = self.module(*inputs, **kwargs)
        finally:
            DistributedDataParallel._active_ddp_module = None
        return self._after(output)

    def _before(self, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        work = Join.notify_join_context(self)
        if work is not None:
            self.reducer.divide_by_active(work, self._divide_by_initial_world_size)
        if mt.is_grad_enabled() and self.reducer.rebuild_buckets():
            self._has_rebuilt_buckets = True
        if self._check_sync_bufs_pre_fwd():
            self._sync_module_buffers(common_rank(self, True) if self._join_config.enable else 0)
        if self._join_config.enable:
            requires_sync(self, is_joined=False)
        if self.device_ids:
            device = mt.device(self.device_type, self.device_ids[0])
            return _moved(inputs, device), _moved(kwargs, device)
        return inputs, kwargs

    def _after(self, output: Any) -> Any:
        self.require_forward_param_sync = mt.is_grad_enabled() and self.require_backward_grad_sync
        finds_unused = self.find_unused_parameters and not self.static_graph
        if self.require_forward_param_sync:
            self.reducer.prepare(list(find_tensors(output)) if finds_unused else [])
        if finds_unused or (self.static_graph and not self._static_graph_delay_allreduce_enqueued):
            return through_sink(self, output)
        return output

    def train(self, mode: bool = True) -> DistributedDataParallel:
        super().train(mode)
        return self

    # State of all processes

    def _sync_module_states(self, src: int, with_buffers: bool = True) -> None:
        states = [
            parameter.detach()
            for name, parameter in self.module.named_parameters()
            if name not in self.parameters_to_ignore
        ]
        if with_buffers:
            states += [buffer.detach() for buffer in self.modules_buffers]
        broadcast_coalesced(self.process_group, states, self.broadcast_bucket_size, src)

    def will_sync_module_buffers(self) -> bool:
        """Whether the next forward takes the buffers of rank 0."""
        return self.require_forward_param_sync and self.forward_sync_buffers and len(self.modules_buffers) > 0

    _check_sync_bufs_pre_fwd = will_sync_module_buffers

    def _sync_module_buffers(self, src: int) -> None:
        # Buffers may have been replaced since.
        self._find_buffers()
        broadcast_coalesced(self.process_group, self.modules_buffers, self.broadcast_bucket_size, src)

    # Hooks

    def register_comm_hook(self, state: object, hook: Callable[..., Any]) -> None:
        """Let a function reduce the buckets: ``hook(state, bucket) -> Future[Tensor]``, in place of an average.

        Raises
        ------
        RuntimeError
            Where there is one already.
        """
        _check_hook(hook)
        if self.reducer.hook is not None:
            raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
        self._comm_hooks.append((hook, state))
        self.reducer.hook = lambda bucket: hook(state, bucket)

    # Joining

    def join(
        self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False
    ) -> Join:
        """A context in which processes may have different numbers of inputs.

        Parameters
        ----------
        divide_by_initial_world_size
            Whether gradients are divided by the number of all processes, or of those that have inputs left.
        enable
            Whether anything is done.
        throw_on_early_termination
            Whether all raise when one has no inputs left.
        """
        return Join(
            [self],
            enable,
            throw_on_early_termination,
            divide_by_initial_world_size=divide_by_initial_world_size,
        )

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What this process does once it has no inputs left."""
        return DDPJoinHook(self, kwargs.get("divide_by_initial_world_size", True))

    @property
    def join_device(self) -> mt.device:
        """Where the tensors of `Join` lie."""
        return self.device

    @property
    def join_process_group(self) -> Any:
        """The group of `Join`."""
        return self.process_group

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(module: Module, params_and_buffers_to_ignore: Any) -> None:
        module._ddp_params_and_buffers_to_ignore = params_and_buffers_to_ignore
        named = itertools.chain(module.named_parameters(), module.named_buffers())
        for name, tensor in named:
            if name in params_and_buffers_to_ignore:
                vars(tensor)["_ddp_ignored"] = True


def _check_hook(hook: Any) -> None:
    if not callable(hook):
        raise TypeError("Communication hook must be callable.")
    signature = inspect.signature(hook)
    if signature.parameters["bucket"].annotation not in (inspect.Parameter.empty, GradBucket):
        raise ValueError("Communication hook: bucket annotation should be dist.GradBucket.")
    answers = (inspect.Signature.empty, Future[mt.Tensor], Future)
    if signature.return_annotation not in answers:
        raise ValueError("Communication hook: return annotation should be torch.futures.Future[torch.Tensor].")


def _index_of(device: Any, kind: str) -> int:
    return device if isinstance(device, int) else mt.device(device).index or 0


def _moved(value: Any, device: mt.device) -> Any:
    return pytree.tree_map(lambda leaf: leaf.to(device) if isinstance(leaf, mt.Tensor) else leaf, value)
