"""``torch.fx.traceback``: what is known of the node that is being run, for those who make nodes of it."""

from __future__ import annotations

import contextlib
import copy
import functools
import traceback
from collections.abc import Callable, Iterator
from typing import Any

__all__ = [
    "annotate",
    "annotate_fn",
    "format_stack",
    "get_current_meta",
    "get_current_replay_node",
    "has_preserved_node_meta",
    "preserve_node_meta",
    "reset_grad_fn_seq_nr",
    "set_current_meta",
    "set_current_replay_node",
    "set_grad_fn_seq_nr",
    "set_stack_trace",
]

current_meta: dict[str, Any] = {}
should_preserve_node_meta = False


@contextlib.contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """Within ``with``, nodes that are made take the `meta` of the node that is run."""
    global current_meta, should_preserve_node_meta
    before = should_preserve_node_meta, current_meta
    should_preserve_node_meta, current_meta = enable, dict(current_meta)
    try:
        yield
    finally:
        should_preserve_node_meta, current_meta = before


def has_preserved_node_meta() -> bool:
    """Whether nodes take the `meta` of the node that is run."""
    return should_preserve_node_meta


def set_stack_trace(stack: list[str]) -> None:
    """Give nodes that are made a stack trace, while `meta` is kept."""
    if should_preserve_node_meta and stack:
        current_meta["stack_trace"] = "".join(stack)


@contextlib.contextmanager
def annotate(annotation_dict: dict[str, Any]) -> Iterator[None]:
    """Within ``with``, nodes that are made have the entries in ``meta["custom"]``, while `meta` is kept."""
    global current_meta
    before = current_meta
    current_meta = {**current_meta, "custom": {**current_meta.get("custom", {}), **annotation_dict}}
    try:
        yield
    finally:
        current_meta = before


def annotate_fn(annotation_dict: dict[str, Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: nodes that are made while the function runs have the entries, as by `annotate`."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def annotated(*args: Any, **kwargs: Any) -> Any:
            with annotate(annotation_dict):
                return function(*args, **kwargs)

        return annotated

    return decorate


_replayed: list[Any] = []


@contextlib.contextmanager
def set_current_replay_node(node: Any) -> Iterator[None]:
    """Within ``with``, a node is the one that is replayed."""
    _replayed.append(node)
    try:
        yield
    finally:
        _replayed.pop()


def get_current_replay_node() -> Any:
    """The node that is replayed; None where there is none."""
    return _replayed[-1] if _replayed else None


def set_grad_fn_seq_nr(seq_nr: int) -> None:
    """Give nodes that are made the number of a node of the autograd graph, while `meta` is kept."""
    if should_preserve_node_meta:
        current_meta["grad_fn_seq_nr"] = [*current_meta.get("grad_fn_seq_nr", []), seq_nr]
        current_meta["in_grad_fn"] = current_meta.get("in_grad_fn", 0) + 1


def reset_grad_fn_seq_nr() -> None:
    """Take the last such number back."""
    if not should_preserve_node_meta:
        return
    level = current_meta.get("in_grad_fn", 0)
    if level > 1:
        current_meta["in_grad_fn"] = level - 1
        current_meta["grad_fn_seq_nr"] = current_meta["grad_fn_seq_nr"][:-1]
    elif level == 1:
        del current_meta["in_grad_fn"], current_meta["grad_fn_seq_nr"]


def format_stack() -> list[str]:
    """The stack trace that nodes are given, or else the one of the caller."""
    if should_preserve_node_meta:
        return [current_meta.get("stack_trace", "")]
    return traceback.format_list(traceback.extract_stack()[:-1])


@contextlib.contextmanager
def set_current_meta(node: Any, pass_name: str = "") -> Iterator[None]:
    """Within ``with``, a node is the one that is run; nodes that are made note it in ``meta["from_node"]``."""
    global current_meta
    if not should_preserve_node_meta or not node.meta:
        yield
        return
    before, current_meta = current_meta, copy.copy(node.meta)
    current_meta["from_node"] = [*current_meta.get("from_node", []), (node.name, node.target)]
    try:
        yield
    finally:
        current_meta = before


def get_current_meta() -> dict[str, Any]:
    """What nodes are given that are made now."""
    return current_meta
