"""Operators that a kernel carries out whole, differentiated through the composite that they are declared as.

The result is the kernel's. When a gradient arrives, the composite is carried out once more, recorded this time, and its
gradients are taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mt_core.autograd_state import is_grad_enabled
from mt_core.dispatch.registry import Overload
from mt_core.tensor import Tensor

from .api import grad
from .modes import recording
from .node import Node, output_spec
from .recording import DIFFERENTIABLE, make_output, tensors_among
from .saved import refuse_inference, unpack_input, version_of
from .views import edge_of

__all__ = ["RecomputedNode", "record_recomputed"]

Callee = Callable[..., Any]


class RecomputedNode(Node):
    """Differentiates an operator by carrying out its composite."""

    __slots__ = ("arguments", "composite", "sources", "versions")

    #: The operator's name; a class is made for each.
    operator = ""

    def apply(self, grads: Sequence[Any], needed: Sequence[bool] | None) -> Sequence[Any]:
        if self.arguments is None:
            raise RuntimeError(
                "Trying to backward through the graph a second time (or directly access saved tensors after they have "
                "already been freed). Saved intermediate values of the graph are freed when you call .backward() or "
                "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or "
                "if you need to access saved tensors after calling backward."
            )
        for tensor, version in self.versions:
            unpack_input(tensor, version)
        again = is_grad_enabled()
        # Of a first derivative, the history of the sources is no part.
        sources = self.sources if again else [t.detach().requires_grad_() for t in self.sources]
        stand_in = {id(t): s for t, s in zip(self.sources, sources, strict=True)}
        with recording():
            result = self.composite(*[_replaced(value, stand_in) for value in self.arguments])
        outputs = [t for t in tensors_among((result,)) if t._dtype in DIFFERENTIABLE]
        arrived = [(o, g) for o, g in zip(outputs, grads, strict=True) if g is not None and o.requires_grad]
        if not arrived:
            return [None] * len(sources)
        roots, gradients = zip(*arrived, strict=True)
        return grad(roots, sources, gradients, create_graph=again, allow_unused=True)

    def release(self) -> None:
        self.arguments = self.versions = None
        self.sources = []


def _replaced(value: Any, stand_in: dict[int, Tensor]) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_replaced(item, stand_in) for item in value)
    return stand_in.get(id(value), value)


def record_recomputed(overload: Overload, below: Callee, composite: Callee) -> Callee:
    """The recording closure of an operator with a kernel and no rule, which `composite` says in other operators."""
    name = "".join(part.capitalize() for part in overload.packet_name.split("_")) + "Backward0"
    cls = type(name, (RecomputedNode,), {"__slots__": (), "operator": overload.name})

    def record(*args: Any) -> Any:
        tensors = list(tensors_among(args))
        sources = list({id(t): t for t in tensors if t.requires_grad}.values())
        for tensor in tensors:
            refuse_inference(tensor)
        node = cls()
        node.composite, node.arguments, node.sources = composite, args, sources
        node.versions = [(t, version_of(t)) for t in tensors]
        edges = [edge_of(t) for t in sources]
        result = below(*args)
        outputs = [t for t in tensors_among((result,)) if t._dtype in DIFFERENTIABLE]
        node.attach(edges, [output_spec(t) for t in outputs])
        for nr, output in enumerate(outputs):
            make_output(output, node, nr, False)
        return result

    return record
