"""``torch._utils``: what PyTorch's pickles call to make tensors and parameters, and small tools that libraries use.

Several tensors as one and back, the numbers of devices, names of what is looked up.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, Generic, ParamSpec

import mindtorch as torch  # PyTorch's pickles call memory formats ``torch._utils torch.channels_last``
from mt_core.printing import printoptions
from mt_core.serialization import rebuild as _rebuild
from mt_core.torch_names import _REBUILDERS
from mt_nn.parameter import _rebuild_parameter as _rebuild_parameter
from mt_nn.parameter import _rebuild_parameter_with_state as _rebuild_parameter_with_state

__all__: list[str] = []

_P = ParamSpec("_P")
_log = logging.getLogger("torch._utils")

globals().update({name: getattr(_rebuild, name) for name in _REBUILDERS})


def _element_size(dtype: torch.dtype) -> int:
    """Bytes of one element."""
    return dtype.itemsize


def is_compiling() -> bool:
    """Whether a program is being compiled: ``torch.compiler.is_compiling()``."""
    return torch.compiler.is_compiling()


def render_call(fn: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """A call as a program would write it, tensors without their elements."""
    with printoptions(threshold=0, edgeitems=0):
        written = [repr(value) for value in args] + [f"{key}={value!r}" for key, value in kwargs.items()]
    return f"{torch.overrides.resolve_name(fn) or fn}({', '.join(written)})"


# Callbacks, and seeds that wait


class CallbackRegistry(Generic[_P]):
    """Functions that are called one after the other; what one raises is logged, and the next is called.

    Parameters
    ----------
    name
        What they are for, for the log.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.callback_list: list[Callable[_P, None]] = []

    def add_callback(self, cb: Callable[_P, None]) -> None:
        """Add a function to be called."""
        self.callback_list.append(cb)

    def fire_callbacks(self, *args: _P.args, **kwargs: _P.kwargs) -> None:
        """Call all functions, in the order in which they were added."""
        for callback in self.callback_list:
            try:
                callback(*args, **kwargs)
            except Exception:  # noqa: BLE001 - who fires callbacks goes on, whatever they do
                _log.exception("Exception in callback for %s registered with gpu trace", self.name)


class _LazySeedTracker:
    """The last seeds that were asked for before a device was there, of one device and of all, in order.

    Attributes
    ----------
    manual_seed_all_cb, manual_seed_cb
        (function to be called, stack of its call); None without one.
    call_order
        Both, the last one last.
    """

    def __init__(self) -> None:
        self.manual_seed_all_cb: Any = None
        self.manual_seed_cb: Any = None
        self.call_order: list[Any] = []

    def queue_seed_all(self, cb: Any, traceback: Any) -> None:
        """Remember a seed for all devices."""
        self.manual_seed_all_cb = (cb, traceback)
        self.call_order = [self.manual_seed_cb, self.manual_seed_all_cb]

    def queue_seed(self, cb: Any, traceback: Any) -> None:
        """Remember a seed for the current device."""
        self.manual_seed_cb = (cb, traceback)
        self.call_order = [self.manual_seed_all_cb, self.manual_seed_cb]

    def get_calls(self) -> list[Any]:
        """What is to be called, in order; None for what nobody asked for."""
        return self.call_order


# Several tensors as one


def _maybe_view_chunk_cat(res: torch.Tensor, group_size: int, gather_dim: int) -> torch.Tensor:
    """The `group_size` chunks of a tensor along its first dimension, one after the other along another dimension.

    A view where that leaves the order of the elements as it is, `res` itself for dimension 0, else a copy.
    """
    if gather_dim == 0:
        return res
    shape, per_chunk = list(res.shape), res.size(0) // group_size
    if per_chunk == 1 and gather_dim < len(shape) and all(shape[i] == 1 for i in range(1, gather_dim)):
        return res.view(per_chunk, *shape[1:gather_dim], group_size * shape[gather_dim], *shape[gather_dim + 1 :])
    return torch.cat(torch.chunk(res, group_size, dim=0), dim=gather_dim)


def _flatten_dense_tensors(tensors: Iterable[torch.Tensor]) -> torch.Tensor:
    """The elements of several tensors of one dtype, one after the other: (sum of their counts,).

    Raises
    ------
    ValueError
        For no tensors.
    """
    return torch.cat([tensor.reshape(-1) for tensor in tensors])


def _unflatten_dense_tensors(flat: torch.Tensor, tensors: Iterable[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """Views of `flat` in the shapes of the tensors that it was made of."""
    made, begin = [], 0
    for tensor in tensors:
        count = tensor.numel()
        made.append(flat[begin : begin + count].view(tensor.shape) if count else flat.new_zeros(tensor.shape))
        begin += count
    return tuple(made)


def _take_tensors(tensors: Iterable[torch.Tensor], size_limit: int) -> Iterator[list[torch.Tensor]]:
    """Lists of tensors of one type, each of at most `size_limit` bytes unless one tensor is larger, in their order.

    What is left over of a type comes at the end.
    """
    waiting: dict[str, tuple[list[torch.Tensor], int]] = {}
    for tensor in tensors:
        kind, nbytes = tensor.type(), tensor.numel() * tensor.element_size()
        held, size = waiting.get(kind, ([], 0))
        if held and size + nbytes > size_limit:
            yield held
            held, size = [], 0
        held.append(tensor)
        waiting[kind] = (held, size + nbytes)
    for held, _ in waiting.values():
        if held:
            yield held


def _reorder_tensors_as(
    tensors: Iterable[torch.Tensor], ordered_tensors: Iterable[torch.Tensor]
) -> tuple[torch.Tensor, ...]:
    """The tensors, those of each type in their order, in the order of types of others."""
    kinds: dict[str, list[torch.Tensor]] = {}
    for tensor in tensors:
        kinds.setdefault(tensor.type(), []).append(tensor)
    heads = {kind: iter(held) for kind, held in kinds.items()}
    return tuple([next(heads[tensor.type()]) for tensor in ordered_tensors])


# Devices


def _get_available_device_type() -> str | None:
    """The type of the accelerator that is there; None for none."""
    found = torch.accelerator.current_accelerator(check_available=True)
    return None if found is None else found.type


def _get_device_module(device_type: str) -> ModuleType:
    """``torch.<device type>``.

    Raises
    ------
    RuntimeError
        For a type without one.
    """
    module = getattr(torch, device_type, None)
    if module is None:
        raise RuntimeError(
            f"Device '{device_type}' does not have a corresponding module registered as 'torch.{device_type}'."
        )
    return module  # type: ignore[no-any-return]


def _asked_of_device(function: Callable[[Any], Any]) -> Any:
    """What the module of the accelerator says; None where there is no accelerator."""
    kind = _get_available_device_type()
    return None if kind is None else function(_get_device_module(kind))


def _get_all_device_indices() -> list[int] | None:
    """The numbers of all accelerators; None where there are none."""
    return _asked_of_device(lambda module: list(range(module.device_count())))  # type: ignore[no-any-return]


def _get_devices_properties(device_ids: Iterable[int]) -> list[Any]:
    """The properties of accelerators by number."""
    kind = _get_available_device_type()
    return [None if kind is None else _get_device_module(kind).get_device_properties(i) for i in device_ids]


def get_current_device_index() -> int:
    """The number of the current accelerator; -1 where there is none."""
    index = _asked_of_device(lambda module: module.current_device())
    return -1 if index is None else index


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int | None:
    """The number of a device.

    Parameters
    ----------
    optional
        Take a device without number, and None, for the current one.
    allow_cpu
        Take the CPU, whose number is -1.

    Raises
    ------
    ValueError
        For what names no device with a number.
    """
    given = torch.device(device) if isinstance(device, str) else device
    index = given if isinstance(given, int) else None
    if isinstance(given, torch.device):
        if given.type == "cpu" and not allow_cpu:
            raise ValueError(f"Expected a non cpu device, but got: {given}")
        index = -1 if given.type == "cpu" else given.index
    if index is not None:
        return index
    if not optional:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
    return _asked_of_device(lambda module: module.current_device())  # type: ignore[no-any-return]


# Names


def _import_dotted_name(name: str) -> Any:
    """What a name like ``"torch.nn.Linear"`` means."""
    first, *rest = name.split(".")
    found: Any = importlib.import_module(first)
    for part in rest:
        found = getattr(found, part)
    return found


def _dummy_type(name: str) -> type:
    """A class of a name that cannot be instantiated: it stands for one of a part that is not there."""

    def refuse(cls: type, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"Tried to instantiate dummy base class {name}")

    return type(name, (), {"__new__": refuse, "__module__": "torch._utils"})


class _ClassProperty:
    def __init__(self, function: Any) -> None:
        self.function = function

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self.function.__get__(instance, owner)()


def classproperty(func: Any) -> _ClassProperty:
    """A property of a class itself."""
    return _ClassProperty(func if isinstance(func, (classmethod, staticmethod)) else classmethod(func))
