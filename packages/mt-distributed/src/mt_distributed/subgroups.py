"""Groups that divide all ranks, and groups that are made out of others."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NoReturn

from .groups import new_group
from .process_group import ProcessGroup
from .world import GroupMember, chosen, get_global_rank, get_process_group_ranks, get_rank, get_world_size

__all__ = ["new_subgroups", "new_subgroups_by_enumeration", "shrink_group", "split_group"]


def new_subgroups(
    group_size: int | None = None,
    group: ProcessGroup | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any | None = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Groups of `group_size` ranks in a row; this rank's, and all of them.

    Raises
    ------
    ValueError
        When the number of ranks cannot be divided so, or no size is given.
    """
    if group_size is None:
        raise ValueError("Default group size only supported for CUDA. Please specify group_size")
    if group_size <= 0:
        raise ValueError(f"The arg 'group_size' ({group_size}) must be positive")
    size = get_world_size(group)
    if size < group_size:
        raise ValueError(f"The arg 'group_size' ({group_size}) must not exceed the world size ({size})")
    if size % group_size != 0:
        raise ValueError(f"The world size ({size}) must be divisible by '{group_size=}'")
    pg = chosen(group)
    lists = [
        [get_global_rank(pg, rank) for rank in range(start, start + group_size)] for start in range(0, size, group_size)
    ]
    return new_subgroups_by_enumeration(lists, timeout, backend, pg_options, group_desc)


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]],
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any | None = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """A group for each list of ranks, no rank in two of them; this rank's (or None), and all of them.

    Raises
    ------
    ValueError
        Without lists, and for a rank that is in two.
    """
    if ranks_per_subgroup_list is None or len(ranks_per_subgroup_list) == 0:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    made, own, seen = [], None, dict[int, Any]()
    for ranks in ranks_per_subgroup_list:
        subgroup = new_group(ranks, timeout, backend, pg_options, group_desc=group_desc)
        made.append(subgroup)
        for rank in ranks:
            if rank in seen:
                raise ValueError(f"Rank {rank} has appeared in both subgroup {seen[rank]} and {ranks}")
            seen[rank] = ranks
            if get_rank() == rank:
                own = subgroup
    return own, made


def split_group(
    parent_pg: ProcessGroup | None = None,
    split_ranks: list[list[int]] | None = None,
    timeout: timedelta | None = None,
    pg_options: Any | None = None,
    group_desc: str | None = None,
    backend: Any | None = None,
) -> Any:
    """Divide a group, all of whose ranks call this, into groups of its ranks; this rank's, or None.

    Raises
    ------
    ValueError
        For lists that are empty, or share ranks.
    """
    if split_ranks is None or len(split_ranks) == 0:
        raise ValueError("split_ranks cannot be None or empty")
    flat = [rank for ranks in split_ranks for rank in ranks]
    if len(set(flat)) != len(flat):
        raise ValueError("the split group cannot have duplicate ranks")
    members = get_process_group_ranks(chosen(parent_pg))
    own = None
    for ranks in split_ranks:
        if len(ranks) == 0:
            raise ValueError("the split group cannot be empty")
        chosen_ranks = [members[rank] for rank in ranks]
        is_own = get_rank() in chosen_ranks
        made = new_group(chosen_ranks, timeout, backend, pg_options, True, group_desc)
        if is_own and made is not GroupMember.NON_GROUP_MEMBER:
            own = made
    return own


def shrink_group(
    ranks_to_exclude: list[int], group: ProcessGroup | None = None, shrink_flags: int = 0, pg_options: Any | None = None
) -> NoReturn:
    """Not supported: MPI's world cannot go on without ranks that belong to it."""
    raise NotImplementedError(
        "torch.distributed.shrink_group is not supported by mindtorch: make a group of the other ranks by new_group"
    )
