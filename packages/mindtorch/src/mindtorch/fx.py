"""``torch.fx``: graphs of programs, which are not supported; there are no proxies, and nothing is being traced."""

from __future__ import annotations

from typing import Any

from ._unsupported import unsupported_class, unsupported_function

__all__ = [
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "Tracer",
    "Transformer",
    "replace_pattern",
    "symbolic_trace",
    "wrap",
]

_REMEDY = "Programs run operator by operator, without a graph."

Graph = unsupported_class("torch.fx.Graph", _REMEDY)
GraphModule = unsupported_class("torch.fx.GraphModule", _REMEDY)
Interpreter = unsupported_class("torch.fx.Interpreter", _REMEDY)
Node = unsupported_class("torch.fx.Node", _REMEDY)
Proxy = unsupported_class("torch.fx.Proxy", _REMEDY)
Tracer = unsupported_class("torch.fx.Tracer", _REMEDY)
Transformer = unsupported_class("torch.fx.Transformer", _REMEDY)

replace_pattern = unsupported_function("torch.fx.replace_pattern", _REMEDY)
symbolic_trace = unsupported_function("torch.fx.symbolic_trace", _REMEDY)


def wrap(fn_or_name: Any) -> Any:
    """Keep a function, given itself or by its name, from being traced into: returns it as it is.

    Raises
    ------
    RuntimeError
        When it is neither.
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    return fn_or_name
