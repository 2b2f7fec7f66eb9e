"""``torch.fx.passes.graph_transform_observer``: passes that are run under a name."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TypeVar

from ..._unsupported import refusal
from ..graph import Graph
from ..graph_module import GraphModule

__all__ = ["GraphTransformObserver"]

T = TypeVar("T")


class GraphTransformObserver:
    """Context manager around a pass over a graph, and what runs one.

    Raises
    ------
    NotImplementedError
        For `log_url`: graphs are not drawn.
    """

    _count = 0

    def __init__(
        self, gm: GraphModule, passname: str, subsystem: str | None = None, log_url: str | None = None
    ) -> None:
        if log_url is not None:
            raise refusal("GraphTransformObserver(log_url=...)", "GraphModule.print_readable prints a graph.")
        self.gm, self.passname, self.subsystem, self.log_url = gm, passname, subsystem, log_url
        self.active = False
        type(self)._count += 1

    @classmethod
    def get_current_pass_count(cls) -> int:
        """How many there have been."""
        return GraphTransformObserver._count

    def apply_gm_pass(self, pass_fn: Callable[[GraphModule], T]) -> T:
        """What a pass over the module gives."""
        with self:
            return pass_fn(self.gm)

    def apply_graph_pass(self, pass_fn: Callable[[Graph], T]) -> T:
        """What a pass over its graph gives."""
        with self:
            return pass_fn(self.gm.graph)

    def __enter__(self) -> GraphTransformObserver:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None
