"""What operators of ``torch.ops`` have in common, whether they take tensors or functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["OperatorBase"]


class OperatorBase:
    """Base of `OpOverload` and `HigherOrderOperator`: what is called, and has kernels at dispatch keys.

    Attributes
    ----------
    py_kernels
        Dispatch key, by name -> kernel that was registered by `py_impl`.
    """

    py_kernels: dict[str, Callable[..., Any]]

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def has_kernel_for_dispatch_key(self, k: Any) -> bool:
        """Whether there is a kernel at this very key."""
        return getattr(k, "name", k) in self.py_kernels

    def has_kernel_for_any_dispatch_key(self, ks: Iterable[Any]) -> bool:
        """Whether there is a kernel at one of the keys of a set."""
        return any(self.has_kernel_for_dispatch_key(key) for key in ks)

    def py_impl(self, key: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """A decorator that registers a kernel for a key."""
        raise NotImplementedError

    def name(self) -> str:
        """The name, with the namespace."""
        raise NotImplementedError
