"""The parameters of one call of `fully_shard`: gathered together, and their gradients reduced together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mt_core as mt

from .. import distributed_c10d as dist
from ..work import Finished
from .policies import MixedPrecisionPolicy
from .sharded_parameter import ShardedParameter

__all__ = ["ParameterGroup"]


class ParameterGroup:
    """Gathers, frees and reduces.

    Parameters
    ----------
    parameters
        What is spread.
    mesh
        One dimension, or two: gradients are averaged over the first as well.
    policy
        In which dtypes.
    """

    def __init__(self, parameters: Sequence[ShardedParameter], mesh: Any, policy: MixedPrecisionPolicy) -> None:
        self.parameters, self.policy = list(parameters), policy
        self.group = mesh.get_group(mesh.ndim - 1)
        self.replicas = mesh.get_group(0) if mesh.ndim == 2 else None
        self.size = mesh.size(mesh.ndim - 1)
        self.copies = mesh.size(0) if mesh.ndim == 2 else 1
        self.is_whole = False
        self.in_backward = False
        self.syncs = True
        self.reduces_over_replicas = True
        self.reshards_after_backward = True
        self.divisor: float | None = None
        self.all_reduce_hook: Callable[[Any], None] | None = None
        #: Called when a reduction has begun as the last gradient came.
        self.on_reduction: Callable[[], None] | None = None
        self._gathering: Any = None
        self._versions: list[int] = []
        self._reducing: Any = None
        self._kept: dict[int, Any] = {}
        self._arrived: set[int] = set()
        self._listening: dict[int, Any] = {}

    # Parameters

    def dtype_of(self, parameter: ShardedParameter) -> Any:
        """In which dtype a parameter is computed with."""
        wanted = self.policy.param_dtype
        return wanted if wanted is not None and parameter.dtype.is_floating_point else parameter.dtype

    def _has_changed(self) -> bool:
        """Whether parts were written to since they were gathered, as by an optimizer after a forward alone."""
        return not self.in_backward and self._versions != [one.local._version for one in self.parameters]

    def begin_unshard(self) -> None:
        """Begin to gather, unless the parameters are whole or on their way."""
        is_there = self._gathering is not None or self.is_whole
        if is_there and not self._has_changed():
            return
        self.reshard()
        flights = []
        with mt.no_grad():
            for parameter in self.parameters:
                parameter.adopt()
            self._versions = [one.local._version for one in self.parameters]
            for dtype in dict.fromkeys(map(self.dtype_of, self.parameters)):
                members = [one for one in self.parameters if self.dtype_of(one) is dtype]
                own = mt.zeros(sum(one.padded for one in members), dtype=dtype)
                start = 0
                for one in members:
                    one.write_part(own[start : start + one.padded])
                    start += one.padded
                every = mt.empty(self.size * own.numel(), dtype=dtype)
                work = self._gather(every, own)
                flights.append((members, dtype, own, every, work))
        self._gathering = flights

    def _gather(self, every: Any, own: Any) -> Any:
        if self.size > 1:
            return dist.all_gather_into_tensor(every, own, group=self.group, async_op=True)
        every.copy_(own)
        return Finished()

    def _scatter(self, own: Any, every: Any) -> Any:
        if self.size > 1:
            return dist.reduce_scatter_tensor(own, every, group=self.group, async_op=True)
        own.copy_(every)
        return Finished()

    def unshard(self) -> None:
        """Let the modules have whole parameters."""
        self.begin_unshard()
        if self._gathering is None:
            return
        flights, self._gathering = self._gathering, None
        with mt.no_grad():
            for members, dtype, _, every, work in flights:
                work.wait()
                rows, start = every.view(self.size, -1), 0
                for one in members:
                    one.fill([row[start : start + one.padded] for row in rows], dtype)
                    start += one.padded
        self.is_whole = True
        for number, one in enumerate(self.parameters):
            one.give(one.whole)
            self._listen(number, one)

    def _listen(self, number: int, parameter: ShardedParameter) -> None:
        if parameter.trained and self._listening.get(number) is not parameter.whole:
            self._listening[number] = parameter.whole
            parameter.whole.register_post_accumulate_grad_hook(lambda _: self._arrive(number))

    def reshard(self) -> None:
        """Let the modules have their parts, and the memory of whole parameters go."""
        flights, self._gathering = self._gathering, None
        for *_, work in flights or ():
            work.wait()
        if self.is_whole:
            self.is_whole = False
            for parameter in self.parameters:
                parameter.give(parameter.sharded)
                parameter.free()

    # Gradients

    def _arrive(self, number: int) -> None:
        self._arrived.add(number)
        if self.in_backward and len(self._arrived) == sum(one.trained for one in self.parameters):
            self.begin_reduce()
            if self.on_reduction is not None:
                self.on_reduction()

    def inputs_done(self) -> None:
        """Told that the gradients of a forward's inputs are there: if all others are, nothing needs the whole."""
        if self.in_backward and not self._arrived and self.reshards_after_backward:
            self.reshard()

    def begin_reduce(self) -> None:
        """Begin to reduce the gradients that have come; or keep them, where none are to be reduced yet."""
        self._arrived.clear()
        if not self.syncs:
            for one in self.parameters:
                grad = one.take_gradient() if one.whole is not None else None
                if grad is not None:
                    one.accumulated = grad if self.policy.reduce_dtype is None else grad.to(self.policy.reduce_dtype)
            return
        self.finish_reduce()
        with mt.no_grad():
            found = [(one, one.take_gradient()) for one in self.parameters if one.whole is not None]
            given = [(one, grad) for one, grad in found if grad is not None]
            dtypes = dict.fromkeys(self.policy.reduce_dtype or grad.dtype for _, grad in given)
            self._reducing = [
                self._reduction(
                    [(one, grad) for one, grad in given if (self.policy.reduce_dtype or grad.dtype) is dtype], dtype
                )
                for dtype in dtypes
            ]

    def _reduction(self, given: Sequence[tuple[ShardedParameter, Any]], dtype: Any) -> Any:
        members = [one for one, _ in given]
        width = sum(one.padded for one in members)
        every = mt.zeros(self.size, width, dtype=dtype)
        start = 0
        for one, grad in given:
            one.write_gradient(every[:, start : start + one.padded], grad)
            start += one.padded
        # Halves might overflow if they were divided afterwards alone.
        factor = self.divisor if self.divisor is not None else float(self.size * self.copies)
        every.mul_(1.0 / factor)
        own = mt.empty(width, dtype=dtype)
        work = self._scatter(own, every.view(-1))
        return members, own, every, work

    def finish_reduce(self) -> None:
        """Let the parts have their gradients."""
        flights, self._reducing = self._reducing, None
        with mt.no_grad():
            for members, own, _, work in flights or ():
                work.wait()
                if self.replicas is not None and not self._reduced_over_replicas(members, own):
                    continue
                if self.all_reduce_hook is not None:
                    self.all_reduce_hook(own)
                start = 0
                for one in members:
                    one.accumulate(own[start : start + one.padded])
                    start += one.padded

    def _reduced_over_replicas(self, members: Sequence[ShardedParameter], own: Any) -> bool:
        """Add what was kept and sum over replicas; or keep it, where that is not to be done yet."""
        key = tuple(id(one) for one in members)
        kept = self._kept.pop(hash(key), None)
        if kept is not None:
            own.add_(kept)
        if not self.reduces_over_replicas:
            self._kept[hash(key)] = own
            return False
        dist.all_reduce(own, group=self.replicas)
        return True

    def end_backward(self, is_last: bool) -> None:
        """Reduce what has come of gradients, and let the memory of whole parameters go."""
        if self.in_backward or self._arrived:
            if self._arrived:
                self.begin_reduce()
            if self.reshards_after_backward:
                self.reshard()
        self.in_backward = False
        if is_last:
            self.finish_reduce()
