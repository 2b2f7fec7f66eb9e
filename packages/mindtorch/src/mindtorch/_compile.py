"""``torch.compile``: mindtorch runs operators one by one, so that a compiled program is the program itself.

What clients see is PyTorch's: an `OptimizedModule` around a module, a wrapper around a function, errors for backends
and modes that do not exist.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from mt_nn.modules.module import Module

from ._dynamo.eval_frame import OptimizedModule
from ._dynamo.exc import InvalidBackend
from ._unsupported import refusal

__all__ = ["BACKENDS", "check_backend", "compile"]

#: Backend -> whether it is for debugging. All of them compute the same, and here they do it in the same way.
BACKENDS = {"aot_eager": True, "eager": True, "inductor": False}
default_backend = "inductor"
_MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")


def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
    **kwargs: Any,
) -> Any:
    """Wrap a module or function as ``torch.compile`` does; it runs operator by operator as it would without.

    Without `model` it returns a decorator. With ``disable=True`` it returns `model` itself.

    Raises
    ------
    InvalidBackend
        When there is no backend of that name.
    NotImplementedError
        When the backend is a function: there is no graph to call it with.
    RuntimeError
        For a mode that does not exist, or a mode together with options.
    """
    if model is None:
        return functools.partial(
            compile,
            fullgraph=fullgraph,
            dynamic=dynamic,
            backend=backend,
            mode=mode,
            options=options,
            disable=disable,
            **kwargs,
        )
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if disable:
        return model
    check_backend(default_backend if backend is None else backend)
    if mode is not None and mode not in _MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}")
    if isinstance(model, Module):
        return OptimizedModule(model)
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    return model if isinstance(model, type) else _wrapped(model)


def check_backend(backend: str | Callable[..., Any]) -> None:
    """Accept the name of a backend in `BACKENDS`.

    Raises
    ------
    InvalidBackend, NotImplementedError
        As `compile`.
    """
    if callable(backend):
        raise refusal(
            "A function as the backend of torch.compile", "Programs run operator by operator, without a graph."
        )
    if backend not in BACKENDS:
        raise InvalidBackend(name=backend)


def _wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def compile_wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    vars(compile_wrapper)["_torchdynamo_orig_callable"] = function
    return compile_wrapper
