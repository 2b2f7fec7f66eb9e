"""``torch._functorch.compilers``: compilers of graphs that leave them as they are."""

from __future__ import annotations

from typing import Any

from .._unsupported import unsupported_function
from ..fx.graph_module import GraphModule
from ._aot_autograd.utils import make_boxed_func

__all__ = [
    "debug_compile", "draw_graph_compile", "memory_efficient_fusion", "nop", "print_compile", "ts_compile",
]  # fmt: skip


def nop(fx_g: GraphModule, _: Any) -> Any:
    """The graph itself."""
    return make_boxed_func(fx_g.forward)


def print_compile(fx_g: GraphModule, _: Any) -> Any:
    """The graph itself, after its code was printed."""
    print(fx_g.code)
    return make_boxed_func(fx_g.forward)


_NO_TORCHSCRIPT = "It compiles by TorchScript; give a compiler of your own, or nop."

ts_compile = unsupported_function("torch._functorch.compilers.ts_compile", _NO_TORCHSCRIPT)
debug_compile = unsupported_function("torch._functorch.compilers.debug_compile", _NO_TORCHSCRIPT)
memory_efficient_fusion = unsupported_function("torch._functorch.compilers.memory_efficient_fusion", _NO_TORCHSCRIPT)
draw_graph_compile = unsupported_function("torch._functorch.compilers.draw_graph_compile", "It draws by Graphviz.")
