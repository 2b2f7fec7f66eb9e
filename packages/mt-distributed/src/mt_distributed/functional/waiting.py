"""What was begun and not waited for yet, and a tensor that waits when it is used."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import mt_core as mt
from mt_core.overriding import disabled_torch_function
from mt_core.pytree import tree_map
from mt_core.subclasses import make_wrapper_subclass
from mt_library.ops import ops

from ..work import Work

__all__ = ["AsyncCollectiveTensor", "finish", "note"]

#: Address of a result's memory -> the operation that writes it, which keeps the memory alive until someone waits.
_pending: dict[int, Work] = {}
_lock = threading.Lock()


def note(tensor: mt.Tensor, work: Work) -> None:
    """Remember what writes to a result; a result without elements is waited for now."""
    if tensor.numel() == 0:
        work.wait()
        return
    with _lock:
        _pending[tensor.untyped_storage().data_ptr()] = work


def finish(tensor: mt.Tensor) -> None:
    """Wait for what writes to a tensor, if anything does."""
    if not _pending or tensor.numel() == 0:
        return
    with _lock:
        work = _pending.pop(tensor.untyped_storage().data_ptr(), None)
    if work is not None:
        work.wait()


class AsyncCollectiveTensor(mt.Tensor):
    """A result of a collective: it is waited for when an operator other than a view is given it.

    Parameters
    ----------
    elem
        The result, not waited for.
    """

    __slots__ = ("completed", "elem")
    __torch_function__ = disabled_torch_function  # type: ignore[assignment]

    elem: mt.Tensor
    completed: bool

    @staticmethod
    def __new__(cls: type, elem: mt.Tensor) -> AsyncCollectiveTensor:
        made = make_wrapper_subclass(
            cls, elem.size(), strides=elem.stride(), storage_offset=elem.storage_offset(), dtype=elem.dtype,
            layout=elem.layout, device=elem.device, requires_grad=elem.requires_grad,
        )  # fmt: skip
        made.elem, made.completed = elem, False
        return made  # type: ignore[no-any-return]

    def __repr__(self, *, tensor_contents: str | None = None) -> str:  # type: ignore[override]
        return f"AsyncCollectiveTensor({self.trigger_wait()})"

    def trigger_wait(self) -> mt.Tensor:
        """The result, once it is there."""
        if not self.completed:
            self.elem = ops._c10d_functional.wait_tensor(self.elem)
            self.completed = True
        return self.elem

    def wait(self) -> mt.Tensor:
        """The result, once it is there."""
        return ops._c10d_functional.wait_tensor(self.elem)

    def tolist(self) -> Any:
        """The elements."""
        return self.trigger_wait().tolist()

    def numpy(self, *, force: bool = False) -> Any:
        """The elements as an array."""
        return self.trigger_wait().numpy(force=force)

    def __tensor_flatten__(self) -> tuple[list[str], None]:
        return ["elem"], None

    @staticmethod
    def __tensor_unflatten__(inner: dict[str, Any], context: Any, size: Any, stride: Any) -> AsyncCollectiveTensor:
        return AsyncCollectiveTensor(inner["elem"])

    @classmethod
    def __torch_dispatch__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func is ops.aten.view.default:
            return AsyncCollectiveTensor(func(args[0].elem, args[1]))

        def ready(value: Any) -> Any:
            return value.trigger_wait() if isinstance(value, AsyncCollectiveTensor) else value

        return func(*tree_map(ready, args), **tree_map(ready, kwargs or {}))
