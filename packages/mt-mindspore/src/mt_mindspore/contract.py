"""What the bridge provides to backends that are built on MindSpore's kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, Protocol

from mt_core.plugins.discovery import PluginError

__all__ = ["Bridge", "from_mindspore", "to_mindspore"]


class Bridge(Protocol):
    """Interchange with MindSpore, and its kernels by device target."""

    #: MindSpore's name of the device: ``"CPU"`` or ``"Ascend"``.
    device_target: str

    def to_mindspore(self, tensor: Any) -> Any:
        """A ``mindspore.Tensor`` on the memory of a tensor, which must be dense and row-major.

        Gradients do not cross.
        """
        ...

    def from_mindspore(self, tensor: Any, *, copy: bool = False) -> Any:
        """A tensor on the memory of a ``mindspore.Tensor``, or on memory of its own with ``copy=True``."""
        ...

    def kernels(self, family: str) -> dict[str, Callable[..., Any]]:
        """Overload name -> callable over ``mindspore.Tensor``, for one operator family on this device target."""
        ...


def to_mindspore(tensor: Any) -> NoReturn:
    """Share a tensor's memory with MindSpore (see `Bridge.to_mindspore`).

    Raises
    ------
    PluginError
        Always: this version has no interchange yet.
    """
    _refuse("to_mindspore()", "pass a NumPy array instead: mindspore.Tensor.from_numpy(tensor.detach().numpy())")


def from_mindspore(tensor: Any, *, copy: bool = False) -> NoReturn:
    """Share a MindSpore tensor's memory (see `Bridge.from_mindspore`).

    Raises
    ------
    PluginError
        Always: this version has no interchange yet.
    """
    _refuse("from_mindspore()", "pass a NumPy array instead: torch.from_numpy(tensor.asnumpy())")


def _refuse(what: str, remedy: str) -> NoReturn:
    raise PluginError(f"this version of mt-mindspore has no {what}: {remedy}")
