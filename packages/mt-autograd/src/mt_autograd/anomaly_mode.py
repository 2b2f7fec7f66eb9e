"""Anomaly mode: errors of backward say which forward call they come from, and NaN gradients are errors."""

import threading
import traceback
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from mt_core.hollow import seen_through
from mt_core.thread_state import carried_over

from .modes import watch_everywhere
from .node import Node

__all__ = [
    "checked_apply",
    "detect_anomaly",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "note_forward",
    "set_anomaly_enabled",
    "set_detect_anomaly",
]


class _Anomaly:
    """The process-wide switch, and per thread the node whose backward is running."""

    def __init__(self) -> None:
        self.enabled = False
        self.check_nan = True
        self.thread = carried_over(threading.local())
        #: Called with a node, its gradients and what applies it, in place of it: a profiler.
        self.observer: Callable[[Node, list[Any], Callable[[], Sequence[Any]]], Sequence[Any]] | None = None
        #: Whether nodes are applied under a watch: in anomaly mode, or while there is an observer.
        self.watches = False

    def set(self, enabled: bool, check_nan: bool) -> None:
        self.enabled = enabled
        self.check_nan = check_nan
        self.watches = enabled or self.observer is not None
        watch_everywhere(enabled)

    def observe(self, observer: Callable[..., Sequence[Any]] | None) -> None:
        """Have nodes applied by an observer, in every thread; None: no longer."""
        self.observer = observer
        self.watches = self.enabled or observer is not None


anomaly = _Anomaly()


def is_anomaly_enabled() -> bool:
    return anomaly.enabled


def is_anomaly_check_nan_enabled() -> bool:
    return anomaly.check_nan


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Switch anomaly mode; see `set_detect_anomaly` for a context manager."""
    anomaly.set(enabled, check_nan)


class detect_anomaly:
    """Context manager that enables anomaly detection, ``torch.autograd.detect_anomaly``.

    While it is on, recorded operations note where they were called, an error in backward warns with that place, and
    with `check_nan` a NaN among the results of a backward is an error.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        self.prev = anomaly.enabled
        self.prev_check_nan = anomaly.check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        anomaly.set(True, self.check_nan)

    def __exit__(self, *exc_info: object) -> None:
        anomaly.set(self.prev, self.prev_check_nan)


class set_detect_anomaly:
    """Switch anomaly detection on or off, at once; as a context manager, until its end."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.prev = anomaly.enabled
        self.prev_check_nan = anomaly.check_nan
        anomaly.set(mode, check_nan)

    def __enter__(self) -> None:
        """The switch was thrown when the object was made."""

    def __exit__(self, *exc_info: object) -> None:
        anomaly.set(self.prev, self.prev_check_nan)


def note_forward(node: Node) -> None:
    """Leave at a node where in the program it was made, and during which backward."""
    if not anomaly.enabled:
        return
    metadata = node.metadata
    metadata["traceback_"] = traceback.format_stack()[:-3]
    parent = getattr(anomaly.thread, "node", None)
    if parent is not None:
        metadata["parent_"] = parent


def checked_apply(node: Node, grads: list[Any], needed: Sequence[bool] | None) -> Sequence[Any]:
    """``node.apply``, under the watch of anomaly mode if that is on, and of an observer if there is one."""
    observer = anomaly.observer
    if observer is not None:
        return observer(node, grads, lambda: _checked(node, grads, needed))
    return _checked(node, grads, needed)


def _checked(node: Node, grads: list[Any], needed: Sequence[bool] | None) -> Sequence[Any]:
    if not anomaly.enabled:
        return node.apply(grads, needed)
    outer = getattr(anomaly.thread, "node", None)
    anomaly.thread.node = node
    try:
        results = node.apply(grads, needed)
        if anomaly.check_nan:
            _refuse_nan(node, results)
    except Exception:
        _warn_of_origin(node)
        raise
    finally:
        anomaly.thread.node = outer
    return results


def _has_nan(tensor: Any) -> bool:
    return bool((tensor != tensor).any().item())


def _refuse_nan(node: Node, results: Sequence[Any]) -> None:
    for index, result in enumerate(results):
        if result is not None and _has_nan(seen_through(result)):
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {index}th output.")


_NO_TRACEBACK = "No forward pass information available. Enable detect anomaly during forward pass for more information."


def _warn_of_origin(node: Node) -> None:
    metadata = node.metadata
    stack = metadata.get("traceback_")
    if stack is None:
        warnings.warn(
            f"Error detected in {node.name()}. No forward pass information available. Enable detect anomaly during "
            "forward pass for more information.",
            stacklevel=4,
        )
        return
    warnings.warn(
        f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n{''.join(stack)}",
        stacklevel=4,
    )
    parent = metadata.get("parent_")
    while parent is not None:
        stack = parent.metadata.get("traceback_")
        origin = (
            _NO_TRACEBACK
            if stack is None
            else f"Traceback of forward call that induced the previous calculation:\n{''.join(stack)}"
        )
        warnings.warn(f"\n\nPrevious calculation was induced by {parent.name()}. {origin}", stacklevel=4)
        parent = parent.metadata.get("parent_")
