"""``torch.compile``: programs captured as graphs for backends that are functions, and run as they are for the others.

What clients see is PyTorch's: an `OptimizedModule` around a module, a wrapper around a function, errors for backends,
modes and options that do not exist. A backend that is a function is given a graph (`_dynamo.eval_frame`). A
distribution may provide a backend that does compile, by an entry point of the group ``mindtorch.compilers``
(`mt_core.plugins.program_protocols.Compiler`).
"""

import functools
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mt_core.plugins.discovery import find_compiler

from ._dynamo.backends.registry import Backend, lookup_backend
from ._dynamo.eval_frame import CapturedProgram, CheckedProgram, OptimizeContext
from ._unsupported import refusal

__all__ = ["compile"]

default_backend: str | Callable[..., Any] = "inductor"
_MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
_TYPES: dict[str, type] = {kind.__name__: kind for kind in (bool, int, float, str, tuple, list)}

_log = logging.getLogger("torch._dynamo")


def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> Any:
    """Wrap a module or function as ``torch.compile`` does.

    A backend that is a function gets the program as a graph, at each call that the graphs so far do not serve, and what
    it returns runs in the program's place; a program that cannot be captured runs as it is, or raises with `fullgraph`.
    With the backends by name that are here a program runs operator by operator as it would without; with `fullgraph`
    it is looked at first, and refused where it branches on elements, or does what else no graph holds. A backend of
    another distribution is given the arguments that are set.

    Without `model` it returns a decorator. With ``disable=True`` it returns `model` itself.

    Raises
    ------
    InvalidBackend
        When there is no backend of that name.
    NotImplementedError
        When there are `shapes_spec`: calls are not compared with them. When the backend is a function, for
        `isolate_recompiles`.
    RuntimeError
        For a mode that does not exist, an option that does not exist or has another type, or a mode together with
        options.
    AssertionError
        When `dynamic` is no bool, or `model` cannot be called.
    """
    settings: dict[str, Any] = {"fullgraph": fullgraph, "dynamic": dynamic, "mode": mode, "options": options}
    limits: dict[str, Any] = {"recompile_limit": recompile_limit, "isolate_recompiles": isolate_recompiles}
    if model is None:
        return functools.partial(
            compile, backend=backend, name=name, disable=disable, shapes_spec=shapes_spec, **limits, **settings
        )
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    found = lookup_backend(default_backend if backend is None else backend)
    _check_settings(found, mode, options)
    _check_shapes(dynamic, shapes_spec)
    if disable:
        return model
    return OptimizeContext(_compiler_of(found, settings, {"name": name, **limits}))(model)


def _compiler_of(found: Any, settings: dict[str, Any], others: dict[str, Any]) -> Callable[..., Any] | None:
    """What makes a program of a program; None where it runs as it is."""
    if not isinstance(found, Backend):
        return functools.partial(CapturedProgram, backend=found, **_capture_settings(settings, others))
    if not found.provided:
        limit = others["recompile_limit"]
        return functools.partial(CheckedProgram, recompile_limit=limit) if settings["fullgraph"] else None
    given = {key: value for key, value in others.items() if value is not None and value is not False}
    return functools.partial(find_compiler(found.__name__).compile, **settings, **given)


def _capture_settings(settings: dict[str, Any], others: dict[str, Any]) -> dict[str, Any]:
    if others["isolate_recompiles"]:
        raise refusal("torch.compile(isolate_recompiles=True)", "Leave it out: limits count for each program.")
    given = {key: settings[key] for key in ("mode", "options") if settings[key]}
    taken = {name: settings[name] for name in ("fullgraph", "dynamic")}
    return {**taken, "recompile_limit": others["recompile_limit"], **given}


def _check_shapes(dynamic: bool | None, shapes_spec: Any) -> None:
    if not isinstance(dynamic, (bool, type(None))):
        raise AssertionError(f"Expected enable to be a bool, got {type(dynamic)}")
    if shapes_spec is not None:
        raise refusal("torch.compile(shapes_spec=...)", "Shapes of calls are not compared with it.")


def _check_settings(backend: Callable[..., Any], mode: str | None, options: dict[str, Any] | None) -> None:
    """As PyTorch, the backend for production checks what it is given, and those for debugging say that they do not.

    Others check for themselves.
    """
    if not isinstance(backend, Backend) or backend.provided:
        return
    if backend.__name__ == "inductor":
        _check_mode(mode)
        _check_options(options)
    else:
        _say_ignored(backend, {key: value for key, value in (("mode", mode), ("options", options)) if value})


def _say_ignored(backend: Backend, given: dict[str, Any]) -> None:
    if given:
        _log.warning("%s backend ignoring extra kwargs %s", backend.__name__, given)


def _check_mode(mode: str | None) -> None:
    if mode is not None and mode not in _MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}")


@functools.cache
def _known_options() -> dict[str, str | None]:
    """Option -> the name of its type, where that is checked."""
    return json.loads(Path(__file__).with_name("_inductor_options.json").read_text())


def _check_options(options: dict[str, Any] | None) -> None:
    for key, value in (options or {}).items():
        name = key.replace("-", "_")
        if name not in _known_options():
            raise RuntimeError(f"Unexpected optimization option {key}, known options are {list(_known_options())}")
        kind = _known_options()[name]
        if kind is not None and not isinstance(value, _TYPES[kind]):
            raise RuntimeError(f"Unexpected type of attr {key}, got {type(value).__name__} should be {kind}")
