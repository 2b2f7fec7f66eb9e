"""The process groups of this process: which there are, and who is in them."""

import os
import threading
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, NoReturn

from .backends import Backend, BackendConfig
from .lifeline import Lifeline
from .process_group import ProcessGroup
from .stores import Store

__all__ = [
    "GroupMember",
    "default_pg_timeout",
    "get_backend",
    "get_backend_config",
    "get_global_rank",
    "get_group_rank",
    "get_node_local_rank",
    "get_pg_count",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "group",
    "is_initialized",
]

default_pg_timeout = timedelta(minutes=30)


@dataclass
class Entry:
    """What is known of a group: its ranks in the world, in the group's order."""

    ranks: list[int]
    backend: Backend
    config: BackendConfig
    store: Store
    timeout: timedelta


@dataclass
class State:
    """The groups of a process, or of a thread that stands for one in tests."""

    default_pg: Any = None
    entries: dict[Any, Entry] = field(default_factory=dict)
    lifeline: Lifeline | None = None
    group_count: int = 0
    names: dict[str, Any] = field(default_factory=dict)


class _World:
    """The process's `State`, whose fields it has; in a thread that `mt_distributed.testing` started, that thread's."""

    default_pg: Any
    entries: dict[Any, Entry]
    lifeline: Lifeline | None
    group_count: int
    names: dict[str, Any]

    def __init__(self) -> None:
        vars(self).update(_of_process=State(), of_thread=threading.local())

    def _state(self) -> State:
        own = vars(self)
        return getattr(own["of_thread"], "state", own["_of_process"])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._state(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._state(), name, value)


world = _world = _World()


class _MembersMeta(type):
    """``group.WORLD`` is the default group of the moment."""

    @property
    def WORLD(cls) -> Any:
        """The group of all ranks; None before there is one."""
        return world.default_pg

    @WORLD.setter
    def WORLD(cls, value: Any) -> None:
        world.default_pg = value


class group(metaclass=_MembersMeta):
    """The group of all ranks, as ``group.WORLD``."""


class GroupMember(metaclass=_MembersMeta):
    """``WORLD`` as in `group`, and what stands for a group that this process is not in."""

    NON_GROUP_MEMBER = -100


def is_initialized() -> bool:
    """Whether there is a default group."""
    return world.default_pg is not None


def _get_default_group() -> Any:
    """The group of all ranks.

    Raises
    ------
    ValueError
        Before there is one.
    """
    if world.default_pg is None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    return world.default_pg


def chosen(given: Any) -> Any:
    """A group that was given, or the default one."""
    return _get_default_group() if given is None else given


def _rank_not_in_group(given: Any) -> bool:
    """Whether this process is not in a group."""
    return given is GroupMember.NON_GROUP_MEMBER or given == GroupMember.NON_GROUP_MEMBER


def entry_of(given: Any) -> Entry:
    """What is known of a group.

    Raises
    ------
    ValueError
        For a group of which nothing is known.
    """
    entry = world.entries.get(given)
    if entry is None:
        _unknown()
    return entry


def _unknown() -> NoReturn:
    raise ValueError("Invalid process group specified or the process group is not in the world group map")


def get_rank(group: ProcessGroup | None = None) -> int:
    """This process's rank in a group; -1 outside of it."""
    if _rank_not_in_group(group):
        return -1
    default = _get_default_group()
    if group is None or group is default:
        return default.rank()
    return get_group_rank(group, default.rank())


def get_world_size(group: ProcessGroup | None = None) -> int:
    """How many ranks a group has; -1 outside of it."""
    if _rank_not_in_group(group):
        return -1
    return chosen(group).size()


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """The rank in a group of a rank of the world.

    Raises
    ------
    ValueError
        For a rank that is not in it.
    """
    if group is world.default_pg:
        return global_rank
    if group not in world.entries:
        raise ValueError(f"Group {group} is not registered, please create group with torch.distributed.new_group API")
    ranks = world.entries[group].ranks
    if global_rank not in ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return ranks.index(global_rank)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """The rank in the world of a rank of a group.

    Raises
    ------
    ValueError
        For a rank that it has not.
    """
    if group is world.default_pg:
        return group_rank
    if group not in world.entries:
        raise ValueError(f"Group {group} is not registered, please create group with torch.distributed.new_group API")
    ranks = world.entries[group].ranks
    if not 0 <= group_rank < len(ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return ranks[group_rank]


def get_process_group_ranks(group: ProcessGroup | None) -> list[int]:
    """The ranks in the world of a group's ranks, in its order."""
    return list(entry_of(chosen(group)).ranks)


def get_backend(group: ProcessGroup | None = None) -> Backend:
    """The backend that a group was made with."""
    given = chosen(group)
    if _rank_not_in_group(given):
        raise ValueError("Invalid process group specified")
    return entry_of(given).backend


def get_backend_config(group: ProcessGroup | None = None) -> str:
    """Which backend serves which device type in a group."""
    given = chosen(group)
    if _rank_not_in_group(given):
        raise ValueError("Invalid process group specified")
    return str(entry_of(given).config)


def get_pg_count() -> int:
    """How many groups were made."""
    return world.group_count


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """This process's number on its machine, as ``torchrun`` says in ``LOCAL_RANK``.

    Raises
    ------
    RuntimeError
        Where nothing says it, and there is no number to fall back to.
    """
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to work, "
        "assuming you are not running in a multi-device context and want the code to run locally instead."
    )
