"""``torch._dynamo``: programs captured as graphs, for backends of ``torch.compile`` that are functions of a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _unsupported
from .._lazy import lazy_submodules
from ..compiler import allow_in_graph as allow_in_graph
from ..compiler import assume_constant_result as assume_constant_result
from ..compiler import disable as disable
from ..compiler import is_compiling as is_compiling
from ..compiler import reset as reset
from ..compiler import substitute_in_graph as substitute_in_graph
from . import exc as exc
from .backends.registry import list_backends as list_backends
from .backends.registry import lookup_backend as lookup_backend
from .backends.registry import register_backend as register_backend
from .decorators import mark_dynamic as mark_dynamic
from .decorators import mark_static as mark_static
from .decorators import mark_static_address as mark_static_address
from .decorators import maybe_mark_dynamic as maybe_mark_dynamic

_submodule, _names = lazy_submodules(
    __name__, "_trace_wrapped_higher_order_op backends config convert_frame decorators eval_frame guards testing utils"
)


def __getattr__(name: str) -> Any:
    if name == "OptimizedModule":  # it loads torch.fx and torch.nn
        return _submodule("eval_frame").OptimizedModule
    return _submodule(name)


def __dir__() -> list[str]:
    return sorted({*_names(), "OptimizedModule"})


export = _unsupported.unsupported_function("torch._dynamo.export", "Use torch.compile with a function of a graph.")


def explain(f: Callable[..., Any], *extra_args: Any, **extra_kwargs: Any) -> Any:
    """What a capture of a call gives: ``explain(f)(*args)``, with the graph or the reason why there is none."""
    from . import eval_frame  # lazy: it loads torch.fx and torch.nn

    return eval_frame.explain(f, *extra_args, **extra_kwargs)


def graph_break(msg: str = "") -> None:
    """Say that a program that comes by here is not to be captured; it runs as it is.

    Raises
    ------
    GraphBreak
        While a program is captured, which ends that.
    """
    if is_compiling():
        raise exc.GraphBreak(f"calls torch._dynamo.graph_break(){f': {msg}' if msg else ''}", is_final=True)


def optimize(
    backend: str | Callable[..., Any] = "inductor",
    *,
    nopython: bool = False,
    guard_export_fn: Callable[..., Any] | None = None,
    guard_fail_fn: Callable[..., Any] | None = None,
    guard_filter_fn: Callable[..., Any] | None = None,
    disable: bool = False,
    dynamic: bool | None = None,
) -> Callable[..., Any]:
    """The decorator ``torch.compile(backend=...)``.

    Raises
    ------
    NotImplementedError
        For functions of guards, which are Python objects of mindtorch's own.
    """
    from .._compile import compile  # lazy: it loads torch.nn

    if guard_export_fn or guard_fail_fn or guard_filter_fn:
        raise _unsupported.refusal("torch._dynamo.optimize with a function of guards", "Leave it out.")
    lookup_backend(backend)
    return compile(backend=backend, fullgraph=nopython, dynamic=dynamic, disable=disable)
