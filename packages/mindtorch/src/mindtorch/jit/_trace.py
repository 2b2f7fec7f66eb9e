"""``torch.jit.trace``: a program run once with examples becomes one that makes the same calls again."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any

from mt_core import Tensor, pytree, tensor
from mt_core.pytree.nodes import is_namedtuple_instance
from mt_nn import Module

from .._unsupported import refusal
from ..fx.passes._effects import is_random
from ..testing import assert_close
from ._script import ScriptFunction, ScriptModule, warn_deprecated
from ._serialization import save
from ._tracer import Program, Recorder, TracedFloat, TracedInt, TracerWarning, current_recorder, tensor_of, warn

__all__ = [
    "TopLevelTracedModule", "TracedModule", "TracerWarning", "TracingCheckError", "is_tracing", "script_if_tracing",
    "trace", "trace_module",
]  # fmt: skip


class TracingCheckError(Exception):
    """Raised where a program traced a second time does something else."""

    def __init__(self, graph_diff_error: str | None, tensor_compare_error: str | None, extra_msg: str | None = None):
        self.message = "Tracing failed sanity checks!\n"
        for part in (extra_msg, None if graph_diff_error is None else _section("Graphs", graph_diff_error)):
            self.message += "" if part is None else part + "\n"
        if tensor_compare_error is not None:
            self.message += (
                "ERROR: Tensor-valued Constant nodes differed in value across invocations. This often indicates that "
                f"the tracer has encountered untraceable code.\n{_indented(tensor_compare_error)}\n"
            )
        super().__init__(self.message)


def _section(what: str, difference: str) -> str:
    return f"ERROR: {what} differed across invocations!\n{_indented(difference)}"


def _indented(text: str) -> str:
    return "\n".join(f"\t{line}" for line in text.splitlines())


def is_tracing() -> bool:
    """Whether this code is being traced by `trace`."""
    return current_recorder() is not None


def script_if_tracing(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Have a function compiled when it is first called while tracing; it stays Python, and is traced then."""
    return fn


# What tracing makes


class TracedModule(ScriptModule):
    """A part of a traced module: its parameters and buffers, under their names."""

    _name = ""

    @property
    def original_name(self) -> str:
        """The name of the module's class."""
        return self._name

    def _get_name(self) -> str:
        return self._name

    def extra_repr(self) -> str:
        """The name of the module's class."""
        return f"original_name={self._name}"

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Parts cannot be called: what they did is recorded in the whole alone."""
        raise RuntimeError("Trace submodules cannot be called.")


class TopLevelTracedModule(TracedModule):
    """A traced module: it makes the calls that were recorded, with its parameters and buffers."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What was recorded of the module's ``forward``."""
        return self._methods["forward"].call(args, kwargs, self)

    def save(self, f: Any, _extra_files: dict[str, Any] | None = None) -> None:  # type: ignore[override]
        """Write the module to a file, as `torch.jit.save`."""
        save(self, f, _extra_files)

    def __getattr__(self, name: str) -> Any:
        methods = self.__dict__.get("_methods", {})
        if name in methods:
            return lambda *args, **kwargs: methods[name].call(args, kwargs, self)
        return super().__getattr__(name)


class _Traced:
    """A recorded program with the form of its arguments."""

    def __init__(self, name: str, parameters: list[str], examples: dict[str, Any], of_module: str | None) -> None:
        self.name = name
        #: Kept, as in PyTorch: a trace is written to a file by a run with them.
        self.examples = examples
        self.specs = {key: pytree.tree_structure(value) for key, value in examples.items()}
        self.positions = [key for key in parameters if key in examples] or list(examples)
        self.of_module = of_module
        self.types = {key: (_type_text(value), _schema_text(value)) for key, value in examples.items()}
        self.program = Program(0)

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any], module: Module | None) -> Any:
        """Make the recorded calls with other arguments."""
        given = self._named(args, kwargs)
        leaves = [leaf for key in self.specs for leaf in pytree.tree_leaves(given[key])]

        def attribute(path: str) -> Any:
            owner, _, name = path.rpartition(".")
            return getattr(module.get_submodule(owner), name)  # type: ignore[union-attr]

        return self.program.run(leaves, attribute)

    def _named(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        extra = 0 if self.of_module is None else 1
        if len(args) + len(kwargs) > len(self.positions):
            raise RuntimeError(
                f"{self.name}() expected at most {len(self.positions) + extra} argument(s) but received "
                f"{len(args) + len(kwargs) + extra} argument(s). Declaration: {self._declaration()}"
            )
        given = {**dict(zip(self.positions, args, strict=False)), **kwargs}
        for position, key in enumerate(self.positions):
            if key not in given:
                raise RuntimeError(
                    f"{self.name}() is missing value for argument '{key}'. Declaration: {self._declaration()}"
                )
            self._check(position + extra, key, given[key])
        unknown = next((key for key in kwargs if key not in self.specs), None)
        if unknown is not None:
            raise RuntimeError(f"Unknown keyword argument '{unknown}' for operator '{self.name}'.")
        return given

    def _check(self, position: int, key: str, value: Any) -> None:
        leaves, spec = pytree.tree_flatten(value)
        if spec == self.specs[key] and all(isinstance(leaf, Tensor) for leaf in leaves):
            return
        raise RuntimeError(
            f"{self.name}() Expected a value of type '{self.types[key][0]}' for argument '{key}' but "
            f"instead found type '{type(value).__name__}'.\nPosition: {position}\nValue: {value}\n"
            f"Declaration: {self._declaration()}\nCast error details: Unable to cast {value} to Tensor"
        )

    def _declaration(self) -> str:
        own = [] if self.of_module is None else [f"__torch__.{self.of_module} self"]
        parameters = [f"{self.types[key][1]} {key}" for key in self.positions]
        return f"{self.name}({', '.join([*own, *parameters])}) -> Tensor"


def _type_text(value: Any) -> str:
    """The type of nested tensors as PyTorch's errors write it."""
    if isinstance(value, (list, tuple)):
        parts = list(map(_type_text, value))
        return f"Tuple[{', '.join(parts)}]" if isinstance(value, tuple) else f"List[{(parts or ['Tensor'])[0]}]"
    if isinstance(value, dict):
        return f"Dict[{', '.join(dict.fromkeys(type(key).__name__ for key in value))}, Tensor]"
    return "Tensor" if isinstance(value, Tensor) else type(value).__name__


def _schema_text(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_schema_text, value))})"
    return f"{_schema_text(value[0])}[]" if isinstance(value, list) and value else _type_text(value)


def _as_function(traced: _Traced) -> ScriptFunction:
    """A traced function, without a module."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return traced.call(args, kwargs, None)

    call.__name__ = traced.name
    made = ScriptFunction(call)
    made.traced = traced
    return made


# Tracing


def trace(
    func: Any,
    example_inputs: Any = None,
    optimize: bool | None = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    _force_outplace: bool = False,
    _module_class: Any = None,
    _compilation_unit: Any = None,
    example_kwarg_inputs: dict[str, Any] | None = None,
    _store_inputs: bool = True,
) -> Any:
    """Run a module or function once with examples; what is returned makes the same calls on tensors again.

    Sizes are followed, so that ``x.reshape(x.size(0), -1)`` fits other inputs. What Python decides is decided once:
    wherever the program asks for a value, a `TracerWarning` says so.

    Parameters
    ----------
    func
        A module, a method of one, or a function.
    example_inputs
        The arguments: a tensor, or a tuple of (nested) tensors.
    check_trace
        Trace a second time, compare, and compare what both compute.
    check_inputs
        A list of arguments to check with, in the place of the examples.
    check_tolerance
        By how much results may differ.
    strict
        Refuse dicts, and warn of lists, among the outputs.
    example_kwarg_inputs
        The arguments by name, in the place of `example_inputs`.

    Returns
    -------
    For a module a `TopLevelTracedModule` with the same parameters and buffers, for a function a `ScriptFunction`.

    Raises
    ------
    TracingCheckError
        When the second trace differs.
    RuntimeError
        For arguments or outputs that are no tensors.
    NotImplementedError
        Where the program computes gradients or transforms itself.
    """
    warn_deprecated("trace")
    _check_options(optimize, _force_outplace, _module_class, _compilation_unit, _store_inputs)
    if isinstance(func, (ScriptModule, ScriptFunction)) and not isinstance(func, TracedModule):
        return func
    given = _examples(example_inputs, example_kwarg_inputs)
    check = _Check(check_inputs, check_tolerance) if check_trace else None
    if isinstance(func, Module):
        return _traced_module(func, {"forward": given}, strict, check)
    owner = getattr(func, "__self__", None)
    if isinstance(owner, Module) and not isinstance(owner, ScriptModule):
        return _traced_module(owner, {"forward": given}, strict, check, func)
    if not callable(func):
        raise RuntimeError("Could not get name of python class object")
    return _traced_function(func, given, strict, check)


def _check_options(optimize: bool | None, outplace: bool, module_class: Any, unit: Any, store: bool) -> None:
    if optimize is not None:
        warnings.warn(
            "`optimize` is deprecated and has no effect. Use `with torch.jit.optimized_execution()` instead",
            FutureWarning,
            stacklevel=3,
        )
    given = {"_force_outplace": outplace, "_module_class": module_class, "_compilation_unit": unit}
    for name, value in {**given, "_store_inputs=False": not store}.items():
        if value:
            raise refusal(f"torch.jit.trace({name})", "Leave it out.")


def trace_module(
    mod: Module,
    inputs: dict[str, Any],
    optimize: bool | None = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    _force_outplace: bool = False,
    _module_class: Any = None,
    _compilation_unit: Any = None,
    example_inputs_is_kwarg: bool = False,
    _store_inputs: bool = True,
) -> Any:
    """As `trace`, for several methods of a module.

    Parameters
    ----------
    inputs
        Method -> its example arguments.
    example_inputs_is_kwarg
        The arguments are given by name.
    """
    warn_deprecated("trace_method")
    _check_options(optimize, _force_outplace, _module_class, _compilation_unit, _store_inputs)
    if not isinstance(mod, Module):
        raise AttributeError("expected torch.nn.Module as the first argument")
    if not isinstance(inputs, dict):
        raise AttributeError("expected a dictionary of (method_name, input) pairs")
    given = {
        name: _examples(None, args) if example_inputs_is_kwarg else _examples(args, None)
        for name, args in inputs.items()
    }
    check = _Check(check_inputs, check_tolerance) if check_trace else None
    return _traced_module(mod, given, strict, check)


_Examples = tuple[tuple[Any, ...], dict[str, Any]]


def _examples(args: Any, kwargs: dict[str, Any] | None) -> _Examples:
    """Arguments by position and by name, of which all leaves are tensors."""
    if kwargs is not None:
        given: _Examples = ((), kwargs)
    elif isinstance(args, Tensor):
        given = ((args,), {})
    elif isinstance(args, dict):
        given = ((args,), {})
    else:
        given = (tuple(args), {})
    if not all(isinstance(leaf, Tensor) for leaf in pytree.tree_leaves(given)):
        raise RuntimeError(
            f"Type '{_type_text(given[0] or tuple(given[1].values()))}' cannot be traced. Only Tensors and (possibly "
            "nested) Lists, Dicts, and Tuples of Tensors can be traced"
        )
    return given


def _traced_module(
    module: Module, methods: dict[str, _Examples], strict: bool, check: _Check | None, method: Any = None
) -> Any:
    made = _holder(module, {}, TopLevelTracedModule)
    made.__dict__["_methods"] = {}
    for name, given in methods.items():
        function = method or (module if name == "forward" else getattr(module, name))
        record = _recorder_of(function, name, given, module, strict)
        made.__dict__["_methods"][name] = traced = record()
        if check is not None:
            check.run(function, given, traced, record, made)
    return made


def _holder(module: Module, memo: dict[int, Any], cls: type[TracedModule]) -> Any:
    """A module with the same parameters, buffers and parts, and nothing else."""
    if id(module) not in memo:
        made = memo[id(module)] = cls()
        made.__dict__["_name"] = type(module).__name__
        made.training = module.training
        made._parameters.update(module._parameters)
        made._buffers.update(module._buffers)
        made._non_persistent_buffers_set.update(module._non_persistent_buffers_set)
        for name, child in module._modules.items():
            made._modules[name] = child if child is None else _holder(child, memo, TracedModule)
    return memo[id(module)]


def _traced_function(function: Any, given: _Examples, strict: bool, check: _Check | None) -> Any:
    name = getattr(function, "__name__", type(function).__name__)
    record = _recorder_of(function, "_lambda" if name == "<lambda>" else name, given, None, strict)
    traced = record()
    if check is not None:
        check.run(function, given, traced, record, None)
    return _as_function(traced)


def _recorder_of(
    function: Any, name: str, given: _Examples, module: Module | None, strict: bool
) -> Callable[[], _Traced]:
    """What traces a function once more."""
    parameters = _parameter_names(function.forward if isinstance(function, Module) else function, given)
    named = {**dict(zip(parameters, given[0], strict=False)), **given[1]}

    def record() -> _Traced:
        traced = _Traced(name, parameters, named, None if module is None else type(module).__name__)
        traced.program = _record(function, given, module, strict)
        return traced

    return record


def _parameter_names(function: Any, given: _Examples) -> list[str]:
    """The names of the parameters; those that the examples go beyond have names of their own."""
    try:
        known = [p.name for p in inspect.signature(function).parameters.values() if p.kind is not p.VAR_POSITIONAL]
    except (TypeError, ValueError):
        known = []
    return [*known, *(f"argument_{i + 1}" for i in range(len(known), len(given[0])))]


def _record(function: Any, given: _Examples, module: Module | None, strict: bool) -> Program:
    # Aliases of the examples, which may be tensors of the module as well.
    leaves, spec = pytree.tree_flatten(given)
    leaves = [leaf.detach().requires_grad_(leaf.requires_grad) for leaf in leaves]
    args, kwargs = pytree.tree_unflatten(leaves, spec)
    attributes: dict[str, Tensor] = {}
    if module is not None:
        attributes.update(module.named_parameters(remove_duplicate=False))
        attributes.update(module.named_buffers(remove_duplicate=False))
    recorder = Recorder(leaves, attributes)
    with recorder.recording():
        output = _checked_output(function(*args, **kwargs), strict)
    return recorder.finish(output)


def _checked_output(output: Any, strict: bool) -> Any:
    """The output, sizes in it as tensors.

    Raises
    ------
    RuntimeError
        For None, for what holds other things than tensors, and for dicts where `strict`.
    """
    if output is None:
        raise RuntimeError(
            "The traced function didn't return any values! Side-effects are not captured in traces, so it would be a "
            "no-op."
        )
    if isinstance(output, (list, dict)) and strict:
        _tell_of_container(type(output).__name__)
    return _tensors_only(output)


def _tell_of_container(kind: str) -> None:
    text = (
        f"Encountering a {kind} at the output of the tracer might cause the trace to be incorrect, this is only valid "
        "if the container structure does not change based on the module's inputs. Consider using a constant container "
        "instead (e.g. for `list`, use a `tuple` instead. for `dict`, use a `NamedTuple` instead). If you absolutely "
        "need this and know the side effects, pass strict=False to trace() to allow this behavior."
    )
    if kind == "dict":
        raise RuntimeError(text)
    warn(text)


def _tensors_only(output: Any) -> Any:
    if isinstance(output, (TracedInt, TracedFloat)):
        return tensor_of(output)
    if isinstance(output, Tensor):
        return output
    if is_namedtuple_instance(output):
        return tuple(map(_tensors_only, output))
    if isinstance(output, (list, tuple)):
        return type(output)(map(_tensors_only, output))
    if isinstance(output, dict):
        return {key: _tensors_only(value) for key, value in output.items()}
    raise RuntimeError(
        "Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from traced functions"
    )


# Checks


class _Check:
    """Compares a traced program with what it was made of."""

    def __init__(self, inputs: Any, tolerance: float) -> None:
        self.inputs = inputs
        self.tolerance = tolerance

    def run(
        self, function: Any, given: _Examples, traced: _Traced, record: Callable[[], _Traced], module: Module | None
    ) -> None:
        """Trace again, and compare steps, constants and results.

        Raises
        ------
        TracingCheckError
            When steps or constants differ.
        """
        for examples in [given] if self.inputs is None else [_examples(inputs, None) for inputs in self.inputs]:
            again = record()
            _compare_programs(traced.program, again.program)
            results = _results(functools.partial(_call, traced, module), examples)
            if self._is_alike(results, _results(function, examples), traced):
                self._is_alike(results, _results(functools.partial(_call, again, module), examples), traced)

    def _is_alike(self, found: list[Any], expected: list[Any], traced: _Traced) -> bool:
        """Whether the results of two calls are alike; warns where they are not."""
        for index, (one, other) in enumerate(zip(found, expected, strict=False)):
            try:
                assert_close(one, other, rtol=self.tolerance, atol=self.tolerance, equal_nan=True, check_dtype=False)
            except AssertionError as error:
                _warn_of_random_steps(traced.program)
                warn(
                    f"Output nr {index + 1}. of the traced function does not match the corresponding output of the "
                    f"Python function. Detailed error:\n{error}"
                )
                return False
        return True


def _call(traced: _Traced, module: Module | None, *args: Any, **kwargs: Any) -> Any:
    return traced.call(args, kwargs, module)


def _warn_of_random_steps(program: Program) -> None:
    found = [line for step, line in zip(program.steps, program.lines(), strict=False) if is_random(step.function)]
    if found:
        warn(
            "Trace had nondeterministic nodes. Did you forget call .eval() on your model? Nodes:\n"
            + "\n".join(map(_indented, found))
            + "\nThis may cause errors in trace checking. To disable trace checking, pass check_trace=False to "
            "torch.jit.trace()"
        )


def _results(function: Callable[..., Any], given: _Examples) -> list[Tensor]:
    """The tensors that a call with copies of the arguments gives."""
    args, kwargs = copy_of(given)
    leaves = pytree.tree_leaves(function(*args, **kwargs))
    return [leaf if isinstance(leaf, Tensor) else tensor(leaf) for leaf in leaves]


def copy_of(given: _Examples) -> _Examples:
    """Copies of example arguments, for programs that write to them."""
    made: _Examples = pytree.tree_map(lambda leaf: leaf.detach().clone().requires_grad_(leaf.requires_grad), given)
    return made


def _compare_programs(first: Program, second: Program) -> None:
    import difflib  # lazy: only checks need it

    one, other = first.lines(), second.lines()
    if one != other:
        difference = "\n".join(difflib.ndiff(one, other))
        raise TracingCheckError(f"Graph diff:\n{_indented(difference)}", None)
    for mine, theirs in zip(first.constants(), second.constants(), strict=True):
        try:
            assert_close(mine, theirs, equal_nan=True)
        except AssertionError as error:
            raise TracingCheckError(None, str(error)) from None
