"""What is to be seen of a value through the public API of a torch-like module alone, in words that JSON can hold."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

__all__ = ["Sight", "elements_of", "sight_of_error", "sight_of_value"]

#: One value as it was seen: "kind", and what that kind has.
Sight = dict[str, Any]

#: Dtypes that NumPy lacks are seen as float32.
_WIDENED = re.compile("bfloat16|float8")
#: Lists are looked at to this depth and length.
_DEPTH, _LENGTH = 4, 64


def sight_of_value(torch: Any, value: Any, *, elements: bool = True, depth: int = 0) -> Sight:
    """A tensor with all its facts, a number, a text, or a list of such; of anything else its class."""
    if isinstance(value, torch.Tensor):
        return _of_tensor(value, elements)
    if isinstance(value, (bool, str, type(None))):
        return {"kind": type(value).__name__, "is": value}
    if isinstance(value, (int, float, complex)):
        number = repr(value) if isinstance(value, complex) else value
        return {"kind": "number", "type": type(value).__name__, "is": number}
    if isinstance(value, (torch.dtype, torch.Size)):
        return {"kind": type(value).__name__, "is": str(value)}
    if isinstance(value, np.ndarray):
        facts = [str(value.dtype), list(value.shape), list(value.strides), value.tobytes().hex()]
        return {"kind": "ndarray", "is": facts}
    if isinstance(value, dict) and depth < _DEPTH:
        items = [sight_of_value(torch, item, elements=elements, depth=depth + 1) for item in value.values()]
        return {"kind": "dict", "keys": [str(key) for key in value], "items": items}
    if isinstance(value, (list, tuple)) and depth < _DEPTH:
        items = [sight_of_value(torch, v, elements=elements, depth=depth + 1) for v in value[:_LENGTH]]
        return {"kind": "sequence", "class": type(value).__name__.rpartition(".")[2], "items": items}
    return {"kind": "object", "class": type(value).__name__}


def _of_tensor(tensor: Any, elements: bool) -> Sight:
    inference = tensor.is_inference()
    grad_fn = tensor.grad_fn
    return {
        "kind": "tensor",
        "class": type(tensor).__name__,
        "dtype": str(tensor.dtype).rpartition(".")[2],
        "shape": list(tensor.shape),
        "strides": list(tensor.stride()),
        "offset": tensor.storage_offset(),
        "requires_grad": tensor.requires_grad,
        "is_leaf": tensor.is_leaf,
        "grad_fn": None if grad_fn is None else grad_fn.name(),
        "version": None if inference else tensor._version,
        "is_view": tensor._is_view(),
        "inference": inference,
        "lazy": [tensor.is_conj(), tensor.is_neg()],
        "elements": _bytes(tensor).hex() if elements else None,
    }


def _bytes(tensor: Any) -> bytes:
    plain = tensor.detach().resolve_conj().resolve_neg()
    copied = plain.float() if _WIDENED.search(str(plain.dtype)) else plain.clone()
    return copied.numpy().tobytes()  # of a copy: memory that NumPy has seen cannot be resized


def elements_of(sight: Sight) -> np.ndarray:
    """The elements of a tensor that was seen, in one dimension."""
    name = "float32" if _WIDENED.search(sight["dtype"]) else sight["dtype"]
    return np.frombuffer(bytes.fromhex(sight["elements"]), name)


def sight_of_error(error: BaseException) -> Sight:
    """Type and text; without PyTorch's remark on where in its sources it was raised."""
    return {"kind": "error", "type": type(error).__name__, "text": str(error).split("\nException raised from")[0]}
