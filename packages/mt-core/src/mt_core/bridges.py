"""Interchange of tensors with MindSpore, by the bridge that a distribution offers (`mindtorch.bridges`)."""

from __future__ import annotations

from typing import Any

from .plugins.discovery import find_bridge
from .tensor import Tensor

__all__ = ["BridgeMembers", "from_mindspore", "set_interop_warning"]


class BridgeMembers:
    """Mixed into Tensor."""

    __slots__ = ()

    def to_mindspore(self: Any) -> Any:
        """A ``mindspore.Tensor`` of the elements, on the same device, detached.

        It shares the memory of a tensor that lies row by row, and is a copy of any other; either outlives the other.

        Raises
        ------
        PluginError
            Where mt-mindspore or MindSpore cannot be used, with the remedy.
        NotImplementedError
            For devices other than the CPU and MindSpore's, and dtypes that MindSpore lacks.
        """
        return find_bridge("mindspore").export(self)


def from_mindspore(tensor: Any, *, copy: bool = False) -> Tensor:
    """A tensor of the elements of a ``mindspore.Tensor`` or ``mindspore.Parameter``, detached.

    It has the memory and the strides of a view, too; with `copy` it lies row by row on memory of its own. Its device is
    that of MindSpore's target if a backend serves it in this process, and the CPU otherwise.

    Raises
    ------
    PluginError
        Where mt-mindspore or MindSpore cannot be used, with the remedy.
    TypeError
        If `tensor` is no ``mindspore.Tensor``.
    NotImplementedError
        For dtypes without a counterpart.
    """
    made: Tensor = find_bridge("mindspore").adopt(tensor, copy)
    return made


def set_interop_warning(enabled: bool) -> None:
    """Whether a copy that `Tensor.to_mindspore` has to make is warned of. At first it is not.

    Raises
    ------
    PluginError
        Where mt-mindspore cannot be used, with the remedy.
    """
    find_bridge("mindspore").warn_of_copies(enabled)
