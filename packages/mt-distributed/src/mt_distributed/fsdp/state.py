"""What happens around the forwards and backwards of a module that `fully_shard` was called on."""

from __future__ import annotations

from typing import Any

import mt_core as mt
from mt_autograd.engine import queue_callback
from mt_autograd.function import Function
from mt_core import pytree
from mt_nn.modules.module import Module

from .parameter_group import ParameterGroup
from .policies import MixedPrecisionPolicy

__all__ = ["FSDPState", "state_of"]


def state_of(module: Module) -> FSDPState | None:
    """The state of a module that `fully_shard` was called on."""
    return vars(module).get("_fsdp_state")


class _Passed(Function):
    """Inputs as they are; their gradients tell that the backward of what they were given to is over."""

    @staticmethod
    def forward(ctx: Any, state: Any, *tensors: Any) -> Any:
        ctx.state = state
        return tuple(tensor.view_as(tensor) for tensor in tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        ctx.state.inputs_done()
        return None, *grads


class FSDPState:
    """One module's, or several's that were given together.

    Parameters
    ----------
    modules
        The modules.
    group
        Their parameters; None where others have all.
    reshard_after_forward
        Whether the memory of whole parameters goes after a forward; None: for all but the root.
    """

    def __init__(
        self,
        modules: list[Module],
        group: ParameterGroup | None,
        reshard_after_forward: bool | None,
        policy: MixedPrecisionPolicy,
    ) -> None:
        self.modules, self.group, self.policy = modules, group, policy
        self.reshard_after_forward = reshard_after_forward
        self.root: FSDPState | None = None
        self.forward_prefetch: list[FSDPState] = []
        self.backward_prefetch: list[FSDPState] | None = None
        #: Whether a forward begins to gather what came next in the last one.
        self.gathers_ahead_in_forward = False
        self._gathers_after_reduction = False
        self.is_last_backward = True
        self._running = 0
        # Of the root alone:
        self._states: list[FSDPState] = []
        self._order: list[FSDPState] = []
        self._entered: list[FSDPState] = []
        self._entered_before: list[FSDPState] = []
        self._has_callback = False
        for module in modules:
            module.register_forward_pre_hook(self._before_forward, prepend=True, with_kwargs=True)
            module.register_forward_hook(self._after_forward, prepend=False)
            module.register_state_dict_pre_hook(lambda *_: self.reshard())
            module.register_load_state_dict_pre_hook(lambda *_: self.reshard())

    def reshard(self) -> None:
        """Let the modules have their parts."""
        if self.group is not None:
            self.group.reshard()

    def _find_root(self) -> FSDPState:
        if self.root is None:
            self._states = []
            for module in self.modules:
                for inner in module.modules():
                    state = state_of(inner)
                    if state is not None and state not in self._states:
                        if state.root not in (None, state) and state is not self:
                            raise RuntimeError(
                                "FSDP state has already been lazily initialized for a submodule: FSDP requires running "
                                "forward through the root module first"
                            )
                        state.root = self
                        self._states.append(state)
            if self.reshard_after_forward is None:
                self.reshard_after_forward = False
            for state in self._states:
                if state.reshard_after_forward is None:
                    state.reshard_after_forward = True
        assert self.root is not None
        return self.root

    # Forward

    def _before_forward(self, module: Module, args: Any, kwargs: Any) -> Any:
        root = self._find_root()
        self._running += 1
        if root is self and self._running == 1 and not (self.group is not None and self.group.in_backward):
            root._order.clear()
            root._entered, root._entered_before = [], root._entered
        group = self.group
        if group is not None:
            group.unshard()
        for state in [*self.forward_prefetch, *self._next_in_forward(root)]:
            if state.group is not None:
                state.group.begin_unshard()
        dtype = self.policy.param_dtype
        if dtype is not None and self.policy.cast_forward_inputs:
            args, kwargs = pytree.tree_map(lambda leaf: _cast(leaf, dtype), (args, kwargs))
        if group is None or not mt.is_grad_enabled() or group.in_backward:
            return args, kwargs
        leaves, tree = pytree.tree_flatten((args, kwargs))
        places = [at for at, leaf in enumerate(leaves) if isinstance(leaf, mt.Tensor) and leaf.requires_grad]
        if places:
            for at, passed in zip(places, _Passed.apply(group, *(leaves[at] for at in places)), strict=True):
                leaves[at] = passed
        return pytree.tree_unflatten(leaves, tree)

    def _after_forward(self, module: Module, args: Any, output: Any) -> Any:
        self._running -= 1
        root, group = self._find_root(), self.group
        if group is not None and not group.in_backward:
            if mt.is_grad_enabled():
                root._order.append(self)
            if self.reshard_after_forward and self._running == 0:
                group.reshard()
        if mt.is_grad_enabled():
            for leaf in pytree.tree_leaves(output):
                if isinstance(leaf, mt.Tensor) and leaf.requires_grad:
                    leaf.register_hook(self._before_backward)
        dtype = self.policy.output_dtype
        return output if dtype is None else pytree.tree_map(lambda leaf: _cast(leaf, dtype), output)

    def _next_in_forward(self, root: FSDPState) -> list[FSDPState]:
        """What the last forward of the root came to after this, where that is to be gathered ahead."""
        if not self.gathers_ahead_in_forward or (self.group is not None and self.group.in_backward):
            return []
        root._entered.append(self)
        at = len(root._entered)
        return root._entered_before[at : at + 1] if root._entered_before[:at] == root._entered else []

    # Backward

    def gather_ahead_after_reduction(self) -> None:
        """Begin to gather what a backward needs next when the reduction of this begins, not before this is computed."""
        self._gathers_after_reduction = True
        if self.group is not None:
            self.group.on_reduction = self._gather_next

    def _gather_next(self) -> None:
        for state in self._next_in_backward(self._find_root()):
            if state.group is not None and not state.group.in_backward:
                state.group.begin_unshard()

    def _before_backward(self, grad: Any) -> None:
        root = self._find_root()
        if not root._has_callback:
            root._has_callback = True
            queue_callback(root._end_backward)
        group = self.group
        if group is None:
            return
        if not group.in_backward:
            group.in_backward = True
            group.unshard()
            if not self._gathers_after_reduction:
                self._gather_next()
        elif not group.is_whole:
            group.unshard()

    def _next_in_backward(self, root: FSDPState) -> list[FSDPState]:
        if self.backward_prefetch is not None:
            return self.backward_prefetch
        at = max((at for at, state in enumerate(root._order) if state is self), default=0)
        return root._order[at - 1 : at] if at > 0 else []

    def _end_backward(self) -> None:
        self._has_callback = False
        for state in self._states[::-1]:
            if state.group is not None:
                state.group.end_backward(self.is_last_backward)
        # What was gathered ahead and not used goes too.
        for state in self._states:
            if state.group is not None and state.group.reshards_after_backward:
                state.group.reshard()


def _cast(leaf: Any, dtype: Any) -> Any:
    is_other = isinstance(leaf, mt.Tensor) and leaf.dtype.is_floating_point and leaf.dtype is not dtype
    return leaf.to(dtype) if is_other else leaf
