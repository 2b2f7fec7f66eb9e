"""``torch.autograd.Variable``: what tensors with gradients were called before they became one with tensors."""

from __future__ import annotations

from typing import Any

from mt_core.tensor import Tensor

from .engine import current_task, queue_callback

__all__ = ["ExecutionEngine", "Variable"]


class ExecutionEngine:
    """The engine as ``Variable._execution_engine`` shows it."""

    queue_callback = staticmethod(queue_callback)

    @staticmethod
    def is_checkpoint_valid() -> bool:
        """False inside a backward that does not run to all leaves (``autograd.grad``, or ``inputs=`` given)."""
        task = current_task()
        return task is None or task.to_all_leaves


class _VariableMeta(type):
    def __instancecheck__(cls, other: object) -> bool:
        return isinstance(other, Tensor)


class Variable(metaclass=_VariableMeta):
    """``Variable(tensor, requires_grad)`` is the tensor itself, and every tensor is an instance."""

    _execution_engine = ExecutionEngine()

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: bool = False) -> Any:
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        alias = data.detach()
        return alias._set_requires_grad() if requires_grad else alias
