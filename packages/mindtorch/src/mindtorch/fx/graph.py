"""``torch.fx.graph``: graphs, their lists of nodes, and the changes they can take."""

from __future__ import annotations

import contextlib
import copy
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from . import _lint
from ._codegen import CodeGen as CodeGen
from ._codegen import PythonCode as PythonCode
from ._codegen import _ParsedStackTrace as _ParsedStackTrace
from ._codegen import _PyTreeCodeGen as _PyTreeCodeGen
from ._codegen import _PyTreeInfo as _PyTreeInfo
from ._codegen import format_target as _format_target
from ._codegen import parsed_stack_trace as _parse_stack_trace
from ._names import is_from_torch as _is_from_torch
from ._names import snake_case as _snake_case
from ._namespace import Namespace as _Namespace
from ._namespace import custom_builtins as _custom_builtins
from ._namespace import register_builtin as _register_custom_builtin
from ._operators import IN_PLACE as inplace_methods
from ._operators import MAGIC as magic_methods
from ._operators import REFLECTABLE as reflectable_magic_methods
from .immutable_collections import immutable_dict
from .node import Node, map_arg

if TYPE_CHECKING:
    from .graph_module import GraphModule

__all__ = ["CodeGen", "Graph", "PythonCode"]

_UNSET: Any = object()


class _InsertPoint:
    """Context manager: nodes that are made within stand at a chosen place."""

    def __init__(self, graph: Graph, new_insert: Callable[[Node], None]) -> None:
        self.graph = graph
        self.orig_insert, graph._insert = graph._insert, new_insert

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc_info: object) -> None:
        self.graph._insert = self.orig_insert


class _node_list:
    """The nodes of a graph in order; nodes may be added and erased while it is gone through."""

    def __init__(self, graph: Graph, direction: str = "_next") -> None:
        if direction not in ("_next", "_prev"):
            raise AssertionError(f"direction must be '_next' or '_prev', got {direction}")
        self.graph = graph
        self.direction = direction

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Node]:
        node = getattr(self.graph._root, self.direction)
        while node is not self.graph._root:
            if not node._erased:
                yield node
            node = getattr(node, self.direction)

    def __reversed__(self) -> _node_list:
        return _node_list(self.graph, "_prev" if self.direction == "_next" else "_next")


class Graph:
    """A program as a list of nodes: inputs (``placeholder``), steps, and one ``output``.

    Parameters
    ----------
    owning_module
        The module whose attributes the nodes refer to.
    tracer_cls, tracer_extras
        The class of the tracer that makes the graph, and what else it needs to make it again.
    """

    def __init__(
        self,
        owning_module: GraphModule | None = None,
        tracer_cls: Any = None,
        tracer_extras: dict[str, Any] | None = None,
    ) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._used_names: dict[str, int] = {}
        self._insert: Callable[[Node], None] = self._root.prepend
        self._len = 0
        self._graph_namespace = _Namespace()
        self._owning_module = owning_module
        self._owners = 0
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras
        self._codegen = CodeGen()
        self._co_fields: dict[str, Any] = {}
        self._targets: dict[tuple[str, Any], dict[Node, None]] = {}

    # Owner

    @property
    def owning_module(self) -> GraphModule | None:
        """The module whose attributes the nodes refer to; None if there is none, or more than one."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, mod: GraphModule | None) -> None:
        if mod is not None:
            self._owning_module = mod if not self._owners else None
            self._owners += 1

    # Nodes

    @property
    def nodes(self) -> _node_list:
        """The nodes in order."""
        return _node_list(self)

    def output_node(self) -> Node:
        """The node that says what the graph gives.

        Raises
        ------
        AssertionError
            When the last node is not one.
        """
        node = self._root._prev
        if node.op != "output":
            raise AssertionError(f"Expected output node, got op={node.op}")
        return node

    def find_nodes(self, *, op: str, target: Any = None, sort: bool = True) -> list[Node]:
        """The nodes of a kind, and of a target where one is given (of functions it must be).

        Parameters
        ----------
        sort
            In the order of the graph.
        """
        if op == "call_function" and target is None:
            raise AssertionError("target must not be None for call_function op")
        if op == "call_function":
            found = list(self._targets.get((op, target), ()))
        else:
            nodes = self._targets.get((op, None), ())
            found = [node for node in nodes if target is None or node.target == target]
        return sorted(found) if sort else found

    def _find_target(self, node: Node) -> None:
        self._targets.setdefault(_lookup_key(node), {})[node] = None

    def _forget_target(self, node: Node) -> None:
        self._targets.get(_lookup_key(node), {}).pop(node, None)

    def _target_to_str(self, target: Any) -> str:
        """What nodes that call a target are named after."""
        name: str = target if isinstance(target, str) else target.__name__
        if isinstance(target, str) and name.startswith("__") and name.endswith("__"):
            name = name[2:-2]
        return _snake_case(name)

    def create_node(
        self,
        op: str,
        target: Any,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A node at the insertion point, with a name that is free."""
        args = () if args is None else args
        kwargs = {} if kwargs is None else kwargs
        if not isinstance(args, tuple):
            raise AssertionError(f"args must be a tuple, got {type(args)}")
        if not isinstance(kwargs, dict):
            raise AssertionError(f"kwargs must be a dict, got {type(kwargs)}")
        candidate = name if name is not None else self._target_to_str(target)
        node = Node(self, self._graph_namespace.create_name(candidate, None), op, target, args, kwargs, type_expr)
        self._adopt(node)
        return node

    def _adopt(self, node: Node) -> None:
        for hook in getattr(self.owning_module, "_create_node_hooks", ()):
            hook(node)
        self._graph_namespace.associate_name_with_obj(node.name, node)
        self._insert(node)
        self._find_target(node)
        self._len += 1

    def erase_node(self, to_erase: Node) -> None:
        """Take a node out of the graph.

        Raises
        ------
        RuntimeError
            When something uses it, or when it belongs to another graph.
        """
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} "
                f"users in the graph: {to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            warnings.warn(f"erase_node({to_erase}) on an already erased node", stacklevel=2)
            return
        for hook in getattr(self.owning_module, "_erase_node_hooks", ()):
            hook(to_erase)
        self._forget_target(to_erase)
        to_erase._remove_from_list()
        to_erase._erased = True
        self._len -= 1
        to_erase._update_args_kwargs((), {})

    def inserting_before(self, n: Node | None = None) -> _InsertPoint:
        """From here on, or within ``with``, new nodes stand before a node; without one, at the graph's start."""
        if n is None:
            return self.inserting_after(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert before is not in graph.")
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n: Node | None = None) -> _InsertPoint:
        """From here on, or within ``with``, new nodes stand after a node; without one, at the graph's end."""
        if n is None:
            return self.inserting_before(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert after is not in graph.")
        return _InsertPoint(self, n.append)

    # Kinds of nodes

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = _UNSET) -> Node:
        """An input; ``*name`` and ``**name`` take the rest."""
        args = () if default_value is _UNSET or default_value is _empty() else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """The value of an attribute of the owning module; warns when it has none."""
        _lint.warn_of_missing(self.owning_module, qualified_name)
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self,
        module_name: str,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A call of a submodule of the owning module, which must have it."""
        if self.owning_module is not None:
            self.owning_module.get_submodule(module_name)
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(
        self,
        method_name: str,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        type_expr: Any = None,
        name: str | None = None,
    ) -> Node:
        """A call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result: Any, type_expr: Any = None) -> Node:
        """What the graph gives."""
        return self.create_node("output", "output", args=(result,), type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Any] = lambda x: x) -> Node:
        """A node of another graph in this one, with its arguments as `arg_transform` maps them."""
        args = map_arg(node.args, arg_transform)
        kwargs = map_arg(node.kwargs, arg_transform)
        result = self.create_node(node.op, node.target, args, dict(kwargs), node.name, node.type)
        result.meta = copy.copy(node.meta)
        return result

    def graph_copy(self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False) -> Any:
        """All nodes of another graph but its output, whose value in this one it returns.

        Parameters
        ----------
        val_map
            Node of `g` -> node of this graph; it is filled in.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                value = map_arg(node.args[0], val_map.__getitem__)
                return value if not return_output_node else (value, node)
            val_map[node] = self.node_copy(node, val_map.__getitem__)
        return None

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Graph:
        memo = memo if memo is not None else {}
        made = Graph(tracer_cls=self._tracer_cls)
        known: dict[Node, Node] = {}
        copied = made.graph_copy(self, val_map=known, return_output_node=True)
        made._codegen = copy.deepcopy(self._codegen)
        memo.update((id(old), new) for old, new in known.items())
        if copied is not None:
            value, old_output = copied
            output = made.output(value, type_expr=getattr(old_output, "type", None))
            output.meta = copy.copy(old_output.meta)
        return made

    # Text

    def python_code(
        self,
        root_module: str,
        *,
        verbose: bool = False,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        expanded_def: bool = False,
        record_func: bool = False,
        additional_meta: list[str] | None = None,
    ) -> PythonCode:
        """The graph as text of a function; attributes are those of `root_module`.

        Parameters
        ----------
        verbose
            With where the program made each node, and with what is known of its tensor.
        expanded_def
            Each parameter on a line of its own.

        Raises
        ------
        NotImplementedError
            For `colored`, `record_func` and `additional_meta`.
        """
        refuse_options(colored=colored, record_func=record_func, additional_meta=additional_meta)
        with self._named_by(namespace := _Namespace()):
            return self._codegen._gen_python_code(
                self.nodes,
                root_module,
                namespace,
                verbose=verbose,
                include_stride=include_stride,
                include_device=include_device,
                expanded_def=expanded_def,
            )

    @contextlib.contextmanager
    def _named_by(self, namespace: _Namespace) -> Iterator[None]:
        """Have ``repr`` of nodes give their names in a text, in which names of globals are taken too."""
        before = {node: node._repr_fn for node in self.nodes}
        for node in self.nodes:
            node._repr_fn = lambda node: namespace.create_name(node.name, node)
        try:
            yield
        finally:
            for node, repr_fn in before.items():
                node._repr_fn = repr_fn

    def __str__(self) -> str:
        return "graph():" + "".join(f"\n    {node.format_node()}" for node in self.nodes)

    def print_tabular(self) -> None:
        """Print the nodes as a table.

        Raises
        ------
        ImportError
            When the distribution ``tabulate`` is not installed.
        """
        try:
            from tabulate import tabulate  # type: ignore[import-untyped, import-not-found, unused-ignore]  # lazy: not needed for anything else, and often not installed
        except ImportError:
            print(
                "`print_tabular` relies on the library `tabulate`, "
                "which could not be found on this machine. Run `pip "
                "install tabulate` to install the library."
            )
            raise
        rows = [[n.op, n.name, n.target, n.args, n.kwargs] for n in self.nodes]
        print(tabulate(rows, headers=["opcode", "name", "target", "args", "kwargs"]))

    # Checks and changes

    def lint(self) -> None:
        """Check that nodes use what was made before them, that names differ, and that attributes exist.

        Raises
        ------
        RuntimeError
            When one of these does not hold.
        """
        _lint.lint(self)

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Erase the nodes that nothing uses and that have no effect; returns whether there were any.

        Parameters
        ----------
        is_impure_node
            Says of a node that it is to stay, in place of `Node.is_impure`.
        """
        self.lint()
        stays = is_impure_node or Node.is_impure
        before = len(self.nodes)
        for node in reversed(self.nodes):
            if not node.users and not stays(node):
                self.erase_node(node)
        changed = _erase_dead_subgraphs(self, is_impure_node)
        return changed or len(self.nodes) < before

    def set_codegen(self, codegen: CodeGen) -> None:
        """Have the graph's text written by another writer."""
        self._codegen = codegen

    def on_generate_code(
        self, make_transformer: Callable[[Callable[[list[str]], list[str]] | None], Callable[[list[str]], list[str]]]
    ) -> contextlib.AbstractContextManager[None]:
        """Have the lines of the text changed before it is put together; ``with`` takes this back at the end.

        Parameters
        ----------
        make_transformer
            Given the function that changes the lines so far (or None), returns another one.
        """
        previous = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(previous)
        return self._restoring(previous)

    @contextlib.contextmanager
    def _restoring(self, transformer: Any) -> Iterator[None]:
        try:
            yield
        finally:
            self._codegen._body_transformer = transformer

    def process_inputs(self, *args: Any) -> Any:
        """The values of the inputs, given the arguments of the graph's function."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """What the graph's function returns, given the value of its output."""
        return self._codegen.process_outputs(out)

    def _clear_nodes(self) -> None:
        for node in reversed(self.nodes):
            node.meta.clear()
            self.erase_node(node)


def _lookup_key(node: Node) -> tuple[str, Any]:
    return node.op, node.target if node.op == "call_function" else None


def _empty() -> Any:
    import inspect  # lazy: a graph alone does not need it

    return inspect.Parameter.empty


def refuse_options(**options: Any) -> None:
    """Refuse options of printing that are not done, by name."""
    for name, value in options.items():
        if value:
            raise NotImplementedError(f"torch.fx.Graph.python_code({name}) is not supported by mindtorch.")


def _erase_dead_subgraphs(graph: Graph, is_impure_node: Any) -> bool:
    """The same for the graphs of submodules that are graphs."""
    changed = False
    if graph.owning_module is not None:
        for child in graph.owning_module.children():
            if isinstance(getattr(child, "_graph", None), Graph):
                changed |= child.graph.eliminate_dead_code(is_impure_node)
                child.recompile()
    return changed


__all__ += [
    "_Namespace", "_PyTreeCodeGen", "_PyTreeInfo", "_custom_builtins", "_format_target", "_is_from_torch",
    "_parse_stack_trace", "_register_custom_builtin", "_snake_case", "immutable_dict", "inplace_methods",
    "magic_methods", "reflectable_magic_methods",
]  # fmt: skip
