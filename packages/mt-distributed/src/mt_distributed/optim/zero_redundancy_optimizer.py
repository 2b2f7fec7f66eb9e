"""`ZeroRedundancyOptimizer`: each process keeps the state of its share of the parameters alone."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import mt_core as mt
from mt_core import pytree
from mt_nn.optim.optimizer import Optimizer

from .. import distributed_c10d as dist
from ..algorithms.join import Join, Joinable, JoinHook
from ..world import _get_default_group
from .partition import bucket_of, listed_parameters, partitioned

__all__ = ["ZeroRedundancyOptimizer"]


class _ZeROJoinHook(JoinHook):
    """A process without inputs steps with the others: what it updates is its alone to update."""

    def __init__(self, zero: ZeroRedundancyOptimizer) -> None:
        self.zero = zero

    def main_hook(self) -> None:
        """Step, by the gradients that are there; who steps in place of a loop does not tell the others of it."""
        self.zero._step_share(None, {})


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """Runs an optimizer on this process's share of the parameters, and gives all processes what each has updated.

    Gradients are to be the same on all processes, as `DistributedDataParallel` makes them.

    Parameters
    ----------
    params
        Parameters or groups of them, of one dtype and device, in the same order on all processes.
    optimizer_class
        The optimizer, made of the share with `defaults`.
    process_group
        The processes; all of them for None.
    parameters_as_bucket_view
        Whether the parameters that one process updates lie in one tensor, so that they are sent at once.
    overlap_with_ddp
        Refused: PyTorch has it for NCCL alone.

    Raises
    ------
    TypeError, ValueError
        For what are no parameters, or parameters of several kinds.
    NotImplementedError
        With ``overlap_with_ddp=True``.
    """

    def __init__(
        self,
        params: Any,
        optimizer_class: type[Optimizer],
        process_group: Any | None = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        if overlap_with_ddp:
            raise NotImplementedError(
                "ZeroRedundancyOptimizer with overlap_with_ddp=True is not supported by mindtorch: its step is that of "
                "a hook, which PyTorch refuses with Gloo, too (Gloo backend using Overlapping DDP with ZeRO may meet "
                "hangs). Call step() without it."
            )
        given, self._all_params = listed_parameters(params)
        self._default_device = self._all_params[0].device
        self.process_group = _get_default_group() if process_group is None else process_group
        self.world_size = self.process_group.size()
        self.rank = self.process_group.rank()
        self.global_rank = dist.get_global_rank(self.process_group, self.rank)
        self.parameters_as_bucket_view = parameters_as_bucket_view
        self._optim_defaults = defaults
        self._optim_constructor = optimizer_class
        self._all_state_dicts: list[dict[str, Any]] = []
        self._is_built = False
        Optimizer.__init__(self, given, defaults)
        Joinable.__init__(self)
        self._is_built = True
        self._build()

    # Shares

    def _partition_parameters(self) -> list[list[dict[str, Any]]]:
        """For each process the groups with its parameters."""
        return partitioned(self.param_groups, self.world_size)

    def _build(self) -> None:
        """Make the optimizer of this process's share, and the buckets."""
        shares = self._partition_parameters()
        self._params_of = [[p for group in share for p in group["params"]] for share in shares]
        own = [{**group, "params": list(group["params"])} for group in shares[self.rank]]
        self.optim: Optimizer = self._optim_constructor(own, **self._optim_defaults)
        # Defaults that the optimizer added are to be seen in the groups of this one.
        self._sync_param_groups(self.optim.param_groups, self.param_groups)
        self._build_buckets()

    def _build_buckets(self) -> None:
        self._trained = [p.requires_grad for p in self._all_params]
        self._buckets: list[mt.Tensor | None] = []
        if self.parameters_as_bucket_view:
            with mt.no_grad():
                for share in self._params_of:
                    trained = [p for p in share if p.requires_grad]
                    for p in trained:
                        if not p.is_contiguous():
                            raise NotImplementedError(
                                "ZeroRedundancyOptimizer with parameters_as_bucket_view=True takes contiguous "
                                "parameters alone"
                            )
                    self._buckets.append(bucket_of(trained) if trained else None)

    @staticmethod
    def _sync_param_groups(source: list[dict[Any, Any]], target: list[dict[Any, Any]]) -> None:
        """Give groups the options of other groups."""
        if len(source) != len(target):
            raise ValueError(f"expected {len(source)} parameter groups, and there are {len(target)}")
        for given, taking in zip(source, target, strict=True):
            for option, value in given.items():
                if option != "params":
                    taking[option] = value

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters; they are shared among the processes as the others were."""
        super().add_param_group(param_group)
        if not self._is_built:
            return
        self._all_params = [p for group in self.param_groups for p in group["params"]]
        shares = self._partition_parameters()
        self._params_of = [[p for group in share for p in group["params"]] for share in shares]
        # Groups before the last are shared as they were: who has what is decided group after group.
        self.optim.add_param_group({**shares[self.rank][-1]})
        self._sync_param_groups(self.optim.param_groups, self.param_groups)
        self._build_buckets()

    # Steps

    def step(self, closure: Callable[[], float] | None = None, **kwargs: Any) -> float | None:
        """Update this process's share, and take the others' from them.

        Parameters
        ----------
        closure
            Computes the loss, and gradients, anew.

        Returns
        -------
        float or None
            What the closure gave.
        """
        Join.notify_join_context(self)
        return self._step_share(closure, kwargs)

    def _step_share(self, closure: Callable[[], float] | None, kwargs: dict[str, Any]) -> float | None:
        if self._trained != [p.requires_grad for p in self._all_params]:
            warnings.warn(
                "ZeroRedundancyOptimizer detected that the trainable parameters changed; rebuilding the parameter "
                "buckets if enabled",
                stacklevel=2,
            )
            self._build_buckets()
        self._sync_param_groups(self.param_groups, self.optim.param_groups)
        loss = self.optim.step(**kwargs) if closure is None else self.optim.step(closure=closure, **kwargs)
        self._sync_param_groups(self.optim.param_groups, self.param_groups)
        self._sync_params()
        return loss

    def _sync_params(self) -> None:
        """Give all processes the parameters that each has updated."""
        works = []
        with mt.no_grad():
            for rank, share in enumerate(self._params_of):
                if self.parameters_as_bucket_view:
                    bucket = self._buckets[rank]
                    # Parameters that require no gradient stay as they are: no optimizer updates them.
                    tensors = [] if bucket is None else [bucket]
                else:
                    tensors = [p.detach() for p in share]
                works += [
                    dist.broadcast(tensor, group=self.process_group, group_src=rank, async_op=True)
                    for tensor in tensors
                ]
            for work in works:
                work.wait()

    # State

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Collect the state of all processes on one, whose `state_dict` tells it from then on; all call this.

        Parameters
        ----------
        to
            The rank in the world.
        """
        group = self.process_group
        own = self.optim.state_dict()
        self._all_state_dicts = []
        parts: list[Any] | None = [None] * self.world_size if self.global_rank == to else None
        if to in dist.get_process_group_ranks(group):
            dist.gather_object(own, parts, dst=to, group=group)
            self._all_state_dicts = parts or []

    def state_dict(self) -> dict[str, Any]:
        """The state of all processes as of the last `consolidate_state_dict`, as one optimizer would have it.

        Raises
        ------
        RuntimeError
            Where none was collected on this process.
        """
        if not self._all_state_dicts:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call "
                f"`consolidate_state_dict(to={self.rank})` on all ranks beforehand if you meant to save the global "
                "state."
            )
        packed = super().state_dict()
        index_of = {id(p): index for index, p in enumerate(self._all_params)}
        state: dict[Any, Any] = {}
        for part, share in zip(self._all_state_dicts, self._partition_parameters(), strict=True):
            for local, whole in zip(part["param_groups"], share, strict=True):
                for number, parameter in zip(local["params"], whole["params"], strict=True):
                    if number in part["state"]:
                        state[index_of[id(parameter)]] = part["state"][number]
        packed["state"] = dict(sorted(state.items()))
        return packed

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the state of this process's share out of the state of all, which is left as it is.

        Parameters
        ----------
        state_dict
            As `state_dict` gives it, or an optimizer of one process.
        """
        own = {id(p) for p in self._params_of[self.rank]}
        kept = {
            index: pytree.tree_map(lambda leaf: leaf.clone() if isinstance(leaf, mt.Tensor) else leaf, value)
            for index, value in state_dict["state"].items()
            if id(self._all_params[index]) in own
        }
        super().load_state_dict({**state_dict, "state": kept})
        self.optim.state.clear()
        self.optim.state.update(self.state)
        self._sync_param_groups(self.param_groups, self.optim.param_groups)

    # Joining

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What this process does once it has no inputs left."""
        return _ZeROJoinHook(self)

    @property
    def join_device(self) -> mt.device:
        """Where the tensors of `Join` lie."""
        return self._default_device

    @property
    def join_process_group(self) -> Any:
        """The group of `Join`."""
        return self.process_group
