"""What a random program is not to do: lines whose outcome PyTorch leaves open, or which fail in a place of its own.

Such lines are left out of a program while it is written, so that fewer programs fall under `noise`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .machine import Notes
from .sights import Sight

__all__ = ["ends_undetermined", "forgets", "reads_what_it_writes", "wants_row_major", "writes_what_it_saves"]

_WRITTEN = re.compile(r"(?P<target>v\d+)(?P<view>.*)\.\w+_\((?P<read>.*)\)$")
_OUT = re.compile(r"(?:\w+ = )?(?P<read>.*)\bout=\(?(?P<target>v\d+)(?P<view>[^,)]*)")
_NAMES = re.compile(r"\bv\d+\b")
#: What has kernels that read or write raw memory, in PyTorch; the second also of what they write alone.
_RAW = re.compile(r"\.(native_group_norm|rrelu_with_noise|rnn_tanh|rnn_relu|gru|lstm)$")
_RAW_OUT = re.compile(r"\.(avg_pool3d|narrow_copy|fftfreq|rfftfreq)$")
#: Operators that write in PyTorch what they have saved, so that their backward passes are refused.
_WRITES_SAVED = re.compile(r"\.(vander|cond)$")
#: What makes its results in larger memory than they need.
_LEAVES_MEMORY = re.compile(r"\b(col2im|lstsq|embedding_bag)\(")
#: How PyTorch refuses what its own parts do, or the libraries that it calls.
_INSIDE = re.compile(
    r"INTERNAL ASSERT FAILED|^setStorage: sizes|^TensorAccessor expected|MKL FFT error|get_mkldnn_dtype|"
    r"primitive descriptor|"
    r"DispatchKey Conjugate doesn't correspond|UntypedStorage' has no attribute 'dtype'|partially initialized module"
)
_LAYOUT = "view size is not compatible with input tensor's size and stride"


def reads_what_it_writes(line: str, names: Mapping[str, Any]) -> bool:
    """Whether a line writes a part of the memory that it reads, in an order that PyTorch leaves open."""
    found = _WRITTEN.fullmatch(line) or _OUT.match(line)
    if found is None or found["target"] not in names:
        return False
    memory = _memory(names[found["target"]])
    if memory is None or not any(_memory(names.get(name)) == memory for name in _NAMES.findall(found["read"])):
        return False
    return bool(found["view"]) or found["read"].strip() != found["target"]


def _memory(value: Any) -> Any:
    """Where a tensor's memory begins; None of what is no tensor, or has no memory."""
    storage = value.untyped_storage() if hasattr(value, "untyped_storage") else None
    return storage.data_ptr() or None if storage is not None else None


def ends_undetermined(line: str, notes: Notes, seen: Mapping[str, Sight]) -> bool:
    """Whether PyTorch failed inside, or refused a line after it had written a part of what the line writes."""
    error = next((sight for name, sight in notes if name == "error"), None)
    if error is None:
        return False
    text = error["text"]
    if error["type"] == "Late" or _INSIDE.search(text) or _LAYOUT in text and ".view" not in line:
        return True
    return any(_is_written(seen[name], sight) for name, sight in notes if name in seen)


def _is_written(before: Sight, after: Sight) -> bool:
    """Whether elements changed, or there are more of them, which nobody has written."""
    if before["kind"] != "tensor" or after["kind"] != "tensor" or None in (before["elements"], after["elements"]):
        return False
    if before["shape"] == after["shape"]:
        return bool(before["elements"] != after["elements"])
    return len(after["elements"]) > len(before["elements"])


def forgets(expression: str) -> bool:
    """Whether a result is not to be looked at again, since its memory is larger than it needs."""
    return _LEAVES_MEMORY.search(expression) is not None


def wants_row_major(name: str, form: str) -> bool:
    """Whether an operator's kernel reads or writes its arguments as if their elements lay side by side."""
    return _RAW.search(name) is not None or form == "out" and _RAW_OUT.search(name) is not None


def writes_what_it_saves(name: str) -> bool:
    """Whether PyTorch refuses an operator's backward pass for a write of its own."""
    return _WRITES_SAVED.search(name) is not None
