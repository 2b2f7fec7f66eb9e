"""What the outputs of a forward pass through, so that outputs without a gradient are noticed."""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Iterator
from typing import Any

import mt_core as mt
from mt_autograd.engine import queue_callback
from mt_autograd.function import Function
from mt_core import pytree

__all__ = ["find_tensors", "through_sink"]


class _DDPSink(Function):
    """Copies, whose gradients go on as they come: where there is none, parameters are told so."""

    @staticmethod
    def forward(ctx: Any, module: Any, *outputs: Any) -> Any:
        ctx.set_materialize_grads(False)
        ctx.module = module
        return tuple(output.clone() if isinstance(output, mt.Tensor) else output for output in outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        module = ctx.module()
        if module.static_graph and not module._static_graph_delay_allreduce_enqueued:
            queue_callback(module.reducer.delay_all_reduce)
            module._static_graph_delay_allreduce_enqueued = True
        return None, *grads


def through_sink(module: Any, output: Any) -> Any:
    """The same structure, with copies of the tensors that have a history."""
    leaves, spec = pytree.tree_flatten(output)
    copies = _DDPSink.apply(weakref.ref(module), *leaves)
    chosen = [
        copy if isinstance(leaf, mt.Tensor) and leaf.grad_fn is not None else leaf
        for leaf, copy in zip(leaves, copies, strict=True)
    ]
    return pytree.tree_unflatten(chosen, spec)


def find_tensors(value: Any) -> Iterator[mt.Tensor]:
    """The tensors in lists, tuples, dicts and dataclasses."""
    if isinstance(value, mt.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from find_tensors(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from find_tensors(item)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from find_tensors(getattr(value, field.name))
