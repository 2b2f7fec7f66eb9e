"""``torch.autograd.graph``: looking at the graph, and deciding how it saves tensors."""

import contextlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal
from weakref import ref

from mt_core.cell import cell_of
from mt_core.hooks import RemovableHandle
from mt_core.pinned import can_pin, pinned
from mt_core.tensor import Tensor

from .api import GradientEdge, get_gradient_edge
from .engine import GraphTask, current_task
from .modes import set_instrumented
from .mutation import MutationContext, allowing_mutation
from .node import InputMetadata, accumulator_of
from .node import Node as _Node
from .saved import packing_hooks

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


class Node(ABC):
    """What is known of any node of a graph. Every ``grad_fn`` is an instance, though its class derives from another."""

    @abstractmethod
    def name(self) -> str:
        """The name that messages and graph printers use, ``"MulBackward0"``."""

    @property
    @abstractmethod
    def next_functions(self) -> tuple[tuple["Node | None", int], ...]:
        """(node, output number) of what its gradients go to, None and 0 where none is wanted."""

    @abstractmethod
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for whoever wants to leave something at the node."""

    @property
    @abstractmethod
    def _input_metadata(self) -> Sequence[InputMetadata]:
        """Shape, dtype and device of the gradients that it expects."""

    @abstractmethod
    def _sequence_nr(self) -> int:
        """When it was made, counted over all nodes."""

    @abstractmethod
    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call ``fn(grad_inputs, grad_outputs)`` after the node; what it returns replaces ``grad_inputs``."""

    @abstractmethod
    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call ``fn(grad_outputs)`` before the node; what it returns replaces ``grad_outputs``."""

    @abstractmethod
    def _register_hook_dict(self, tensor: Tensor) -> None:
        """Have the node call the hooks that hang on one of the tensors that it made."""

    @classmethod
    def __subclasshook__(cls, other: type) -> bool:
        return cls is Node and issubclass(other, _Node) or NotImplemented


class saved_tensors_hooks:
    """Context manager: what is saved for backward is saved as `pack_hook` returns it, and restored by `unpack_hook`.

    ``pack_hook(tensor)`` may return anything; ``unpack_hook`` must make of it a tensor with the same content. Contexts
    nest, and the innermost pair is used.
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        if packing_hooks.disabled is not None:
            raise RuntimeError(packing_hooks.disabled)
        packing_hooks.stack.append((self.pack_hook, self.unpack_hook))
        set_instrumented("saved tensors", True)

    def __exit__(self, *exc_info: object) -> None:
        packing_hooks.stack.pop()
        set_instrumented("saved tensors", bool(packing_hooks.stack))


class save_on_cpu(saved_tensors_hooks):
    """Context manager: tensors saved for backward are moved to the CPU, and back to their device when needed.

    Parameters
    ----------
    pin_memory
        Whether they lie in page-locked memory meanwhile, so that the way back does not keep the program waiting;
        nothing is pinned where there is no accelerator that could do so.
    device_type
        The accelerator's type; of no effect, as there is one accelerator.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        pins = pin_memory and can_pin()

        def pack_to_cpu(tensor: Tensor) -> tuple[Any, Tensor]:
            host = tensor.detach().cpu()
            return tensor.device, pinned(host) if pins else host

        def unpack_from_cpu(packed: tuple[Any, Tensor]) -> Tensor:
            device, tensor = packed
            return tensor.to(device, non_blocking=pins)

        super().__init__(pack_to_cpu, unpack_from_cpu)


class disable_saved_tensors_hooks:
    """Context manager: entering `saved_tensors_hooks` is an error with this message."""

    def __init__(self, error_message: str) -> None:
        self.error_message = error_message

    def __enter__(self) -> None:
        if packing_hooks.stack:
            raise RuntimeError(self.error_message)
        self._previous = packing_hooks.disabled
        packing_hooks.disabled = self.error_message

    def __exit__(self, *exc_info: object) -> None:
        packing_hooks.disabled = self._previous


@contextlib.contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[MutationContext]:
    """Context manager: what is saved for backward may be changed in place, and is cloned when it is.

    Forward and backward must both run inside. Yields what keeps the saved tensors, all forgotten at the end.

    Raises
    ------
    RuntimeError
        Inside of another one.
    """
    with allowing_mutation() as context, saved_tensors_hooks(context.pack, context.unpack):
        yield context


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Count a change of a tensor's memory that autograd has not seen.

    Raises
    ------
    RuntimeError
        For anything but tensors.
    """
    tensors = (tensor,) if isinstance(tensor, Tensor) else tensor
    if not isinstance(tensors, Iterable):
        raise RuntimeError("increment_version expect a Iterable[Tensor] as input")
    for item in tensors:
        if not isinstance(item, Tensor):
            raise RuntimeError("increment_version expects each element of the iterable to be a tensor")
        cell_of(item).version += 1


class _Handles(RemovableHandle):
    """Removes the hooks of several tensors together."""

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __getstate__(self) -> Any:
        return self.handles

    def __setstate__(self, state: Any) -> None:
        self.handles = state


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[..., None], *, mode: Literal["all", "any"] = "all"
) -> RemovableHandle:
    """Call a function once per backward, when gradients of several tensors are there.

    Parameters
    ----------
    fn
        With mode ``"all"``, called with the list of all gradients (None for those that this backward does not compute)
        after the last of them; with ``"any"``, with the first gradient to come.

    Raises
    ------
    ValueError
        For another mode.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    for tensor in tensors:
        if not tensor.requires_grad:
            raise AssertionError("Expected gradient function to be set")
    collector = _First(fn) if mode == "any" else _All(tensors, fn)
    return _Handles([tensor.register_hook(collector.hook(i)) for i, tensor in enumerate(tensors)])


def _running_task() -> GraphTask:
    task = current_task()
    if task is None:
        raise AssertionError("expected this hook to be called inside a backward call")
    return task


class _First:
    """Calls a function with the first gradient of each backward."""

    def __init__(self, fn: Callable[[Tensor], None]) -> None:
        self._fn = fn
        self._lock = threading.Lock()
        self._seen: set[int] = set()

    def hook(self, index: int) -> Callable[[Tensor], None]:
        def run(grad: Tensor) -> None:
            task = _running_task().id
            with self._lock:
                first = task not in self._seen
                self._seen.add(task)
            if first:
                self._fn(grad)

        return run


class _All:
    """Calls a function with all gradients of each backward, when the last has come."""

    def __init__(self, tensors: Sequence[Tensor], fn: Callable[[Sequence[Tensor | None]], None]) -> None:
        self._fn = fn
        # Weakly: the nodes, or leaves, hold this object by their hooks.
        self._sources = [ref(tensor if tensor.grad_fn is None else tensor.grad_fn) for tensor in tensors]
        self._lock = threading.Lock()
        self._grads: dict[int, list[Tensor | None]] = {}
        self._missing: dict[int, int] = {}

    def hook(self, index: int) -> Callable[[Tensor], None]:
        def run(grad: Tensor) -> None:
            grads = self._with(index, grad)
            if grads is not None:
                self._fn(grads)

        return run

    def _with(self, index: int, grad: Tensor) -> list[Tensor | None] | None:
        """Enter a gradient; all of them if it was the last."""
        task = _running_task()
        with self._lock:
            if task.id not in self._missing:
                self._missing[task.id] = sum(map(task.will_run, self._nodes()))
                self._grads[task.id] = [None] * len(self._sources)
            self._grads[task.id][index] = grad
            self._missing[task.id] -= 1
            if self._missing[task.id]:
                return None
            del self._missing[task.id]
            return self._grads.pop(task.id)

    def _nodes(self) -> list[_Node]:
        sources = [s for s in (source() for source in self._sources) if s is not None]
        return [accumulator_of(s) if isinstance(s, Tensor) else s for s in sources]
