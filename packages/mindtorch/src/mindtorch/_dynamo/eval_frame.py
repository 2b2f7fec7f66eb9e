"""``torch._dynamo.eval_frame``: what ``torch.compile`` makes of a module or a function."""

from __future__ import annotations

import functools
import threading
import traceback
from collections.abc import Callable
from typing import Any

from mt_core.autograd_state import is_grad_enabled, is_inference_mode_enabled
from mt_core.determinism import DETERMINISM
from mt_core.dtypes import get_default_dtype
from mt_core.keys import AUTOCAST, PIPELINE, PROFILED
from mt_core.overriding import entered_modes
from mt_core.state import tls, unqueued
from mt_nn.modules.module import Module

from .. import _logging
from .._capturing import disabled_program, is_compiling, stance
from . import config
from .convert_frame import Arguments, Captured, autocast_facts, capture
from .exc import BackendCompilerFailed, FailOnRecompileLimitHit, GraphBreak, RecompileError, Unsupported
from .guards import ProgramState
from .sizes import SizeHistory, Symbols, free_sizes
from .utils import counters

__all__ = [
    "CapturedProgram",
    "CheckedProgram",
    "CompiledOnce",
    "OptimizeContext",
    "OptimizedModule",
    "is_dynamo_supported",
    "thread_facts",
]


def is_dynamo_supported() -> bool:
    """Whether programs can be captured: they can, on every platform and version of Python."""
    return True


class _Entry:
    """What one capture of a program gave: a compiled graph, or that there is none."""

    __slots__ = ("captured", "compiled", "state")

    def __init__(
        self, state: ProgramState, captured: Captured | None = None, compiled: Callable[..., Any] | None = None
    ) -> None:
        self.state, self.captured, self.compiled = state, captured, compiled

    def serves(self, arguments: Arguments) -> bool:
        """Whether the arguments of a call are such as the graph is for."""
        return self.captured is None or self.captured.serves(arguments)


class CapturedProgram:
    """A program that is captured as a graph, which a backend compiles; it is captured again where guards fail.

    Parameters
    ----------
    program
        A module or a function.
    backend
        Called with a `GraphModule` and the tensors that it is to be called with; what it returns runs in the place of
        the graph.
    fullgraph
        Raise `Unsupported` where there is no graph; without, the program runs as it is then.
    recompile_limit
        How often it is captured; ``config.recompile_limit`` by default.
    dynamic
        Whether a graph is to serve calls of other sizes: as far as the program lets them vary, never but where they are
        marked, or (None) those that have differed between captures.
    settings
        Arguments of the backend.

    Attributes
    ----------
    opens_rates
        Whether learning rates of optimizers are inputs of graphs where they can be, rather than numbers in them.
    """

    opens_rates = False

    def __init__(
        self,
        program: Callable[..., Any],
        backend: Callable[..., Any],
        fullgraph: bool = False,
        recompile_limit: int | None = None,
        dynamic: bool | None = None,
        **settings: Any,
    ) -> None:
        self.program, self.backend, self.fullgraph = program, backend, fullgraph
        self.recompile_limit, self.dynamic, self.settings = recompile_limit, dynamic, settings
        self._forget()

    def _forget(self) -> None:
        self._entries: dict[Any, list[_Entry]] = {}
        self._open_entries: dict[Any, list[_Entry]] = {}
        self._history = SizeHistory()
        self._count = 0
        self._said_limit = False
        self._resets_seen = _resets.count
        self._lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if not name.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the graph that serves this call, captured now if there is none."""
        if self._runs_as_it_is():
            return self.program(*args, **kwargs)
        if tls.include & PIPELINE:
            with unqueued():  # guards read tensors, and the callable is called where the call stands
                return self(*args, **kwargs)
        if self._resets_seen != _resets.count:
            self._forget()
        arguments = Arguments(args, kwargs)
        facts = thread_facts()
        entry = self._entry_for(arguments, facts)
        if entry is None:
            with self._lock:
                entry = self._entry_for(arguments, facts) or self._new_entry(arguments, facts)
        if entry is None or entry.compiled is None or entry.captured is None:
            return self.program(*args, **kwargs)
        return _run(entry.captured, entry.compiled, arguments)

    def _runs_as_it_is(self) -> bool:
        if config.disable or stance.name == "force_eager" or is_compiling() or disabled_program(self.program):
            return True
        return bool(entered_modes and tls.function_modes) or bool(tls.include & ~(AUTOCAST | PIPELINE | PROFILED))

    def _entry_for(self, arguments: Arguments, facts: Any) -> _Entry | None:
        entries = self._entries.get((arguments.key, *facts), ())
        found = next((entry for entry in entries if entry.serves(arguments) and entry.state.holds()), None)
        if found is None and self._open_entries:
            entries = self._open_entries.get((arguments.open_key, *facts), ())
            found = next((entry for entry in entries if entry.serves(arguments) and entry.state.holds()), None)
        return found

    # Capturing

    def _new_entry(self, arguments: Arguments, facts: Any) -> _Entry | None:
        if self._count and not self._may_recompile(arguments, facts):
            return None
        self._count += 1
        self._history.note(arguments.tensors)
        entry = self._captured_entry(arguments)
        if entry.captured is not None and entry.captured.symbols is not None:
            self._open_entries.setdefault((arguments.open_key, *facts), []).append(entry)
        else:
            self._entries.setdefault((arguments.key, *facts), []).append(entry)
        return entry

    def _may_recompile(self, arguments: Arguments, facts: Any) -> bool:
        reason = self._why_again(arguments, facts)
        if config.error_on_recompile or stance.name == "fail_on_recompile":
            raise RecompileError(f"{self._name()} would be captured again, since {reason}")
        if stance.name == "eager_on_recompile":
            return False
        if _logging.is_on("recompiles_verbose"):
            reasons = "\n".join(f"    - {changed}" for changed in self._why_none_serves(arguments, facts))
            _logging.artifact("recompiles_verbose", "Recompiling %s, since\n%s", self._name(), reasons)
        else:
            _logging.artifact("recompiles", "Recompiling %s, since %s", self._name(), reason)
        limit = config.recompile_limit if self.recompile_limit is None else self.recompile_limit
        if self._count < limit:
            return True
        text = (
            f"torch._dynamo hit config.recompile_limit ({limit})\n   function: {self._name()}\n   last reason: {reason}"
        )
        if self.fullgraph:
            raise FailOnRecompileLimitHit(text)
        if not self._said_limit:
            self._said_limit = True
            _logging.dynamo.warning(text)
        return False

    def _why_again(self, arguments: Arguments, facts: Any) -> str:
        return self._why_none_serves(arguments, facts)[0]

    def _why_none_serves(self, arguments: Arguments, facts: Any) -> list[str]:
        """What changed since each graph was captured that arguments of this kind had; never empty."""
        known = self._open_entries.get((arguments.open_key, *facts), ()) if self._open_entries else ()
        serving = [entry for entry in known if entry.serves(arguments)]
        differences = (
            entry.state.first_difference() for entry in (*self._entries.get((arguments.key, *facts), ()), *serving)
        )
        told = [f"{changed} has changed" for changed in differences if changed is not None]
        return told or ["it is called with other arguments"]

    def _name(self) -> str:
        program = self.program
        return (
            type(program).__name__ if isinstance(program, Module) else getattr(program, "__qualname__", repr(program))
        )

    def _captured_entry(self, arguments: Arguments) -> _Entry:
        if self.opens_rates:
            state = ProgramState(opens_rates=True)
            try:
                return self._of_sizes(arguments, state)
            except GraphBreak as stop:
                if not state.rates or state.has_run and state.stop is None:  # it is not for the rates
                    return self._broken(state, stop)
                _logging.artifact("graph_breaks", "%s is captured for its rates, since %s", self._name(), stop)
        state = ProgramState()
        try:
            return self._of_sizes(arguments, state)
        except GraphBreak as stop:
            return self._broken(state, stop)

    def _of_sizes(self, arguments: Arguments, state: ProgramState) -> _Entry:
        """The entry of a capture whose sizes vary, or else of one for the sizes of the call, which tells `state`."""
        symbols = free_sizes(arguments, self.dynamic, self._history)
        if symbols is not None and not symbols.is_asked_for:
            try:
                return self._of_capture(arguments, state.anew(), symbols)
            except GraphBreak as stop:
                _logging.artifact("graph_breaks", "%s is captured for one size, since %s", self._name(), stop)
                symbols = None
        return self._of_capture(arguments, state, symbols)

    def _broken(self, state: ProgramState, stop: GraphBreak) -> _Entry:
        self._say_break(stop)
        return _Entry(state)

    def _of_capture(self, arguments: Arguments, state: ProgramState, symbols: Symbols | None) -> _Entry:
        try:
            captured = capture(self.program, arguments, state, symbols)
        finally:
            state.close_rates()
        if not captured.operators:
            return _Entry(state)
        counters["stats"]["calls_captured"] += captured.operators
        counters["stats"]["unique_graphs"] += 1
        _logging.artifact("graph_code", "TRACED GRAPH\n%s", captured.graph_module.code)
        return _Entry(state, captured, self._compiled(captured, captured.examples(arguments)))

    def _say_break(self, stop: GraphBreak) -> None:
        reason = str(stop)
        counters["graph_break"][reason] += 1
        if self.fullgraph:
            raise Unsupported(f"{self._name()} cannot be captured as one graph: {reason}") from stop
        where = "".join(traceback.format_exception(stop)) if _logging.is_on("graph_breaks") else ""
        _logging.artifact("graph_breaks", "Graph break in %s: %s\n%s", self._name(), reason, where)

    def _compiled(self, captured: Captured, inputs: list[Any]) -> Callable[..., Any] | None:
        try:
            compiled = self.backend(captured.graph_module, inputs, **self.settings)
        except Exception as error:
            # A backend is anyone's code; the error is told with its name, or passed over where the program says so.
            if not config.suppress_errors:
                raise BackendCompilerFailed(self.backend, error) from error
            _logging.dynamo.warning("%s", error, exc_info=True)
            return None
        if not callable(compiled):
            raise BackendCompilerFailed(self.backend, AssertionError("compiler_fn did not return callable"))
        return compiled


class CheckedProgram(CapturedProgram):
    """A program that has to be one graph, and runs as it is: only whether it can be one is looked at.

    Where it does what no graph holds (`GraphBreak.is_final`), `Unsupported` is raised, before it runs. What a capture
    here cannot follow, and PyTorch's can, is not held against it. It is looked at once for calls of one kind, as it is
    captured for other backends, and no more after ``config.recompile_limit`` kinds.
    """

    def __init__(self, program: Callable[..., Any], recompile_limit: int | None = None) -> None:
        super().__init__(program, _runs_as_it_is, fullgraph=True, recompile_limit=recompile_limit)

    def _may_recompile(self, arguments: Arguments, facts: Any) -> bool:
        return self._count < (config.recompile_limit if self.recompile_limit is None else self.recompile_limit)

    def _captured_entry(self, arguments: Arguments) -> _Entry:
        state = ProgramState()
        try:
            capture(self.program, arguments, state)
        except GraphBreak as stop:
            if stop.is_final:
                self._count -= 1  # what is refused is no kind of call that was looked at
                raise Unsupported(f"{self._name()} cannot be captured as one graph: {stop}") from stop
        return _Entry(state)


def _runs_as_it_is(graph: Any, inputs: list[Any]) -> Any:
    raise AssertionError("a program that is only looked at has no graph")


def _run(captured: Captured, compiled: Callable[..., Any], arguments: Arguments) -> Any:
    outputs = compiled(*captured.values_for(arguments))
    return captured.outputs.filled(outputs, arguments.tensors)


def thread_facts() -> tuple[Any, ...]:
    """What a graph takes for granted of the thread that it runs in."""
    grad = is_grad_enabled(), is_inference_mode_enabled()
    return *grad, autocast_facts(), get_default_dtype(), DETERMINISM.enabled


class _Resets:
    count = 0


_resets = _Resets()


def forget_all() -> None:
    """Let every program be captured anew at its next call: ``torch.compiler.reset``."""
    _resets.count += 1


def explain(f: Callable[..., Any], *extra_args: Any, **extra_kwargs: Any) -> Any:
    """Capture a call of a program and tell what came of it: ``explain(f)(*args)``.

    The graph is not compiled, and its program not run otherwise.
    """

    def inner(*args: Any, **kwargs: Any) -> ExplainOutput:
        try:
            captured = capture(f, Arguments(args, kwargs), ProgramState())
        except GraphBreak as stop:
            return ExplainOutput([], [str(stop)])
        return ExplainOutput([captured.graph_module] if captured.operators else [], [])

    return inner(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else inner


class ExplainOutput:
    """What a capture gave.

    Attributes
    ----------
    graphs
        The graph, if there is one.
    break_reasons
        Why there is none.
    ops_per_graph, op_count
        The targets of its calls, and how many there are.
    graph_count, graph_break_count
        How many graphs and reasons there are.
    """

    def __init__(self, graphs: list[Any], break_reasons: list[str]) -> None:
        self.graphs, self.break_reasons = graphs, break_reasons
        self.graph_count, self.graph_break_count = len(graphs), len(break_reasons)
        calls = ("call_function", "call_method", "call_module")
        self.ops_per_graph = [[n.target for n in graph.graph.nodes if n.op in calls] for graph in graphs]
        self.op_count = sum(map(len, self.ops_per_graph))

    def __str__(self) -> str:
        lines = [
            f"Graph Count: {self.graph_count}", f"Graph Break Count: {self.graph_break_count}",
            f"Op Count: {self.op_count}", "Break Reasons:",
        ]  # fmt: skip
        lines += [f"  Break Reason {i}: {reason}" for i, reason in enumerate(self.break_reasons, 1)]
        lines.append("Ops per Graph:")
        for i, names in enumerate(self.ops_per_graph, 1):
            lines += [f"  Ops {i}:", *(f"    {name}" for name in names)]
        return "\n".join(lines)


class CompiledOnce:
    """A program that a compiler is given at the first call, as PyTorch compiles then; later calls run what it returned.

    A copy compiles anew: what a compiler returns belongs to the program that it was given.
    """

    def __init__(
        self, program: Callable[..., Any], compile_program: Callable[[Callable[..., Any]], Callable[..., Any]]
    ) -> None:
        self.program = program
        self.compile_program = compile_program
        self.compiled: Callable[..., Any] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program, compiled now if it was not."""
        if self.compiled is None:
            self.compiled = self.compile_program(self.program)
        return self.compiled(*args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "compiled": None}


class OptimizeContext:
    """How programs are compiled: called with one, it gives what ``torch.compile`` with its settings gives.

    Parameters
    ----------
    compile_program
        What makes a program of a program; None where programs run as they are.
    """

    def __init__(self, compile_program: Callable[..., Callable[..., Any]] | None) -> None:
        self._compile_program = compile_program

    def runner(self, program: Callable[..., Any]) -> Callable[..., Any]:
        """What is called in a program's place."""
        return program if self._compile_program is None else CompiledOnce(program, self._compile_program)

    def __call__(self, fn: Any) -> Any:
        """A module around a module, a function around a function; a class as it is.

        Raises
        ------
        AssertionError
            When it cannot be called.
        """
        if isinstance(fn, Module):
            return OptimizedModule(fn, self)
        if not callable(fn):
            raise AssertionError(f"A callable function is expected, but {type(fn)} is provided.")
        return fn if isinstance(fn, type) else self._wrapped(fn)

    def _wrapped(self, function: Callable[..., Any]) -> Callable[..., Any]:
        run = self.runner(function)

        @functools.wraps(function)
        def compile_wrapper(*args: Any, **kwargs: Any) -> Any:
            return run(*args, **kwargs)

        vars(compile_wrapper)["_torchdynamo_orig_callable"] = function
        return compile_wrapper


class OptimizedModule(Module):
    """A module around another, `_orig_mod`, whose attributes are its own; parameters are named ``_orig_mod.*``.

    Attributes
    ----------
    dynamo_ctx
        How it was compiled: called with another program, it compiles that in the same way.
    """

    def __init__(self, mod: Module, dynamo_ctx: OptimizeContext) -> None:
        super().__init__()
        self.__dict__["dynamo_ctx"] = dynamo_ctx
        self.__dict__["_run"] = dynamo_ctx.runner(mod)
        self._modules["_orig_mod"] = mod
        del self.__dict__["training"]  # it is the wrapped module's

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the wrapped module, its hooks and those of this one included."""
        return super().__call__(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the wrapped module, or what a compiler has made of it."""
        return self._run(*args, **kwargs)

    @property
    def training(self) -> bool:
        """Whether the wrapped module is in training mode."""
        return self._orig_mod.training

    @training.setter
    def training(self, value: bool) -> None:
        if "_orig_mod" in self.__dict__.get("_modules", ()):
            self._orig_mod.training = value

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        if name == "dynamo_ctx":  # it was deleted, or is not yet set
            return super().__getattr__(name)
        return getattr(self._orig_mod, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("training", "dynamo_ctx") or "_orig_mod" not in self.__dict__.get("_modules", ()):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        if name == "dynamo_ctx":
            super().__delattr__(name)
        else:
            delattr(self._orig_mod, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._orig_mod)})
