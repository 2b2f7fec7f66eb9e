"""Dispatch keys: each is one bit, and the order of the bits is the order of priority.

A tensor carries the bits of what must handle it; an operator call joins the bits of its tensors with the thread's mode
(`mt_core.state`) and looks its kernel up by the sum. All bits together stay below 2**30, so that key sets are one-digit
Python integers and the union on the hot path is as cheap as Python has it.
"""

from __future__ import annotations

#: Not a dispatch key: set on a tensor that is not contiguous, so that executors leave their shortest path.
STRIDED = 1 << 0
#: Not a dispatch key: set on tensors made in inference mode.
INFERENCE = 1 << 1

#: Not dispatch keys: set on a view made with grad mode off, and on each of several views made by one call (``unbind``).
NO_GRAD_VIEW = 1 << 2
MULTI_VIEW = 1 << 3

CPU = 1 << 4
CUDA = 1 << 5
NPU = 1 << 6
PRIVATE_1 = 1 << 7
PRIVATE_2 = 1 << 8
PRIVATE_3 = 1 << 9
META = 1 << 10
BACKEND_SELECT = 1 << 11
PYTHON = 1 << 12
FUNCTIONALIZE = 1 << 13
NEGATIVE = 1 << 14
CONJUGATE = 1 << 15
ADINPLACE_OR_VIEW = 1 << 16
#: One bit serves every device: what differs per device is the backend bit below, and the layer is built per key set.
AUTOGRAD = 1 << 17
TRACING = 1 << 18
AUTOCAST = 1 << 19
BATCHED = 1 << 20
PIPELINE = 1 << 21
FUNCTION_TRANSFORM = 1 << 22
TORCH_FUNCTION = 1 << 23
#: No layer of its own: a thread includes it while packing hooks or anomaly mode are on, and autograd builds closures
#: for it.
INSTRUMENTED = 1 << 24

BACKENDS = (CPU, CUDA, NPU, PRIVATE_1, PRIVATE_2, PRIVATE_3, META)
BACKEND_MASK = sum(BACKENDS)
#: Bits of a tensor that say how it is stored; what a new output inherits is decided by the executor, not by these.
FLAGS = STRIDED | INFERENCE | NO_GRAD_VIEW | MULTI_VIEW
#: Key sets take this many bits; interned modes (`mt_core.state`) lie above.
WIDTH = 25
KEY_MASK = (1 << WIDTH) - 1

NAMES = {
    value: name for name, value in list(globals().items())
    if name.isupper() and type(value) is int and value and value & (value - 1) == 0 and name != "WIDTH"
}  # fmt: skip


def describe(keys: int) -> str:
    """The names of a key set, highest priority first: ``AUTOGRAD | CPU``."""
    return " | ".join(NAMES[1 << i] for i in reversed(range(WIDTH)) if keys >> i & 1) or "(none)"
