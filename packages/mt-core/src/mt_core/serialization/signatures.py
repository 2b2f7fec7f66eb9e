"""What the arguments of the calls in a weights file must be.

A file chooses what it calls and with what. So each call is held to a signature before it is made, and a malformed one
is recognised by the reader, not by whatever error it would cause somewhere inside.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pickle import UnpicklingError
from typing import Any

import numpy as np

from ..devices import device
from ..dtypes import dtype
from ..formats import layout
from ..storage import UntypedStorage
from ..tensor import Tensor
from ..typed_storage import TypedStorage
from . import rebuild

__all__ = ["SIGNATURES", "Signature", "check_key"]

#: How many tuples and items a key may have, and how deep: hashing walks all of them on the interpreter's stack, and
#: one that holds another twice holds what that one holds twice.
_MAX_KEY_ITEMS = 10_000
_MAX_KEY_DEPTH = 32


@dataclass(frozen=True)
class Kind:
    """A set of values, and what it is called in errors."""

    text: str
    holds: Callable[[Any], bool]


class Signature:
    """Names and kinds of positional arguments; the last ones may be missing where `required` says so."""

    def __init__(self, *parameters: tuple[str, Kind], required: int | None = None) -> None:
        self.parameters = parameters
        self.required = len(parameters) if required is None else required

    def check(self, name: str, args: tuple[Any, ...]) -> None:
        """Refuse arguments that do not fit.

        Raises
        ------
        pickle.UnpicklingError
            If there are too many or too few, or one is of another kind.
        """
        if not self.required <= len(args) <= len(self.parameters):
            most = len(self.parameters)
            expected = f"{most}" if most == self.required else f"{self.required} to {most}"
            raise UnpicklingError(f"{name} takes {expected} arguments, got {len(args)}: the file is corrupt")
        for (parameter, kind), value in zip(self.parameters, args, strict=False):
            if not kind.holds(value):
                raise UnpicklingError(
                    f"{name}: '{parameter}' must be {kind.text}, got {type(value).__name__}: the file is corrupt"
                )


def check_key(key: Any) -> None:
    """Refuse what cannot be a key, and tuples so deep or so large that hashing them would not end.

    Raises
    ------
    pickle.UnpicklingError
        If the value is one of these.
    """
    if type(key) is tuple:
        _check_tuple(key)
    elif type(key).__hash__ is None:
        raise _unhashable(key)


def _check_tuple(key: tuple[Any, ...]) -> None:
    level, count = [key], 0
    for _ in range(_MAX_KEY_DEPTH):
        items = [item for inner in level for item in inner]
        count += len(items)
        for item in items:
            if type(item).__hash__ is None:
                raise _unhashable(item)
        level = [item for item in items if type(item) is tuple]
        if count + sum(map(len, level)) > _MAX_KEY_ITEMS:
            break
        if not level:
            return
    raise UnpicklingError("a key of tuples nested too deep: the file is corrupt or hostile")


def _unhashable(value: Any) -> UnpicklingError:
    return UnpicklingError(f"unhashable type: '{type(value).__name__}' as a key: the file is corrupt")


def _is_number(value: Any) -> bool:
    return type(value) is float or (type(value) is int and value.bit_length() < 1024)


def _is_latin(value: Any) -> bool:
    return type(value) is str and (value.isascii() or max(value) <= "\xff")


def _are_ints(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and all(type(item) is int for item in value)


def _are_sizes(value: Any) -> bool:
    return _are_ints(value) and all(-(2**63) <= item < 2**63 for item in value)


def _are_pairs(value: Any) -> bool:
    if type(value) is dict:
        return True
    return type(value) in (tuple, list) and all(type(pair) in (tuple, list) and len(pair) == 2 for pair in value)


def _is_tensor_class(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, Tensor)


def _one_of(*types: Any) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, types)


ANY = Kind("anything", lambda value: True)
FLAG = Kind("a bool", lambda value: type(value) is bool)
INT = Kind("an int", lambda value: type(value) is int)
INTS = Kind("a tuple of ints", _are_ints)
SIZES = Kind("a tuple of ints of 64 bits", _are_sizes)
NUMBER = Kind("a number", _is_number)
TEXT = Kind("a str", lambda value: type(value) is str)
LATIN = Kind("a str of characters up to U+00FF", _is_latin)
BYTES = Kind("bytes or a str of characters up to U+00FF", lambda value: type(value) is bytes or _is_latin(value))
CODEC = Kind("the codec latin1", lambda value: type(value) is str and value in ("latin1", "latin-1"))
INDEX = Kind("the index of a device", lambda value: value is None or (type(value) is int and -1 <= value < 128))
PLACE = Kind("a device or its name", lambda value: type(value) is str or isinstance(value, device))
DTYPE = Kind("a torch.dtype", _one_of(dtype))
LAYOUT = Kind("a torch.layout", _one_of(layout))
LAYOUT_NAME = Kind("the name of a torch.layout", lambda value: type(value) is str and value in rebuild.LAYOUTS)
TENSOR = Kind("a tensor", _one_of(Tensor))
TENSOR_OR_NONE = Kind("a tensor", _one_of(Tensor, type(None)))
TENSOR_CLASS = Kind("a class of tensors", _is_tensor_class)
ARRAY = Kind("an ndarray", _one_of(np.ndarray))
TYPED = Kind("a typed storage", _one_of(TypedStorage))
STORAGE = Kind("a storage", _one_of(TypedStorage, UntypedStorage))
DICT = Kind("a dict", lambda value: value is None or isinstance(value, dict))
HOOKS = Kind("an OrderedDict", lambda value: value is None or type(value) in (OrderedDict, dict))
TUPLE = Kind("a tuple", lambda value: type(value) is tuple)
ITEMS = Kind("a list or tuple", lambda value: type(value) in (list, tuple))
PAIRS = Kind("a dict or a list of pairs", _are_pairs)
BUILDER = Kind("a function that rebuilds tensors", lambda value: callable(value) and value in rebuild.TENSOR_BUILDERS)

_GEOMETRY = ("storage_offset", INT), ("size", INTS), ("stride", INTS)
_GRADIENT = ("requires_grad", FLAG), ("backward_hooks", HOOKS)
_ON_DEVICE = ("dtype", DTYPE), ("device", PLACE), ("requires_grad", FLAG)

_REBUILDERS = {
    "_rebuild_tensor": Signature(("storage", TYPED), *_GEOMETRY),
    "_rebuild_tensor_v2": Signature(("storage", TYPED), *_GEOMETRY, *_GRADIENT, ("metadata", DICT), required=6),
    "_rebuild_tensor_v3": Signature(
        ("storage", STORAGE), *_GEOMETRY, *_GRADIENT, ("dtype", DTYPE), ("metadata", DICT), required=7
    ),
    "_rebuild_meta_tensor_no_storage": Signature(
        ("dtype", DTYPE), ("size", INTS), ("stride", INTS), ("requires_grad", FLAG)
    ),
    "_rebuild_device_tensor_from_numpy": Signature(("data", ARRAY), *_ON_DEVICE),
    "_rebuild_device_tensor_from_cpu_tensor": Signature(("data", TENSOR), *_ON_DEVICE),
    "_rebuild_sparse_tensor": Signature(("layout", LAYOUT), ("data", TUPLE)),
    "_rebuild_nested_tensor": Signature(
        ("buffer", TENSOR), ("sizes", TENSOR), ("strides", TENSOR), ("storage_offsets", TENSOR)
    ),
    "_rebuild_qtensor": Signature(("storage", TYPED), *_GEOMETRY, ("quantizer", TUPLE), *_GRADIENT),
    "_rebuild_wrapper_subclass": Signature(
        ("cls", TENSOR_CLASS), ("dtype", DTYPE), ("size", INTS), ("stride", INTS), ("storage_offset", INT),
        ("layout", LAYOUT), ("device", PLACE), ("requires_grad", FLAG),
    ),
}  # fmt: skip


class _TypedRebuild(Signature):
    """Of ``_rebuild_from_type_v2``, which calls one of the others."""

    def check(self, name: str, args: tuple[Any, ...]) -> None:
        """Refuse arguments that do not fit, and those that do not fit the function among them."""
        super().check(name, args)
        inner = args[0].__name__
        (_NESTED if inner == "_rebuild_njt" else _REBUILDERS[inner]).check(inner, args[2])


#: Of the function that rebuilds nested tensors, which checks what is in the dict.
_NESTED = Signature(("constructor_kwargs", Kind("a dict", lambda value: type(value) is dict)))
#: By the full name in a file.
SIGNATURES: dict[str, Signature] = {
    "_codecs.encode": Signature(("text", LATIN), ("encoding", CODEC)),
    "builtins.bytearray": Signature(("source", BYTES), ("encoding", CODEC), required=0),
    "builtins.complex": Signature(("real", NUMBER), ("imag", NUMBER), required=0),
    "builtins.set": Signature(("items", ITEMS), required=0),
    "collections.Counter": Signature(("counts", PAIRS), required=0),
    "collections.OrderedDict": Signature(("items", PAIRS), required=0),
    "torch.Size": Signature(("sizes", SIZES), required=0),
    "torch.device": Signature(("type", TEXT), ("index", INDEX), required=1),
    "torch.nn.parameter.Parameter": Signature(("data", TENSOR_OR_NONE), ("requires_grad", FLAG), required=0),
    "torch._utils._rebuild_parameter": Signature(("data", TENSOR), *_GRADIENT),
    "torch._utils._rebuild_parameter_with_state": Signature(("data", TENSOR), *_GRADIENT, ("state", ANY)),
    "torch.serialization._get_layout": Signature(("name", LAYOUT_NAME)),
    "torch._tensor._rebuild_from_type_v2": _TypedRebuild(
        ("func", BUILDER), ("new_type", TENSOR_CLASS), ("args", TUPLE), ("state", ANY)
    ),
    "torch.nested._internal.nested_tensor._rebuild_njt": _NESTED,
    **{f"torch._utils.{name}": signature for name, signature in _REBUILDERS.items()},
}
