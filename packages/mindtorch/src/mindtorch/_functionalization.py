"""Functional tensors by hand: what PyTorch's own tools use below `torch.func.functionalize`."""

from __future__ import annotations

from typing import Any

from mt_core import Tensor
from mt_core.functionalization.layer import switch_off, switch_on, to_functional
from mt_core.functionalization.tensors import FunctionalArray, take_over

__all__ = [
    "_disable_functionalization", "_enable_functionalization", "_freeze_functional_tensor", "_from_functional_tensor",
    "_functionalize_commit_update", "_functionalize_has_metadata_mutation", "_functionalize_replace",
    "_functionalize_sync", "_is_functional_tensor", "_is_functional_tensor_base", "_sync", "_to_functional_tensor",
]  # fmt: skip


def _insides(tensor: Any, called: str) -> FunctionalArray:
    array = getattr(tensor, "_array", None)
    if not isinstance(array, FunctionalArray):
        raise RuntimeError(f"{called}: expected a functional tensor")
    return array


def _to_functional_tensor(t: Tensor) -> Tensor:
    """A functional tensor that stands for a tensor, without its history."""
    return to_functional(t)


def _from_functional_tensor(t: Tensor) -> Tensor:
    """What a functional tensor stands for, as of the last time that it was asked for (`_sync`)."""
    return _insides(t, "_from_functional_tensor")._value


def _is_functional_tensor(t: Any) -> bool:
    """Whether a tensor is a functional one."""
    return isinstance(getattr(t, "_array", None), FunctionalArray)


def _is_functional_tensor_base(t: Tensor) -> bool:
    """Whether a functional tensor is nobody's view."""
    return not _insides(t, "_is_functional_tensor_base").steps


def _sync(t: Tensor) -> None:
    """Let a functional tensor stand for all that has been written to it and to what shares its memory."""
    _insides(t, "_sync").value  # noqa: B018 - it is made when it is asked for


_functionalize_sync = _sync


def _enable_functionalization(*, reapply_views: bool = False) -> None:
    """Let new tensors of this thread be functional, with views as views or as copies."""
    switch_on(reapply_views)


def _disable_functionalization() -> None:
    """Undo `_enable_functionalization`."""
    switch_off()


def _freeze_functional_tensor(t: Tensor) -> None:
    """Refuse from now on to write to a functional tensor and to what shares its memory."""
    _insides(t, "_freeze_functional_tensor").storage.is_frozen = True


def _functionalize_replace(self_: Tensor, other: Tensor) -> None:
    """Let a functional tensor stand for another value; `_functionalize_commit_update` lets its base know."""
    array = _insides(self_, "_functionalize_replace")
    array._value = other
    take_over(self_, array, self_)


def _functionalize_commit_update(t: Tensor) -> None:
    """Write the value of a functional tensor to the memory that it stands for."""
    array = _insides(t, "_functionalize_commit_update")
    with array.level.below():
        array.storage.write(array.steps, array._value)
        array.renew()


def _functionalize_has_metadata_mutation(tensor: Tensor) -> bool:
    """Whether a functional tensor was given another geometry in place."""
    return _insides(tensor, "_functionalize_has_metadata_mutation").has_other_layout
