"""From samples to a batch: ``default_collate`` and ``default_convert``."""

import copy
import re
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

import mt_core as mt
from mt_core.interop import as_tensor

__all__ = ["collate", "default_collate", "default_collate_fn_map", "default_convert"]

CollateFunctions = dict[type | tuple[type, ...], Callable[..., Any]]

np_str_obj_array_pattern = re.compile("[SaUO]")
default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def default_convert(data: Any) -> Any:
    """Turn every NumPy array and number in a structure into a tensor; leave anything else as it is.

    Arrays share their memory with the tensor. Tuples other than named ones become lists.
    """
    if isinstance(data, np.ndarray | np.generic):
        return data if np_str_obj_array_pattern.search(data.dtype.str) else as_tensor(data)
    if isinstance(data, mt.Tensor):
        return data
    if isinstance(data, Mapping):
        return _like_mapping(data, {key: default_convert(value) for key, value in data.items()})
    if _is_namedtuple(data):
        return type(data)(*(default_convert(value) for value in data))
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        return _like_sequence(data, [default_convert(value) for value in data])
    return data


def collate(batch: Any, *, collate_fn_map: CollateFunctions | None = None) -> Any:
    """Combine samples of one structure, element by element.

    Parameters
    ----------
    batch
        The samples: a sequence of elements that have a function in the map, or of mappings or sequences of such.
    collate_fn_map
        Functions by the type, or types, of what they combine: ``f(batch, collate_fn_map=map)``. The first fitting entry
        counts, one for the exact type before one for a base class.

    Returns
    -------
    Mappings and sequences of combined elements, of the type of the samples where it can be made so.

    Raises
    ------
    TypeError
        For elements that no function combines.
    RuntimeError
        For sequences of different lengths.
    """
    element = batch[0]
    if collate_fn_map is not None:
        function = _function_for(type(element), collate_fn_map)
        if function is not None:
            return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(element, Mapping):
        combined = {key: collate([sample[key] for sample in batch], collate_fn_map=collate_fn_map) for key in element}
        return _like_mapping(element, combined)
    if _is_namedtuple(element):
        return type(element)(*(collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch, strict=True)))
    if isinstance(element, Sequence):
        columns = _columns(batch)
        combined_columns = [collate(column, collate_fn_map=collate_fn_map) for column in columns]
        return combined_columns if isinstance(element, tuple) else _like_sequence(element, combined_columns)
    raise TypeError(default_collate_err_msg_format.format(type(element)))


def default_collate(batch: Any) -> Any:
    """Combine samples into a batch: tensors are stacked along a new first dimension.

    NumPy arrays and numbers become tensors (Python floats float64 ones), strings and bytes stay a list; mappings and
    sequences are combined element by element.
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def _function_for(cls: type, functions: CollateFunctions) -> Callable[..., Any] | None:
    if cls in functions:
        return functions[cls]
    return next((function for types, function in functions.items() if issubclass(cls, types)), None)


def _is_namedtuple(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields")


def _columns(batch: Any) -> list[tuple[Any, ...]]:
    if any(len(sample) != len(batch[0]) for sample in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    return list(zip(*batch, strict=True))


def _like_mapping(model: Mapping[Any, Any], content: dict[Any, Any]) -> Any:
    """The content in a mapping of the model's type, with whatever else the model carries; else a dict."""
    try:
        if isinstance(model, MutableMapping):
            result = copy.copy(model)
            result.update(content)
            return result
        return type(model)(content)  # type: ignore[call-arg]
    except TypeError:  # a type that is not made from a mapping, or cannot be copied
        return content


def _like_sequence(model: Sequence[Any], content: list[Any]) -> Any:
    """The content in a sequence of the model's type, with whatever else the model carries; else a list."""
    if isinstance(model, tuple):
        return content
    try:
        if isinstance(model, MutableSequence):
            result = copy.copy(model)
            for position, value in enumerate(content):
                result[position] = value
            return result
        return type(model)(content)  # type: ignore[call-arg]
    except TypeError:  # ``range``, say
        return content


def collate_tensor_fn(batch: Any, *, collate_fn_map: CollateFunctions | None = None) -> mt.Tensor:
    return mt.stack(list(batch), 0)


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: CollateFunctions | None = None) -> Any:
    if np_str_obj_array_pattern.search(batch[0].dtype.str):
        raise TypeError(default_collate_err_msg_format.format(batch[0].dtype))
    return collate([as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: CollateFunctions | None = None) -> mt.Tensor:
    return as_tensor(np.asarray(batch))


def collate_float_fn(batch: Any, *, collate_fn_map: CollateFunctions | None = None) -> mt.Tensor:
    return mt.tensor(list(batch), dtype=mt.float64)


def collate_int_fn(batch: Any, *, collate_fn_map: CollateFunctions | None = None) -> mt.Tensor:
    return mt.tensor(list(batch))


def collate_str_fn(batch: Any, *, collate_fn_map: CollateFunctions | None = None) -> Any:
    return batch


#: How `default_collate` combines elements; further types may be entered.
default_collate_fn_map: CollateFunctions = {
    mt.Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}
