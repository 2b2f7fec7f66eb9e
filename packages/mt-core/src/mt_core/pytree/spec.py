"""The structure of a tree: what is left of it when its leaves are taken out."""

from collections.abc import Iterable
from typing import Any

from .nodes import SUPPORTED_NODES, Context, node_type

__all__ = ["LeafSpec", "TreeSpec", "treespec_dict", "treespec_leaf", "treespec_list", "treespec_tuple"]

#: Mappings of these types may stand for one another when trees are taken apart alike; items go by their keys.
_MAPPINGS = tuple(kind for kind in SUPPORTED_NODES if isinstance(kind, type) and issubclass(kind, dict))


class TreeSpec:
    """A container of specs: its type, its context and its children; `LeafSpec` stands for a leaf.

    Attributes
    ----------
    num_leaves, num_nodes, num_children
        How many leaves it holds, how many leaves and containers it consists of, and how many of them directly.
    """

    __slots__ = ("_children", "_context", "num_children", "num_leaves", "num_nodes", "type")

    num_leaves: int
    num_nodes: int
    num_children: int

    def __init__(self, type: Any, context: Context, children_specs: "Iterable[TreeSpec]" = ()) -> None:
        self.type = type
        self._context = context
        self._children = list(children_specs)
        self.num_children = len(self._children)
        self.num_leaves = sum(child.num_leaves for child in self._children)
        self.num_nodes = 1 + sum(child.num_nodes for child in self._children)

    @property
    def context(self) -> Context:
        """What is needed besides the items to make the container."""
        return self._context

    @property
    def children_specs(self) -> "list[TreeSpec]":
        """The specs of the items."""
        return self._children

    def children(self) -> "list[TreeSpec]":
        """The specs of the items, in a list of one's own."""
        return list(self._children)

    def child(self, index: int) -> "TreeSpec":
        """The spec of one item."""
        return self._children[index]

    def is_leaf(self) -> bool:
        """Whether it is the spec of a leaf."""
        return False

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        mine = (self.type, self._context, self._children)
        return mine == (other.type, other._context, other._children)

    def __hash__(self) -> int:
        context = tuple(self._context) if isinstance(self._context, list) else self._context
        return hash((self.type, repr(context), tuple(self._children)))

    def __repr__(self) -> str:
        return self._text(0)

    def _text(self, indent: int) -> str:
        prefix = f"TreeSpec({self.type.__name__}, {self._context}, ["
        inner = indent + 2
        children = [child._text(inner) for child in self._children]
        return prefix + f",\n{' ' * inner}".join(children) + "])"

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The parts of a tree that stand where this spec has leaves.

        Raises
        ------
        ValueError
            When the tree has not at least this structure.
        """
        parts: list[Any] = []
        self._collect(tree, parts)
        return parts

    def _collect(self, tree: Any, parts: list[Any]) -> None:
        for child, item in zip(self._children, self._items_of(tree)):
            child._collect(item, parts)

    def _items_of(self, tree: Any) -> list[Any]:
        """The items of a container that is like this one, in this one's order."""
        kind = node_type(tree)
        if kind in _MAPPINGS and self.type in _MAPPINGS:
            return self._items_by_key(tree)
        if kind != self.type:
            raise ValueError(f"Node type mismatch; expected {self.type!r}, but got {kind!r}.")
        items, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        if len(items) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(items)}.")
        if context != self._context:
            raise ValueError(f"Node context mismatch for node type {self.type!r}.")
        return items

    def _items_by_key(self, tree: dict[Any, Any]) -> list[Any]:
        keys = self._context[1] if self.type.__name__ == "defaultdict" else self._context
        if len(tree) != len(keys):
            raise ValueError(f"Node arity mismatch; expected {len(keys)}, but got {len(tree)}.")
        if set(tree) != set(keys):
            missing, extra = set(keys) - set(tree), set(tree) - set(keys)
            raise ValueError(f"Node keys mismatch; missing key(s): {missing}; extra key(s): {extra}.")
        return [tree[key] for key in keys]

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree of this structure with these leaves.

        Raises
        ------
        ValueError
            When there are more or fewer than it has places for.
        """
        if not isinstance(leaves, (list, tuple)):
            leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree that "
                f"holds {self.num_leaves} items ({self})."
            )
        return self._build(leaves, 0)

    def _build(self, leaves: Any, start: int) -> Any:
        items = []
        for child in self._children:
            items.append(child._build(leaves, start))
            start += child.num_leaves
        return SUPPORTED_NODES[self.type].unflatten_fn(items, self._context)


class LeafSpec(TreeSpec):
    """The spec of a leaf."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None, None)
        self.num_leaves = 1

    def is_leaf(self) -> bool:
        """Whether it is the spec of a leaf."""
        return True

    def _text(self, indent: int) -> str:
        return "*"

    def _collect(self, tree: Any, parts: list[Any]) -> None:
        parts.append(tree)

    def _build(self, leaves: Any, start: int) -> Any:
        return leaves[start]


_LEAF = LeafSpec()


def treespec_leaf() -> LeafSpec:
    """The spec of a leaf."""
    return _LEAF


def treespec_tuple(iterable: "Iterable[TreeSpec]" = ()) -> "TreeSpec":
    """The spec of a tuple of things with these specs."""
    return TreeSpec(tuple, None, iterable)


def treespec_list(iterable: "Iterable[TreeSpec]" = ()) -> "TreeSpec":
    """The spec of a list of things with these specs."""
    return TreeSpec(list, None, iterable)


def treespec_dict(mapping: "dict[Any, TreeSpec] | None" = None) -> "TreeSpec":
    """The spec of a dict of things with these specs."""
    mapping = mapping or {}
    return TreeSpec(dict, list(mapping), mapping.values())
