"""``torch.compile``: mindtorch runs operators one by one, so that a compiled program is the program itself.

What clients see is PyTorch's: an `OptimizedModule` around a module, a wrapper around a function, errors for backends,
modes and options that do not exist. A distribution may provide a backend that does compile, by an entry point of the
group ``mindtorch.compilers`` (`mt_core.plugins.program_protocols.Compiler`).
"""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mt_core.plugins.discovery import find_compiler, names_in
from mt_nn.modules.module import Module

from ._dynamo.eval_frame import CompiledOnce, OptimizedModule
from ._dynamo.exc import InvalidBackend
from ._unsupported import refusal

__all__ = ["BACKENDS", "check_backend", "compile", "provided_backends"]

#: Backend -> whether it is for debugging. All of them compute the same, and here they do it in the same way.
BACKENDS = {"aot_eager": True, "eager": True, "inductor": False}
default_backend = "inductor"
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
    """Wrap a module or function as ``torch.compile`` does; it runs operator by operator as it would without.

    Without `model` it returns a decorator. With ``disable=True`` it returns `model` itself. The other arguments say how
    to make and keep graphs, of which there are none. Only a backend of another distribution is given them.

    Raises
    ------
    InvalidBackend
        When there is no backend of that name.
    NotImplementedError
        When the backend is a function: there is no graph to call it with.
    RuntimeError
        For a mode that does not exist, an option that does not exist or has another type, or a mode together with
        options.
    """
    settings: dict[str, Any] = {"fullgraph": fullgraph, "dynamic": dynamic, "mode": mode, "options": options}
    if model is None:
        return functools.partial(
            compile,
            backend=backend,
            name=name,
            disable=disable,
            recompile_limit=recompile_limit,
            isolate_recompiles=isolate_recompiles,
            shapes_spec=shapes_spec,
            **settings,
        )
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    chosen = check_backend(default_backend if backend is None else backend)
    _check_settings(chosen, mode, options)
    if disable:
        return model
    compiler = find_compiler(chosen) if chosen not in BACKENDS else None
    if isinstance(model, Module):
        return OptimizedModule(model, compiler and functools.partial(compiler.compile, **settings))
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    if isinstance(model, type):
        return model
    return _wrapped(model, compiler and functools.partial(compiler.compile, **settings))


def provided_backends() -> list[str]:
    """Names of the backends that other distributions provide."""
    return names_in("mindtorch.compilers")


def check_backend(backend: str | Callable[..., Any]) -> str:
    """The name of a backend that there is.

    Raises
    ------
    InvalidBackend, NotImplementedError
        As `compile`.
    """
    if callable(backend):
        raise refusal(
            "A function as the backend of torch.compile", "Programs run operator by operator, without a graph."
        )
    if not isinstance(backend, str) or (backend not in BACKENDS and backend not in provided_backends()):
        raise InvalidBackend(name=backend)
    return backend


def _check_settings(backend: str, mode: str | None, options: dict[str, Any] | None) -> None:
    """As PyTorch, the backend for production checks what it is given, and those for debugging say that they do not.

    Backends of other distributions check for themselves.
    """
    if backend == "inductor":
        _check_mode(mode)
        _check_options(options)
    elif backend in BACKENDS:
        given = {key: value for key, value in (("mode", mode), ("options", options)) if value}
        if given:
            _log.warning("%s backend ignoring extra kwargs %s", backend, given)


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


def _wrapped(
    function: Callable[..., Any], compile_function: Callable[..., Callable[..., Any]] | None
) -> Callable[..., Any]:
    run = function if compile_function is None else CompiledOnce(function, compile_function)

    @functools.wraps(function)
    def compile_wrapper(*args: Any, **kwargs: Any) -> Any:
        return run(*args, **kwargs)

    vars(compile_wrapper)["_torchdynamo_orig_callable"] = function
    return compile_wrapper
