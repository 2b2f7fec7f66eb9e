"""``torch.fx.passes.shape_prop``: runs a graph and notes what tensor each node gives."""

from __future__ import annotations

import sys
import traceback
from typing import Any, NamedTuple

import mt_core
from mt_core import Tensor
from mt_nn import Module

from ..graph_module import GraphModule
from ..interpreter import Interpreter
from ..node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What is known of a tensor without its elements."""

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


_FORMATS = (mt_core.contiguous_format, mt_core.channels_last, mt_core.channels_last_3d)


def _extract_tensor_metadata(result: Tensor, include_contiguity: bool = True) -> TensorMetadata:
    """What is known of a tensor; its memory format is the first that it has."""
    found = None
    if include_contiguity:
        found = next((form for form in _FORMATS if _has_format(result, form)), None)
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, result.stride(), found, False, {})


def _has_format(tensor: Tensor, form: Any) -> bool:
    rank = {mt_core.channels_last: 4, mt_core.channels_last_3d: 5}.get(form)
    return rank in (None, tensor.dim()) and tensor.is_contiguous(memory_format=form)


class ShapeProp(Interpreter):
    """Runs a graph node by node, and gives each node ``meta["tensor_meta"]`` and ``meta["type"]``.

    Parameters
    ----------
    gm
        The module.
    fake_mode
        Not supported.
    """

    def __init__(self, gm: GraphModule | Module, fake_mode: Any = None) -> None:
        super().__init__(gm)
        if fake_mode is not None:
            raise NotImplementedError("torch.fx.passes.shape_prop.ShapeProp(fake_mode) is not supported by mindtorch.")

    def run_node(self, n: Node) -> Any:
        """The value of a node, noted in its `meta`.

        Raises
        ------
        RuntimeError
            When the node fails; it names the node.
        """
        try:
            result = super().run_node(n)
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            raise RuntimeError(f"ShapeProp error for: node={n.format_node()} with meta={n.meta}") from error
        found = False

        def describe(value: Any) -> Any:
            nonlocal found
            if not isinstance(value, Tensor):
                return value
            found = True
            return _extract_tensor_metadata(value)

        meta = map_aggregate(result, describe)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the module with inputs; returns its output."""
        return super().run(*args)
