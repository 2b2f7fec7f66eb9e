"""``torch._functorch.aot_autograd``: functions as graphs of operators, of their forward and of their backward.

A compiler of graphs is a function from a graph module and the fake tensors that it is for, to what runs in its place.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mt_core import Tensor, pytree
from mt_core.autograd_state import is_grad_enabled, no_grad
from mt_core.keys import AUTOCAST
from mt_core.state import excluding
from mt_nn import Module
from mt_nn.func import functional_call

from .._dynamo.eval_frame import thread_facts
from .._dynamo.guards import tensor_facts
from .._guards import detect_fake_mode
from .._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from .._unsupported import refusal
from ..fx.experimental.symbolic_shapes import ShapeEnv
from ..fx.graph_module import GraphModule
from ._aot_autograd.analysis import planned
from ._aot_autograd.runtime import NoGradient, Runtime, SharedMemory, differentiated
from ._aot_autograd.schemas import Origin, Plan
from ._aot_autograd.tracing import inference_graph, joint_graph, tangents_of
from ._aot_autograd.training_step import TrainingStep, differentiates
from ._aot_autograd.utils import call_compiled as _call_compiled
from ._aot_autograd.utils import make_boxed_compiler as make_boxed_compiler
from ._aot_autograd.utils import make_boxed_func as make_boxed_func
from .partitioners import default_partition as default_partition

__all__ = [
    "aot_function", "aot_module", "aot_module_simplified", "compiled_function", "compiled_module",
    "get_aot_compilation_context", "get_aot_graph_name", "get_graph_being_compiled", "make_boxed_compiler",
    "make_boxed_func",
]  # fmt: skip

Compiler = Callable[[GraphModule, Sequence[Any]], Callable[..., Any]]

_ATOMS = (int, float, complex, bool, str, bytes, type(None))


# What is being compiled


class _Compilation(threading.local):
    """Names of what this thread compiles, for who writes graphs to files."""

    name, number = "model", 0
    kinds: tuple[str, ...] = ()


_compilation = _Compilation()


@contextlib.contextmanager
def _compiling(kind: str) -> Iterator[None]:
    _compilation.kinds = (kind,)
    try:
        yield
    finally:
        _compilation.kinds = ()


def get_aot_compilation_context() -> tuple[list[str], str, int]:
    """What is being compiled (``["forward"]``, ``["backward"]`` or ``["inference"]``), its name, and its number."""
    return list(_compilation.kinds), _compilation.name, _compilation.number


def get_aot_graph_name() -> str:
    """The name of the function that is compiled, with the number of its graph."""
    return f"{_compilation.name}__{'_'.join(_compilation.kinds)}_{_compilation.number}"


get_graph_being_compiled = get_aot_graph_name


# Compiling


class _Settings:
    """How graphs are made and compiled."""

    def __init__(
        self, fw_compiler: Compiler, bw_compiler: Compiler | None, partition_fn: Callable[..., Any],
        decompositions: Any, keep_inference_input_mutations: bool, inference_compiler: Compiler | None,
        has_symbols: bool = False,
    ) -> None:  # fmt: skip
        self.forward_compiler = fw_compiler
        self.backward_compiler = fw_compiler if bw_compiler is None else bw_compiler
        self.inference_compiler = fw_compiler if inference_compiler is None else inference_compiler
        self.partition = partition_fn
        self.decompositions = decompositions
        self.keeps_writes = keep_inference_input_mutations
        self.has_symbols = has_symbols


def _fake_mode(args: Sequence[Any], has_symbols: bool) -> FakeTensorMode:
    return detect_fake_mode(args) or FakeTensorMode(shape_env=ShapeEnv() if has_symbols else None)


def _faked(args: Sequence[Any], mode: FakeTensorMode) -> list[Any]:
    """Fake tensors in the place of tensors, without their history."""
    with no_grad():
        return [_fake(value, mode).detach() if isinstance(value, Tensor) else value for value in args]


def _fake(value: Tensor, mode: FakeTensorMode) -> Any:
    return value if isinstance(value, FakeTensor) and value.fake_mode is mode else mode.from_tensor(value)


def _refuse_shared(args: Sequence[Any], plan: Plan) -> None:
    """Refuse arguments that share memory which is written to, and views of those that get another geometry."""
    relaid = {one.place for one in plan.written if one.is_relaid}
    if any(one.origin is Origin.VIEW_OF_INPUT and one.source in relaid for one in plan.outputs):
        raise NotImplementedError("aot_autograd: a view of an argument that gets another geometry")
    places = {place: value.untyped_storage() for place, value in enumerate(args) if isinstance(value, Tensor)}
    for written in plan.written:
        memory = places[written.place]._cdata
        if any(place != written.place and other._cdata == memory for place, other in places.items()):
            raise SharedMemory


def _compiled(function: Callable[..., Sequence[Any]], args: Sequence[Any], settings: _Settings) -> Runtime:
    """What carries out calls of a function of flat arguments like the given ones."""
    mode = _fake_mode(args, settings.has_symbols)
    needs_grad = is_grad_enabled()
    requires_grad = [isinstance(t, Tensor) and needs_grad and t.requires_grad for t in args]
    is_leaf = [not isinstance(t, Tensor) or not t.requires_grad or t.is_leaf for t in args]
    fakes = _faked(args, mode)
    _compilation.number += 1
    with mode:
        plan = planned(function, fakes, requires_grad, is_leaf)
    _refuse_shared(args, plan)
    if not (any(requires_grad) and plan.needs_gradients):
        return _for_inference(function, fakes, plan, settings)
    with mode:
        tangents = tangents_of(function, fakes, requires_grad, is_leaf, plan)
    try:
        joint = joint_graph(function, fakes, requires_grad, is_leaf, plan, tangents, settings.decompositions)
    except NotImplementedError:
        raise
    except RuntimeError as error:
        raise NoGradient(*error.args) from error
    count = len(plan.differentiable)
    forward, backward = settings.partition(joint, (fakes, tangents), num_fwd_outputs=count)
    with excluding(AUTOCAST), no_grad(), _compiling("forward"):
        run_forward = settings.forward_compiler(forward, fakes)
    run_backward = _CompiledLater(settings.backward_compiler, backward)
    return Runtime(plan, differentiated(plan, run_forward, run_backward, tangents))


class _CompiledLater:
    """What a compiler makes of a graph when it is called for the first time: many a forward has no backward."""

    _boxed_call = True

    def __init__(self, compiler: Compiler, graph: GraphModule) -> None:
        self._compiler, self._graph = compiler, graph
        self._made: Callable[..., Any] | None = None
        self._lock = threading.Lock()

    def __call__(self, args: list[Any]) -> Sequence[Any]:
        with self._lock:
            if self._made is None:
                with excluding(AUTOCAST), no_grad(), _compiling("backward"):
                    self._made = self._compiler(self._graph, _inputs_of(self._graph))
        return _call_compiled(self._made, args)


def _for_inference(
    function: Callable[..., Sequence[Any]], fakes: list[Any], plan: Plan, settings: _Settings
) -> Runtime:
    keeps = settings.keeps_writes and not any(one.is_relaid or one.requires_grad for one in plan.written)
    graph = inference_graph(function, fakes, plan, settings.decompositions, keeps)
    with excluding(AUTOCAST), no_grad(), _compiling("inference"):
        run = settings.inference_compiler(graph, fakes)
    return Runtime(plan, functools.partial(_without_history, run), keeps)


def _training_step(function: Callable[..., Sequence[Any]], args: Sequence[Any], settings: _Settings) -> TrainingStep:
    """What carries out calls of a function that differentiates, by arguments among others."""

    def compiled(step: Callable[..., Sequence[Any]], given: Sequence[Any], requires_grad: list[bool]) -> Runtime:
        mode = _fake_mode(given, settings.has_symbols)
        fakes = _faked(given, mode)
        with mode:
            plan = planned(step, fakes, requires_grad, [True] * len(fakes))
        _refuse_shared(given, plan)
        changes = any(one.is_relaid or one.requires_grad and not one.is_hidden for one in plan.written)
        keeps = settings.keeps_writes and not changes
        graph = inference_graph(step, fakes, plan, settings.decompositions, keeps, requires_grad)
        with excluding(AUTOCAST), no_grad(), _compiling("inference"):
            run = settings.inference_compiler(graph, fakes)
        return Runtime(plan, functools.partial(_without_history, run), keeps)

    return TrainingStep(function, args, compiled)


def _without_history(run: Callable[..., Any], flat: list[Any]) -> Sequence[Any]:
    with no_grad():
        return _call_compiled(run, flat, warns=True)


def _inputs_of(graph: GraphModule) -> list[Any]:
    """What a graph's inputs look like: fake tensors."""
    return [node.meta["val"] for node in graph.graph.find_nodes(op="placeholder")]


# Functions


def aot_function(
    fn: Callable[..., Any], fw_compiler: Compiler, bw_compiler: Compiler | None = None,
    partition_fn: Callable[..., Any] = default_partition, decompositions: Any = None, num_params_buffers: int = 0,
    keep_inference_input_mutations: bool = False, inference_compiler: Compiler | None = None, *,
    dynamic: bool = False, enable_log: bool = True, disable_functionalization: bool = False,
    _disable_torch_fn_metadata_mode: bool = False,
) -> Callable[..., Any]:  # fmt: skip
    """A function that runs what compilers make of the graphs of `fn` and of its gradient.

    The graphs are made at the first call, and again for arguments of other shapes, dtypes, layouts or constants, where
    PyTorch goes on with the first ones. They hold operators below autograd that write nothing: what `fn` writes to its
    arguments is copied to them afterwards, and views of arguments are made of the arguments themselves.

    Parameters
    ----------
    fn
        Works on tensors in its arguments, and on what it makes itself.
    fw_compiler, bw_compiler, inference_compiler
        Called with a graph module and fake tensors like its inputs: for the forward, the backward (`fw_compiler` by
        default), and calls without gradients.
    partition_fn
        Makes of the joint graph, its inputs and ``num_fwd_outputs`` a forward and a backward.
    decompositions
        Operator -> function in whose operators it is traced.
    dynamic
        Whether the sizes of arguments are symbols in the graphs (with the extra ``symbolic``); sizes of 0 and 1 are
        numbers. Each shape has graphs of its own all the same.
    num_params_buffers, enable_log
        What PyTorch's own compilers are told, and whether it keeps a log; no effect on the graphs.
    keep_inference_input_mutations
        Whether graphs without gradients write to arguments by ``copy_`` themselves.

    Raises
    ------
    NotImplementedError
        For `disable_functionalization`; at a call, for functions that resize arguments, change the geometry
        of one that requires grad, or write to memory that arguments share.
    """
    if disable_functionalization:
        raise refusal("aot_function(disable_functionalization=True)")
    settings = _Settings(
        fw_compiler, bw_compiler, partition_fn, decompositions, keep_inference_input_mutations, inference_compiler,
        dynamic,
    )  # fmt: skip
    made: dict[Any, tuple[Runtime, _FlatFunction, list[Any]]] = {}

    @functools.wraps(fn)
    def returned_function(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = pytree.tree_flatten((args, kwargs))
        key = (spec, *map(_described, leaves), *thread_facts())
        if key not in made:
            flat = _FlatFunction(fn, spec)
            made[key] = _compiled(flat, leaves, settings), flat, _kept(leaves)
        run, flat, _ = made[key]
        return pytree.tree_unflatten(run(leaves), flat.out_spec)

    return returned_function


def _kept(leaves: Sequence[Any]) -> list[Any]:
    """The leaves that are told apart by their ids, which are kept so that no id is given again."""
    return [leaf for leaf in leaves if not isinstance(leaf, (Tensor, *_ATOMS))]


def _described(leaf: Any) -> Any:
    """What a graph takes for granted of a leaf of the arguments."""
    if isinstance(leaf, Tensor):
        return tensor_facts(leaf)
    if isinstance(leaf, (float, complex)):
        return type(leaf), repr(leaf)  # 0.0 is not -0.0
    return (type(leaf), leaf) if isinstance(leaf, _ATOMS) else (type(leaf), id(leaf))


class _FlatFunction:
    """A function of the leaves of its arguments that gives the leaves of its result.

    Attributes
    ----------
    out_spec
        The structure of the result, once it was called.
    """

    out_spec: pytree.TreeSpec

    def __init__(self, function: Callable[..., Any], spec: pytree.TreeSpec) -> None:
        self._function, self._spec = function, spec

    def __call__(self, *leaves: Any) -> list[Any]:
        """The leaves of what the function returns.

        Raises
        ------
        RuntimeError
            For a leaf that is neither a tensor nor a plain value, in PyTorch's words.
        """
        args, kwargs = pytree.tree_unflatten(list(leaves), self._spec)
        found, self.out_spec = pytree.tree_flatten(self._function(*args, **kwargs))
        for leaf in found:
            if not isinstance(leaf, (Tensor, *_ATOMS)):
                raise RuntimeError(
                    f"Found {type(leaf)} in output, which is not a known type. If this type holds tensors, you need to "
                    "register a pytree for it. See https://github.com/pytorch/functorch/issues/475 for a brief "
                    "explanation why. If you don't need to register a pytree, please leave a comment explaining your "
                    "use case and we'll make this more ergonomic to deal with"
                )
        return found


# Modules


def aot_module(mod: Module, *args: Any, **kwargs: Any) -> Module:
    """A module that runs what compilers make of another one, whose parameters and buffers are inputs of the graphs.

    The other arguments are those of `aot_function`.
    """

    def functional(named_params: Any, named_buffers: Any, *inputs: Any, **named: Any) -> Any:
        return functional_call(mod, {**named_params, **named_buffers}, inputs, named)

    compiled = aot_function(functional, *args, **kwargs)

    class AOTModule(Module):
        """The module, as `orig_module`."""

        def __init__(self) -> None:
            super().__init__()
            self.orig_module = mod

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            """What the module gives, by its graphs."""
            return compiled(dict(mod.named_parameters()), dict(mod.named_buffers()), *args, **kwargs)

    return AOTModule()


#: Their names in ``functorch.compile``.
compiled_function = aot_function
compiled_module = aot_module


def aot_module_simplified(
    mod: Any, args: Sequence[Any], fw_compiler: Compiler, bw_compiler: Compiler | None = None,
    partition_fn: Callable[..., Any] = default_partition, decompositions: Any = None,
    keep_inference_input_mutations: bool = False, inference_compiler: Compiler | None = None,
    compiler_config_extra: Any = None, ignore_shape_env: bool = False, disable_functionalization: bool = False,
    pre_grad_passes: Any = None, compile_region_name: str | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """What runs in the place of a module for arguments like the given ones: a function of them, compiled now.

    It is what a backend of ``torch.compile`` calls with the graph that it is given. The module takes tensors one by one
    and gives a tuple or list of leaves; no comparison is made when it is called.

    Raises
    ------
    NotImplementedError
        For options of PyTorch's own compilers, and as `aot_function`.
    """
    if (
        compiler_config_extra is not None
        or ignore_shape_env
        or disable_functionalization
        or pre_grad_passes is not None
    ):
        raise refusal(
            "aot_module_simplified with compiler_config_extra, ignore_shape_env, disable_functionalization or "
            "pre_grad_passes"
        )
    held = {**dict(mod.named_parameters(remove_duplicate=False)), **dict(mod.named_buffers(remove_duplicate=False))}
    names, tensors = list(held), list(held.values())

    def functional(*flat: Any) -> Any:
        given = dict(zip(names, flat, strict=False))
        return functional_call(mod, given, flat[len(names) :]) if names else mod(*flat)

    settings = _Settings(
        fw_compiler, bw_compiler, partition_fn, decompositions, keep_inference_input_mutations, inference_compiler
    )
    leaves = [*tensors, *args]
    flat = _FlatFunction(functional, pytree.tree_structure((tuple(leaves), {})))
    run = _training_step(flat, leaves, settings) if differentiates(mod) else _compiled(flat, leaves, settings)

    def forward(*runtime_args: Any) -> Any:
        return pytree.tree_unflatten(run([*tensors, *runtime_args]), flat.out_spec)

    forward.zero_grad = mod.zero_grad  # type: ignore[attr-defined]
    forward.named_parameters = mod.named_parameters  # type: ignore[attr-defined]
    forward.named_buffers = mod.named_buffers  # type: ignore[attr-defined]
    return forward
