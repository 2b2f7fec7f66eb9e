"""Dispatch keys: each is one bit, and the order of the bits is the order of priority.

A tensor carries the bits of what must handle it; an operator call joins the bits of its tensors with the thread's mode
(`mt_core.state`) and looks its kernel up by the sum. The bits of ordinary calls stay below 2**30, so that key sets are
one-digit Python integers and the union on the hot path is as cheap as Python has it.

From the lowest bit: flags, which say how a tensor is stored and take no part in dispatch; backends, the CPU lowest, so
that a 0-dim CPU tensor beside a tensor of another device goes to that device; then the layers, the higher the nearer to
the caller. What changes how a call is seen (transforms, tracing, autocast) stands above what records it (autograd),
and that above what changes how elements are read (conjugate, negative).

Device types of third parties share the bit `PRIVATE`; which of them it is stands in a bit of its own far above the
modes (`mt_core.devices.backend_key`), where there is room for any number of them.
"""

from __future__ import annotations

#: Not a dispatch key: set on a tensor that is not contiguous, so that executors leave their shortest path.
STRIDED = 1 << 0
#: Not a dispatch key: set on tensors made in inference mode.
INFERENCE = 1 << 1

#: Not dispatch keys: set on a view made with grad mode off, and on each of several views made by one call (``unbind``).
NO_GRAD_VIEW = 1 << 2
MULTI_VIEW = 1 << 3
#: What this flag means among the excluded keys of a mode, where a flag has no meaning of its own: autograd is left out
#: because grad mode is off, and not because the call comes from below it.
GRAD_OFF = NO_GRAD_VIEW
#: Not a dispatch key: set on tensors of a device whose index is not 0; calls with one look whether all indices agree.
OTHER_INDEX = 1 << 4

CPU = 1 << 5
CUDA = 1 << 6
NPU = 1 << 7
PRIVATE = 1 << 8
META = 1 << 9
#: Tensors of a sparse layout (`mt_core.sparse`): they stand for indices and values, which are ordinary tensors.
SPARSE = 1 << 10
#: Quantized tensors (`mt_core.quantized`): they stand for integers, and say what number each of these is.
QUANTIZED = 1 << 11
#: Subclasses with a ``__torch_dispatch__``; a thread includes it while a `TorchDispatchMode` is on.
PYTHON = 1 << 12
#: Wrappers that a level of ``torch.func.grad`` or ``jvp`` puts around tensors: below its own recording, their insides
#: go on to the next level outwards.
TRANSFORMED = 1 << 13
FUNCTIONALIZE = 1 << 14
NEGATIVE = 1 << 15
CONJUGATE = 1 << 16
ADINPLACE_OR_VIEW = 1 << 17
#: One bit serves every device: what differs per device is the backend bit below, and the layer is built per key set.
AUTOGRAD = 1 << 18
#: Tensors with a tangent (forward mode): above autograd, so that tangents can be differentiated by backward.
FORWARD_GRAD = 1 << 19
TRACING = 1 << 20
AUTOCAST = 1 << 21
#: Tensors of ``torch.nested`` and ``torch.masked``, which are compounds of ordinary ones: their operators are carried
#: out on these from above autograd, which records what is done to the parts.
COMPOUND = 1 << 22
#: Tensors that a level of a transform made. A level takes the calls that it sees before they come by here: what does
#: has outlived its level.
OF_TRANSFORM = 1 << 23
#: A thread includes it while a profiler watches it: below the pipeline, so that calls are timed when they run.
PROFILED = 1 << 24
#: Tensors whose value or memory waits in a queue (`mt_core.pipeline`); a thread includes it while it puts calls off.
PIPELINE = 1 << 25
#: A thread includes it while it is inside of transforms of ``torch.func``: the innermost of them sees the call first.
FUNCTION_TRANSFORM = 1 << 26
TORCH_FUNCTION = 1 << 27
#: No layer of its own: a thread includes it while packing hooks or anomaly mode are on, and autograd builds closures
#: for it.
INSTRUMENTED = 1 << 28

#: Tensors with one of these have no memory: whoever serves the key carries the call out on others that have. Of those
#: with `PYTHON`, some have; those with `PIPELINE` will have it.
HOLLOW = TRANSFORMED | OF_TRANSFORM | FUNCTIONALIZE | PIPELINE | SPARSE | QUANTIZED | COMPOUND
#: Keys that dispatch passes over without a layer; any other key without one is an error.
TRANSPARENT = INSTRUMENTED

#: The core's own backends, and the bit that third parties' share.
BACKENDS = (CPU, CUDA, NPU, PRIVATE, META)
#: Bits of a tensor that say how it is stored; what a new output inherits is decided by the executor, not by these.
FLAGS = STRIDED | INFERENCE | NO_GRAD_VIEW | MULTI_VIEW | OTHER_INDEX
#: Key sets take this many bits; interned modes (`mt_core.state`) lie above.
WIDTH = 29
#: Interned modes take at most this many bits.
MODE_WIDTH = 24
#: From here on, one bit for each third-party device type in use.
PRIVATE_SHIFT = WIDTH + MODE_WIDTH
PRIVATE_TYPES = -1 << PRIVATE_SHIFT
#: What tells device types apart.
BACKEND_MASK = sum(BACKENDS) | PRIVATE_TYPES
KEY_MASK = (1 << WIDTH) - 1 | PRIVATE_TYPES

NAMES = {
    value: name for name, value in list(globals().items())
    if name.isupper() and type(value) is int and 0 < value < 1 << WIDTH and value & (value - 1) == 0
    and name not in ("WIDTH", "MODE_WIDTH", "TRANSPARENT", "GRAD_OFF", "HOLLOW")
}  # fmt: skip


def describe(keys: int) -> str:
    """The names of a key set, highest priority first: ``AUTOGRAD | CPU``."""
    return " | ".join(NAMES[1 << i] for i in reversed(range(WIDTH)) if keys >> i & 1) or "(none)"
