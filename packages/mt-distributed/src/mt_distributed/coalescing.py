"""Several operations as one: what is begun under a manager is collected, and carried out together at its end."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .options import AllgatherOptions, AllreduceCoalescedOptions, ReduceScatterOptions
from .work import Work
from .world import chosen

__all__ = ["_CoalescingManager", "_coalescing_manager", "collected"]

_open: dict[Any, list[tuple[str, Any, Any, Any]]] = {}


class _CoalescingManager:
    """The work of operations that were collected; waited for at the end unless ``async_ops`` was said."""

    def __init__(self) -> None:
        self.works: list[Work] = []

    def append(self, work: Work | None = None) -> None:
        """Add work."""
        if work is not None:
            self.works.append(work)

    def wait(self) -> None:
        """Wait for all."""
        for work in self.works:
            work.wait()


def collected(group: Any, what: str, tensor: Any, *, output: Any = None, op: Any = None) -> bool:
    """Whether a group is collecting operations, and took this one."""
    if group not in _open:
        return False
    _open[group].append((what, tensor, output, op))
    return True


@contextmanager
def _coalescing_manager(
    group: Any = None, device: Any = None, async_ops: bool | None = False
) -> Iterator[_CoalescingManager]:
    """Collect operations of one kind on a group, and carry them out together at the end."""
    pg = chosen(group)
    if _open.get(pg):
        raise ValueError("ProcessGroup has non-empty op list at the start of coalescing")
    _open[pg] = []
    manager = _CoalescingManager()
    try:
        yield manager
        entries = _open.pop(pg)
    finally:
        _open.pop(pg, None)
    if entries:
        manager.append(_together(pg, entries))
    if not async_ops:
        manager.wait()


def _together(group: Any, entries: Sequence[tuple[str, Any, Any, Any]]) -> Work:
    kinds = {what for what, _, _, _ in entries}
    if len(kinds) > 1:
        raise AssertionError(f"operations of one kind are coalesced, and these are {', '.join(sorted(kinds))}")
    what, _, _, op = entries[0]
    inputs, outputs = [entry[1] for entry in entries], [entry[2] for entry in entries]
    if what == "all_reduce":
        return group.allreduce_coalesced(inputs, AllreduceCoalescedOptions(reduceOp=op))
    if what == "all_gather_into_tensor":
        return group.allgather_into_tensor_coalesced(outputs, inputs, AllgatherOptions())
    return group.reduce_scatter_tensor_coalesced(outputs, inputs, ReduceScatterOptions(reduceOp=op))
