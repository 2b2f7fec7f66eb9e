"""Structures of trees as JSON."""

import json
from typing import Any

from .nodes import SUPPORTED_NODES, NodeDef
from .spec import TreeSpec, treespec_leaf

__all__ = ["PROTOCOL", "treespec_dumps", "treespec_loads", "treespec_pprint"]

PROTOCOL = 1


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """A structure as text, which `treespec_loads` reads, here or in PyTorch.

    Raises
    ------
    NotImplementedError
        When it has a container whose class was registered without a name for this.
    ValueError
        For a protocol other than 1.
    """
    if protocol not in (None, PROTOCOL):
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: {[PROTOCOL]}")
    return json.dumps((PROTOCOL, _to_json(treespec)))


def _to_json(spec: TreeSpec) -> dict[str, Any]:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    node = SUPPORTED_NODES[spec.type]
    if node.serialized_type_name is None:
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found. Please update your _register_pytree_node call "
            "with a `serialized_type_name` kwarg."
        )
    context = json.dumps(spec.context) if node.to_dumpable_context is None else node.to_dumpable_context(spec.context)
    children = [_to_json(child) for child in spec.children_specs]
    return {"type": node.serialized_type_name, "context": context, "children_spec": children}


def treespec_loads(serialized: str) -> TreeSpec:
    """The structure that `treespec_dumps` wrote.

    Raises
    ------
    NotImplementedError
        When it names a container that is not registered.
    ValueError
        When it was written by another protocol.
    """
    protocol, spec = json.loads(serialized)
    if protocol != PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: {[PROTOCOL]}")
    return _from_json(spec)


def _from_json(spec: dict[str, Any]) -> TreeSpec:
    if spec["type"] is None:
        return treespec_leaf()
    node = _node_named(spec["type"])
    context = spec["context"]
    context = json.loads(context) if node.from_dumpable_context is None else node.from_dumpable_context(context)
    return TreeSpec(node.type, context, [_from_json(child) for child in spec["children_spec"]])


def _node_named(name: str) -> NodeDef:
    for node in SUPPORTED_NODES.values():
        if node.serialized_type_name == name:
            return node
    raise NotImplementedError(f"Deserializing {name!r} in pytree is not registered.")


def treespec_pprint(treespec: TreeSpec) -> str:
    """A structure as a tree with stars for leaves."""
    return repr(treespec.unflatten([_Star()] * treespec.num_leaves))


class _Star:
    def __repr__(self) -> str:
        return "*"
