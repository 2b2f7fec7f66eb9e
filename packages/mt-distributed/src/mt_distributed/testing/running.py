"""Threads that are one another's process group."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from ..backends import Backend, BackendConfig
from ..process_group import ProcessGroup
from ..stores import HashStore
from ..world import Entry, State, world
from .threads import Hub, ThreadCommunicator

__all__ = ["run_threads"]


def run_threads(size: int, function: Callable[..., Any], *args: Any) -> list[Any]:
    """Call ``function(group, *args)`` in threads, each with a process group of all of them, which is its default one.

    Returns
    -------
    list
        What each returned.

    Raises
    ------
    BaseException
        What the first that failed raised, once all have ended.
    """
    hub, store, timeout = Hub(size), HashStore(), timedelta(seconds=60)
    results: list[Any] = [None] * size
    errors: list[BaseException] = []

    def run(rank: int) -> None:
        group = ProcessGroup(
            ThreadCommunicator(hub, rank),
            backend="gloo",
            ranks=range(size),
            lifeline=None,
            timeout=timeout,
            name="threads",
            description="all threads",
            store=store,
        )
        entry = Entry(list(range(size)), Backend("gloo"), BackendConfig(Backend("gloo")), store, timeout)
        state = State(default_pg=group, entries={group: entry}, group_count=1, names={"threads": group})
        vars(world)["of_thread"].state = state
        try:
            results[rank] = function(group, *args)
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that started this one
            errors.append(error)
            hub.failed.set()

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results
