"""`FullyShardedDataParallel`: a module whose parameters lie flat, one after another, and spread over ranks."""

from __future__ import annotations

import contextlib
import dataclasses
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import mt_core as mt
from mt_nn.modules.module import Module
from mt_nn.utils.clip_grad import clip_grad_norm_

from .. import distributed_c10d as dist
from . import flat_states, optimizer_states
from .api import (
    BackwardPrefetch,
    CPUOffload,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    LocalOptimStateDictConfig,
    LocalStateDictConfig,
    MixedPrecision,
    OptimStateDictConfig,
    OptimStateKeyType,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
)
from .flat_construction import ignored_of, layout_of, materialize, refuse, refuse_batch_norms, unit_modules
from .flat_parameter import FlatParameter
from .parameter_group import ParameterGroup
from .policies import MixedPrecisionPolicy
from .state import FSDPState
from .wrap import auto_wrap

__all__ = [
    "BackwardPrefetch",
    "CPUOffload",
    "FullOptimStateDictConfig",
    "FullStateDictConfig",
    "FullyShardedDataParallel",
    "LocalOptimStateDictConfig",
    "LocalStateDictConfig",
    "MixedPrecision",
    "OptimStateDictConfig",
    "OptimStateKeyType",
    "ShardedOptimStateDictConfig",
    "ShardedStateDictConfig",
    "ShardingStrategy",
    "StateDictConfig",
    "StateDictSettings",
    "StateDictType",
]

FSDP_WRAPPED_MODULE = "_fsdp_wrapped_module"
FLAT_PARAM = "_flat_param"
_PREFIX = FSDP_WRAPPED_MODULE + "."
_CONFIGS: dict[StateDictType, tuple[type[StateDictConfig], type[OptimStateDictConfig]]] = {
    StateDictType.FULL_STATE_DICT: (FullStateDictConfig, FullOptimStateDictConfig),
    StateDictType.LOCAL_STATE_DICT: (LocalStateDictConfig, LocalOptimStateDictConfig),
    StateDictType.SHARDED_STATE_DICT: (ShardedStateDictConfig, ShardedOptimStateDictConfig),
}
_DEPRECATED = (
    "FSDP.state_dict_type() and FSDP.set_state_dict_type() are being deprecated. Please use APIs, get_state_dict() and "
    "set_state_dict(), which can support different parallelisms, FSDP1, FSDP2, DDP."
)


class _UnitState(FSDPState):
    """What `fully_shard` does around forwards and backwards, for a flat parameter."""

    def __init__(self, unit: FullyShardedDataParallel, mixed: MixedPrecision, **given: Any) -> None:
        super().__init__([unit], **given)
        self._unit, self._mixed = unit, mixed
        # States are told with whole parameters (`flat_states`), not with parts.
        unit._state_dict_pre_hooks.clear()
        unit._load_state_dict_pre_hooks.clear()

    def _find_root(self) -> FSDPState:
        is_first = self.root is None
        root = super()._find_root()
        if is_first and root is self:
            self.policy = dataclasses.replace(self.policy, cast_forward_inputs=self._mixed.cast_root_forward_inputs)
            for state in self._states:
                if isinstance(state, _UnitState):
                    state._unit._cast_buffers()
        return root

    def _before_forward(self, module: Module, args: Any, kwargs: Any) -> Any:
        if self._unit._is_summoned:
            raise AssertionError("forward is not supported within summon_full_params")
        given = super()._before_forward(module, args, kwargs)
        for one in () if self.group is None else self.group.parameters:
            one.use()  # type: ignore[attr-defined]
        return given


class FullyShardedDataParallel(Module):
    """Spreads the parameters of a module: they are gathered for forwards and backwards, and gradients are reduced.

    The parameters of the module that no wrapped module below has make one flat parameter.

    Parameters
    ----------
    module
        The module, as ``module`` of the result. What is on the meta device is made here.
    process_group, device_mesh
        Whom it is spread over, all by default. With a hybrid strategy two groups (those who have parts, and those who
        have the same), or a mesh of two dimensions, of which the second has the parts.
    sharding_strategy
        What is spread: all by default.
    auto_wrap_policy
        Which modules below are wrapped by themselves before (`wrap.ModuleWrapPolicy` and others).
    cpu_offload
        Whether parameters lie on the CPU while they are not computed with, and gradients: they do.
    backward_prefetch
        When a backward begins to gather what it needs next: before it computes gradients, or when it begins to reduce
        them (``BACKWARD_POST``); None for not ahead.
    forward_prefetch
        Whether a forward begins to gather what the last one needed next.
    mixed_precision
        Dtypes in which is computed and reduced.
    ignored_modules, ignored_states
        Modules and parameters that stay as they are.
    param_init_fn
        Makes a module's parameters that are on the meta device; ``reset_parameters`` by default.
    device_id
        The CPU.
    sync_module_states
        Whether all start with what the first rank has.
    limit_all_gathers
        For devices that queue operations; here gatherings are waited for anyway.
    use_orig_params
        Whether programs see the original parameters, of which each rank has what lies in its part, in the place of
        the flat one.

    Raises
    ------
    NotImplementedError
        With ``keep_low_precision_grads``, and where batch norms are to be kept out of mixed precision.
    """

    _is_summoned = False

    def __init__(
        self,
        module: Module,
        process_group: Any = None,
        sharding_strategy: ShardingStrategy | None = None,
        cpu_offload: CPUOffload | None = None,
        auto_wrap_policy: Any = None,
        backward_prefetch: BackwardPrefetch | None = BackwardPrefetch.BACKWARD_PRE,
        mixed_precision: MixedPrecision | None = None,
        ignored_modules: Iterable[Module] | None = None,
        param_init_fn: Callable[[Module], None] | None = None,
        device_id: int | mt.device | None = None,
        sync_module_states: bool = False,
        forward_prefetch: bool = False,
        limit_all_gathers: bool = True,
        use_orig_params: bool = False,
        ignored_states: Iterable[Any] | None = None,
        device_mesh: Any = None,
    ) -> None:
        super().__init__()
        if not isinstance(module, Module):
            raise TypeError(f"module is to be a Module, but got {type(module).__name__}")
        if process_group is not None and device_mesh is not None:
            raise ValueError("Cannot pass both process_group and device_mesh at the same time. Please just pass only "
                             "one of them.")  # fmt: skip
        mixed = mixed_precision if mixed_precision is not None else MixedPrecision()
        refuse(mixed, device_id)
        strategy = sharding_strategy if sharding_strategy is not None else ShardingStrategy.FULL_SHARD
        ignored = ignored_of(module, ignored_modules, ignored_states)
        if auto_wrap_policy is not None:
            refuse_batch_norms(module, mixed)
            options = {
                "process_group": process_group,
                "sharding_strategy": sharding_strategy,
                "cpu_offload": cpu_offload,
                "backward_prefetch": backward_prefetch,
                "mixed_precision": mixed_precision,
                "param_init_fn": param_init_fn,
                "device_id": device_id,
                "sync_module_states": sync_module_states,
                "forward_prefetch": forward_prefetch,
                "use_orig_params": use_orig_params,
                "ignored_states": ignored[1],
                "device_mesh": device_mesh,
            }
            auto_wrap(module, auto_wrap_policy, FullyShardedDataParallel, ignored[0], set(ignored[1]), options)
        self.sharding_strategy, self.mixed_precision, self._use_orig_params = strategy, mixed, use_orig_params
        self._device_mesh = device_mesh
        self._layout = layout_of(process_group, device_mesh, strategy)
        materialize(module, param_init_fn)
        if sync_module_states:
            self._share_states(module, {id(one) for one in ignored[1]})
        ignored_ids = {id(one) for one in ignored[1]}
        own = {id(p) for p in module.parameters()} - ignored_ids
        own -= {id(p) for unit in module.modules() if isinstance(unit, FullyShardedDataParallel)
                for p in unit.parameters()}  # fmt: skip
        vars(self)["_flat"] = flat = FlatParameter(module, self._layout, ignored_ids, use_orig_params) if own else None
        self._modules[FSDP_WRAPPED_MODULE] = module
        policy = MixedPrecisionPolicy(mixed.param_dtype, mixed.reduce_dtype, None, mixed.cast_forward_inputs)
        keeps_whole = strategy in (ShardingStrategy.SHARD_GRAD_OP, ShardingStrategy._HYBRID_SHARD_ZERO2)
        state = _UnitState(
            self,
            mixed,
            group=ParameterGroup([flat], self._layout, policy) if flat is not None else None,
            reshard_after_forward=False if keeps_whole else None,
            policy=policy,
        )
        state.gathers_ahead_in_forward = forward_prefetch
        if backward_prefetch is None:
            state.backward_prefetch = []
        elif backward_prefetch is BackwardPrefetch.BACKWARD_POST:
            state.gather_ahead_after_reduction()
        vars(self)["_fsdp_state"] = state
        self._state_dict_type = StateDictType.FULL_STATE_DICT
        self._state_dict_config: StateDictConfig = FullStateDictConfig()
        self._optim_state_dict_config: OptimStateDictConfig = FullOptimStateDictConfig()
        self._buffer_dtypes: dict[str, Any] = {}
        self.register_load_state_dict_pre_hook(flat_states.before_load)
        self.register_load_state_dict_post_hook(flat_states.after_load)

    def _share_states(self, module: Module, ignored: set[int]) -> None:
        for group in {id(one): one for one in self._layout.groups if one is not None}.values():
            with mt.no_grad():
                for tensor in [*module.parameters(), *module.buffers()]:
                    if id(tensor) not in ignored:
                        dist.broadcast(tensor.detach(), group=group, group_src=0)

    def _cast_buffers(self) -> None:
        """Let the buffers of this unit have the dtype that is computed with."""
        dtype = self.mixed_precision.buffer_dtype
        if dtype is None:
            return
        for name, module in unit_modules(self.module):
            for key, buffer in module._buffers.items():
                if buffer is not None and buffer.is_floating_point():
                    self._buffer_dtypes[f"{name}.{key}" if name else key] = buffer.dtype
                    module._buffers[key] = buffer.to(dtype)

    # The module

    @property
    def module(self) -> Module:
        """What was wrapped."""
        found: Module = self._modules[FSDP_WRAPPED_MODULE]  # type: ignore[assignment]
        return found

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == FSDP_WRAPPED_MODULE:
                raise
            return getattr(self.module, name)

    def __getitem__(self, key: Any) -> Any:
        return self.module[key]  # type: ignore[index]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The module's own, with whole parameters."""
        return self.module(*args, **kwargs)

    def _apply(self, *args: Any, **kwargs: Any) -> Any:
        self._fsdp_state.reshard()
        return super()._apply(*args, **kwargs)

    def apply(self, fn: Callable[[Module], None]) -> FullyShardedDataParallel:
        """Call a function for each module, with whole parameters, and keep what it makes of them."""
        with self.summon_full_params(self, recurse=False) if not self._is_summoned else contextlib.nullcontext():
            super().apply(fn)
        return self

    def check_is_root(self) -> bool:
        """Whether no other unit is around this one."""
        return self._fsdp_state._find_root() is self._fsdp_state

    @staticmethod
    def fsdp_modules(module: Module, root_only: bool = False) -> list[FullyShardedDataParallel]:
        """The units of a module, or the outermost of them."""
        units = [one for one in module.modules() if isinstance(one, FullyShardedDataParallel)]
        if root_only:
            inner = {id(one) for unit in units for one in unit.module.modules()}
            units = [unit for unit in units if id(unit) not in inner]
        return units

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """As a module's; within `summon_full_params` by the names of the bare model."""
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield name.replace(_PREFIX, "") if self._is_summoned else name, parameter

    def named_buffers(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """As a module's; within `summon_full_params` by the names of the bare model."""
        for name, buffer in super().named_buffers(*args, **kwargs):
            yield name.replace(_PREFIX, "") if self._is_summoned else name, buffer

    # Training

    def _check_root(self, what: str) -> None:
        if not self.check_is_root():
            raise RuntimeError(f"`{what}` should only be called on the root FSDP instance")

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Let gradients be added up whole on each rank; the first backward outside reduces their sum."""
        self._check_root("no_sync()")
        groups = [unit._fsdp_state.group for unit in self.fsdp_modules(self) if unit._fsdp_state.group is not None]
        if not all(group.syncs for group in groups):
            raise AssertionError("`no_sync()` is used within itself")
        for group in groups:
            group.syncs = False
        try:
            yield
        finally:
            for group in groups:
                group.syncs = True

    @mt.no_grad()
    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Any:
        """Scale all gradients so that their norm, over all ranks, is at most `max_norm`; the norm before.

        Raises
        ------
        RuntimeError
            For another unit than the outermost.
        """
        self._check_root("clip_grad_norm_()")
        max_norm, norm_type = float(max_norm), float(norm_type)
        units = [unit for unit in self.fsdp_modules(self) if unit._flat is not None]
        if all(unit._layout.sizes[1] == 1 for unit in units):
            return clip_grad_norm_(self.parameters(), max_norm, norm_type)
        own = [grad for unit in units if unit._layout.sizes[1] > 1 for grad in unit._flat.gradients()]
        spread = {id(grad) for grad in own}
        rest = [p.grad for p in self.parameters() if p.grad is not None and id(p.grad) not in spread]
        total = _norm(own, norm_type)
        if norm_type == float("inf"):
            dist.all_reduce(total, op=dist.ReduceOp.MAX, group=self._layout.groups[1])
            total = mt.maximum(total, _norm(rest, norm_type))
        else:
            total = total**norm_type
            dist.all_reduce(total, group=self._layout.groups[1])
            total = (total + _norm(rest, norm_type) ** norm_type) ** (1.0 / norm_type)
        factor = mt.clamp(max_norm / (total + 1e-6), max=1.0)
        dtypes = []
        for grad in [*own, *rest]:
            grad.mul_(factor.to(grad.dtype))
            dtypes.append(grad.dtype)
        if not dtypes:
            warnings.warn(
                "Called FSDP.clip_grad_norm_() on rank "
                f"{dist.get_rank()} with no gradients -- returning the total norm in the default dtype {total.dtype}",
                stacklevel=2,
            )
            return total
        dtype = dtypes[0]
        for other in dtypes[1:]:
            dtype = mt.promote_types(dtype, other)
        return total.to(dtype)

    def register_comm_hook(self, state: object, hook: Callable[..., Any]) -> None:
        """Not supported: raises NotImplementedError."""
        raise NotImplementedError("FullyShardedDataParallel.register_comm_hook is not supported by mindtorch")

    # Whole parameters

    @staticmethod
    @contextlib.contextmanager
    def summon_full_params(
        module: Module,
        recurse: bool = True,
        writeback: bool = True,
        rank0_only: bool = False,
        offload_to_cpu: bool = False,
        with_grads: bool = False,
    ) -> Iterator[None]:
        """Let modules have whole parameters, by their names in the bare model; all ranks enter and leave it.

        Parameters
        ----------
        recurse
            Whether units below are whole, too.
        writeback
            Whether what is written to them stays.
        rank0_only
            Whether the first rank alone has whole parameters, and others their parts.
        offload_to_cpu
            They lie there anyway.
        with_grads
            Whether they have their whole gradients.

        Raises
        ------
        NotImplementedError
            With `rank0_only` and `writeback`; with `with_grads` where programs see flat parameters
            (`use_orig_params` is False).
        """
        if writeback and rank0_only:
            raise NotImplementedError("writeback=True and rank0_only=True is not supported yet")
        units = FullyShardedDataParallel.fsdp_modules(module)
        if not recurse:
            units = [unit for unit in units if unit is module] or FullyShardedDataParallel.fsdp_modules(module, True)
        if with_grads and not all(unit._use_orig_params for unit in units):
            raise NotImplementedError(
                f"with_grads={with_grads}, use_orig_params=False, offload_to_cpu={offload_to_cpu} is not supported yet"
            )
        entered = []
        try:
            for unit in units:
                flat_states.show(unit, with_grads, rank0_only)
                entered.append(unit)
            yield
        finally:
            for unit in entered[::-1]:
                flat_states.hide(unit, writeback)

    # States

    @staticmethod
    def set_state_dict_type(
        module: Module,
        state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> StateDictSettings:
        """Say which kind of state is told and taken from now on; what was said before."""
        warnings.warn(_DEPRECATED, FutureWarning, stacklevel=2)
        return _set_type(module, state_dict_type, state_dict_config, optim_state_dict_config)

    @staticmethod
    def get_state_dict_type(module: Module) -> StateDictSettings:
        """Which kind of state is told and taken: the same for all units."""
        found = [
            StateDictSettings(unit._state_dict_type, unit._state_dict_config, unit._optim_state_dict_config)
            for unit in FullyShardedDataParallel.fsdp_modules(module)
        ]
        if not found:
            raise ValueError("there is no FullyShardedDataParallel in the module")
        if any(one != found[0] for one in found):
            raise AssertionError("All FSDP modules must have the same state dict settings")
        return found[0]

    @staticmethod
    @contextlib.contextmanager
    def state_dict_type(
        module: Module,
        state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> Iterator[None]:
        """Which kind of state is told and taken in here."""
        warnings.warn(_DEPRECATED, FutureWarning, stacklevel=3)
        before = _set_type(module, state_dict_type, state_dict_config, optim_state_dict_config)
        try:
            yield
        finally:
            _set_type(
                module, before.state_dict_type, before.state_dict_config, before.optim_state_dict_config
            )  # fmt: skip

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """By the names of the bare model: whole tensors, or parts of each (`state_dict_type`); all ranks call it.

        Raises
        ------
        NotImplementedError
            For parts without a `device_mesh`, and for parts of flat parameters.
        """
        return flat_states.told(self, super().state_dict, *args, **kwargs)

    @staticmethod
    def optim_state_dict(
        model: Module, optim: Any, optim_state_dict: dict[str, Any] | None = None, group: Any = None
    ) -> dict[str, Any]:
        """The state of an optimizer by the names of the bare model: whole tensors, or parts of each."""
        state = optim.state_dict() if optim_state_dict is None else optim_state_dict
        return optimizer_states.told(model, optim, state)

    @staticmethod
    def optim_state_dict_to_load(
        model: Module,
        optim: Any,
        optim_state_dict: dict[str, Any],
        is_named_optimizer: bool = False,
        load_directly: bool = False,
        group: Any = None,
    ) -> dict[str, Any]:
        """What `optim_state_dict` gave as the optimizer of this rank takes it, and given to it if asked to."""
        if is_named_optimizer:
            raise NotImplementedError("optim_state_dict_to_load(is_named_optimizer=True) is not supported by mindtorch")
        state = optimizer_states.taken(model, optim, optim_state_dict)
        if load_directly:
            optim.load_state_dict(state)
        return state


def _refused(name: str) -> Any:
    def method(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f"FullyShardedDataParallel.{name} is not supported by mindtorch: optim_state_dict and "
            "optim_state_dict_to_load are"
        )

    method.__name__ = name
    method.__doc__ = "Not supported: raises NotImplementedError."
    return staticmethod(method)


for _name in """full_optim_state_dict sharded_optim_state_dict shard_full_optim_state_dict
        flatten_sharded_optim_state_dict scatter_full_optim_state_dict rekey_optim_state_dict""".split():
    setattr(FullyShardedDataParallel, _name, _refused(_name))


def _set_type(
    module: Module,
    kind: StateDictType,
    config: StateDictConfig | None,
    optimizer_config: OptimStateDictConfig | None,
) -> StateDictSettings:
    classes = _CONFIGS[kind]
    config = config if config is not None else classes[0]()
    optimizer_config = optimizer_config if optimizer_config is not None else classes[1]()
    for given, expected, what in (
        (config, classes[0], "state_dict"),
        (optimizer_config, classes[1], "optim_state_dict"),
    ):
        if type(given) is not expected:
            raise RuntimeError(f"Expected {what}_config of type {expected} but got {type(given)}")
    before = FullyShardedDataParallel.get_state_dict_type(module)
    for unit in FullyShardedDataParallel.fsdp_modules(module):
        unit._state_dict_type, unit._state_dict_config = kind, config
        unit._optim_state_dict_config = optimizer_config
    return before


def _norm(grads: list[Any], order: float) -> Any:
    if not grads:
        return mt.tensor(0.0)
    norms = [mt.linalg_vector_norm(grad.detach(), order, dtype=mt.float32) for grad in grads]
    return mt.linalg_vector_norm(mt.stack(norms), order, dtype=mt.float32)
