"""Processes with different numbers of inputs: those that have none left go along with the collectives of the others."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Any, NamedTuple

import mt_core as mt

from .. import distributed_c10d as dist

__all__ = ["Join", "JoinHook", "Joinable"]


class JoinHook:
    """What a process that has no inputs left does in place of a `Joinable`."""

    def main_hook(self) -> None:
        """Go along with the collectives of one iteration of the others; called again and again."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Called once all have joined; tells whether this process was among the last."""


class _JoinConfig(NamedTuple):
    enable: bool
    throw_on_early_termination: bool
    is_first_joinable: bool

    @staticmethod
    def construct_disabled_join_config() -> _JoinConfig:
        """What holds outside of `Join`."""
        return _JoinConfig(enable=False, throw_on_early_termination=False, is_first_joinable=False)


class Joinable(ABC):
    """What calls collectives in each iteration, and says how to go along with them."""

    @abstractmethod
    def __init__(self) -> None:
        super().__init__()
        self._join_config = _JoinConfig.construct_disabled_join_config()

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """The hook; `kwargs` are those that `Join` was given."""
        ...

    @property
    @abstractmethod
    def join_device(self) -> mt.device:
        """Where the tensors of `Join`'s own collectives lie."""
        ...

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """The group of `Join`'s own collectives."""
        ...


class Join:
    """Lets a loop run in which the processes of a group have different numbers of inputs.

    Parameters
    ----------
    joinables
        What takes part; of one process group and device.
    enable
        Whether anything is done at all.
    throw_on_early_termination
        Whether all raise RuntimeError as soon as one has no inputs left, instead.
    kwargs
        For the hooks.
    """

    def __init__(
        self, joinables: list[Joinable], enable: bool = True, throw_on_early_termination: bool = False, **kwargs: Any
    ) -> None:
        if len(joinables) == 0:
            raise ValueError("The join context manager requires at least one joinable")
        self._joinables = joinables
        self._join_hooks = [joinable.join_hook(**kwargs) for joinable in self._joinables]
        self._enable = enable
        self._throw_on_early_termination = throw_on_early_termination
        self._set_joinable_configs()
        self._extract_dist_info()

    def _set_joinable_configs(self) -> None:
        assert len(self._joinables) > 0
        for number, joinable in enumerate(self._joinables):
            joinable._join_config = _JoinConfig(
                enable=self._enable,
                throw_on_early_termination=self._throw_on_early_termination,
                is_first_joinable=number == 0,
            )

    def _extract_dist_info(self) -> None:
        groups = {id(joinable.join_process_group): joinable.join_process_group for joinable in self._joinables}
        if len(groups) != 1:
            raise ValueError("Using join context manager with multiple process groups")
        self._process_group = next(iter(groups.values()))
        self._rank = self._process_group.rank()
        self._device = self._joinables[0].join_device

    def __enter__(self) -> None:
        """Nothing is done as yet: each iteration tells, by `notify_join_context`."""

    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Go along with the others until all have no inputs left; after an error, at once."""
        if not self._enable or type:
            return
        all_joined = False
        is_last_joiner = True
        iterations = 0
        while not all_joined:
            if iterations == 1000:
                warnings.warn(
                    "Detected uneven input skew of greater than 1000. This means that rank "
                    f"{self._rank} has at least 1000 fewer inputs than other currently-active ranks. This level of "
                    "skew could lead to performance degradation during training.",
                    stacklevel=2,
                )
            active = self._get_num_nonjoined_procs()
            if active == 0:
                all_joined = True
                continue
            if self._throw_on_early_termination:
                self._notify_procs_to_terminate()
            is_last_joiner = False
            for hook in self._join_hooks:
                hook.main_hook()
            iterations += 1
        for hook in self._join_hooks:
            hook.post_hook(is_last_joiner)

    def _get_num_nonjoined_procs(self) -> int:
        count = mt.zeros(1, device=self._device)
        dist.all_reduce(count, group=self._process_group)
        return int(count.item())

    def _notify_procs_to_terminate(self) -> None:
        ones = mt.ones(1, device=self._device)
        dist.all_reduce(ones, group=self._process_group)
        raise RuntimeError(f"Rank {self._rank} exhausted all inputs.")

    @staticmethod
    def notify_join_context(joinable: Joinable) -> Any:
        """Tell those that have joined that an iteration begins.

        Returns
        -------
        Work or None
            The collective that tells; None outside of `Join`, and for all joinables but the first.
        """
        assert hasattr(joinable, "_join_config"), (
            f"Check that the {type(joinable)} constructor calls the ``Joinable`` constructor"
        )
        config = joinable._join_config
        if not config.is_first_joinable or not config.enable:
            return None
        device, group = joinable.join_device, joinable.join_process_group
        work = dist.all_reduce(mt.ones(1, device=device), group=group, async_op=True)
        if config.throw_on_early_termination:
            zeros = mt.zeros(1, device=device)
            dist.all_reduce(zeros, group=group)
            if int(zeros.item()):
                raise RuntimeError("Detected at least one rank that exhausted inputs. Throwing across all ranks.")
        return work
