"""``torch.tensor`` and the constructors of old: from Python data to tensors."""

from __future__ import annotations

import warnings
from itertools import chain
from typing import Any

import numpy as np

from . import dtypes
from .api import _functions as ops
from .api.arguments import REJECTED
from .api.arguments import _dtype as to_dtype
from .deprecation import warn_once
from .devices import device, index_flag
from .dispatch.dispatcher import backend_for, backend_key_for
from .dtypes import cpp_type_name, dtype, from_numpy_dtype, saturated
from .factories import check_flag, requiring_grad
from .keys import CPU
from .number_range import check_data, integers
from .overriding import overridable_by_modes
from .pinned import pinned_factory_result
from .size import Size
from .state import mode_triple, run_quietly, tls
from .storage import UntypedStorage
from .storage_tensors import on_storage
from .tensor import Tensor, new_tensor
from .typed_storage import TypedStorage

__all__ = ["legacy_of", "legacy_tensor", "refuse_other_device", "tensor"]


@overridable_by_modes
def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
    """A new tensor with a copy of the data: a number, nested sequences of numbers, an array or a tensor.

    On a storage it lies without a copy.

    Without ``dtype=``, Python floats give the default dtype, ints int64, bools bool; arrays keep theirs.

    Raises
    ------
    ValueError, TypeError, RuntimeError
        For ragged sequences and for what is no number, in PyTorch's words.
    """
    if requires_grad is not False or pin_memory is not False:
        check_flag("tensor", "requires_grad", requires_grad)
        check_flag("tensor", "pin_memory", pin_memory)
    if isinstance(data, Tensor):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
            stacklevel=3,
        )
        result = data.detach().to(dtype=_dtype(dtype), device=_as_device(device), copy=True)
    else:
        result = from_data(data, _dtype(dtype), _as_device(device))
    if pin_memory:
        result = pinned_factory_result(result)
    return requiring_grad(result) if requires_grad else result


def _dtype(value: Any) -> dtype | None:
    found = None if value is None else to_dtype(value)
    if found is REJECTED:
        raise TypeError(f"tensor(): argument 'dtype' must be torch.dtype, not {type(value).__name__}")
    return found


def _as_device(value: Any) -> device | None:
    return None if value is None else device(value)


def from_data(data: Any, d: dtype | None, where: device | None) -> Tensor:
    """A tensor of Python data on a device; `d` None infers the dtype."""
    if data.__class__ not in _USUAL and isinstance(data, (TypedStorage, UntypedStorage)):
        lies = on_storage(data, d)
        place = where or tls.default_device
        return lies if place is None or place.type == lies.device.type else lies.to(place)
    array, inferred = host_elements(data, d)
    wanted = d or inferred
    if wanted.is_integral and array.dtype != wanted.numpy_dtype and not isinstance(data, np.ndarray):
        check_data(array, wanted)
    array = _converted(array, wanted)
    wanted_device = where or tls.default_device
    key = CPU if wanted_device is None else backend_key_for(wanted_device)
    flags = mode_triple(tls.mode)[2]
    backend = backend_for(key)
    held = backend.from_host(array, wanted, wanted_device.index if wanted_device else None)
    if key != CPU:
        flags |= index_flag(backend, held)
    return new_tensor(held, wanted, key | flags)


def host_elements(data: Any, d: dtype | None = None) -> tuple[np.ndarray, dtype]:
    """(a fresh row-major array of the data, the dtype PyTorch infers).

    Where `d` is given, integers may be as large as it holds.
    """
    if data.__class__ is float:
        return np.array(data, np.float64), dtypes.get_default_dtype()
    if isinstance(data, (np.ndarray, np.generic)):
        return _copied_array(np.asarray(data))
    if isinstance(data, (bool, int, float, complex)):
        return _from_numbers(data, type(data), d)
    if isinstance(data, (list, tuple, range)):
        return _from_sequence(data, d)
    if hasattr(data, "__len__") and hasattr(data, "__getitem__") and not isinstance(data, (str, dict)):
        return _from_sequence(data, d)
    if hasattr(data, "__array__"):
        return _copied_array(np.asarray(data))
    if hasattr(data, "__index__"):
        return _from_numbers(data.__index__(), int, d)
    if hasattr(data, "__float__"):
        return _from_numbers(float(data), float, d)
    if isinstance(data, str):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")


def _copied_array(array: np.ndarray) -> tuple[np.ndarray, dtype]:
    found = from_numpy_dtype(array.dtype.newbyteorder("=") if array.dtype.isnative else array.dtype)
    if not array.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion between byte orders "
            "is currently not supported."
        )
    return np.array(array, found.numpy_dtype, order="C"), found


def _from_numbers(data: Any, leaf: type, d: dtype | None) -> tuple[np.ndarray, dtype]:
    if issubclass(leaf, bool):
        return np.asarray(data, np.bool_), dtypes.bool
    if issubclass(leaf, int):
        return integers(data, d or dtypes.int64), dtypes.int64
    default = dtypes.get_default_dtype()
    if issubclass(leaf, float):
        return np.asarray(data, np.float64), default
    return np.asarray(data, np.complex128), default.to_complex() if default.name != "bfloat16" else dtypes.complex64


def _from_sequence(data: Any, d: dtype | None) -> tuple[np.ndarray, dtype]:
    found = _leaves_of_lists(data)
    if found is None and isinstance(data, (list, tuple)) and data and isinstance(data[0], np.ndarray):
        warn_once(
            "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the list to "
            "a single numpy.ndarray with numpy.array() before converting to a tensor.",
            stacklevel=5,
        )
    leaves, shape, kinds = found or _leaves(data)
    if not leaves:
        return np.empty(shape, dtypes.get_default_dtype().numpy_dtype), dtypes.get_default_dtype()
    if kinds == _FLOATS:
        return np.array(leaves, np.float64).reshape(shape), dtypes.get_default_dtype()
    inferred = _inferred(kinds, leaves)
    values = leaves
    if not kinds <= _NUMBERS:
        whole = _is_whole(d or inferred)
        values = [_number_of(v, whole) for v in leaves]
    if inferred is dtypes.bool or inferred.is_integral:
        return integers(values, d or inferred).reshape(shape), inferred
    return np.array(values, np.complex128 if inferred.is_complex else np.float64).reshape(shape), inferred


#: Classes of what most tensors are made of.
_USUAL = frozenset((bool, int, float, list, tuple, np.ndarray))
#: More levels than sequences have that are no part of themselves and can become a tensor.
_MOST_DIMENSIONS = 128
#: Classes of Python numbers.
_NUMBERS = frozenset((bool, int, float, complex))
_FLOATS, _LISTS = {float}, {list}

_Leaves = tuple[list[Any], tuple[int, ...], set[type]]


def _leaves_of_lists(data: Any) -> _Leaves | None:
    """(numbers, shape, their classes) of lists in lists that are no deeper and no shorter in one place than in another.

    None for anything else, which `_leaves` looks at item by item.
    """
    if data.__class__ is not list:
        return None
    shape, kinds = [len(data)], set(map(type, data))
    while kinds == _LISTS:
        lengths = set(map(len, data))
        if len(lengths) != 1 or len(shape) > _MOST_DIMENSIONS:
            return None
        shape.append(lengths.pop())
        data = list(chain.from_iterable(data))
        kinds = set(map(type, data))
    return (data, tuple(shape), kinds) if kinds and kinds <= _NUMBERS else None


def _leaves(data: Any) -> _Leaves:
    """(leaves, shape, their classes) of any nested sequence.

    Raises
    ------
    ValueError, TypeError
        When it is ragged, or no sequence.
    """
    shape = _shape_of(data)
    leaves: list[Any] = []
    if 0 in shape:  # whatever the other items are, none of them is an element
        return leaves, shape, set()
    _collect(data, shape, 0, leaves)
    return leaves, shape, set(map(type, leaves))


def _is_whole(d: dtype) -> bool:
    return d.is_integral or d is dtypes.bool


def _number_of(leaf: Any, whole: bool) -> Any:
    """A leaf as a Python number; a tensor of one element, whatever its shape, is its element.

    Raises
    ------
    TypeError, ValueError
        For other tensors, and where integers are wanted (`whole`) for tensors of others.
    """
    if not isinstance(leaf, Tensor):
        return leaf.item() if isinstance(leaf, (np.generic, np.ndarray)) else leaf
    if whole and (leaf.numel() != 1 or not _is_whole(leaf.dtype)):
        raise TypeError("only integer tensors of a single element can be converted to an index")
    if leaf.numel() != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    return leaf.item()


def _is_sequence(item: Any) -> bool:
    """Whether an item of a sequence is one; a tensor counts as a number, unless one of its neighbours is a sequence."""
    return isinstance(item, (list, tuple, range)) or isinstance(item, np.ndarray) and item.ndim > 0


def _shape_of(data: Any) -> tuple[int, ...]:
    shape: list[int] = []
    while _is_sequence(data) or not shape:
        shape.append(len(data))
        if len(shape) > _MOST_DIMENSIONS:  # a list that holds itself first has no end
            raise ValueError(f"too many dimensions '{type(data).__name__}'")
        if not len(data):
            break
        data = _first_of(data)
    if isinstance(data, str):  # a text is a sequence of texts, without end
        raise ValueError("too many dimensions 'str'")
    return tuple(shape)


def _first_of(data: Any) -> Any:
    try:
        return data[0]
    except Exception as error:
        raise ValueError(f"could not determine the shape of object type '{type(data).__name__}'") from error


def _collect(data: Any, shape: tuple[int, ...], depth: int, leaves: list[Any]) -> None:
    if isinstance(data, str):
        raise TypeError("new(): invalid data type 'str'")
    if depth == len(shape):
        if _holds_itself(data, ()):
            raise TypeError("new(): self-referential lists are incompatible")
        if _is_sequence(data):
            raise TypeError(f"must be real number, not {type(data).__name__}")
        leaves.append(data)
        return
    if not _is_sequence(data) and not isinstance(data, Tensor) and not (depth == 0 and hasattr(data, "__len__")):
        raise TypeError("not a sequence")
    if len(data) != shape[depth]:
        raise ValueError(f"expected sequence of length {shape[depth]} at dim {depth} (got {len(data)})")
    if depth + 1 == len(shape) and isinstance(data, (list, tuple)):
        if _NUMBERS.issuperset(map(type, data)) or not any(_is_sequence(x) or isinstance(x, str) for x in data):
            leaves.extend(data)
            return
    for item in data:
        _collect(item, shape, depth + 1, leaves)


def _holds_itself(data: Any, around: tuple[Any, ...]) -> bool:
    """Whether a list is, at any depth, among its own items."""
    if not isinstance(data, (list, tuple)):
        return False
    return any(data is outer for outer in around) or any(_holds_itself(item, (*around, data)) for item in data)


def _inferred(kinds: set[type], leaves: list[Any]) -> dtype:
    """The dtype that all leaves, of these classes, promote to; Python numbers count by their kind."""
    result: dtype | None = None
    for kind in kinds:
        found = _kind_dtype(kind, leaves)
        result = found if result is None else dtypes.promote_types(result, found)
    assert result is not None
    return result


def _kind_dtype(kind: type, leaves: list[Any]) -> dtype:
    if issubclass(kind, bool):
        return dtypes.bool
    if issubclass(kind, np.generic):
        return from_numpy_dtype(np.dtype(kind))
    if issubclass(kind, int):
        return dtypes.int64
    if issubclass(kind, float):
        return dtypes.get_default_dtype()
    if issubclass(kind, complex):
        return dtypes.get_default_dtype().to_complex()
    if issubclass(kind, (Tensor, np.ndarray)):
        found = [v.dtype if isinstance(v, Tensor) else from_numpy_dtype(v.dtype) for v in leaves if type(v) is kind]
        result = found[0]
        for other in found[1:]:
            result = dtypes.promote_types(result, other)
        return result
    raise RuntimeError(f"Could not infer dtype of {kind.__name__}")


def _converted(array: np.ndarray, d: dtype) -> np.ndarray:
    if array.dtype == d.numpy_dtype:
        return array
    if array.dtype.kind == "c" and not d.is_complex and d is not dtypes.bool:
        if d.is_floating_point:
            raise TypeError("must be real number, not complex")
        raise TypeError("'complex' object cannot be interpreted as an integer")
    return run_quietly(_astype, array, d)


def _astype(array: np.ndarray, d: dtype) -> np.ndarray:
    if not d.native and d.is_complex:
        pairs = np.empty(array.shape, d.numpy_dtype)
        pairs["real"], pairs["imag"] = array.real, array.imag
        return pairs
    return saturated(array, d.numpy_dtype).astype(d.numpy_dtype)


def legacy_tensor(cls: type, *args: Any, device: Any = None, **kwargs: Any) -> Any:
    """``Tensor(2, 3)`` (sizes, uninitialized), ``Tensor([1, 2])`` (data), ``Tensor()``, in the default dtype.

    ``Tensor(other)`` is a view of a tensor of any dtype.
    """
    refuse_other_device("torch.Tensor(tensor, device=device)", _CPU, device, args, kwargs)
    result = legacy_of(None, None, args, kwargs)
    return result if cls is Tensor else result.as_subclass(cls)


_CPU = device("cpu")


def refuse_other_device(form: str, home: device, given: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Refuse the device that a constructor of old was given where it is not the type of its own, `home`.

    Raises
    ------
    RuntimeError
        For another device type, and for any device beside a tensor (the call that `form` writes out).
    """
    if given is None:
        return
    if isinstance(kwargs.get("other", args[0] if len(args) == 1 else None), Tensor):
        kind, instead = ("new", "") if form.startswith("tensor.new") else ("constructor", "torch.tensor(...) or ")
        raise RuntimeError(
            f"Legacy tensor {kind} of the form {form} is not supported.  Use {instead}torch.as_tensor(...) instead."
        )
    kind = device(given).type
    if kind != home.type:
        raise RuntimeError(f"legacy constructor expects device type: {home.type} but device type: {kind} was passed")


def legacy_of(d: dtype | None, where: device | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """What a constructor of old makes of sizes, data, a storage, a tensor (then a view of it), or nothing.

    With `d` None tensors may have any dtype, and all else is made in the default one.

    Raises
    ------
    TypeError
        For anything else, and for a tensor of another dtype than `d`.
    """
    args = _unnamed(args, kwargs)
    given = args[0] if len(args) == 1 else None
    if isinstance(given, Tensor):
        if d not in (None, given._dtype):
            raise TypeError(f"expected {_options(d, given)} (got {_options(given._dtype, given)})")
        return ops.alias(given)
    d = d or dtypes.get_default_dtype()
    if isinstance(given, (UntypedStorage, TypedStorage)):
        return ops.empty((0,), dtype=d, device=where).set_(given)
    if isinstance(given, (list, tuple, np.ndarray)) and type(given) is not Size:
        return from_data(given, d, where)
    if isinstance(given, str):
        raise TypeError(f"new(): invalid data type '{type(given).__name__}'")
    sizes = tuple(given) if type(given) is Size else args
    if not all(isinstance(n, int) for n in sizes):
        raise TypeError(f"new(): data must be a sequence (got {type(args[0]).__name__})")
    return ops.empty(sizes if args else (0,), dtype=d, device=where)


def _options(d: dtype, beside: Tensor) -> str:
    """A dtype and the device of a tensor, as PyTorch's C++ prints them."""
    return (
        f"TensorOptions(dtype={cpp_type_name(d)}, device={beside.device}, layout=Strided, "
        "requires_grad=false (default), pinned_memory=false (default), memory_format=(nullopt))"
    )


def _unnamed(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments of a constructor of old, of which one may be given by its name."""
    if not args and len(kwargs) == 1:
        name, value = next(iter(kwargs.items()))
        if name == "size":
            return (Size(value),)
        if name in ("data", "other"):
            return (value,)
    if kwargs:
        raise TypeError(
            f"new() received an invalid combination of arguments - got unexpected keyword {next(iter(kwargs))}"
        )
    return args
