"""``torch._dynamo.backends.registry``: which backends ``torch.compile`` has, by name.

There are three kinds. The ones that are here run a program as it is. Other distributions provide compilers of
programs, by entry points (`mt_core.plugins.program_protocols.Compiler`). And programs register functions from a graph
and example inputs to what runs in its place: for these, programs are captured as graphs (`eval_frame.CapturedProgram`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from mt_core.plugins.discovery import names_in

from ..._unsupported import refusal
from ..exc import InvalidBackend

__all__ = [
    "Backend",
    "list_backends",
    "lookup_backend",
    "register_backend",
    "register_debug_backend",
    "register_experimental_backend",
]


class Backend:
    """A backend that `torch.compile` can use: one of those that are here, or one of another distribution.

    Looked up, it stands for its name: ``backend=lookup_backend("eager")`` is ``backend="eager"``.
    """

    def __init__(self, name: str, provided: bool = False) -> None:
        self.__name__ = name
        self.provided = provided

    def __repr__(self) -> str:
        return f"<backend {self.__name__!r} of torch.compile>"

    def __call__(self, gm: Any, example_inputs: Sequence[Any], **kwargs: Any) -> Any:
        """What runs in the place of a graph: here, the graph's own ``forward``, as "eager" has it.

        Raises
        ------
        NotImplementedError
            For the backends that do not run a graph as it is.
        """
        if self.__name__ != "eager" or kwargs:
            raise refusal(f"Calling the backend {self.__name__!r} with a graph", "Give its name to torch.compile.")
        return gm.forward


#: The backends that are here -> tags. All of them compute the same, and here they do it in the same way.
_OWN: dict[str, tuple[str, ...]] = {"aot_eager": ("debug",), "eager": ("debug",), "inductor": ()}
#: Functions that programs registered, and their tags.
_registered: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {}


def register_backend(
    compiler_fn: Callable[..., Any] | None = None, name: str | None = None, tags: Sequence[str] = ()
) -> Any:
    """Give a function from a graph and example inputs a name, its own by default; without function, a decorator.

    Raises
    ------
    AssertionError
        When it is not callable, or the name is taken.
    """
    if compiler_fn is None:
        return functools.partial(register_backend, name=name, tags=tags)
    if not callable(compiler_fn):
        raise AssertionError(f"compiler_fn must be callable, got {type(compiler_fn)}")
    chosen = name or compiler_fn.__name__
    if chosen in _tags_by_name():
        raise AssertionError(f"duplicate name: {chosen}")
    _registered[chosen] = compiler_fn, tuple(tags)
    return compiler_fn


register_debug_backend = functools.partial(register_backend, tags=("debug",))
register_experimental_backend = functools.partial(register_backend, tags=("experimental",))


def _tags_by_name() -> dict[str, tuple[str, ...]]:
    provided = dict.fromkeys(names_in("mindtorch.compilers"), ())
    return {**provided, **{name: tags for name, (_, tags) in _registered.items()}, **_OWN}


def list_backends(exclude_tags: Sequence[str] | None = ("debug", "experimental")) -> list[str]:
    """The names of all backends but those with a tag of `exclude_tags`."""
    excluded = set(exclude_tags or ())
    return sorted(name for name, tags in _tags_by_name().items() if not excluded.intersection(tags))


def lookup_backend(compiler_fn: str | Callable[..., Any]) -> Callable[..., Any]:
    """The backend of a name; a function is returned as it is.

    Raises
    ------
    InvalidBackend
        When there is none of that name, or it is neither a name nor a function.
    """
    if callable(compiler_fn):
        return compiler_fn
    if compiler_fn in _registered:
        return _registered[compiler_fn][0]
    if compiler_fn not in _tags_by_name():
        raise InvalidBackend(name=compiler_fn)
    return Backend(compiler_fn, provided=compiler_fn not in _OWN)
