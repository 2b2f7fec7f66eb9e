"""``torch.fx.proxy``: stand-ins for values, which record what a program does to them."""

from __future__ import annotations

import copy
import dataclasses
import dis
import enum
import operator
import sys
import traceback
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any

from mt_core import Tensor, device, dtype, formats
from mt_core.pytree.nodes import is_namedtuple_instance
from mt_nn import Parameter

from . import traceback as fx_traceback
from ._operators import MAGIC, REFLECTABLE
from .graph import Graph
from .node import Node, map_aggregate

__all__ = [
    "Attribute",
    "GraphAppendingTracer",
    "ParameterProxy",
    "Proxy",
    "Scope",
    "ScopeContextManager",
    "TraceError",
    "TracerBase",
]


class TraceError(ValueError):
    """Raised where a program does what cannot be recorded, such as asking a stand-in for its truth."""


class Scope:
    """Where in the modules a node is made: the module's path and class."""

    def __init__(self, module_path: str, module_type: Any) -> None:
        self.module_path = module_path
        self.module_type = module_type


class ScopeContextManager:
    """Context manager: a tracer's scope is another one."""

    def __init__(self, scope: Scope, current_scope: Scope) -> None:
        self._prev_scope = copy.copy(scope)
        scope.module_path = current_scope.module_path
        scope.module_type = current_scope.module_type
        self._scope = scope

    def __enter__(self) -> Scope:
        return self._scope

    def __exit__(self, *args: object) -> None:
        self._scope.module_path = self._prev_scope.module_path
        self._scope.module_type = self._prev_scope.module_type


#: What may be an argument of a node as it is.
base_types = (
    str, int, float, bool, complex, dtype, Tensor, device, formats.memory_format, formats.layout, type(None), type(...),
)  # fmt: skip


class TracerBase:
    """Makes nodes of what is done to its proxies.

    Attributes
    ----------
    record_stack_traces
        Note in ``meta["stack_trace"]`` where the program made each node.
    trace_asserts
        Record ``assert`` statements about proxies.
    proxy_buffer_attributes
        Record that buffers are read, as it is done for parameters.
    traced_func_name
        Which method of a module is traced.
    """

    graph: Graph
    scope: Scope
    module_stack: dict[str, Any]
    node_name_to_scope: dict[str, tuple[str, Any]]
    record_stack_traces: bool = False
    _record_forward_stack_traces_only: bool = False
    check_mutable_operations: bool = False
    trace_asserts: bool = False
    proxy_buffer_attributes: bool = False
    traced_func_name: str = "forward"

    def create_node(
        self,
        kind: str,
        target: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A node of the graph, with what is known of where it is made."""
        if kind == "call_function" and self.check_mutable_operations:
            from .operator_schemas import check_for_mutable_operation  # lazy: it loads the schemas

            check_for_mutable_operation(target, args, kwargs)
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        self.node_name_to_scope[node.name] = (self.scope.module_path, self.scope.module_type)
        if fx_traceback.has_preserved_node_meta():
            node.meta.update({k: copy.copy(v) for k, v in fx_traceback.get_current_meta().items()})
        elif self.module_stack:
            node.meta["nn_module_stack"] = copy.copy(self.module_stack)
        if self.record_stack_traces and not node.stack_trace:
            stack = _user_stack(self._record_forward_stack_traces_only)
            if stack:
                node.stack_trace = stack
        return node

    def proxy(self, node: Node) -> Proxy:
        """The stand-in for the value of a node."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Proxy:
        """A node whose arguments may hold proxies, and the stand-in for its value."""
        taken, named = self.create_arg(args), self.create_arg(kwargs)
        if not isinstance(taken, tuple):
            raise AssertionError(f"Expected args_ to be tuple, got {type(taken)}")
        if not isinstance(named, dict):
            raise AssertionError(f"Expected kwargs_ to be dict, got {type(named)}")
        node = self.create_node(kind, target, taken, named, name, type_expr)
        return (proxy_factory_fn or self.proxy)(node)

    def create_arg(self, a: Any) -> Any:
        """A value as argument of a node: proxies become their nodes.

        Raises
        ------
        NotImplementedError
            For values of classes that arguments cannot have.
        """
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            items = [self.create_arg(item) for item in a]
            return type(a)(*items) if is_namedtuple_instance(a) else tuple(items)
        if isinstance(a, list):
            return [self.create_arg(item) for item in a]
        if isinstance(a, dict):
            return {self._key(key): self.create_arg(value) for key, value in a.items()}
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, range):
            return range(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        return self._constant_arg(a)

    def _key(self, key: Any) -> Any:
        made = self.create_arg(key)

        def refuse(node: Any) -> Any:
            if isinstance(node, Node):
                raise RuntimeError(f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {made}")
            return node

        return map_aggregate(made, refuse)

    def _constant_arg(self, a: Any) -> Any:
        if isinstance(a, base_types) or isinstance(a, enum.Enum) or hasattr(a, "_schema") or hasattr(a, "overloads"):
            return a
        if dataclasses.is_dataclass(a) and not isinstance(a, type):
            values = {field.name: self.create_arg(getattr(a, field.name)) for field in dataclasses.fields(a)}
            return self.create_node("call_function", type(a), (), values)
        raise NotImplementedError(f"argument of type: {type(a)}")

    # What a tracer may decide otherwise

    def to_bool(self, obj: Proxy) -> bool:
        """The truth of a proxy, which is not known."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """The items of a proxy, of which the number is not known."""
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or "
            "**kwargs function argument. See the torch.fx docs on pytorch.org for a more detailed explanation of what "
            "types of control flow can be traced, and check out the Proxy docstring for help troubleshooting Proxy "
            "iteration errors"
        )

    def keys(self, obj: Proxy) -> Any:
        """What ``**`` is to go through: a step that asks the value."""
        return Attribute(obj, "keys")()


_HERE = __file__.rpartition("proxy")[0]


def _user_stack(forward_only: bool) -> str:
    """The frames of the program that is traced, without those of tracing."""
    frames = traceback.extract_stack()
    tracing = max((i for i, f in enumerate(frames) if f.name == "trace" and f.filename.startswith(_HERE)), default=-1)
    kept = [f for f in frames[tracing + 1 :] if not f.filename.startswith(_HERE)]
    if forward_only:
        kept = [f for f in kept if f.name == "forward"] or kept
    return "".join(traceback.StackSummary.from_list(kept).format()).strip()


class GraphAppendingTracer(TracerBase):
    """Adds what is done to proxies at the end of a graph."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph
        self.scope = Scope("", None)
        self.module_stack = {}
        self.node_name_to_scope = {}


def _record_assert(condition: Any) -> None:
    """What the graph holds of an ``assert`` statement."""
    if not condition:
        raise AssertionError("Assertion failed")


assert_fn = _record_assert


class Proxy:
    """Stands for the value of a node while a program is traced: each operation on it becomes a node.

    Parameters
    ----------
    node
        The node.
    tracer
        Who makes nodes; without one they are added at the end of the node's graph.
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Attribute:
        # Nothing is added to the graph yet: a call makes one node of both.
        return Attribute(self, k)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = state

    def __deepcopy__(self, memo: dict[int, Any]) -> Proxy:
        # Attributes that are asked for are steps of the graph, so the copy is made by hand.
        known = {key: copy.deepcopy(value, memo) for key, value in self.__dict__.items()}
        made = Proxy(known["node"], known["tracer"])
        made.__dict__.update(known)
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        count = _unpacked(sys._getframe(1))
        if count is not None:
            return (self[i] for i in range(count))  # type: ignore[index]
        return self.tracer.iter(self)

    def __abs__(self) -> Proxy:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self) -> bool:
        if self.tracer.trace_asserts and _is_in_assert(sys._getframe(1)):
            self.tracer.create_proxy("call_function", assert_fn, (self,), {})
            return True
        return self.tracer.to_bool(self)

    def keys(self) -> Any:
        """What ``**proxy`` goes through; the tracer decides."""
        return self.tracer.keys(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
            "torch.fx.wrap('len') at module scope"
        )

    @classmethod
    def __torch_function__(cls, orig_method: Any, types: Any, args: Any = None, kwargs: Any = None) -> Any:
        """Record a function of ``torch`` that a proxy is given to."""
        args, kwargs = args or (), kwargs or {}
        tracer = _tracer_of(orig_method, args, kwargs)
        if _is_tensor_member(orig_method):
            return tracer.create_proxy("call_method", orig_method.__name__, args, kwargs)
        name = tracer.graph._target_to_str(orig_method.__name__)
        return tracer.create_proxy("call_function", orig_method, args, kwargs, name=name)


def _is_tensor_member(function: Any) -> bool:
    from ..overrides import is_tensor_method_or_property  # lazy: it lists all functions

    return is_tensor_method_or_property(function)


def _tracer_of(orig_method: Any, args: Any, kwargs: Any) -> TracerBase:
    tracers: dict[Any, None] = {}

    def note(a: Any) -> Any:
        if isinstance(a, Proxy):
            tracers.setdefault(a.tracer)
        return a

    map_aggregate(args, note)
    map_aggregate(kwargs, note)
    if len(tracers) > 1:
        raise RuntimeError(
            f"Found multiple different tracers {list(tracers)} while trying to trace operations {orig_method}"
        )
    return next(iter(tracers))


def _instruction(frame: FrameType) -> tuple[list[dis.Instruction], int]:
    """The instructions of a frame, and which of them runs."""
    code: CodeType = frame.f_code
    listed = list(dis.get_instructions(code))
    return listed, next(i for i, one in enumerate(listed) if one.offset == frame.f_lasti)


def _unpacked(frame: FrameType) -> int | None:
    """Into how many values a frame unpacks just now, ``a, b = proxy``; None where it does something else."""
    listed, at = _instruction(frame)
    return listed[at].argval if listed[at].opname == "UNPACK_SEQUENCE" else None


def _is_in_assert(frame: FrameType) -> bool:
    """Whether a frame asks for a truth because of an ``assert``."""
    listed, at = _instruction(frame)
    while at < len(listed) and not listed[at].opname.startswith("POP_JUMP"):
        at += 1
    follows = next((one for one in listed[at + 1 :] if one.opname not in ("CACHE", "NOP", "NOT_TAKEN")), None)
    return follows is not None and (follows.opname == "LOAD_ASSERTION_ERROR" or "AssertionError" in str(follows.argval))


class Attribute(Proxy):
    """An attribute of a proxy; it becomes a node when it is used otherwise than called."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root = root
        self.attr = attr
        self.tracer = root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node that reads it; made when first asked for."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """Stands for a parameter, of which the shape is known."""

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Parameter) -> None:
        super().__init__(node, tracer)
        if not isinstance(param, Parameter):
            raise AssertionError(f"Expected Parameter, got {type(param)}")
        self.param = param
        self.name = name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        """The shape of the parameter."""
        return self.param.shape

    def size(self) -> Any:
        """The shape of the parameter."""
        return self.param.size()

    def dim(self) -> int:
        """How many dimensions the parameter has."""
        return self.param.dim()

    @property
    def ndim(self) -> int:
        """How many dimensions the parameter has."""
        return self.param.ndim

    def numel(self) -> int:
        """How many elements the parameter has."""
        return self.param.numel()

    def nelement(self) -> int:
        """How many elements the parameter has."""
        return self.param.nelement()


# Operators


def _forward_operator(name: str) -> Callable[..., Proxy]:
    target = getattr(operator, name)

    def impl(*args: Any, **kwargs: Any) -> Proxy:
        return args[0].tracer.create_proxy("call_function", target, args, kwargs)

    return impl


def _reflected_operator(name: str) -> Callable[[Proxy, Any], Proxy]:
    target = getattr(operator, name)

    def impl(self: Proxy, rhs: Any) -> Proxy:
        return self.tracer.create_proxy("call_function", target, (rhs, self), {})

    return impl


def _add_operators() -> None:
    for names, prefix, made in ((MAGIC, "__", _forward_operator), (REFLECTABLE, "__r", _reflected_operator)):
        for name in names:
            if hasattr(operator, name):
                method = f"{prefix}{name.strip('_')}__"
                impl = made(name)
                impl.__name__ = method
                impl.__qualname__ = f"Proxy.{method}"
                setattr(Proxy, method, impl)


_add_operators()
