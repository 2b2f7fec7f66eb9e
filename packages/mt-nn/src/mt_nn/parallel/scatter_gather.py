"""``torch.nn.parallel.scatter_gather``: structures of tensors divided among devices, and joined again."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import mt_core as mt

__all__ = ["gather", "is_namedtuple", "scatter", "scatter_kwargs"]

_Device = int | str | mt.device


def is_namedtuple(obj: Any) -> bool:
    """Whether an object is a tuple with named fields."""
    return isinstance(obj, tuple) and hasattr(obj, "_asdict") and hasattr(obj, "_fields")


_is_namedtuple = is_namedtuple


def scatter(inputs: Any, target_gpus: Sequence[_Device], dim: int = 0) -> Any:
    """One structure like `inputs` for each device: tensors are divided along `dim`, other objects are shared.

    Parameters
    ----------
    inputs
        Tensors, other objects, and tuples, lists and dicts of them.
    target_gpus
        Accelerators, as their numbers or devices.

    Raises
    ------
    ValueError
        A tensor is to go to the CPU.
    """
    if isinstance(inputs, mt.Tensor):
        devices = [_accelerator(target) for target in target_gpus]
        return tuple(part.to(device) for part, device in zip(inputs.chunk(len(devices), dim), devices))
    if is_namedtuple(inputs):
        return [type(inputs)(*parts) for parts in _columns(inputs, target_gpus, dim)]
    if isinstance(inputs, tuple) and inputs:
        return _columns(inputs, target_gpus, dim)
    if isinstance(inputs, list) and inputs:
        return [list(parts) for parts in _columns(inputs, target_gpus, dim)]
    if isinstance(inputs, dict) and inputs:
        return [type(inputs)(parts) for parts in _columns(inputs.items(), target_gpus, dim)]
    return [inputs for _ in target_gpus]


def _columns(structure: Any, target_gpus: Sequence[_Device], dim: int) -> list[tuple[Any, ...]]:
    """What each device gets of the parts of a structure; the shortest decides how many devices get any."""
    return list(zip(*(scatter(part, target_gpus, dim) for part in structure)))


def _accelerator(target: _Device) -> mt.device:
    device = mt.device("cuda", target) if isinstance(target, int) else mt.device(target)
    if device.type == "cpu":
        raise ValueError(f"Expected a non cpu device, but got: {device}")
    return device


def scatter_kwargs(
    inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, target_gpus: Sequence[_Device], dim: int = 0
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """`scatter` of positional and named arguments, as many of the ones as of the others."""
    given: list[Any] = list(scatter(inputs, target_gpus, dim)) if inputs else []
    named: list[Any] = list(scatter(kwargs, target_gpus, dim)) if kwargs else []
    given += [()] * (len(named) - len(given))
    named += [{}] * (len(given) - len(named))
    return tuple(given), tuple(named)


def gather(outputs: Any, target_device: _Device, dim: int = 0) -> Any:
    """The structure whose tensors are those of `outputs`, one after the other along `dim`, on one device.

    Parameters
    ----------
    outputs
        Structures alike in all but the sizes along `dim`, their tensors on accelerators. Tensors without dimensions
        give a vector, with a warning.

    Raises
    ------
    AssertionError
        A tensor is on the CPU.
    ValueError
        Dicts with different numbers of entries.
    """
    return _gathered(list(outputs), lambda tensors: _joined(tensors, target_device, dim))


def _gathered(outputs: list[Any], join: Callable[[list[mt.Tensor]], mt.Tensor]) -> Any:
    first = outputs[0]
    if isinstance(first, mt.Tensor):
        return join(outputs)
    if first is None:
        return None
    if isinstance(first, dict):
        if not all(len(first) == len(other) for other in outputs):
            raise ValueError("All dicts must have the same number of keys")
        return type(first)((key, _gathered([other[key] for other in outputs], join)) for key in first)
    parts = (_gathered(list(column), join) for column in zip(*outputs))
    return type(first)(*parts) if is_namedtuple(first) else type(first)(parts)


def _joined(tensors: list[mt.Tensor], target_device: _Device, dim: int) -> mt.Tensor:
    if any(tensor.device.type == "cpu" for tensor in tensors):
        raise AssertionError("Gather function not implemented for CPU tensors")
    if target_device == "cpu" or target_device == -1:
        device = mt.device("cpu")
    else:
        device = _accelerator(target_device)
    if dim == 0 and all(not tensor.dim() for tensor in tensors):
        warnings.warn(
            "Was asked to gather along dimension 0, but all input tensors were scalars; will instead unsqueeze and "
            "return a vector.",
            stacklevel=2,
        )
        tensors = [tensor.reshape(1) for tensor in tensors]
    return mt.cat([tensor.to(device) for tensor in tensors], dim)
