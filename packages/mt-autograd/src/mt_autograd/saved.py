"""Tensors saved for backward: version checks, packing hooks, and own outputs without cycles.

A node saves an input as it is. It saves an output of its own as its parts: the tensor itself would own the node, and
the cycle would keep the memory until the garbage collector runs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from mt_core.autograd_state import no_grad
from mt_core.cell import Cell, cell_of
from mt_core.keys import AUTOGRAD, FORWARD_GRAD, HOLLOW, INFERENCE, PYTHON
from mt_core.printing_cpp import type_text
from mt_core.state import tls
from mt_core.tensor import Tensor, new_tensor
from mt_core.thread_state import carried_over

from .anomaly_mode import is_anomaly_enabled
from .node import NO_EDGE, Edge, materialized, operation_name
from .tangents import give_all
from .views import edge_of, with_history

__all__ = [
    "HandledOutput",
    "Packed",
    "SavedOutput",
    "SavedTensorHooks",
    "check_version",
    "pack",
    "packing_hooks",
    "saved_output",
    "version_of",
]

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
    "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
    "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access saved "
    "tensors after calling backward."
)
_INFERENCE = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
    "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in "
    "autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
)


def version_of(tensor: Any) -> int:
    """How often the tensor's memory has been written to by in-place operators."""
    cell = tensor._cell
    return 0 if cell is None else cell.version  # type: ignore[no-any-return]


def refuse_inference(tensor: Any) -> None:
    """Raise PyTorch's RuntimeError for a tensor made in inference mode."""
    if tensor._keys & INFERENCE:
        raise RuntimeError(_INFERENCE)


class SavedOutput:
    """An output of a node, saved by that node; `tangents` is the output's own dict, there once it has tangents."""

    __slots__ = ("array", "cell", "dtype", "keys", "output_nr", "tangents")

    tangents: dict[int, Tensor]

    def __init__(self, tensor: Any, output_nr: int) -> None:
        self.array = tensor._array
        self.dtype = tensor._dtype
        self.keys = tensor._keys
        self.cell: Cell = cell_of(tensor)
        self.output_nr = output_nr

    def tensor(self, edge: Edge = NO_EDGE) -> Tensor:
        """The output again, with the given history."""
        out = new_tensor(self.array, self.dtype, self.keys & ~(AUTOGRAD | FORWARD_GRAD))
        out._cell = self.cell
        self.cell.add(out)
        return self._with_tangents(with_history(out, edge))

    def _with_tangents(self, out: Tensor) -> Tensor:
        return give_all(out, self.tangents) if hasattr(self, "tangents") else out


class HandledOutput(SavedOutput):
    """An output that a handler of ``__torch_dispatch__`` made or saw: what it is, only its class can tell.

    As in PyTorch it is detached when it is saved, and again when it is read.
    """

    __slots__ = ("detached",)

    def __init__(self, tensor: Any, output_nr: int) -> None:
        super().__init__(tensor, output_nr)
        self.detached = tensor.detach()

    def tensor(self, edge: Edge = NO_EDGE) -> Tensor:
        return self._with_tangents(with_history(self.detached.detach(), edge))


def saved_output(tensor: Any, output_nr: int) -> SavedOutput:
    """An output in the form in which its node saves it.

    That of a transform's level is saved as it is: detached, it would be so at the levels outside as well.
    """
    handled = (tensor._keys | tls.include) & PYTHON and not tensor._keys & HOLLOW
    return (HandledOutput if handled else SavedOutput)(tensor, output_nr)


# Versions


def check_version(tensor: Any, current: int, expected: int, origin: Edge) -> None:
    """Refuse a saved tensor that has been written to since.

    Raises
    ------
    RuntimeError
        In PyTorch's words, naming the operation that made the tensor.
    """
    if current == expected:
        return
    kind = type_text(tensor) if tensor.is_cpu else tensor.type()
    made_by = f", which is output {origin[1]} of {operation_name(origin[0])}," if origin[0] is not None else ""
    hint = (
        "Hint: the backtrace further above shows the operation that failed to compute its gradient. The variable in "
        "question was changed in there or anywhere later. Good luck!"
        if is_anomaly_enabled()
        else "Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )
    raise RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{kind} {list(tensor.shape)}]{made_by} is at version {current}; expected version {expected} "
        f"instead. {hint}"
    )


def unpack_input(tensor: Any, expected: int) -> Any:
    """A saved input, its version checked; a number or None that stood in its place as it is."""
    if not isinstance(tensor, Tensor):
        return tensor.unpack() if isinstance(tensor, Packed) else tensor
    current = version_of(tensor)
    if current != expected:
        check_version(tensor, current, expected, (tensor.grad_fn, tensor.output_nr))
    return tensor


# Packing hooks


class SavedTensorHooks(threading.local):
    """The thread's stack of (pack, unpack) pairs, and why there may be none (``disable_saved_tensors_hooks``)."""

    def __init__(self) -> None:
        self.stack: list[tuple[Callable[[Any], Any], Callable[[Any], Any]]] = []
        self.disabled: str | None = None


packing_hooks = carried_over(SavedTensorHooks())


class Packed:
    """A saved tensor in the form that a pack hook gave it."""

    __slots__ = ("content", "edge", "unpack_hook")

    def __init__(
        self, tensor: Any, edge: Edge, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]
    ) -> None:
        self.edge = edge
        self.unpack_hook = unpack_hook
        before = version_of(tensor)
        with no_grad():
            self.content = pack_hook(tensor)
        if version_of(tensor) != before:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook "
                "cannot be modified by in-place operations as this can lead to unexpected side-effects. Please open "
                "an issue if you need to perform in-place operations on the input to a pack hook."
            )

    def unpack(self, own_edge: Edge = NO_EDGE) -> Any:
        """What the unpack hook returns, with the saved tensor's history; `own_edge` is that of a node's own output.

        Raises
        ------
        TypeError
            When the hook returns anything but a tensor.
        """
        data = self.unpack_hook(self.content)
        if not isinstance(data, Tensor):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                f"{type(data).__name__}"
            )
        edge = self.edge if own_edge[0] is None else own_edge
        return data if edge[0] is None else with_history(data.detach(), materialized(edge))


def pack(tensor: Any, edge: Edge) -> Any:
    """The tensor as the innermost pack hook of this thread would have it saved; itself when there is none."""
    if not packing_hooks.stack:
        return tensor
    return Packed(tensor, edge, *packing_hooks.stack[-1])


class SavedTensor:
    """One saved tensor of a node (``grad_fn._raw_saved_self``), for hooks of its own; only nodes make them."""

    __slots__ = ("_index", "_item", "_node")

    def __init__(self, node: Any = None, index: int = 0, item: int | None = None) -> None:
        if node is None:
            raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")
        self._node = node
        self._index = index
        self._item = item

    def unpack(self) -> Any:
        """The tensor, as backward will see it."""
        slot = self._node.plan.saved[self._index]
        value = getattr(self._node, f"_saved_{slot.name}")
        return value if self._item is None else value[self._item]

    @property
    def data(self) -> Any:
        """What is stored: the tensor, or what a pack hook made of it."""
        stored = None if self._is_freed() else self._stored()
        return stored.content if isinstance(stored, Packed) else self.unpack()

    def _is_freed(self) -> bool:
        return self._node.saved is None

    def _stored(self) -> Any:
        stored = self._node.saved[2 * self._index]
        return stored if self._item is None else stored[self._item]

    def register_hooks(self, *hooks: Callable[[Any], Any]) -> None:
        """Pack the tensor now by the first of two hooks, and unpack it by the second when backward needs it.

        Raises
        ------
        TypeError
            For anything but two callables.
        RuntimeError
            When it has been freed, is None, or has hooks already.
        """
        if len(hooks) != 2 or not all(map(callable, hooks)):
            given = ", ".join(map(repr, hooks))
            raise TypeError(
                "register_hooks(): incompatible function arguments. The following argument types are supported:\n"
                "    1. (self: torch._C._autograd.SavedTensor, arg0: collections.abc.Callable, arg1: "
                f"collections.abc.Callable) -> None\n\nInvoked with: {self!r}, {given}"
            )
        if self._is_freed():
            raise RuntimeError(
                "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the "
                "graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need "
                "to backward through the graph a second time or if you need to access saved variables after calling "
                "backward."
            )
        stored = self._stored()
        if stored is None:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        if isinstance(stored, Packed):
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of "
                "hooks is allowed at a time."
            )
        self._replace(Packed(*self._source(stored), *hooks))

    def _source(self, stored: Any) -> tuple[Any, Edge]:
        return (stored.tensor(), NO_EDGE) if isinstance(stored, SavedOutput) else (stored, edge_of(stored))

    def _replace(self, packed: Packed) -> None:
        saved = list(self._node.saved)
        if self._item is None:
            saved[2 * self._index] = packed
        else:
            items = list(saved[2 * self._index])
            items[self._item] = packed
            saved[2 * self._index] = tuple(items)
        self._node.saved = tuple(saved)
