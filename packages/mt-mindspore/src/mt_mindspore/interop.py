"""Tensors on MindSpore's memory and MindSpore's tensors on ours. Gradients do not cross."""

from __future__ import annotations

import warnings
from typing import Any

import numpy

from mt_core.block import mark_exported
from mt_core.devices import backend_key
from mt_core.dispatch.lookup import backend_for
from mt_core.dtypes import dtype, from_numpy_dtype
from mt_core.interop import tensor_on, tensor_on_device
from mt_core.keys import HOLLOW, PIPELINE
from mt_core.plugins.discovery import find_backend, names_in
from mt_core.plugins.protocols import CONTRACT
from mt_core.tensor import Tensor

from .backend import MindSporeBackend
from .dtypes import DtypeMap
from .runtime import require_mindspore

__all__ = ["BRIDGE", "Bridge", "from_mindspore", "set_interop_warning", "to_mindspore"]

_SHORT = numpy.dtype(numpy.int16)
_warns = False


def set_interop_warning(enabled: bool) -> None:
    """Whether a copy that `to_mindspore` has to make is warned of. At first it is not."""
    global _warns
    _warns = bool(enabled)


def to_mindspore(tensor: Tensor) -> Any:
    """A ``mindspore.Tensor`` of a tensor's elements, on the same device, detached.

    It shares the memory of a tensor that lies row by row, and is a copy of any other.

    Raises
    ------
    PluginError
        When MindSpore cannot be used.
    TypeError
        If `tensor` is no tensor.
    NotImplementedError
        For devices other than the CPU and MindSpore's, dtypes that MindSpore lacks, and tensors that stand for others.
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"to_mindspore() takes a tensor, not {type(tensor).__name__}")
    settled = _plain(tensor)
    array, backend = settled._array, backend_for(backend_key(tensor.device.type))
    if not tensor.is_contiguous():
        if _warns:
            warnings.warn("to_mindspore() copies a tensor that does not lie row by row", stacklevel=2)
        array = backend.contiguous(array)
    if isinstance(backend, MindSporeBackend):
        opened = backend.memory.opened(array)
        generated = backend.mindspore.ops.auto_generate
        return generated.as_strided(opened, tuple(opened.shape), tuple(opened.stride()), opened.storage_offset())
    if tensor.device.type != "cpu":
        raise NotImplementedError(f"to_mindspore(): MindSpore has no memory of device '{tensor.device}'")
    mark_exported(settled)
    return _on_host_memory(array)


def _plain(tensor: Tensor) -> Tensor:
    """A tensor on memory of its own, detached, its conjugation and negation carried out."""
    settled = tensor.detach().resolve_conj().resolve_neg()
    if settled._keys & PIPELINE:
        settled._array.settle()
    if settled._keys & HOLLOW:
        raise NotImplementedError(
            "to_mindspore(): MindSpore has no counterpart of a tensor that stands for others (sparse, nested, "
            "quantized, or inside of a transform)"
        )
    return settled


def _on_host_memory(array: numpy.ndarray) -> Any:
    mindspore = require_mindspore()
    DtypeMap(mindspore, "cpu").to_mindspore(array.dtype)
    flat = numpy.asarray(array).reshape(-1)  # MindSpore ends the process at dtype views of 0-dim memory
    if array.dtype.kind == "V":
        made = mindspore.Tensor.from_numpy(flat.view(_SHORT)).view(mindspore.bfloat16)
    else:
        made = mindspore.Tensor.from_numpy(flat)
    return made.reshape(array.shape)


def from_mindspore(tensor: Any, *, copy: bool = False) -> Tensor:
    """A tensor of the elements of a ``mindspore.Tensor``, detached.

    Its device is that of MindSpore's target, if a backend serves it in this process, and the CPU otherwise. It shares
    memory and strides; with `copy` it lies row by row on memory of its own.

    Raises
    ------
    TypeError
        If `tensor` is no ``mindspore.Tensor``.
    ValueError
        If `tensor` has no memory yet.
    NotImplementedError
        For dtypes without a counterpart.
    """
    mindspore = require_mindspore()
    if not isinstance(tensor, mindspore.Tensor):
        raise TypeError(f"from_mindspore() takes a mindspore.Tensor, not {type(tensor).__name__}")
    if tensor.size and not tensor.data_ptr():
        raise ValueError(
            "from_mindspore() takes a tensor with memory; init_data() makes that of a tensor to be initialized"
        )
    backend = _serving()
    if backend is None:
        made = tensor_on(*_host_elements(mindspore, tensor))
        return made.clone() if copy else made
    if copy:
        array = backend.memory.fresh(mindspore.ops.auto_generate.copy_op(tensor.contiguous()))
    else:
        array = backend.memory.shared(tensor)
    return tensor_on_device(array, from_numpy_dtype(array.dtype), backend.device_type)


def _serving() -> MindSporeBackend | None:
    """The backend that serves MindSpore's target in this process; None where none does."""
    for name in names_in("mindtorch.backends"):
        if name == "npu":
            found = find_backend(name)
            return found if isinstance(found, MindSporeBackend) else None
    return None


class _HostMemory:
    """The memory of a tensor of the CPU target, as NumPy's array interface; it keeps the tensor.

    MindSpore's own ``asnumpy`` copies views, and parameters.
    """

    def __init__(self, tensor: Any, d: numpy.dtype) -> None:
        self.tensor = tensor
        self.__array_interface__ = {
            "version": 3,
            "data": (tensor.data_ptr(), False),
            "shape": tuple(tensor.shape),
            "strides": tuple(s * d.itemsize for s in tensor.stride()),
            "typestr": d.str,
        }


def _host_elements(mindspore: Any, tensor: Any) -> tuple[numpy.ndarray, dtype]:
    """The memory of a tensor of the CPU target as NumPy's array, with its strides."""
    if mindspore.get_context("device_target") != "CPU":
        raise NotImplementedError(
            f"from_mindspore(): no backend serves MindSpore's target {mindspore.get_context('device_target')} here"
        )
    d = DtypeMap(mindspore, "cpu").of_tensor(tensor)
    if not tensor.size:
        return numpy.empty(tuple(tensor.shape), d), from_numpy_dtype(d)
    mindspore.runtime.synchronize()
    carrier = _SHORT if d.kind == "V" else d
    host = numpy.asarray(_HostMemory(tensor, carrier))
    return host.view(d), from_numpy_dtype(d)


class Bridge:
    """A `mt_core.plugins.program_protocols.Bridge` to MindSpore."""

    contract = CONTRACT

    def export(self, tensor: Any) -> Any:
        return to_mindspore(tensor)

    def adopt(self, tensor: Any, copy: bool) -> Tensor:
        return from_mindspore(tensor, copy=copy)

    def warn_of_copies(self, enabled: bool) -> None:
        set_interop_warning(enabled)


#: The value of the entry point ``mindspore`` of ``mindtorch.bridges``.
BRIDGE = Bridge()
