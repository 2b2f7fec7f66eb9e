"""``torch._C._autograd``: saved tensors and the switch of the hooks on them."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    if name != "SavedTensor":
        raise AttributeError(f"module 'torch._C._autograd' has no attribute '{name}'")
    value = globals()[name] = _saved().SavedTensor
    return value


def _saved() -> Any:
    from mt_autograd import saved  # lazy: programs that only compute need no autograd

    return saved


def _saved_tensors_hooks_is_enabled() -> bool:
    """Whether ``saved_tensors_hooks`` may be entered in this thread (``disable_saved_tensors_hooks``)."""
    return _saved().packing_hooks.disabled is None


def _saved_tensors_hooks_get_disabled_error_message() -> str | None:
    """With which words that is refused; None where it is not."""
    return _saved().packing_hooks.disabled  # type: ignore[no-any-return]
