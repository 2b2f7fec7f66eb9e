"""What ``torch._C`` tells of PyTorch's compiler of TorchScript, of which there is none here: nothing is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["_get_tracing_state", "_jit_clear_class_registry", "_jit_get_emit_hooks", "_jit_set_emit_hooks"]

_Hook = Callable[[Any], None] | None
_hooks: list[_Hook] = [None, None]


def _jit_set_emit_hooks(module_hook: _Hook, function_hook: _Hook) -> None:
    """Keep what is to be called after each module and each function that is compiled: none ever is."""
    _hooks[:] = module_hook, function_hook


def _jit_get_emit_hooks() -> tuple[_Hook, _Hook]:
    """What was given to `_jit_set_emit_hooks`."""
    return _hooks[0], _hooks[1]


def _jit_clear_class_registry() -> None:
    """Forget the classes that were compiled. There are none."""


def _get_tracing_state() -> Any:
    """What records this thread's program for ``torch.jit.trace``, or None."""
    from ..jit._tracer import current_recorder  # lazy: few programs trace

    return current_recorder()
