"""Making and ending process groups."""

import socket
import time
from collections.abc import Sequence
from contextlib import nullcontext
from datetime import timedelta
from typing import Any

from .backends import Backend, BackendConfig, library_of
from .errors import DistBackendError, DistStoreError
from .lifeline import Lifeline
from .process_group import ProcessGroup
from .rendezvous import naming_server, rendezvous
from .stores import PrefixStore, Store, TCPStore
from .stores.tcp_store import ServerProcess
from .world import (
    Entry,
    GroupMember,
    _get_default_group,
    _rank_not_in_group,
    chosen,
    default_pg_timeout,
    entry_of,
    world,
)

__all__ = ["destroy_process_group", "init_process_group", "new_group"]

#: Servers that lifelines need where the store has none.
_servers: list[ServerProcess] = []

#: How long to wait for ranks that have not come before it is looked whether one has died.
LOOK = timedelta(seconds=0.2)


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Store | None = None,
    group_name: str = "",
    pg_options: Any | None = None,
    device_id: Any = None,
    _ranks: list[int] | None = None,
) -> None:
    """Make the default process group, of all ranks, which find one another by `init_method` or by `store`.

    Parameters
    ----------
    backend
        ``"gloo"`` and ``"mpi"`` are served by MPI; ``"cpu:gloo,cuda:nccl"`` names one for each device type.
    init_method
        ``env://`` (also where nothing is given), ``tcp://host:port`` or ``file:///path``.
    timeout
        How long an operation may take: 30 minutes, unless something else is said.
    world_size, rank
        How many processes there are and which one this is, where the method does not know.
    store
        A store that all ranks share, in place of a method.
    group_name
        Not used, as in PyTorch.
    pg_options, device_id
        For backends that take such.

    Raises
    ------
    ValueError
        When there is a default group, or something about ranks is missing.
    RuntimeError
        When the backend has no library here.
    DistBackendError
        When the others do not come in time; says which.
    """
    if world.default_pg is not None:
        raise ValueError("trying to initialize the default process group twice!")
    limit = _checked(timeout)
    if store is not None:
        assert init_method is None, "Cannot specify both init_method and store."
        assert world_size > 0, "world_size must be positive if using store"
        assert rank >= 0, "rank must be non-negative if using store"
    elif init_method is None:
        init_method = "env://"
    name = Backend(backend) if backend else Backend("undefined")
    launched = library_of("mpi").launched() if name == "mpi" and store is None and rank == -1 else None
    if launched is not None:
        rank, world_size = launched
        store = _store_of_mpiexec(rank, limit)
    elif store is None:
        _refuse_missing(name)
        store, rank, world_size = next(iter(rendezvous(init_method or "", rank, world_size, timeout=limit)))
        store.set_timeout(limit)
    store = PrefixStore("default_pg", store)
    deadline = time.monotonic() + limit.total_seconds()
    number = world.group_count
    try:
        if world_size > 1:
            with nullcontext() if init_method is None else naming_server():
                store.set(f"here/{rank}", socket.gethostname())
                world.lifeline = _lifeline(store, rank, world_size, limit, deadline)
                _wait_for_all(store, rank, world_size, limit, deadline)
        world.group_count += 1
        world.default_pg = _made(
            name, store, rank, world_size, list(range(world_size)), limit, str(number), "default_pg", deadline
        )
    except BaseException:
        _end_lifeline()
        raise
    world.default_pg.bound_device_id = device_id


def _refuse_missing(name: Backend) -> None:
    """Refuse backends that nobody brings before waiting for anyone."""
    for one in BackendConfig(name).device_backend_map.values():
        if one.upper() not in Backend._plugins and one in ("nccl", "hccl", "ucc", "xccl") and ":" not in name:
            library_of(one)


def _checked(timeout: Any) -> timedelta:
    if timeout is None:
        return default_pg_timeout
    if not isinstance(timeout, timedelta):
        raise TypeError(f"Expected timeout argument to be of type datetime.timedelta, got {timeout}")
    return timeout


def _store_of_mpiexec(rank: int, timeout: timedelta) -> Store:
    """A store for processes that mpiexec started: the first serves it, and MPI tells the others where."""
    share = library_of("mpi").sharer()
    address = None
    if rank == 0:
        _servers.append(ServerProcess("0.0.0.0", 0))
        address = f"{socket.gethostname()} {_servers[-1].port}"
    host, port = share(address).split()
    return TCPStore(host, int(port), None, False, timeout)


def _wait_for_all(store: Store, rank: int, size: int, limit: timedelta, deadline: float) -> None:
    """Wait until all ranks are here; raises when one has died, or the time is over."""
    assert world.lifeline is not None
    keys, others = [f"here/{other}" for other in range(size)], tuple(other for other in range(size) if other != rank)
    while True:
        try:
            store.wait(keys, LOOK)
            return
        except DistStoreError:
            # One that left gave up waiting, too: it is not for its sake that not all are here.
            lost = [departure for departure in world.lifeline.lost(others) if not departure.announced]
            if lost:
                raise DistBackendError(f"{'; '.join(map(str, lost))} before all ranks had come") from None
            if time.monotonic() > deadline:
                raise _missing(store, rank, size, limit) from None


def _missing(store: Store, rank: int, size: int, limit: timedelta) -> DistBackendError:
    missing = [str(other) for other in range(size) if not store.check([f"here/{other}"])]
    return DistBackendError(
        f"init_process_group timed out after {limit.total_seconds():g} s on rank {rank}: of {size} ranks, "
        f"{'rank' if len(missing) == 1 else 'ranks'} {', '.join(missing)} did not come"
    )


def _lifeline(store: Store, rank: int, size: int, limit: timedelta, deadline: float) -> Lifeline:
    """This rank's lifeline, to the process behind the store, or to one that the first rank starts if there is none."""
    below: Any = store
    while isinstance(below, PrefixStore):
        below = below.underlying_store
    if isinstance(below, TCPStore):
        address = (below.host, below.port)
    else:
        if rank == 0:
            _servers.append(ServerProcess("0.0.0.0", 0))
            host = socket.gethostname() if _resolves(socket.gethostname()) else "127.0.0.1"
            store.set("lifeline", f"{host} {_servers[-1].port}")
        try:
            host, port = store.get("lifeline").decode().split()
        except DistStoreError:
            raise _missing(store, rank, size, limit) from None
        address = (host, int(port))
    scope = store.compare_set("scope", "", f"{socket.gethostname()}-{time.time_ns()}").decode()
    return Lifeline(*address, scope, rank, max(1.0, deadline - time.monotonic()))


def _resolves(host: str) -> bool:
    try:
        socket.getaddrinfo(host, None)
    except OSError:
        return False
    return True


def _end_lifeline() -> None:
    if world.lifeline is not None:
        world.lifeline.end()
        world.lifeline = None
    for server in _servers:
        server.close()
    _servers.clear()


def _made(
    backend: Backend,
    store: Store,
    rank: int,
    size: int,
    ranks: list[int],
    timeout: timedelta,
    name: str,
    description: str,
    deadline: float,
) -> Any:
    """A group whose members come together by a store."""
    config = BackendConfig(backend)
    names = list(dict.fromkeys(config.device_backend_map.values()))
    main = _main(config, backend)
    plugin = Backend._plugins.get(main.upper())
    made: Any
    if plugin is not None:
        made = _by_plugin(plugin, store, rank, size, timeout, name, ranks)
    else:
        library = library_of(main)
        communicator = library.connect(store, rank, size, lifeline=world.lifeline, deadline=deadline)
        made = ProcessGroup(
            communicator,
            backend=str(main),
            ranks=ranks,
            lifeline=world.lifeline,
            timeout=timeout,
            name=name,
            description=description,
            store=store,
            devices=[device for device in library.devices if device in config.device_backend_map],
        )
    shown = main if len(names) == 1 else backend
    world.entries[made] = Entry(ranks, Backend(shown), config, store, timeout)
    world.names[name] = made
    return made


def _main(config: BackendConfig, backend: Backend) -> Backend:
    """The backend of a configuration that is here: that of the CPU, or the only one."""
    found = config.device_backend_map.get("cpu") or next(iter(config.device_backend_map.values()), None)
    if found is None:
        raise ValueError(f"no backend is installed for {backend}")
    return found


def _by_plugin(plugin: Any, store: Store, rank: int, size: int, timeout: timedelta, name: str, ranks: list[int]) -> Any:
    if not plugin.extended_api:
        return plugin.creator_fn(store, rank, size, timeout)
    options = _PluginOptions(store, rank, size, timeout, name, ranks)
    return plugin.creator_fn(options, None)


class _PluginOptions:
    """What the maker of a registered backend's group is told (``_DistributedBackendOptions``)."""

    def __init__(
        self, store: Store, group_rank: int, group_size: int, timeout: timedelta, group_id: str, ranks: list[int]
    ) -> None:
        self.store, self.group_rank, self.group_size = store, group_rank, group_size
        self.timeout, self.group_id, self.global_ranks_in_group = timeout, group_id, ranks


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any | None = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
    sort_ranks: bool = True,
) -> Any:
    """A group of some ranks; every rank of the default group calls this, in the same order, members or not.

    Returns
    -------
    ProcessGroup or int
        ``GroupMember.NON_GROUP_MEMBER`` for those who are not in it.

    Raises
    ------
    ValueError
        For ranks that do not exist, or come twice.
    """
    default = _get_default_group()
    parent = entry_of(default)
    limit = parent.timeout if timeout is None else _checked(timeout)
    size = default.size()
    if use_local_synchronization and backend == "mpi":
        raise ValueError("MPI backend doesn't support use_local_synchronization=True")
    members = list(range(size)) if ranks is None else list(ranks)
    if len(set(members)) != len(members):
        raise ValueError(f"ranks list must not contain duplicate entries, got {members}")
    if len(members) > size:
        raise ValueError(
            "the new group's world size should be less or equal to the world size set by init_process_group"
        )
    for member in members:
        if not 0 <= member < size:
            raise ValueError(f"Rank {member} is out of range. Valid ranks are 0 to {size - 1} (world_size={size})")
    if sort_ranks:
        members.sort()
    name = _next_name(members, use_local_synchronization)
    if default.rank() not in members:
        return GroupMember.NON_GROUP_MEMBER
    return _subgroup(default, parent, members, limit, backend, name, group_desc or "undefined")


def _next_name(members: list[int], is_local: bool) -> str:
    """The name of the next group, which all of its ranks give alike."""
    if not is_local:
        world.group_count += 1
        return str(world.group_count - 1)
    joined = "_".join(map(str, members))
    taken = sum(1 for name in world.names if name.partition("@")[0] == joined)
    return f"{joined}@{taken}"


def _subgroup(
    default: Any, parent: Entry, members: list[int], timeout: timedelta, backend: str | None, name: str, text: str
) -> Any:
    store = PrefixStore(f"{name}/", parent.store)
    rank = members.index(default.rank())
    if not isinstance(default, ProcessGroup) or (backend and Backend(backend) != parent.backend):
        chosen_backend = Backend(backend) if backend else parent.backend
        deadline = time.monotonic() + timeout.total_seconds()
        if chosen_backend.upper() in Backend._plugins:
            return _made(chosen_backend, store, rank, len(members), members, timeout, name, text, deadline)
        library_of(_main(BackendConfig(chosen_backend), chosen_backend))
    config = BackendConfig(Backend(backend)) if backend else parent.config
    made = ProcessGroup(
        default.split(members, name),
        backend=str(Backend(backend) if backend else default.name()),
        ranks=members,
        lifeline=world.lifeline,
        timeout=timeout,
        name=name,
        description=text,
        store=store,
        devices=default._devices,
    )
    world.entries[made] = Entry(members, Backend(backend) if backend else parent.backend, config, store, timeout)
    world.names[name] = made
    return made


def destroy_process_group(group: Any = None) -> None:
    """End a group; without one, or with the default group, all of them.

    Raises
    ------
    ValueError
        For a group that is not known.
    """
    if _rank_not_in_group(group):
        return
    assert group is not None or world.default_pg is not None, "Process group cannot be None"
    given = chosen(group)
    entry_of(given)
    ended = list(world.entries) if given is world.default_pg else [given]
    for one in ended:
        if hasattr(one, "shutdown"):
            one.shutdown()
        del world.entries[one]
    world.names = {name: one for name, one in world.names.items() if one not in ended}
    if given is world.default_pg:
        world.default_pg = None
        _end_lifeline()
