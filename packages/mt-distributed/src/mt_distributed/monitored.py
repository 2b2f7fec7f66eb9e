"""A barrier that says who did not come, and how much is looked after."""

import enum
import os
import time
from datetime import timedelta

from .errors import DistBackendError, DistStoreError
from .process_group import ProcessGroup
from .stores import Store
from .world import _rank_not_in_group, chosen, get_global_rank

__all__ = ["DebugLevel", "get_debug_level", "monitored_barrier", "set_debug_level", "set_debug_level_from_env"]


class DebugLevel(enum.IntEnum):
    """How much is looked after: what ``TORCH_DISTRIBUTED_DEBUG`` says."""

    OFF = 0
    INFO = 1
    DETAIL = 2

    def __repr__(self) -> str:
        return f"<DebugLevel.{self.name}: {self.value}>"

    def __str__(self) -> str:
        return f"DebugLevel.{self.name}"


def _from_environment() -> DebugLevel:
    said = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    if said not in DebugLevel.__members__:
        raise ValueError("The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL.")
    return DebugLevel[said]


_level: list[DebugLevel] = []


def get_debug_level() -> DebugLevel:
    """The level that was set, or that of the environment."""
    if not _level:
        _level.append(_from_environment())
    return _level[0]


def set_debug_level(level: DebugLevel) -> None:
    """Set the level."""
    _level[:] = [DebugLevel(level)]


def set_debug_level_from_env() -> None:
    """Set the level to that of the environment."""
    set_debug_level(_from_environment())


def monitored_barrier(
    group: ProcessGroup | None = None, timeout: timedelta | None = None, wait_all_ranks: bool = False
) -> None:
    """Wait until all ranks have come; the first rank says who did not come in time.

    Parameters
    ----------
    timeout
        How long to wait; the group's where it is not said.
    wait_all_ranks
        Whether all that are missing are named, not only the first.

    Raises
    ------
    DistBackendError
        When the time is over.
    """
    if _rank_not_in_group(group):
        return
    pg = chosen(group)
    store, size, rank = pg.get_group_store(), pg.size(), pg.rank()
    limit = pg._timeout if timeout is None else timeout
    number = pg._count()
    key = f"monitored_barrier/{number}"
    store.set(f"{key}/{rank}", "1")
    end = time.monotonic() + limit.total_seconds()
    missing = []
    if rank == 0:
        for other in range(1, size):
            left = timedelta(seconds=max(0.001, end - time.monotonic()))
            if not _came(store, f"{key}/{other}", left):
                missing.append(get_global_rank(pg, other))
                if not wait_all_ranks:
                    break
        if not missing:
            store.set(f"{key}/all", "1")
    elif not _came(store, f"{key}/all", limit):
        missing = [get_global_rank(pg, 0)]
    if missing:
        who = f"Rank{'s' if len(missing) > 1 else ''} {', '.join(map(str, missing))}"
        milliseconds = round(limit.total_seconds() * 1000)
        raise DistBackendError(f"[Rank {rank}]: {who} failed to pass monitoredBarrier in {milliseconds} ms")


def _came(store: Store, key: str, limit: timedelta) -> bool:
    try:
        store.wait([key], limit)
    except DistStoreError:
        return False
    return True
