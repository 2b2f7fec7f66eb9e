"""Events besides operators: nodes of a backward, steps of optimizers, batches of data loaders.

While any thread is watched, the engine, `Optimizer` and the iterators of `DataLoader` are exchanged for what opens
events; afterwards they are as they were, so that programs that are not watched pay nothing.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

from mt_autograd.anomaly_mode import anomaly
from mt_autograd.engine import GraphTask
from mt_autograd.node import AccumulateGrad, Node
from mt_core.hooks import RemovableHandle
from mt_nn.data.dataloader import _BaseDataLoaderIter
from mt_nn.optim.optimizer import Optimizer, register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from ._session import ANNOTATION, BACKWARD, OPERATOR, Event, current

__all__ = ["put_up", "take_down"]

_EVALUATED = "autograd::engine::evaluate_function: "


class _Landmarks:
    """What was exchanged, and for how many sessions."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.sessions = 0
        self.handles: list[RemovableHandle] = []
        self.exchanged: list[tuple[type, str, Any]] = []
        #: Steps of optimizers that are going on, the innermost last.
        self.steps = threading.local()


_landmarks = _Landmarks()


def put_up() -> None:
    """Have the landmarks seen, from the first session on."""
    with _landmarks.lock:
        _landmarks.sessions += 1
        if _landmarks.sessions > 1:
            return
        anomaly.observe(_applied)
        _exchange(GraphTask, "_evaluate", _evaluated)
        _exchange(
            _BaseDataLoaderIter, "__next__", _named(lambda it: f"enumerate(DataLoader)#{type(it).__name__}.__next__")
        )
        _exchange(Optimizer, "zero_grad", _named(lambda o: f"Optimizer.zero_grad#{type(o).__name__}.zero_grad"))
        _landmarks.handles = [
            register_optimizer_step_pre_hook(_step_begins),
            register_optimizer_step_post_hook(_step_ends),
        ]


def take_down() -> None:
    """Put back what was exchanged, after the last session."""
    with _landmarks.lock:
        _landmarks.sessions -= 1
        if _landmarks.sessions:
            return
        anomaly.observe(None)
        for owner, name, former in _landmarks.exchanged:
            setattr(owner, name, former)
        _landmarks.exchanged.clear()
        for handle in _landmarks.handles:
            handle.remove()


def _exchange(owner: type, name: str, around: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    former = vars(owner)[name]
    _landmarks.exchanged.append((owner, name, former))
    setattr(owner, name, functools.wraps(former)(around(former)))


def _named(name: Callable[[Any], str]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A method as an event."""

    def around(method: Callable[..., Any]) -> Callable[..., Any]:
        def watched(self: Any, *args: Any, **kwargs: Any) -> Any:
            session = current()
            if session is None:
                return method(self, *args, **kwargs)
            event = session.open(name(self), ANNOTATION)
            try:
                return method(self, *args, **kwargs)
            finally:
                session.close(event)

        return watched

    return around


def _open_steps() -> list[Event]:
    steps = vars(_landmarks.steps)
    found: list[Event] = steps.setdefault("open", [])
    return found


def _step_begins(optimizer: Optimizer, args: Any, kwargs: Any) -> None:
    session = current()
    if session is not None:
        _open_steps().append(session.open(f"Optimizer.step#{type(optimizer).__name__}.step", ANNOTATION))


def _step_ends(optimizer: Optimizer, args: Any, kwargs: Any) -> None:
    session, steps = current(), _open_steps()
    if session is not None and steps:
        session.close(steps.pop())


def _evaluated(evaluate: Callable[[GraphTask, Node], None]) -> Callable[[GraphTask, Node], None]:
    def watched(self: GraphTask, node: Node) -> None:
        session = current()
        if session is None:
            return evaluate(self, node)
        event = session.open(_EVALUATED + node.name(), OPERATOR)
        _correlate(event, node)
        try:
            evaluate(self, node)
        finally:
            session.close(event)

    return watched


def _applied(node: Node, grads: list[Any], apply: Callable[[], Sequence[Any]]) -> Sequence[Any]:
    session = current()
    if session is None:
        return apply()
    event = session.open(node.name(), BACKWARD)
    _correlate(event, node)
    session.describe(event, (), grads)
    try:
        return apply()
    finally:
        session.close(event)


def _correlate(event: Event, node: Node) -> None:
    """Note which forward call a node belongs to; an accumulator belongs to none."""
    if not isinstance(node, AccumulateGrad):
        event.sequence = node._sequence
        event.forward_thread = event.thread
