"""The reduction of gradients while the backward runs: each bucket as soon as the last of its gradients is there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import mt_core as mt
from mt_autograd.engine import queue_callback

from .. import distributed_c10d as dist
from ..grad_bucket import GradBucket
from .buckets import Bucket, bucket_assignment
from .messages import graph_changed, marked_twice, not_finished

__all__ = ["Reducer"]


class Reducer:
    """Averages the gradients of parameters over the processes of a group.

    Parameters
    ----------
    parameters, names
        The parameters that require grad, and what they are called.
    group
        The process group.
    initial_limits, limits
        Bytes of each bucket, before and after the order of the gradients is known.
    finds_unused
        Whether each forward is searched for parameters that it does not use.
    gradients_are_views
        Whether ``.grad`` lies in the buckets, so that nothing is copied back.
    is_static
        Whether the same parameters are used in each iteration, as often as in the first.
    """

    def __init__(
        self,
        parameters: Sequence[mt.Tensor],
        names: Sequence[str],
        group: Any,
        initial_limits: Sequence[int],
        limits: Sequence[int],
        finds_unused: bool,
        gradients_are_views: bool,
        is_static: bool,
    ) -> None:
        self.parameters, self.names, self.group = list(parameters), list(names), group
        self.limits, self.gradients_are_views = list(limits), gradients_are_views
        self.finds_unused, self.is_static = finds_unused, is_static
        self.world_size = group.size()
        self.divisor = self.world_size
        self.hook: Callable[[GradBucket], Any] | None = None
        self.has_rebuilt = False
        self.expects_gradients = False
        self.is_unfinished = False
        self.iterations = 0
        self._unused: list[int] = []
        self._has_marked_unused = False
        self._ready: set[int] = set()
        self._arrivals: list[int] = []
        self._used = [False] * len(self.parameters)
        self._uses: Counter[int] = Counter()
        self._uses_left: Counter[int] = Counter()
        self._used_anywhere: Any = None
        self._forward_work: Any = None
        groups, _ = bucket_assignment(self.parameters, initial_limits)
        self._lay_out(groups[::-1])
        self._listen()

    def _listen(self) -> None:
        self._accumulators = []
        self._handles = []
        with mt.enable_grad():
            for index, parameter in enumerate(self.parameters):
                node = parameter.expand_as(parameter).grad_fn.next_functions[0][0]
                self._accumulators.append(node)
                self._handles.append(node.register_hook(lambda *_, index=index: self._arrived(index)))

    def remove_hooks(self) -> None:
        """Take no part in backward any more."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    # Buckets

    def _lay_out(self, groups: Sequence[Sequence[int]]) -> None:
        self.buckets = [Bucket(group, [self.parameters[index] for index in group]) for group in groups]
        self._place = {
            index: (bucket, position) for bucket in self.buckets for position, index in enumerate(bucket.indices)
        }
        self._next = 0
        if self.gradients_are_views:
            for bucket in self.buckets:
                for parameter, view in zip(bucket.parameters, bucket.views, strict=True):
                    if parameter.grad is not None:
                        view.copy_(parameter.grad.detach())
                        parameter.grad = view

    @property
    def _is_dynamic(self) -> bool:
        return self.finds_unused and not self.is_static

    @property
    def _is_first_static(self) -> bool:
        return self.is_static and self.iterations < 1

    @property
    def _records_order(self) -> bool:
        return not self._is_dynamic and not self.has_rebuilt

    def rebuild_buckets(self) -> bool:
        """Share the gradients among buckets anew, in the order in which they came first; rank 0's order holds for all.

        Returns
        -------
        bool
            Whether that was done: once, after the first backward.
        """
        self.refuse_unfinished()
        if not self._records_order or not self._arrivals:
            return False
        if self.is_static:
            self._arrivals += [index for index in range(len(self.parameters)) if index not in set(self._arrivals)]
        if len(self._arrivals) != len(self.parameters):
            raise RuntimeError(
                f"rebuilt parameter tensors size is not same as original model parameters size."
                f"{len(self._arrivals)} versus {len(self.parameters)}"
            )
        groups, _ = bucket_assignment([self.parameters[i] for i in self._arrivals], self.limits, self._arrivals)
        self._lay_out(self._groups_of_first_rank(groups))
        self._arrivals = []
        self.has_rebuilt = True
        return True

    def _groups_of_first_rank(self, groups: list[list[int]]) -> list[list[int]]:
        sizes = mt.zeros(len(self.parameters) * 2 + 1, dtype=mt.int32)
        flat = [len(groups), *map(len, groups), *(index for group in groups for index in group)]
        sizes[: len(flat)] = mt.tensor(flat, dtype=mt.int32)
        dist.broadcast(sizes, group=self.group, group_src=0)
        count, *rest = sizes.tolist()
        lengths, indices = rest[:count], rest[count:]
        ends = [sum(lengths[: i + 1]) for i in range(count)]
        return [indices[end - length : end] for length, end in zip(lengths, ends, strict=True)]

    # An iteration

    def refuse_unfinished(self) -> None:
        """Raise RuntimeError where gradients of the backward before have not come."""
        if self.is_unfinished:
            missing = sorted(set(range(len(self.parameters))) - self._ready)
            raise RuntimeError(not_finished(self.group.rank(), missing, self.finds_unused))

    def prepare(self, outputs: Sequence[mt.Tensor]) -> None:
        """Expect the gradients of a forward that gave these tensors."""
        self.expects_gradients = True
        self._next = 0
        for bucket in self.buckets:
            bucket.begin()
        self._has_marked_unused = False
        self._ready.clear()
        self._uses_left = Counter(self._uses)
        if self._is_dynamic:
            self._unused = self._unreachable_from(outputs)

    def _unreachable_from(self, outputs: Sequence[mt.Tensor]) -> list[int]:
        waiting = [tensor.grad_fn for tensor in outputs if tensor.grad_fn is not None]
        seen = set(waiting)
        seen.update(
            accumulator
            for accumulator, parameter in zip(self._accumulators, self.parameters, strict=True)
            if any(tensor is parameter for tensor in outputs)
        )
        while waiting:
            for node, _ in waiting.pop().next_functions:
                if node is not None and node not in seen:
                    seen.add(node)
                    waiting.append(node)
        return [index for index, accumulator in enumerate(self._accumulators) if accumulator not in seen]

    def _arrived(self, index: int) -> None:
        """A parameter's gradient has been accumulated."""
        if self._is_dynamic or self._is_first_static:
            self._used[index] |= self.parameters[index].grad is not None
        if not self.expects_gradients:
            return
        if self._is_first_static:
            self._uses[index] += 1
            return
        if not self._has_marked_unused:
            self._has_marked_unused = True
            for unused in self._unused:
                self._mark_ready(unused)
        if self.is_static:
            if self._uses_left[index] == 0:
                raise RuntimeError(graph_changed)
            self._uses_left[index] -= 1
            if self._uses_left[index]:
                return
        if self._records_order:
            self._arrivals.append(index)
        self._mark_ready(index)

    def _mark_ready(self, index: int) -> None:
        if index in self._ready:
            raise RuntimeError(marked_twice(index, self.names[index]))
        self._ready.add(index)
        self.is_unfinished = True
        bucket, position = self._place[index]
        if self._forward_work is not None:
            self._forward_work.wait()
            self.divisor, self._forward_work = int(self._forward_work.result()[0].item()), None
        with mt.no_grad():
            self._fill(bucket.views[position], self.parameters[index])
        bucket.pending -= 1
        self._start_full_buckets()

    def _fill(self, view: mt.Tensor, parameter: mt.Tensor) -> None:
        grad = parameter.grad
        if grad is None:
            view.zero_()
            return
        if grad.layout is not mt.strided:
            raise NotImplementedError("DistributedDataParallel reduces strided gradients alone, not sparse ones")
        lies_there = grad.untyped_storage().data_ptr() == view.untyped_storage().data_ptr()
        if not lies_there:
            # A product, not a quotient: PyTorch rounds so.
            view.copy_(grad * (1.0 / self.divisor) if self.hook is None else grad)
            if self.gradients_are_views:
                parameter.grad = view
        elif self.hook is None:
            view.div_(self.divisor)

    def _start_full_buckets(self) -> None:
        while self._next < len(self.buckets) and self.buckets[self._next].pending == 0:
            self._reduce(self.buckets[self._next])
            self._next += 1
            if self._next == len(self.buckets):
                if self._is_dynamic:
                    self._share_use()
                queue_callback(self._finish)

    def _reduce(self, bucket: Bucket) -> None:
        bucket.reduction = self._reduction_of(bucket, bucket.buffer)

    def _reduction_of(self, bucket: Bucket, buffer: mt.Tensor) -> Any:
        if self.hook is None:
            return dist.all_reduce(buffer, group=self.group, async_op=True)
        reduction = self.hook(GradBucket(bucket, buffer, self.buckets.index(bucket), bucket is self.buckets[-1]))
        if not callable(getattr(reduction, "wait", None)):
            raise RuntimeError(
                "DDP communication hook's callback must return a torch.futures.Future object, but got "
                f"{type(reduction).__name__}"
            )
        return reduction

    def _share_use(self) -> None:
        used = mt.tensor([int(used) for used in self._used], dtype=mt.int32)
        self._used_anywhere = used, dist.all_reduce(used, group=self.group, async_op=True)

    def delay_all_reduce(self) -> None:
        """Reduce all buckets when the first backward of a static graph is over."""
        self.expects_gradients = False
        self._share_use()
        self._unused = [index for index, used in enumerate(self._used) if not used]
        with mt.no_grad():
            for bucket in self.buckets:
                for parameter, view in zip(bucket.parameters, bucket.views, strict=True):
                    self._fill(view, parameter)
                self._reduce(bucket)
        self._finish()

    def _finish(self) -> None:
        """Wait for the reductions, and let the parameters have their gradients."""
        self.expects_gradients = False
        self.is_unfinished = False
        finds_unused = self.finds_unused or self.is_static
        with mt.no_grad():
            for bucket in self.buckets:
                result = bucket.reduction.wait()
                if self.hook is not None:
                    _take(bucket.buffer, result)
                for index, parameter, view in zip(bucket.indices, bucket.parameters, bucket.views, strict=True):
                    if not (finds_unused and self._is_unused_everywhere(index)):
                        self._give(parameter, view)
        if self._used_anywhere is not None:
            self._used_anywhere[1].wait()
            self._used_anywhere = None
        if self._is_dynamic:
            self._used = [False] * len(self.parameters)
        self.iterations += 1
        self.divisor = self.world_size

    def _is_unused_everywhere(self, index: int) -> bool:
        if self._used[index]:
            return False
        if self._used_anywhere is not None:
            counts, work = self._used_anywhere
            work.wait()
            self._used = [count > 0 for count in counts.tolist()]
            if self.is_static:
                self._used_anywhere = None
        return not self._used[index]

    def _give(self, parameter: mt.Tensor, view: mt.Tensor) -> None:
        if self.gradients_are_views:
            if parameter.grad is None:
                parameter.grad = view
            elif parameter.grad.untyped_storage().data_ptr() != view.untyped_storage().data_ptr():
                raise RuntimeError(
                    "Detected at least one parameter gradient is not the expected DDP bucket view with "
                    "gradient_as_bucket_view=True. This may happen (for example) if multiple allreduce hooks were "
                    "registered onto the same parameter. If you hit this error, please file an issue with a minimal "
                    "repro."
                )
        elif parameter.grad is None:
            parameter.grad = view.clone()
        else:
            parameter.grad.copy_(view)

    # Joining

    def divide_by_active(self, work: Any, uses_initial_size: bool) -> None:
        """Divide by how many processes take part in this forward, once a collective has told."""
        if uses_initial_size:
            work.wait()
        else:
            self._forward_work = work

    def go_along(self) -> None:
        """Take part in one backward of the others with nothing to add."""
        reductions = [self._reduction_of(bucket, mt.zeros_like(bucket.buffer)) for bucket in self.buckets]
        if self._is_dynamic:
            dist.all_reduce(mt.zeros(len(self.parameters), dtype=mt.int32), group=self.group)
        for reduction in reductions:
            reduction.wait()
        if self._records_order:
            self._arrivals = list(range(len(self.parameters)))


def _take(buffer: mt.Tensor, result: Any) -> None:
    if not isinstance(result, mt.Tensor):
        raise RuntimeError(f"Unable to cast {result!r} to Tensor")
    if result.data_ptr() != buffer.data_ptr() or result.shape != buffer.shape:
        buffer.copy_(result)
