"""``torch.fx.node``: one step of a graph, and what its arguments may be."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mt_core.pytree.nodes import is_namedtuple_instance

from ._names import pretty_target, typename
from ._names import type_repr as _type_repr
from .immutable_collections import immutable_dict, immutable_list

if TYPE_CHECKING:
    from .graph import Graph

__all__ = ["Node", "has_side_effect", "map_aggregate", "map_arg"]

Target = Any
Argument = Any

_legal_ops = dict.fromkeys(["placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root"])
#: Functions whose calls are kept though nothing uses what they give.
_side_effectful_functions: set[Callable[..., Any]] = {operator.setitem}


def _known_effects() -> set[Callable[..., Any]]:
    """The functions of ``torch`` that are called for what they do."""
    if not _TORCH_EFFECTS:
        import mindtorch as torch  # lazy: it must be complete

        _TORCH_EFFECTS.add(torch._assert)
        _TORCH_EFFECTS.update(getattr(torch, name) for name in _DRAWING.split())
    return _side_effectful_functions | _TORCH_EFFECTS


_TORCH_EFFECTS: set[Callable[..., Any]] = set()
#: Functions that draw random numbers and are no operators of ``torch.ops``.
_DRAWING = "bernoulli multinomial normal poisson rand rand_like randint randint_like randn randn_like randperm"


def has_side_effect(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Have calls of a function kept by `Graph.eliminate_dead_code`; returns the function."""
    _side_effectful_functions.add(fn)
    return fn


# Arguments


def map_aggregate(a: Argument, fn: Callable[[Argument], Argument]) -> Argument:
    """The same tuples, lists, dicts and slices with `fn` applied to what they hold."""
    if isinstance(a, tuple):
        items = [map_aggregate(item, fn) for item in a]
        return type(a)(*items) if is_namedtuple_instance(a) else tuple(items)
    if isinstance(a, list):
        return immutable_list([map_aggregate(item, fn) for item in a])
    if isinstance(a, dict):
        return immutable_dict([(key, map_aggregate(value, fn)) for key, value in a.items()])
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    return fn(a)


def map_arg(a: Argument, fn: Callable[[Node], Argument]) -> Argument:
    """The same arguments with `fn` applied to each node among them.

    Raises
    ------
    AssertionError
        When `fn` cannot be called.
    """
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda item: fn(item) if isinstance(item, Node) else item)


def _format_arg(arg: Any, max_list_len: float = float("inf")) -> str:
    """An argument in the text of a node: nodes are ``%name``, strings have no quotes."""
    if hasattr(arg, "_custom_fx_repr_fn"):
        return str(arg._custom_fx_repr_fn())
    if isinstance(arg, list):
        return f"[{_format_items(arg, max_list_len)}]"
    if isinstance(arg, tuple):
        return f"({_format_items(arg, max_list_len)}{',' if len(arg) == 1 else ''})"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{key}: {_format_arg(value)}" for key, value in arg.items()) + "}"
    return f"%{arg}" if isinstance(arg, Node) else str(arg)


def _format_items(items: Any, limit: float) -> str:
    shown = [_format_arg(item) for index, item in enumerate(items) if index < limit]
    rest = f", ...[total_len={len(items)}]" if len(items) > limit + 1 else ""
    return ", ".join(shown) + rest


# Nodes


class Node:
    """A step of a graph: what is called (`op`, `target`), with what (`args`, `kwargs`), and who uses it (`users`).

    Nodes of a graph are a linked list, in the order in which they run; `Graph` makes them.

    Raises
    ------
    ValueError
        When the target is none of that kind of step.
    """

    def __init__(
        self,
        graph: Graph,
        name: str,
        op: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        return_type: Any = None,
    ) -> None:
        _check_target(graph, name, op, target)
        self._args: Any
        self._kwargs: Any
        self.graph = graph
        self.name = name
        self.op = op
        self.target = target
        self.type = return_type
        self.meta: dict[str, Any] = {}
        self.users: dict[Node, None] = {}
        self._input_nodes: dict[Node, None] = {}
        self._prev: Node = self
        self._next: Node = self
        self._sort_key: tuple[int, ...] = ()
        self._erased = False
        self._repr_fn: Callable[[Node], str] | None = None
        self._update_args_kwargs(args, kwargs)

    def __repr__(self) -> str:
        return self._repr_fn(self) if self._repr_fn else self.name

    def __setattr__(self, name: str, value: Any) -> None:
        listed = name in ("op", "target", "name") and name in self.__dict__ and not self._erased
        if not listed:
            object.__setattr__(self, name, value)
            return
        if name == "name":
            self._tell_of_renaming(value)
        self.graph._forget_target(self)
        object.__setattr__(self, name, value)
        self.graph._find_target(self)

    def _tell_of_renaming(self, value: str) -> None:
        module = self.graph.owning_module
        for hook in getattr(module, "_replace_hooks", ()):
            for user in self.users:
                hook(old=self, new=value, user=user)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        state["_input_nodes"] = tuple(self._input_nodes)
        state["users"] = tuple(self.users)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Of nodes that refer to each other some are still empty here, and cannot be told to anyone.
        object.__setattr__(self, "__dict__", dict(state))
        self.__dict__["_input_nodes"] = dict.fromkeys(state["_input_nodes"])
        self.__dict__["users"] = dict.fromkeys(state["users"])

    def __lt__(self, other: Node) -> bool:
        return self._sort_key < other._sort_key

    def __gt__(self, other: Node) -> bool:
        return self._sort_key > other._sort_key

    def __le__(self, other: Node) -> bool:
        return self is other or self._sort_key < other._sort_key

    def __ge__(self, other: Node) -> bool:
        return self is other or self._sort_key > other._sort_key

    # The list of nodes

    @property
    def next(self) -> Node:
        """The node after this one; after the last one, the graph's root."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one; before the first one, the graph's root."""
        return self._prev

    def prepend(self, x: Node) -> None:
        """Move a node of this graph to the place before this one.

        Raises
        ------
        AssertionError
            When it is a node of another graph.
        """
        if self.graph is not x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if self is x:
            _warn("Trying to prepend a node to itself. This behavior has no effect on the graph.")
            return
        x._remove_from_list()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x
        x._sort_key = _key_between(before, self)

    def append(self, x: Node) -> None:
        """Move a node of this graph to the place after this one."""
        self._next.prepend(x)

    def _remove_from_list(self) -> None:
        before, after = self._prev, self._next
        before._next, after._prev = after, before

    # Arguments

    @property
    def args(self) -> tuple[Argument, ...]:
        """The positional arguments. Assigning them records this node as user of what they hold."""
        return self._args

    @args.setter
    def args(self, a: tuple[Argument, ...]) -> None:
        self._update_args_kwargs(a, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Argument]:
        """The arguments by name. Assigning them records this node as user of what they hold."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, k: dict[str, Argument]) -> None:
        self._update_args_kwargs(self._args, k)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among the arguments, each once, in order."""
        return list(self._input_nodes)

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Put `arg` in the place of positional argument `idx`."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Put `arg` before positional argument `idx`.

        Raises
        ------
        AssertionError
            When there is no such place.
        """
        if not 0 <= idx <= len(self.args):
            raise AssertionError(f"insert_args index must be between 0 and len(self.args), got {idx}")
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Give argument `key` the value `arg`."""
        self.kwargs = {**self.kwargs, key: arg}

    def _update_args_kwargs(self, args: Any, kwargs: Any) -> None:
        for used in self._input_nodes:
            used.users.pop(self, None)
        found: dict[Node, None] = {}

        def note(node: Node) -> Node:
            found.setdefault(node)
            return node

        object.__setattr__(self, "_args", map_arg(tuple(args), note))
        object.__setattr__(self, "_kwargs", map_arg(dict(kwargs), note))
        self._input_nodes = found
        for used in found:
            used.users.setdefault(self)

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Use `new_input` wherever the arguments hold `old_input`."""
        module = self.graph.owning_module
        for hook in getattr(module, "_replace_hooks", ()):
            hook(old=old_input, new=new_input.name, user=self)
        self._exchange_input(old_input, new_input)

    def _exchange_input(self, old: Node, new: Argument) -> None:
        def exchange(node: Node) -> Argument:
            return new if node is old else node

        self._update_args_kwargs(map_arg(self._args, exchange), map_arg(self._kwargs, exchange))

    def replace_all_uses_with(
        self, replace_with: Node, delete_user_cb: Callable[[Node], bool] | None = None, *, propagate_meta: bool = False
    ) -> list[Node]:
        """Have the users of this node use another; returns those that did.

        Parameters
        ----------
        delete_user_cb
            Told of each user, says whether it is to change.
        propagate_meta
            Give the other node this one's `meta`; it must have none.
        """
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError(
                    "Called node.replace_all_uses_with(replace_with, propagate_meta=True), "
                    "but replace_with already has .meta keys"
                )
            replace_with.meta.update(self.meta)
        changed = []
        hooks = getattr(self.graph.owning_module, "_replace_hooks", ())
        for user in list(self.users):
            if delete_user_cb is not None and not delete_user_cb(user):
                continue
            changed.append(user)
            for hook in hooks:
                hook(old=self, new=replace_with.name, user=user)
            user._exchange_input(self, replace_with)
        return changed

    def _rename(self, candidate: str) -> None:
        if candidate != self.name:
            self.name = self.graph._graph_namespace.create_name(candidate, None)
            self.graph._graph_namespace._rename_object(self, self.name)

    # Questions

    @property
    def stack_trace(self) -> str | None:
        """Where the step was traced, if the tracer recorded it (``meta["stack_trace"]``)."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether the step does more than give a value, so that it stays though nothing uses it.

        Parameters
        ----------
        impure_random
            Count steps that draw random numbers, and change the generator.
        """
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            return _is_impure_function(self.target, impure_random)
        return self.op == "call_module" and self._is_impure_module()

    def _is_impure_module(self) -> bool:
        module: Any = self.graph.owning_module
        if module is None:
            raise AssertionError("self.graph.owning_module not set for purity check")
        submodule = module.get_submodule(self.target)
        return bool(getattr(submodule, "_is_impure", False))

    def normalized_arguments(
        self,
        root: Any,
        arg_types: tuple[Any, ...] | None = None,
        kwarg_types: dict[str, Any] | None = None,
        normalize_to_only_use_kwargs: bool = False,
    ) -> Any:
        """The arguments in the form of the target's signature, or None where it has none that they fit."""
        from .operator_schemas import normalize_function, normalize_module  # lazy: it loads the schemas

        if self.op == "call_function":
            return normalize_function(
                self.target, self.args, self.kwargs, arg_types, kwarg_types, normalize_to_only_use_kwargs
            )
        if self.op == "call_module":
            return normalize_module(
                root, self.target, self.args, self.kwargs, normalize_to_only_use_kwargs=normalize_to_only_use_kwargs
            )
        return None

    # Text

    _pretty_print_target = staticmethod(pretty_target)

    def format_node(
        self,
        placeholder_names: list[str] | None = None,
        maybe_return_typename: list[str] | None = None,
        *,
        include_tensor_metadata: bool = False,
    ) -> str | None:
        """The node as a line of a printed graph.

        Parameters
        ----------
        placeholder_names
            A list that is given the names of inputs, for which None is returned.
        maybe_return_typename
            A list of one text that is given the type of the output.
        """
        if self.op == "placeholder":
            return self._format_placeholder(placeholder_names)
        if self.op == "output":
            if self.type and maybe_return_typename:
                maybe_return_typename[0] = f" -> {_type_repr(self.type)}"
            return f"return {self.args[0]}"
        typed = f"{_type_repr(self.type)} " if self.type else ""
        start = f"%{self.name} : {typed}[num_users={len(self.users)}] = {self.op}[target={pretty_target(self.target)}]"
        if self.op == "get_attr":
            return start
        return f"{start}(args = {_format_arg(self.args)}, kwargs = {_format_arg(self.kwargs)})"

    def _format_placeholder(self, names: list[str] | None) -> str | None:
        typed = f"{_type_repr(self.type)} " if self.type else ""
        default = f"(default={self.args[0]})" if self.args else ""
        if names is None:
            return f"%{self.name} : {typed}[num_users={len(self.users)}] = {self.op}[target={self.target}]{default}"
        names.append(str(self.target) + (f": {_type_repr(self.type)}" if self.type else "") + default)
        return None


def _check_target(graph: Graph, name: str, op: str, target: Any) -> None:
    wanted = "Callable" if op == "call_function" else "str"
    if op not in _legal_ops:
        raise AssertionError(f"op '{op}' is not in _legal_ops")
    if callable(target) if op == "call_function" else isinstance(target, str):
        return
    raise ValueError(
        f"Node [graph = {graph}, name = '{name}'] target {target} has type {typename(target)} "
        f"but a {wanted} is expected"
    )


def _warn(text: str) -> None:
    import warnings  # lazy: rarely needed

    warnings.warn(text, stacklevel=3)


def _key_between(before: Node, after: Node) -> tuple[int, ...]:
    """A key that sorts between those of two neighbours; the root's is empty and stands at both ends."""
    low, high = before._sort_key, after._sort_key
    if not high:
        return (low[0] + 1 if low else 0,)
    if not low:
        return (high[0] - 1,)
    if len(low) > len(high):
        return (*low[: len(high)], low[len(high)] + 1)
    if len(low) < len(high):
        return (*high[: len(low)], high[len(low)] - 1)
    return (*low, 0)


def _is_impure_function(target: Any, impure_random: bool) -> bool:
    if target in _known_effects():
        return True
    schema = getattr(target, "_schema", None)
    if schema is not None and getattr(schema, "is_mutable", False):
        return True
    return impure_random and _is_random_overload(target)


def _is_random_overload(target: Any) -> bool:
    """Whether an operator of ``torch.ops``, or any overload of it, draws random numbers."""
    overloads = [getattr(target, name) for name in target.overloads()] if hasattr(target, "overloads") else [target]
    return any(tag.name == "nondeterministic_seeded" for one in overloads for tag in getattr(one, "tags", None) or ())
