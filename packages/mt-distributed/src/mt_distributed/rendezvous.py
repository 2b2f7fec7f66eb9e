"""How processes find one another: ``env://``, ``tcp://`` and ``file://``."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from .errors import DistNetworkError
from .stores import FileStore, PrefixStore, Store, TCPStore

__all__ = ["register_rendezvous_handler", "rendezvous"]

Handler = Callable[..., Iterator[tuple[Store, int, int]]]
_handlers: dict[str, Handler] = {}
#: Groups that this process made at one address before: ranks that make several keep apart what they say at each.
_rounds: dict[tuple[str, int], int] = {}

DEFAULT = timedelta(minutes=30)


def register_rendezvous_handler(scheme: str, handler: Handler) -> None:
    """Add a way to find one another, for addresses that begin with ``scheme://``.

    Raises
    ------
    RuntimeError
        When there is one for that scheme.
    """
    if scheme in _handlers:
        raise RuntimeError(f"Rendezvous handler for {scheme}:// already registered")
    _handlers[scheme] = handler


def rendezvous(url: str, rank: int = -1, world_size: int = -1, **kwargs: Any) -> Iterator[tuple[Store, int, int]]:
    """Yield a store, this process's rank, and the number of processes.

    Parameters
    ----------
    url
        ``env://``, ``tcp://host:port``, ``file:///path``; rank and world size may stand in its query.
    rank, world_size
        Where the address or the environment does not say.
    kwargs
        ``timeout`` of the store.

    Raises
    ------
    RuntimeError
        For another scheme, or something of both kinds.
    ValueError
        When something that is needed is missing.
    """
    if not isinstance(url, (str, bytes)):
        raise RuntimeError(f"`url` must be a string. {type(url)}: {url}")
    if not isinstance(rank, int) or not isinstance(world_size, int):
        raise RuntimeError(f"`rank` and `world_size` must be integers. {rank}, {world_size}")
    parts = urlsplit(str(url))
    query = dict(parse_qsl(parts.query))
    for name, value in (("rank", rank), ("world_size", world_size)):
        if value != -1:
            assert name not in query, f"The url: {url} has node-specific arguments(rank, world_size) already."
            query[name] = str(value)
    handler = _handlers.get(parts.scheme)
    if handler is None:
        raise RuntimeError(f"No rendezvous handler for {parts.scheme}://")
    joined = "&".join(f"{name}={value}" for name, value in query.items())
    return handler(urlunsplit(parts._replace(query=joined)), **kwargs)


def _missing(how: str, what: str) -> ValueError:
    return ValueError(f"Error initializing torch.distributed using {how} rendezvous: {what}")


def _query(url: str) -> tuple[Any, dict[str, str]]:
    parts = urlsplit(url)
    return parts, dict(parse_qsl(parts.query))


def _is_served_by_launcher() -> bool:
    return os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"


@contextmanager
def naming_server() -> Iterator[None]:
    """Say in errors of the connection to the store whose it is."""
    try:
        yield
    except DistNetworkError as error:
        whose = "the launcher" if _is_served_by_launcher() else "rank 0"
        raise DistNetworkError(f"{error}. The store is {whose}'s: {whose} did not come, or died") from error


def _served(host: str, port: int, rank: int, size: int, timeout: timedelta) -> Store:
    """The store at an address, served from here by the first rank unless whoever started the processes does."""
    if _is_served_by_launcher():
        with naming_server():
            store = TCPStore(host, port, size, False, timeout, wait_for_workers=False)
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        prefix = f"/worker/attempt_{attempt}"
    else:
        # Nobody is waited for here, but where all say who they are: who is missing has a name there.
        with naming_server() if rank != 0 else nullcontext():
            store = TCPStore(host, port, size, rank == 0, timeout, wait_for_workers=False, multi_tenant=True)
        prefix = ""
    number = _rounds[host, port] = _rounds.get((host, port), -1) + 1
    return PrefixStore(f"{prefix}/round_{number}", store)


def _tcp(url: str, timeout: timedelta = DEFAULT, **_: Any) -> Iterator[tuple[Store, int, int]]:
    parts, query = _query(url)
    if parts.port is None:
        raise _missing("tcp://", "port number missing")
    for name, text in (("rank", "rank parameter missing"), ("world_size", "world size parameter missing")):
        if name not in query:
            raise _missing("tcp://", text)
    rank, size = int(query["rank"]), int(query["world_size"])
    if size == 0:
        raise ValueError("TCPStore world size cannot be 0")
    yield _served(parts.hostname or "", parts.port, rank, size, timeout), rank, size


def _env(url: str, timeout: timedelta = DEFAULT, **_: Any) -> Iterator[tuple[Store, int, int]]:
    _, query = _query(url)

    def value(name: str, variable: str) -> int:
        if name in query:
            return int(query[name])
        return int(_variable(variable))

    rank, size = value("rank", "RANK"), value("world_size", "WORLD_SIZE")
    host, port = _variable("MASTER_ADDR"), int(_variable("MASTER_PORT"))
    yield _served(host, port, rank, size, timeout), rank, size


def _variable(name: str) -> str:
    found = os.environ.get(name)
    if found is None:
        raise _missing("env://", f"environment variable {name} expected, but not set")
    return found


def _file(url: str, **_: Any) -> Iterator[tuple[Store, int, int]]:
    parts, query = _query(url)
    if not parts.path:
        raise _missing("file://", "path missing")
    for name, text in (("rank", "rank parameter missing"), ("world_size", "world size parameter missing")):
        if name not in query:
            raise _missing("file://", text)
    rank, size = int(query["rank"]), int(query["world_size"])
    yield FileStore(parts.path, size), rank, size


for _scheme, _handler in (("tcp", _tcp), ("env", _env), ("file", _file)):
    register_rendezvous_handler(_scheme, _handler)
