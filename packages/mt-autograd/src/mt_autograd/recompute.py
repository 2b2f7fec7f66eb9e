"""Operators that a kernel carries out whole, differentiated through the composite that they are declared as.

The result is the kernel's. When a gradient arrives, the composite is carried out once more, recorded this time, and its
gradients are taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mt_core.autograd_state import is_grad_enabled
from mt_core.dispatch.registry import Overload
from mt_core.hollow import is_hollow
from mt_core.keys import PYTHON
from mt_core.random import Generator
from mt_core.random.devices import default_generator_of
from mt_core.tensor import Tensor
from mt_core.tensor_types import tensors_in

from .api import grad
from .inplace import check_inplace, set_history
from .modes import recording
from .node import Node, output_spec
from .recording import DIFFERENTIABLE, make_output
from .saved import refuse_inference, unpack_input, version_of
from .views import ViewGeometry, edge_of

__all__ = ["RecomputedNode", "record_recomputed", "record_recomputed_inplace", "record_view"]

Callee = Callable[..., Any]


class RecomputedNode(Node):
    """Differentiates an operator by carrying out its composite."""

    __slots__ = ("arguments", "composite", "sources", "versions")

    #: The operator's name, and whether it writes to its first argument; a class is made for each.
    operator = ""
    writes = False

    #: What carries the operator out again, and on what; None once released.
    composite: Callee
    arguments: tuple[Any, ...] | None
    #: The tensors whose gradients are wanted, one for each edge.
    sources: list[Tensor]
    #: Each tensor argument with the version that it must still have.
    versions: list[tuple[Tensor, int]] | None

    def apply(self, grads: Sequence[Any], needed: Sequence[bool] | None) -> Sequence[Any]:
        if self.arguments is None:
            raise RuntimeError(
                "Trying to backward through the graph a second time (or directly access saved tensors after they have "
                "already been freed). Saved intermediate values of the graph are freed when you call .backward() or "
                "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or "
                "if you need to access saved tensors after calling backward."
            )
        for tensor, version in self.versions or ():
            unpack_input(tensor, version)
        again = is_grad_enabled()
        # Of a first derivative, the history of the sources is no part; of a second, views keep apart what one source
        # owes to another that it was made from.
        if again:
            sources = [t.view_as(t) for t in self.sources]
        else:
            sources = [t.detach().requires_grad_(_is_source(t)) for t in self.sources]
        stand_in = {id(t): s for t, s in zip(self.sources, sources, strict=True)}
        # Others the composite may write to beside its result, such as running statistics: that was done before.
        for tensor in tensors_in(self.arguments):
            if id(tensor) not in stand_in and tensor._dtype in DIFFERENTIABLE:
                stand_in[id(tensor)] = tensor.clone()
        with self.without_drawing(), recording():
            if self.writes:
                # What is written to is a copy: a composite may write to it itself.
                stand_in[id(self.sources[0])] = sources[0].clone()
            result = self.composite(*[_replaced(value, stand_in) for value in self.arguments])
        outputs = [t for t in tensors_in((result,)) if t._dtype in DIFFERENTIABLE]
        arrived = [(o, g) for o, g in zip(outputs, grads, strict=True) if g is not None and o.requires_grad]
        if not arrived:
            return [None] * len(sources)
        roots, gradients = zip(*arrived, strict=True)
        wanted = [s for s in sources if s.requires_grad]
        found = iter(grad(roots, wanted, gradients, create_graph=again, allow_unused=True))
        return [next(found) if s.requires_grad else None for s in sources]

    @contextmanager
    def without_drawing(self) -> Iterator[None]:
        """Refuse a composite that draws random numbers: they would not be those that the kernel drew."""
        streams = [v for v in self.arguments or () if isinstance(v, Generator)]
        kinds = {t.device.type for t in self.sources if not (is_hollow(t) and t._keys & PYTHON)}
        streams += [default_generator_of(kind, None) for kind in kinds - {"meta"}]
        before = [stream.get_state().tolist() for stream in streams]
        yield
        if [stream.get_state().tolist() for stream in streams] != before:
            raise NotImplementedError(
                f"the derivative for 'aten::{self.operator}' is not implemented: its kernel draws random numbers, "
                "which its parts cannot draw again. Declare it with mt_autograd.rules.derivative"
            )

    def release(self) -> None:
        self.arguments = self.versions = None
        self.sources = []


def _replaced(value: Any, stand_in: dict[int, Tensor]) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_replaced(item, stand_in) for item in value)
    return stand_in.get(id(value), value)


def _is_source(value: Any) -> bool:
    return isinstance(value, Tensor) and value.requires_grad


def _node_class(overload: Overload, writes: bool) -> type[RecomputedNode]:
    name = "".join(part.capitalize() for part in overload.packet_name.split("_")) + "Backward0"
    return type(name, (RecomputedNode,), {"__slots__": (), "operator": overload.name, "writes": writes})


def record_recomputed(overload: Overload, below: Callee, composite: Callee) -> Callee:
    """The recording closure of an operator with a kernel and no rule, which `composite` says in other operators."""
    cls = _node_class(overload, False)

    def record(*args: Any) -> Any:
        node = _node(cls, composite, args, list({id(t): t for t in tensors_in(args) if _is_source(t)}.values()))
        edges = [edge_of(t) for t in node.sources]
        result = below(*args)
        outputs = [t for t in tensors_in((result,)) if t._dtype in DIFFERENTIABLE]
        node.attach(edges, [output_spec(t) for t in outputs])
        for nr, output in enumerate(outputs):
            make_output(output, node, nr, False)
        return result

    return record


def record_recomputed_inplace(overload: Overload, below: Callee, composite: Callee) -> Callee:
    """The same of an operator that writes to its first argument; its old value is kept as a copy."""
    cls = _node_class(overload, True)

    def record(self: Tensor, *others: Any) -> Any:
        check_inplace(self)
        old = self.clone() if _is_source(self) else self.detach().clone()
        sources = {id(t): t for t in tensors_in(others) if _is_source(t) and t is not self}
        node = _node(cls, composite, (old, *[old if v is self else v for v in others]), [old, *sources.values()])
        node.attach([edge_of(self), *[edge_of(t) for t in sources.values()]], [output_spec(self)])
        result = below(self, *others)
        set_history(self, node)
        return result

    return record


def _node(cls: type[RecomputedNode], composite: Callee, args: tuple[Any, ...], sources: list[Tensor]) -> RecomputedNode:
    node = cls()
    tensors = list(tensors_in(args))
    for tensor in tensors:
        refuse_inference(tensor)
    node.composite, node.arguments, node.sources = composite, args, sources
    node.versions = [(t, version_of(t)) for t in tensors]
    return node


def record_view(below: Callee) -> Callee:
    """The recording closure of a kernel that gives views: each is the window of its base that it shows."""

    def record(self: Tensor, *args: Any) -> Any:
        made = below(self, *args)
        for view in made if isinstance(made, (list, tuple)) else (made,):
            if view is not self and view._base is not None and view._dtype in DIFFERENTIABLE:
                with recording():
                    window = ViewGeometry(view, self).replay(self)
                make_output(view, window.grad_fn, window.output_nr, True)
        return made

    return record
