"""``torch._dynamo.testing``: backends that count and keep what they are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .backends.registry import lookup_backend

__all__ = ["CompileCounter", "CompileCounterWithBackend", "EagerAndRecordGraphs"]

_CALLS = ("call_function", "call_method", "call_module")


class CompileCounter:
    """Runs graphs as they are.

    Attributes
    ----------
    frame_count
        How many it was given.
    op_count
        How many calls there were in them.
    """

    def __init__(self) -> None:
        self.clear()

    def __call__(self, gm: Any, example_inputs: list[Any]) -> Callable[..., Any]:
        """Count a graph, and return its ``forward``."""
        self.frame_count += 1
        self.op_count += sum(node.op in _CALLS for node in gm.graph.nodes)
        return gm.forward

    def clear(self) -> None:
        """Begin at zero."""
        self.frame_count = self.op_count = 0


class CompileCounterWithBackend(CompileCounter):
    """As `CompileCounter`, with another backend that makes what runs; it keeps the graphs."""

    def __init__(self, backend: str | Callable[..., Any]) -> None:
        super().__init__()
        self.backend = backend

    def __call__(self, gm: Any, example_inputs: list[Any]) -> Callable[..., Any]:
        """Count and keep a graph, and have the backend compile it."""
        super().__call__(gm, example_inputs)
        self.graphs.append(gm)
        return lookup_backend(self.backend)(gm, example_inputs)

    def clear(self) -> None:
        """Begin at zero, without graphs."""
        super().clear()
        self.graphs: list[Any] = []


class EagerAndRecordGraphs:
    """Runs graphs as they are, and keeps them in `graphs`."""

    def __init__(self) -> None:
        self.graphs: list[Any] = []

    def __call__(self, gm: Any, example_inputs: list[Any]) -> Callable[..., Any]:
        """Keep a graph, and return its ``forward``."""
        self.graphs.append(gm)
        return gm.forward
