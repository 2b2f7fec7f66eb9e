"""``torch.fx.passes.fake_tensor_prop``: what fake tensors tell of each node."""

from __future__ import annotations

from typing import Any

from mt_core import Tensor

from ..._subclasses.fake_tensor import FakeTensorMode
from ..graph_module import GraphModule
from ..interpreter import Interpreter
from ..node import Node, map_aggregate
from .shape_prop import _extract_tensor_metadata

__all__ = ["FakeTensorProp"]


class FakeTensorProp(Interpreter):
    """Runs a graph on fake tensors, and gives each node ``meta["val"]`` and ``meta["tensor_meta"]``.

    Parameters
    ----------
    module
        The module of the graph.
    mode
        The mode of the fake tensors; a new one by default.
    """

    def __init__(self, module: GraphModule, mode: FakeTensorMode | None = None) -> None:
        super().__init__(module)
        self._mode = FakeTensorMode() if mode is None else mode

    def run_node(self, n: Node) -> Any:
        """What a node gives, which is noted."""
        result = super().run_node(n)
        described = False

        def note(value: Any) -> Any:
            nonlocal described
            described = described or isinstance(value, Tensor)
            return value

        map_aggregate(result, note)
        if described:
            n.meta["val"] = result
            n.meta["tensor_meta"] = map_aggregate(
                result,
                lambda v: _extract_tensor_metadata(v) if isinstance(v, Tensor) else v,  # type: ignore[arg-type, return-value]
            )
        return result

    def propagate(self, *args: Any) -> Any:
        """The graph's result on the fake tensors of real ones, its parameters and buffers fake too.

        Raises
        ------
        AssertionError
            For fake tensors of several modes.
        """
        made = [self._mode.from_tensor(a) if isinstance(a, Tensor) else a for a in args]
        return self.propagate_dont_convert_inputs(*made)

    def propagate_dont_convert_inputs(self, *args: Any) -> Any:
        """The graph's result on fake tensors."""
        with self._mode:
            return super().run(*args)
