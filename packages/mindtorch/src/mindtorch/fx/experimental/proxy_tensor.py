"""``torch.fx.experimental.proxy_tensor``: graphs of the operators that a program calls, made by running it."""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
from collections.abc import Callable, Iterator
from typing import Any

from mt_core import Tensor, pytree
from mt_core.symbolic import SYMBOLIC, is_symbolic
from mt_nn import Module, Parameter

from ..._guards import detect_fake_mode
from ..._higher_order_ops._tracing import traced
from ..._sources import ConstantSource
from ..._subclasses.fake_tensor import FakeTensorMode, unset_fake_temporarily
from ...amp.autocast_mode import is_autocast_cache_enabled, set_autocast_cache_enabled
from ...utils.weak import WeakTensorKeyDictionary
from .._symbolic_trace import PH, Tracer
from ..graph import Graph
from ..graph_module import GraphModule
from ..interpreter import Interpreter
from ..proxy import Proxy
from ._proxy_mode import (
    ProxyTorchDispatchMode,
    decompose,
    disable_proxy_modes_tracing,
    get_innermost_proxy_mode,
    get_proxy_mode,
    higher_order_rules,
    proxy_call,
)
from ._proxy_slots import (
    get_proxy_slot,
    has_proxy_slot,
    set_meta,
    set_proxy_slot,
    track_tensor,
    track_tensor_tree,
)
from ._symbolic_slots import SymbolicSlots

__all__ = [
    "DecompositionInterpreter", "ProxyTorchDispatchMode", "PythonKeyTracer", "decompose", "disable_autocast_cache",
    "disable_proxy_modes_tracing", "dispatch_trace", "fake_signature", "get_innermost_proxy_mode",
    "get_isolated_graphmodule", "get_proxy_mode", "get_proxy_slot", "has_proxy_slot", "make_fx",
    "maybe_disable_fake_tensor_mode", "proxy_call", "set_meta", "set_proxy_slot", "track_tensor", "track_tensor_tree",
]  # fmt: skip

#: Turns the mode of fake tensors off inside of a block.
maybe_disable_fake_tensor_mode = unset_fake_temporarily


class PythonKeyTracer(Tracer):
    """Makes the graph of operators; modules leave no trace, and parameters become attributes.

    Attributes
    ----------
    tensor_tracker
        Tensor -> what is known of it.
    """

    def __init__(self) -> None:
        super().__init__(autowrap_modules=())
        self.tensor_tracker = WeakTensorKeyDictionary()
        self.symbolic_slots = SymbolicSlots(self)
        self.root = Module()

    def call_module(self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What `forward` gives."""
        return forward(*args, **kwargs)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Proxy]) -> Any:
        """The attribute itself."""
        return attr_val

    def create_arg(self, a: Any) -> Any:
        """A value as argument of a node; a parameter that the root lacks becomes one of its own."""
        if isinstance(a, Parameter) and not any(a is known for _, known in self.root.named_parameters()):
            name = self.get_fresh_qualname("_param_constant")
            setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        return super().create_arg(a)

    def unwrap_proxy(self, e: Any) -> Any:
        """The proxy of a tensor or symbolic number that is known; anything else as it is."""
        if is_symbolic(e):
            return self.symbolic_slots.proxy_of(e)
        return get_proxy_slot(e, self, e, lambda tracked: tracked.proxy) if isinstance(e, Tensor) else e


def dispatch_trace(
    root: Module | Callable[..., Any], tracer: Tracer, concrete_args: tuple[Any, ...] | None = None
) -> GraphModule:
    """The module of the graph that a tracer makes of a function."""
    graph = tracer.trace(root, concrete_args)  # type: ignore[arg-type]
    slots = getattr(tracer, "symbolic_slots", None)
    if slots is not None:
        slots.erase_unused()
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)


def _wrapped(f: Callable[..., Any], tensors: tuple[Any, ...], tracer: PythonKeyTracer) -> Callable[..., Any]:
    """A function of proxies that runs another one on tensors, which the proxies stand for."""

    @functools.wraps(f)
    def run(*proxies: Any) -> Any:
        flat_proxies, flat_tensors = pytree.tree_leaves(proxies), pytree.tree_leaves(tensors)
        with disable_proxy_modes_tracing():
            track_tensor_tree(flat_tensors, flat_proxies, constant=None, tracer=tracer)
        out = f(*tensors)
        return pytree.tree_map_only((Tensor, *SYMBOLIC), tracer.unwrap_proxy, out)

    return run


def fake_signature(fn: Callable[..., Any], nargs: int) -> Callable[..., Any]:
    """A function of `nargs` named parameters that calls another one, of which the number is not known."""
    names = ",".join(f"arg{i}" for i in range(nargs))
    return eval(f"lambda {names}: fn({names})", {"fn": fn})  # type: ignore[no-any-return]  # noqa: S307 - no input


@contextlib.contextmanager
def disable_autocast_cache() -> Iterator[None]:
    """Inside of it, autocast casts a weight each time."""
    kept = is_autocast_cache_enabled()
    set_autocast_cache_enabled(False)
    try:
        yield
    finally:
        set_autocast_cache_enabled(kept)


def make_fx(
    f: Callable[..., Any], decomposition_table: Any = None, tracing_mode: str = "real",
    _allow_non_fake_inputs: bool = False, *, pre_dispatch: bool = False, record_module_stack: bool = False,
    _allow_fake_constant: bool = False, _error_on_data_dependent_ops: bool = True, record_stack_traces: bool = False,
    proxy_module_inputs: bool = False, _disable_torch_fn_metadata_mode: bool = False,
) -> Callable[..., GraphModule]:  # fmt: skip
    """A function that gives the graph of the operators that `f` calls on its arguments.

    Gradients and transforms inside of `f` are part of the graph. Tensors that are no arguments become attributes.

    Parameters
    ----------
    decomposition_table
        Operator -> function in whose operators it is traced.
    tracing_mode
        ``"real"``, ``"fake"`` to run on fake tensors, or ``"symbolic"`` to run on fake tensors whose sizes are symbols,
        as are integers among the arguments. The module then has a ``shape_env`` with the guards.

    Raises
    ------
    NotImplementedError
        For options that are not supported.
    ImportError
        For ``"symbolic"`` without sympy.
    """
    if tracing_mode not in ("real", "fake", "symbolic"):
        raise AssertionError(f"tracing_mode must be real/fake/symbolic, got {tracing_mode}")
    _refuse(
        pre_dispatch=pre_dispatch, record_module_stack=record_module_stack, _allow_fake_constant=_allow_fake_constant,
        proxy_module_inputs=proxy_module_inputs,
    )  # fmt: skip
    traces = functools.partial(
        _traced, f, decomposition_table, tracing_mode, _allow_non_fake_inputs, _error_on_data_dependent_ops,
        record_stack_traces,
    )  # fmt: skip

    @functools.wraps(f)
    def wrapped(*args: Any) -> GraphModule:
        return traces(args)

    return wrapped


def _refuse(**options: Any) -> None:
    for name, value in options.items():
        if value:
            raise NotImplementedError(f"make_fx: the option {name} is not supported by mindtorch")


def _traced(
    f: Callable[..., Any], table: Any, tracing_mode: str, allow_real: bool, refuse_data: bool, stack_traces: bool,
    args: tuple[Any, ...],
) -> GraphModule:  # fmt: skip
    tracer = PythonKeyTracer()
    tracer.record_stack_traces = stack_traces
    placeholders = pytree.tree_map(lambda _: PH, args)
    function = f if _has_fixed_signature(f) else fake_signature(f, len(args))
    fake_mode = None if tracing_mode == "real" else _fake_mode_for(args, allow_real, tracing_mode == "symbolic")
    if fake_mode is not None:
        with disable_proxy_modes_tracing():
            args = _faked(fake_mode, args, tracing_mode == "symbolic")
    mode = ProxyTorchDispatchMode(tracer, tracing_mode, _error_on_data_dependent_ops=refuse_data)
    with decompose(table), fake_mode or contextlib.nullcontext(), mode, disable_autocast_cache():
        made = dispatch_trace(_wrapped(function, args, tracer), tracer, tuple(placeholders))
    if tracing_mode == "symbolic":
        made.shape_env = fake_mode.shape_env  # type: ignore[union-attr]
    return made


def _has_fixed_signature(f: Callable[..., Any]) -> bool:
    code = getattr(inspect.unwrap(f), "__code__", None)
    return code is not None and not code.co_flags & inspect.CO_VARARGS


def _fake_mode_for(args: tuple[Any, ...], allow_real: bool, symbolic: bool) -> FakeTensorMode:
    found = detect_fake_mode(args)
    if symbolic and found is None:
        from .symbolic_shapes import ShapeEnv  # late: with sympy

        return FakeTensorMode(allow_fallback_kernels=False, allow_non_fake_inputs=allow_real, shape_env=ShapeEnv())
    if symbolic and found is not None and found.shape_env is None:
        raise AssertionError("shape_env should be set if tracing with 'symbolic'")
    return FakeTensorMode(allow_non_fake_inputs=allow_real, static_shapes=True) if found is None else found


def _faked(mode: FakeTensorMode, args: tuple[Any, ...], symbolic: bool) -> Any:
    """Arguments with fake tensors in place of tensors, and symbolic integers in place of integers if so asked."""
    count = itertools.count()

    def of_tensor(tensor: Tensor) -> Any:
        if mode.shape_env is not None and getattr(tensor, "fake_mode", None) is mode:
            return tensor  # its sizes are symbols that others know
        return mode.from_tensor(tensor, source=ConstantSource(f"input{next(count)}"))

    def of_number(value: int) -> Any:
        source = ConstantSource(f"input{next(count)}")
        symbol = mode.shape_env.create_symbol(value, source, positive=None)
        return mode.shape_env.create_symintnode(symbol, hint=value, source=source)

    def fake(value: Any) -> Any:
        if isinstance(value, Tensor):
            return of_tensor(value)
        return of_number(value) if type(value) is int and symbolic else value

    return pytree.tree_map(fake, args)


def get_isolated_graphmodule(
    func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], tracing_mode: str = "real",
    decomposition_table: Any = None,
) -> GraphModule:  # fmt: skip
    """The graph of a function of arguments, which leaves no trace in one that is being made."""
    leaves, spec = pytree.tree_flatten((args, kwargs))

    def of_leaves(flat: Any) -> Any:
        given, named = pytree.tree_unflatten(flat, spec)
        return func(*given, **named)

    with disable_proxy_modes_tracing():
        return make_fx(of_leaves, decomposition_table=decomposition_table, tracing_mode=tracing_mode)(leaves)


class DecompositionInterpreter(Interpreter):
    """Runs a module's graph and writes another one, with a table's operators by what the table has for them.

    Parameters
    ----------
    new_graph
        What is written to.
    """

    def __init__(self, module: GraphModule, new_graph: Graph, decomposition_table: Any = None, **kwargs: Any) -> None:
        super().__init__(module, **kwargs)
        self.new_graph = new_graph
        self.tracer: Any = _GraphTracer(new_graph)
        self.decomposition_table = dict(decomposition_table or {})
        self.mode = ProxyTorchDispatchMode(self.tracer, "real")

    def placeholder(self, target: Any, args: Any, kwargs: Any) -> Any:
        out = super().placeholder(target, args, kwargs)
        proxy = Proxy(self.new_graph.placeholder(target), self.tracer)
        track_tensor_tree(out, proxy, constant=None, tracer=self.tracer)
        return out

    def get_attr(self, target: Any, args: Any, kwargs: Any) -> Any:
        out = super().get_attr(target, args, kwargs)
        proxy = Proxy(self.new_graph.get_attr(target), self.tracer)
        track_tensor_tree(out, proxy, constant=None, tracer=self.tracer)
        return out

    def output(self, target: Any, args: Any, kwargs: Any) -> Any:
        out = super().output(target, args, kwargs)

        def node_of(value: Any) -> Any:
            return get_proxy_slot(value, self.tracer, value, lambda tracked: tracked.proxy.node)

        self.new_graph.output(pytree.tree_map_only(Tensor, node_of, out))
        return out

    def run(self, *args: Any, **kwargs: Any) -> Any:
        with decompose(self.decomposition_table), self.mode:
            return super().run(*args, **kwargs)


class _GraphTracer(PythonKeyTracer):
    """A tracer that appends to a graph that is there."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph


higher_order_rules.append(functools.partial(traced, make_fx))
