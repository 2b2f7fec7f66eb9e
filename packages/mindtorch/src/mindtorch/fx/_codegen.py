"""From a graph to the text of a Python function, as PyTorch writes it."""

from __future__ import annotations

import enum
import re
import types
import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from mt_core import Tensor, pytree
from mt_core.pytree.nodes import is_namedtuple_instance

from ._names import is_from_torch, qualified_name, type_repr
from ._namespace import Namespace, builtin_globals
from ._operators import IN_PLACE, MAGIC
from .node import Node

if TYPE_CHECKING:
    pass

__all__ = ["CodeGen", "PythonCode", "format_target"]

#: Before the lines of a node, with its place in the graph; `Graph.on_generate_code` sees them.
_MARK = "# COUNTER: "


@dataclass
class PythonCode:
    """The text of a function, and what it refers to.

    Attributes
    ----------
    src
        The text.
    globals
        Name -> object, for the names that it uses.
    _lineno_map
        Line of the function's body -> place of the node in the graph.
    """

    src: str
    globals: dict[str, Any]
    _lineno_map: dict[int, int | None] | None
    _prologue_start: int = 0


class _PyTreeInfo(NamedTuple):
    """How nested inputs and outputs are taken apart and put together."""

    orig_args: list[str]
    in_spec: pytree.TreeSpec
    out_spec: pytree.TreeSpec | None


def format_target(base: str, target: str) -> str:
    """``self``, ``seq.0.weight`` -> ``getattr(self.seq, "0").weight``."""
    for part in target.split("."):
        base = f"{base}.{part}" if part.isidentifier() else f'getattr({base}, "{part}")'
    return base


@dataclass
class _Writing:
    """What is known while one text is written."""

    root: str
    namespace: Namespace
    verbose: bool
    include_stride: bool
    include_device: bool
    globals: dict[str, Any] = field(default_factory=dict)
    wrapped: dict[str, None] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)
    body: list[str] = field(default_factory=list)
    returns: str = ""
    trace: str | None = None
    last_uses: dict[Node, list[Node]] = field(default_factory=dict)

    def add_global(self, hint: str, obj: Any) -> str:
        """The name under which the text can refer to an object."""
        if is_from_torch(obj) and not _is_device_class(obj):
            return qualified_name(obj)
        name = self.namespace.create_name(hint.replace(".", "_"), obj)
        if name in self.globals:
            if self.globals[name] is not obj:
                raise AssertionError(f"Global name {name} already assigned to different object")
        else:
            self.globals[name] = obj
        return name


def _is_device_class(obj: Any) -> bool:
    return obj is builtin_globals()["device"].obj


class CodeGen:
    """Writes a graph as a function. Subclasses may change how it starts, ends, and takes its inputs."""

    #: Objects in the place of numbers that are symbols; none are.
    _sym_repr: Callable[[Any], str] = repr

    def __init__(self) -> None:
        self._body_transformer: Callable[[list[str]], list[str]] | None = None
        self._func_name = "forward"

    # What subclasses change

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False) -> str:
        """The head of the function; `free_vars` are its parameters, to which ``self`` is added."""
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        if expanded_def:
            lines = "".join(f"\n    {var}," for var in free_vars)
            return f"def {self._func_name}({lines}\n){maybe_return_annotation}:"
        return f"def {self._func_name}({', '.join(free_vars)}){maybe_return_annotation}:"

    def generate_output(
        self, output_args: Any, *, descs: Any = None, repr_fn: Callable[[Any], str] | None = None
    ) -> str:
        """The statement that returns."""
        return f"return {(repr_fn or repr)(output_args)}"

    def process_inputs(self, *args: Any) -> Any:
        """The values of the graph's inputs, given the function's arguments."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """What the function returns, given the value of the graph's output."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Names that the text of this class uses, with what they mean."""
        return []

    # Writing

    def _gen_python_code(
        self,
        nodes: Iterable[Node],
        root_module: str,
        namespace: Namespace,
        *,
        verbose: bool = False,
        include_stride: bool = False,
        include_device: bool = False,
        expanded_def: bool = False,
    ) -> PythonCode:
        writing = _Writing(root_module, namespace, verbose, include_stride, include_device)
        for name, value in self.additional_globals():
            writing.add_global(name, value)
        for name, known in builtin_globals().items():
            writing.globals[name] = known.obj
        listed = list(nodes)
        writing.last_uses = _last_uses(listed)
        for index, node in enumerate(listed):
            if verbose:
                _append_place(writing, node)
            writing.body.append(f"{_MARK}{index}\n")
            self._append_node(writing, node)
            writing.body.append(self._deletion(writing, node))
        return self._assembled(writing, expanded_def)

    def _append_node(self, writing: _Writing, node: Node) -> None:
        if node.op == "output":
            if node.type is not None:
                writing.returns = f" -> {_type_text(writing, node.type)}"
            writing.body.append(self._output_text(writing, node))
        elif node.op == "placeholder":
            _append_placeholder(writing, node)
        else:
            typed = f" : {_type_text(writing, node.type)}" if node.type is not None else ""
            typed += _tensor_annotation(writing, node)
            text = _call_text(writing, node)
            writing.body.append(text if _is_in_place(node) else f"{node!r}{typed} = {text}")

    def _output_text(self, writing: _Writing, node: Node) -> str:
        def shown(value: Any) -> str:
            return _argument_text(writing, value)

        try:
            return self.generate_output(node.args[0], repr_fn=shown)
        except TypeError as error:
            if "repr_fn" not in str(error):
                raise
            return self.generate_output(node.args[0])

    def _deletion(self, writing: _Writing, node: Node) -> str:
        """What ends the line of a node: values that nothing uses any more are let go."""
        if node.op == "placeholder":
            return ""
        if node.op == "output":
            return "\n"
        gone = [*writing.last_uses.get(node, []), *([] if node.users else [node])]
        return f";  {' = '.join([*map(repr, gone), 'None'])}\n" if gone else "\n"

    def _assembled(self, writing: _Writing, expanded_def: bool) -> PythonCode:
        if all(line.startswith(_MARK) for line in writing.body):
            writing.body.append("pass\n")
        if self._body_transformer:
            writing.body = self._body_transformer(writing.body)
        wrapped = "\n".join(f'torch.fx._symbolic_trace.wrap("{name}")' for name in writing.wrapped)
        try:
            prologue = self.gen_fn_def(writing.inputs, writing.returns, expanded_def=expanded_def)
        except TypeError as error:
            if "expanded_def" not in str(error):
                raise
            prologue = self.gen_fn_def(writing.inputs, writing.returns)
        lines, numbers = _without_marks("".join(writing.body))
        code = "\n".join(f"    {line}" for line in "\n".join(lines).lstrip("\n").split("\n"))
        text = f"\n{wrapped}\n\n{prologue}\n{code}"
        start = f"\n{wrapped}\n\n{prologue}".count("\n") + 1
        return PythonCode(text, writing.globals, numbers, start)


def _without_marks(body: str) -> tuple[list[str], dict[int, int | None]]:
    """The lines without the marks of nodes, and which node each of them is from."""
    lines: list[str] = []
    numbers: dict[int, int | None] = {}
    current: int | None = None
    for line in body.split("\n"):
        if line.startswith(_MARK):
            current = int(line.removeprefix(_MARK))
        else:
            lines.append(line)
            numbers[len(lines)] = current
    return lines, numbers


def _last_uses(nodes: list[Node]) -> dict[Node, list[Node]]:
    """Node -> the nodes that no later one uses."""
    found: dict[Node, list[Node]] = {}
    seen: set[Node] = set()
    for node in reversed(nodes):
        for used in node._input_nodes:
            if used not in seen:
                seen.add(used)
                found.setdefault(node, []).append(used)
    return found


def _append_place(writing: _Writing, node: Node) -> None:
    """Where the program made the nodes that follow, where that is another place than before."""
    if node.op in ("placeholder", "output"):
        return
    trace = node.stack_trace
    if trace is None:
        if writing.trace != "":
            writing.trace = ""
            writing.body.append("\n# No stacktrace found for following nodes\n")
    elif trace != writing.trace:
        writing.trace = trace
        summary = parsed_stack_trace(trace)
        writing.body.append(f"\n# {summary.get_summary_str() if summary else ''}\n")


@dataclass(frozen=True)
class _ParsedStackTrace:
    """The innermost frame of a stack trace."""

    file: str
    lineno: str
    name: str
    code: str

    def get_summary_str(self) -> str:
        """The frame in one line."""
        return f"File: {self.file}:{self.lineno} in {self.name}, code: {self.code}"


_FRAME = re.compile(r"^File \"(.+)\", line (\d+), in (.+)$")


def parsed_stack_trace(stack_trace: str) -> _ParsedStackTrace | None:
    """The last frame of a trace, or None where it has none."""
    lines = stack_trace.strip().split("\n")
    for index in range(len(lines) - 2, -1, -1):
        match = _FRAME.match(lines[index].strip())
        if match:
            return _ParsedStackTrace(match[1], match[2], match[3], lines[index + 1].strip())
    return None


# Parts of a line


def _append_placeholder(writing: _Writing, node: Node) -> None:
    typed = f" : {_type_text(writing, node.type)}" if node.type is not None else ""
    typed += _tensor_annotation(writing, node)
    default = f" = {_argument_text(writing, node.args[0])}" if node.args else ""
    writing.inputs.append(f"{node.target}{typed}{default}")
    raw = node.target.replace("*", "")
    if raw != repr(node):
        writing.body.append(f"{node!r} = {raw}\n")


def _call_text(writing: _Writing, node: Node) -> str:
    if node.op == "call_method":
        called = format_target(_argument_text(writing, node.args[0]), node.target)
        return f"{called}({_arguments_text(writing, node.args[1:], node.kwargs)})"
    if node.op == "call_function":
        return _function_text(writing, node)
    if node.op == "call_module":
        called = format_target(writing.root, node.target)
        return f"{called}({_arguments_text(writing, node.args, node.kwargs)})"
    if node.op == "get_attr":
        return format_target(writing.root, node.target)
    raise NotImplementedError(f"node: {node.op} {node.target}")


def _is_in_place(node: Node) -> bool:
    """Whether a node is written as a statement, ``x += y``."""
    if node.op != "call_function" or node.kwargs:
        return False
    return getattr(node.target, "__module__", "") == "_operator" and node.target.__name__ in IN_PLACE


def _function_text(writing: _Writing, node: Node) -> str:
    target, args = node.target, node.args
    if _is_in_place(node):
        first, second = (_argument_text(writing, arg) for arg in args)
        return f"{first} {IN_PLACE[target.__name__]} {second};  {node!r} = {first}"
    if getattr(target, "__module__", "") == "_operator" and target.__name__ in MAGIC and not node.kwargs:
        return MAGIC[target.__name__].format(*(_argument_text(writing, arg) for arg in args))
    hint = qualified_name(target)
    name = writing.add_global(hint, target)
    if name == "getattr" and len(args) == 2 and isinstance(args[1], str) and args[1].isidentifier():
        return format_target(_argument_text(writing, args[0]), args[1])
    if getattr(node, "meta", {}).get("is_wrapped", False):
        writing.wrapped.setdefault(name)
    return f"{name}({_arguments_text(writing, args, node.kwargs)})"


def _arguments_text(writing: _Writing, args: Iterable[Any], kwargs: dict[str, Any]) -> str:
    texts = [_argument_text(writing, arg) for arg in args]
    return ", ".join([*texts, *(f"{key} = {_argument_text(writing, value)}" for key, value in kwargs.items())])


def _argument_text(writing: _Writing, value: Any) -> str:
    """An argument as Python reads it back."""
    if isinstance(value, Node):
        return repr(value)
    if is_namedtuple_instance(value):
        name = writing.add_global(qualified_name(type(value)), type(value))
        return f"{name}({', '.join(_argument_text(writing, item) for item in value)})"
    if isinstance(value, tuple):
        items = ", ".join(_argument_text(writing, item) for item in value)
        return f"({items}{',' if len(value) == 1 else ''})"
    if isinstance(value, list):
        return f"[{', '.join(_argument_text(writing, item) for item in value)}]"
    if isinstance(value, dict):
        pairs = (f"{key!r}: {_argument_text(writing, item)}" for key, item in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, slice):
        parts = (_argument_text(writing, part) for part in (value.start, value.stop, value.step))
        return f"slice({', '.join(parts)})"
    return _constant_text(writing, value)


def _constant_text(writing: _Writing, value: Any) -> str:
    if hasattr(value, "_schema"):  # an overload of ``torch.ops``
        return writing.add_global(qualified_name(value), value)
    if isinstance(value, enum.Enum):
        return f"{writing.add_global(type(value).__name__, type(value))}.{value.name}"
    if isinstance(value, Tensor):
        name = writing.add_global("torch.Tensor", type(value))
        return f"{name}(size={list(value.shape)}, dtype={str(value.dtype).removeprefix('torch.')})"
    return repr(value)


def _type_text(writing: _Writing, of: Any) -> str:
    """A type as an annotation."""
    if isinstance(of, types.UnionType):
        return "|".join(_type_text(writing, part) for part in of.__args__)
    origin = getattr(of, "__origin__", None)
    if of is ...:
        return writing.add_global("_", of)
    if origin is None:
        return writing.add_global(type_repr(of), of)
    # ``typing.List[int]`` is written as that, ``list[int]`` as this.
    named = isinstance(origin, type) and hasattr(of, "__args__") and not isinstance(of, types.GenericAlias)
    shown = getattr(typing, getattr(of, "_name", None) or "", origin) if named else origin
    base = writing.add_global(type_repr(shown), shown)
    parts = [_type_text(writing, part) for part in getattr(of, "__args__", ())]
    return f"{base}[{','.join(parts)}]" if parts else base


def _tensor_annotation(writing: _Writing, node: Node) -> str:
    """``: "f32[2, 3]"`` where the text is to be read and the node knows its tensor."""
    if not writing.verbose:
        return ""
    known = node.meta.get("val", node.meta.get("tensor_meta", node.meta.get("example_value")))
    if hasattr(known, "shape") and hasattr(known, "dtype"):
        return f': "{_tensor_text(writing, known)}"'
    return ""


def _tensor_text(writing: _Writing, known: Any) -> str:
    text = f"{short_dtype(known.dtype)}[{', '.join(map(str, known.shape))}]"
    if writing.include_stride and isinstance(known, Tensor):
        text += f"[{', '.join(map(str, known.stride()))}]"
    if writing.include_device and isinstance(known, Tensor):
        text += str(known.device)
    return text


_LETTERS = {"bfloat": "bf", "float": "f", "complex": "c", "uint": "u", "int": "i"}


def short_dtype(dtype: Any) -> str:
    """``torch.float32`` -> ``f32``."""
    name = str(dtype).removeprefix("torch.")
    match = re.fullmatch(r"(bfloat|float|complex|uint|int)(\w+)", name)
    return (
        _LETTERS[match[1]] + match[2].removeprefix("_").replace("8_", "8") if match else {"bool": "b8"}.get(name, name)
    )


class _PyTreeCodeGen(CodeGen):
    """Of a graph whose inputs were nested: the function takes them as they were, and gives back what it gave."""

    def __init__(self, pytree_info: _PyTreeInfo) -> None:
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *inputs: Any) -> Any:
        """The leaves of the arguments."""
        return pytree.tree_leaves(inputs)

    def process_outputs(self, out: Any) -> Any:
        """The output put together; a leaf alone stays as it is."""
        if not isinstance(out, list | tuple) or self.pytree_info.out_spec is None:
            return out
        return pytree.tree_unflatten(list(out), self.pytree_info.out_spec)

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False) -> str:
        """The head with the arguments as they were, and the line that takes them apart."""
        if self.pytree_info is None:
            return super().gen_fn_def(free_vars, maybe_return_annotation, expanded_def=expanded_def)
        args = self.pytree_info.orig_args
        head = super().gen_fn_def(list(args), maybe_return_annotation, expanded_def=expanded_def)
        if not free_vars:
            return head
        own = ["self"] if args and args[0] == "self" else []  # the module itself is one of the leaves
        bindings, typed = _split_annotations([*own, *free_vars])
        if typed:
            head += "\n    " + "".join(f"{line}; " for line in typed) + "\n"
        return f"{head}\n    {bindings} = {self._flattened(args)}"

    def _flattened(self, args: list[str]) -> str:
        """The call that gives the leaves of the arguments."""
        positional = self.pytree_info.in_spec.child(0) if _has_kwargs(self.pytree_info.in_spec) else None
        if positional is None:
            return f"fx_pytree.tree_flatten_spec([{', '.join(args)}], self._in_spec)"
        count = positional.num_children
        names = self.pytree_info.in_spec.child(1).context
        named = ", ".join(f"'{name}':{arg}" for name, arg in zip(names, args[count:], strict=True))
        return f"fx_pytree.tree_flatten_spec(([{', '.join(args[:count])}], {{{named}}}), self._in_spec)"

    def generate_output(
        self, output_args: Any, *, descs: Any = None, repr_fn: Callable[[Any], str] | None = None
    ) -> str:
        """The statement that puts the output together and returns it."""
        text = (repr_fn or repr)(output_args)
        if self.pytree_info is None or self.pytree_info.out_spec is None:
            return f"return {text}"
        return f"return pytree.tree_unflatten({text}, self._out_spec)"


def _has_kwargs(spec: pytree.TreeSpec) -> bool:
    """Whether a description is that of arguments and named arguments."""
    return spec.type is tuple and spec.num_children == 2 and spec.child(0).type is tuple and spec.child(1).type is dict


def _split_annotations(free_vars: list[str]) -> tuple[str, list[str]]:
    """The targets of an assignment without types and defaults, and the types in lines of their own."""
    names = [re.split(r":|\s*=", var, maxsplit=1)[0] for var in free_vars]
    typed = [re.split(r"\s*=(?![^\[]*\])", var, maxsplit=1)[0] for var in free_vars if ":" in var]
    return "".join(f"{name}, " for name in names).rstrip(), typed
