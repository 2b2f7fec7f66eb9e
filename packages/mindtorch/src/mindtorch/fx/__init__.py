"""``torch.fx``: programs as graphs, which can be read, changed, and run again.

`symbolic_trace` runs a module or function once with stand-ins for its inputs, and gives a `GraphModule`: a module that
holds the steps as a `Graph`, and as text.
"""

from __future__ import annotations

from typing import Any

from .._lazy import lazy_submodules
from ._symbolic_trace import PH as PH
from ._symbolic_trace import ProxyableClassMeta as ProxyableClassMeta
from ._symbolic_trace import Tracer as Tracer
from ._symbolic_trace import symbolic_trace as symbolic_trace
from ._symbolic_trace import wrap as wrap
from .graph import CodeGen as CodeGen
from .graph import Graph as Graph
from .graph_module import GraphModule as GraphModule
from .interpreter import Interpreter as Interpreter
from .interpreter import Transformer as Transformer
from .node import Node as Node
from .node import has_side_effect as has_side_effect
from .node import map_arg as map_arg
from .proxy import Proxy as Proxy
from .subgraph_rewriter import replace_pattern as replace_pattern

__all__ = [
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "Tracer",
    "Transformer",
    "has_side_effect",
    "map_arg",
    "replace_pattern",
    "symbolic_trace",
    "wrap",
]

_submodule, _names = lazy_submodules(
    __name__,
    """_pytree _symbolic_trace experimental graph graph_module immutable_collections interpreter node
    operator_schemas passes proxy subgraph_rewriter tensor_type traceback annotate""",
)


def __getattr__(name: str) -> Any:
    return _submodule(name)


def __dir__() -> list[str]:
    return _names()
