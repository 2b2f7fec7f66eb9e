"""Tensors on the queues and pipes of `multiprocessing`: their memory is shared with the other process, not copied.

`mt_core.process_hook` loads this module as soon as `multiprocessing` is. Memory goes as the descriptor of a file
without a name (the strategy ``file_descriptor``), or as the name of a file that is counted (``file_system``).
"""

from __future__ import annotations

import importlib
import os
from multiprocessing import context, util
from multiprocessing.reduction import DupFd, ForkingPickler
from typing import Any
from weakref import WeakValueDictionary

from . import dtypes, process_hook
from .block import Block, refuse_beyond
from .keys import CONJUGATE, NEGATIVE
from .shared_memory import NamedMapping, close_mappings
from .storage import UntypedStorage, untyped_storage_of
from .storage_tensors import rebuild_tensor
from .tensor import Tensor
from .typed_storage import TypedStorage

__all__ = ["check_has_no_history", "reduce_storage", "reduce_tensor", "share_class"]

#: Identity of a shared file -> its block in this process: what arrives twice, or comes back, is one storage.
_blocks: WeakValueDictionary[tuple[int, int] | str, Block] = WeakValueDictionary()


def check_has_no_history(tensor: Tensor) -> None:
    """Refuse what a process cannot take over.

    Raises
    ------
    RuntimeError
        For tensors that were computed from others and require grad.
    """
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support "
            "crossing process boundaries.  If you just want to transfer the data, call detach() on the tensor before "
            "serializing (e.g., putting it on the queue)."
        )


def reduce_tensor(tensor: Tensor) -> Any:
    """What a queue is told of a tensor: its geometry and its storage, which is moved to shared memory.

    Attributes that a program gave it stay behind, as in PyTorch. Memory of other devices than the CPU is copied.

    Raises
    ------
    RuntimeError
        For tensors that were computed from others and require grad.
    """
    check_has_no_history(tensor)
    if not tensor.is_cpu:
        return tensor.__reduce_ex__(2)
    refuse_beyond(tensor)
    bits = tensor._keys & (CONJUGATE | NEGATIVE)
    geometry = (tensor.storage_offset(), tuple(tensor.shape), tensor.stride())
    return _rebuild_tensor, (
        type(tensor), untyped_storage_of(tensor), tensor.dtype.name, *geometry, bits, tensor.requires_grad
    )  # fmt: skip


def _rebuild_tensor(
    cls: type, storage: UntypedStorage, dtype_name: str, offset: int, size: Any, stride: Any, bits: int,
    requires_grad: bool,
) -> Tensor:  # fmt: skip
    tensor = rebuild_tensor(storage, getattr(dtypes, dtype_name), offset, size, stride)
    tensor._keys |= bits
    if cls is Tensor:
        return tensor.requires_grad_() if requires_grad else tensor
    return Tensor._make_subclass(cls, tensor, requires_grad)


def reduce_storage(storage: UntypedStorage) -> Any:
    """What a queue is told of a storage, which is moved to shared memory; of other devices' the bytes."""
    if storage.device.type != "cpu":
        return storage.__reduce_ex__(2)
    if not storage.nbytes():
        return UntypedStorage, ()
    storage.share_memory_()
    mapping = storage._block.attributes["mapping"]
    _blocks[mapping.identity] = storage._block
    if isinstance(mapping, NamedMapping):
        _close_at_exit()
        mapping.take_reference()  # of the message, which the receiver takes over
        return _attach_file, (mapping.path, mapping.nbytes)
    return _attach_descriptor, (DupFd(mapping.descriptor), mapping.nbytes)


def _attach_descriptor(duplicate: Any, nbytes: int) -> UntypedStorage:
    descriptor = duplicate.detach()
    facts = os.fstat(descriptor)
    known = _blocks.get((facts.st_dev, facts.st_ino))
    if known is not None:
        os.close(descriptor)
        return UntypedStorage._of_block(known)
    return _kept(UntypedStorage._new_shared_fd_cpu(descriptor, nbytes))


def _attach_file(path: str, nbytes: int) -> UntypedStorage:
    _close_at_exit()
    known = _blocks.get(path)
    if known is None:
        return _kept(UntypedStorage._of_mapping(NamedMapping.opened(path, nbytes)))
    known.attributes["mapping"].drop_reference()  # that of the message
    return UntypedStorage._of_block(known)


_closes_at_exit = -1


def _close_at_exit() -> None:
    # The processes of `multiprocessing` end without what `atexit` knows; they have finalizers, and inherit none.
    global _closes_at_exit
    if _closes_at_exit != os.getpid():
        _closes_at_exit = os.getpid()
        util.Finalize(None, close_mappings, exitpriority=0)


def _kept(storage: UntypedStorage) -> UntypedStorage:
    _blocks[storage._block.attributes["mapping"].identity] = storage._block
    return storage


def _reduce_typed_storage(storage: TypedStorage) -> Any:
    return _rebuild_typed_storage, (storage._untyped_storage, storage.dtype.name)


def _rebuild_typed_storage(storage: UntypedStorage, dtype_name: str) -> TypedStorage:
    return TypedStorage(wrap_storage=storage, dtype=getattr(dtypes, dtype_name), _internal=True)


def share_class(cls: type[Tensor]) -> None:
    """Have tensors of a class shared between processes, as those of `Tensor` are; of its subclasses nothing is said."""
    ForkingPickler.register(cls, reduce_tensor)


def _reduce_process(process: Any) -> Any:
    """A process that is started afresh first imports what gives names their meaning, then reads what it is to do."""
    _, (cls,), state, *_ = process.__reduce_ex__(2)
    return _new_process, (cls, tuple(process_hook.IMPORTED_FIRST)), state


def _new_process(cls: Any, modules: tuple[str, ...]) -> Any:
    for module in modules:
        importlib.import_module(module)
    return cls.__new__(cls)


for _name in ("SpawnProcess", "ForkServerProcess"):
    if hasattr(context, _name):  # Windows has the first alone
        ForkingPickler.register(getattr(context, _name), _reduce_process)
ForkingPickler.register(UntypedStorage, reduce_storage)
ForkingPickler.register(TypedStorage, _reduce_typed_storage)
share_class(Tensor)
process_hook.arrived()
