"""Which node stands for a symbolic number while operators are traced.

A number is known by its expression. Sizes are read when they are first used, and what is computed of them is written
when it is computed; what is part of nothing is removed at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mt_core import Tensor, pytree
from mt_core.symbolic import SYMBOLIC, is_symbolic, plain
from mt_library.ops import ops

from ..proxy import Proxy

__all__ = ["SymbolicSlots", "note_layout"]


class SymbolicSlots:
    """Expression -> the proxy that stands for it, or what makes one.

    Parameters
    ----------
    tracer
        Whose graph the nodes are of.
    """

    def __init__(self, tracer: Any) -> None:
        self._tracer = tracer
        self._known: dict[Any, Proxy | Callable[[], Proxy]] = {}
        self._made: set[Any] = set()
        #: The same, of what is asked for where nothing else is known.
        self._last: dict[Any, Callable[[], Proxy]] = {}

    def enter(self, number: Any, proxy: Proxy | Callable[[], Proxy]) -> None:
        """Have a proxy, or what makes one, stand for a symbolic number, unless one does already."""
        if is_symbolic(plain(number)):
            self._known.setdefault(number.node.expr, proxy)

    def enter_last(self, number: Any, make: Callable[[], Proxy]) -> None:
        """Have what makes a proxy stand for a symbolic number that no size is, and that nothing computes."""
        if is_symbolic(plain(number)):
            self._last.setdefault(number.node.expr, make)

    def note(self, function: Any, args: tuple[Any, ...], made: Any) -> None:
        """Note that a function of symbolic numbers made another one."""
        if is_symbolic(plain(made)):
            expr = made.node.expr
            if expr not in self._known and all(map(self._is_known, args)):
                self._known[expr] = self._call(function, args, made)

    def _is_known(self, value: Any) -> bool:
        if isinstance(value, (tuple, list)):
            return all(map(self._is_known, value))
        return not is_symbolic(plain(value)) or self.knows(value)

    def erase_unused(self) -> None:
        """Remove nodes of numbers that are part of nothing."""
        for node in reversed(list(self._tracer.graph.nodes)):
            if node in self._made and not node.users:
                self._tracer.graph.erase_node(node)

    def _call(self, function: Any, args: tuple[Any, ...], made: Any) -> Proxy:
        return self._named(self._tracer.create_proxy("call_function", function, self.arguments(args), {}), made)

    def _named(self, proxy: Proxy, made: Any) -> Proxy:
        proxy.node.meta["val"] = made
        self._made.add(proxy.node)
        return proxy

    def arguments(self, values: Any) -> Any:
        """Arguments with proxies in place of symbolic numbers."""
        return pytree.tree_map_only(SYMBOLIC, self.proxy_of, values)

    def knows(self, number: Any) -> bool:
        """Whether a proxy stands for a symbolic number, or can be made for it."""
        return number.node.expr in self._known or number.node.expr in self._last

    def proxy_of(self, number: Any) -> Any:
        """The proxy of a symbolic number; the number itself where it is constant."""
        number = plain(number)
        if not is_symbolic(number):
            return number
        expr = number.node.expr
        found = self._known.get(expr, self._last.get(expr))
        if found is None:
            found = self._composed(number)
        if not isinstance(found, Proxy):
            found = found()
        self._known[expr] = found
        return found

    def _composed(self, number: Any) -> Proxy:
        """Nodes for an expression that shape rules computed, out of those of its symbols.

        Raises
        ------
        RuntimeError
            For a symbol that no argument has.
        """
        from ._interpreted import interpreted  # late: with sympy

        env = number.node.shape_env

        def of_symbol(symbol: Any) -> Any:
            if symbol not in self._known and symbol not in self._last:
                raise RuntimeError(f"{symbol} is not tracked with proxy for {self._tracer}")
            return env.wrap(symbol)

        return self.proxy_of_recomputed(interpreted(number.node.expr, of_symbol, self.note), number)

    def proxy_of_recomputed(self, computed: Any, number: Any) -> Proxy:
        """The proxy of a number that was computed once more, step by step."""
        found = self._known.get(computed.node.expr)
        if found is None or computed.node.expr != number.node.expr:
            raise RuntimeError(f"{number} cannot be written as a graph of operators")
        return found if isinstance(found, Proxy) else found()


def note_layout(slots: SymbolicSlots, tensor: Tensor, proxy: Proxy) -> None:
    """Have the sizes, strides and offset of a tensor read off the node that stands for it."""
    aten, tracer = ops.aten, slots._tracer

    def reader(value: Any, operator: Any, *more: int) -> Callable[[], Proxy]:
        return lambda: slots._named(tracer.create_proxy("call_function", operator, (proxy, *more), {}), value)

    for i, size in enumerate(tensor.shape):
        slots.enter(size, reader(size, aten.sym_size.int, i))
    for i, step in enumerate(tensor.stride()):
        slots.enter_last(step, reader(step, aten.sym_stride.int, i))
    slots.enter_last(tensor.numel(), reader(tensor.numel(), aten.sym_numel.default))
    slots.enter_last(tensor.storage_offset(), reader(tensor.storage_offset(), aten.sym_storage_offset.default))
