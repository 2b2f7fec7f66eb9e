"""What ``checkpoint(debug=True)`` says where two computations differ: which operators ran in each, and from where."""

from __future__ import annotations

import traceback
from typing import Any

from mt_core.python_dispatch import pop_dispatch_mode, push_dispatch_mode
from mt_core.pytree import tree_map
from mt_core.tensor import Tensor

__all__ = ["OperatorLog", "explanation"]

#: dtype -> PyTorch's short name of it.
_SHORT = {
    "float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "complex64": "c64", "complex128": "c128",
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "bool": "b8",
}  # fmt: skip


class OperatorLog:
    """A mode of ``__torch_dispatch__`` that writes down every operator, and where it was called.

    Attributes
    ----------
    lines : list of str
        ``$1: f32[3] = torch._ops.aten.sin.default($0)``.
    stacks : list of str
        ``file:line:function`` of the callers of each, the innermost first.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.stacks: list[str] = []
        self._numbers: dict[int, int] = {}
        self._alive: list[Any] = []

    def __enter__(self) -> OperatorLog:
        self.lines, self.stacks, self._numbers = [], [], {}  # the latest computation is logged
        push_dispatch_mode(self)
        return self

    def __exit__(self, *exc_info: object) -> None:
        pop_dispatch_mode()
        self._alive.clear()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        given = [str(tree_map(self._named, a)) for a in args]
        given += [f"{name}={tree_map(self._named, value)}" for name, value in kwargs.items()]
        made = tree_map(lambda value: self._named(value, with_type=True), result)
        self.lines.append(f"{made} = torch._ops.{func}({', '.join(given)})")
        frames = reversed(traceback.extract_stack()[:-1])
        self.stacks.append("".join(f"{frame.filename}:{frame.lineno}:{frame.name}\n" for frame in frames))
        return result

    def _named(self, value: Any, with_type: bool = False) -> str:
        """A tensor's number, counted from 0 in the order in which they turned up."""
        if not isinstance(value, Tensor):
            return repr(value)
        self._alive.append(value)  # so that no other gets its identity
        name = f"${self._numbers.setdefault(id(value), len(self._numbers))}"
        kind = str(value.dtype).removeprefix("torch.")
        return f"{name}: {_SHORT.get(kind, kind)}[{', '.join(map(str, value.shape))}]" if with_type else name

    def traces(self, label: str) -> str:
        """Lines and stacks, numbered."""
        count = len(self.lines)
        parts = zip(self.lines, self.stacks, strict=True)
        return "".join(
            f"{line}   ({i} of {count} in {label})\n\n{stack}\n\n" for i, (line, stack) in enumerate(parts, 1)
        )


def explanation(first: OperatorLog, second: OperatorLog) -> str:
    """PyTorch's words about two computations that differ."""
    return _TEMPLATE.format(
        first_traces=first.traces("original"), second_traces=second.traces("recompute"),
        first_lines="\n".join(first.lines), second_lines="\n".join(second.lines),
    )  # fmt: skip


_TEMPLATE = """ \
An error happened while unpacking tensors; dumping logs of latest computation
because you passed `debug=True` to `torch.utils.checkpoint.checkpoint()`.
Scroll all the way down for guidance on how to navigate these logs.

+~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~+
|        1. Stack traces of the operators that ran in the original forward     |
+------------------------------------------------------------------------------+

{first_traces}
+~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~+
|        2. Stack traces of the operators that ran during recomputation        |
+------------------------------------------------------------------------------+

{second_traces}
+~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~+
|       3. Log of operators in the original forward and recomputation          |
+------------------------------------------------------------------------------+
(Scroll up to correlate stack traces with each operation listed below. This
 helps identify their source in the code.)

IMPORTANT: Differences in "detach" calls between the original forward and the
           recomputation are expected. They are introduced by the checkpointing
           mechanism and can be ignored.

Operations executed during the original forward:

{first_lines}

Operations executed during recomputation:

{second_lines}

+------------------------------------------------------------------------------+
 ERROR: Detected non-determinism while running activation checkpointing

 You are seeing this error because you passed `debug=True` to checkpoint and
 tensors to be saved during the original forward and differ between those saved
 during recomputation. This can happen if different operators were ran in the
 original forward and in the recomputation.
"""
