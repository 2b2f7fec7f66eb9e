"""``torch._dynamo``: the parts of the compiler that programs touch, in a library that compiles nothing."""

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
from .backends.registry import usable_backend

__getattr__, __dir__ = lazy_submodules(__name__, "_trace_wrapped_higher_order_op backends config eval_frame")

explain = _unsupported.unsupported_function("torch._dynamo.explain", "Nothing is compiled.")
export = _unsupported.unsupported_function("torch._dynamo.export", "Nothing is compiled.")


def graph_break(msg: str = "") -> None:
    """End the graph being compiled here; there is none."""


def mark_dynamic(
    t: Any,
    index: Any,
    *,
    hint_override: int | None = None,
    min: int | None = None,
    max: int | None = None,
    specialize_on: list[Any] | None = None,
) -> None:
    """Expect a dimension to vary between calls of compiled code; there is none."""


def mark_static(t: Any, index: Any = None) -> None:
    """Expect a dimension to stay the same between calls of compiled code; there is none."""


def maybe_mark_dynamic(t: Any, index: Any) -> None:
    """Expect that a dimension may vary between calls of compiled code; there is none."""


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
    """The decorator ``torch.compile(backend=...)``; guards are of graphs, and there are none."""
    from .._compile import compile  # lazy: it loads torch.nn

    usable_backend(lookup_backend(backend))
    return compile(backend=backend, fullgraph=nopython, dynamic=dynamic, disable=disable)
