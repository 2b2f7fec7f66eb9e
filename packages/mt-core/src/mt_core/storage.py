"""``torch.UntypedStorage``: the memory block under a tensor and its views, as an object that programs can hold.

The block itself is `mt_core.block.Block`; a storage is a handle on one, and there is at most one at a time.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any
from weakref import ref

import numpy as np

from . import device_methods, dtypes
from .block import Block, block_of, move_block, resize_block
from .devices import backend_key, device, device_type_of
from .dispatch.dispatcher import backend_for
from .pinned import array_is_pinned, pinned_array
from .storage_references import StorageReferences

__all__ = ["StorageBase", "UntypedStorage", "untyped", "untyped_storage_of"]

_uint8 = dtypes.uint8


class StorageBase:
    """What storages are instances of; made by its subclass only."""

    __slots__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls is StorageBase:
            raise RuntimeError("Cannot directly construct StorageBase; subclass it and then construct that")
        return object.__new__(cls)


class UntypedStorage(StorageReferences, StorageBase):
    """A block of bytes on one device.

    ``UntypedStorage()``, ``UntypedStorage(size)`` and ``UntypedStorage(bytes)`` make new ones, of zero, `size`
    (uninitialized) and the given bytes; ``device=`` says where.
    """

    __slots__ = ("__dict__", "__weakref__", "_block")  # the block apart from `__dict__`, which it keeps

    is_sparse = is_sparse_csr = is_hpu = False
    _block: Block

    def __init__(self, *args: Any, device: Any = None, **unknown: Any) -> None:
        if unknown or len(args) > 1:
            raise TypeError(_bad_arguments(args, unknown))
        place = _as_device(device)
        content = args[0] if args else 0
        backend = _backend_of(place)
        if isinstance(content, int):
            if content < 0:
                raise RuntimeError(f"a storage cannot have a negative size, got {content}")
            owner = backend.empty((content,), _uint8, None, place.index)
        else:
            owner = backend.from_host(_bytes_of(content), _uint8, place.index)
        self._hold(Block(owner, backend, backend_key(place.type)))

    def _hold(self, block: Block) -> None:
        self._block = block
        # Weakly: a block must go with its last tensor, not wait for the garbage collector.
        block.attributes["storage"] = ref(self)
        # What programs put on the object, and its class, stay with the bytes: there is one storage, however often it
        # is asked for.
        block.attributes["class"] = type(self)
        self.__dict__ = block.attributes.setdefault("members", self.__dict__)

    @classmethod
    def _of_block(cls, block: Block) -> UntypedStorage:
        """The one storage object of a block."""
        handle = block.attributes.get("storage")
        found = handle() if handle is not None else None
        if found is None:
            kind = block.attributes.get("class", cls)
            found = kind.__new__(kind)
            found._hold(block)
        return found

    @classmethod
    def _over_numpy(cls, memory: np.ndarray) -> UntypedStorage:
        """A CPU storage on a one-dimensional uint8 array that something else owns, without a copy."""
        place = device("cpu")
        block = Block(memory, _backend_of(place), backend_key("cpu"))
        block.attributes["resizable"] = False
        return cls._of_block(block)

    @property
    def device(self) -> device:
        """Where the bytes are."""
        block = self._block
        return device(device_type_of(block.keys), block.backend.index_of(block.owner))

    @property
    def filename(self) -> str | None:
        """Path of the file that the bytes are mapped from, if they are."""
        return self._block.attributes.get("filename")

    # Size

    def nbytes(self) -> int:
        """Size in bytes."""
        return self._block.nbytes

    size = __len__ = nbytes

    def element_size(self) -> int:
        """1: the elements are bytes."""
        return 1

    def resizable(self) -> bool:
        """Whether `resize_` may change the size; not where something else owns the memory."""
        return self._block.attributes.get("resizable", True)

    def resize_(self, size: int) -> UntypedStorage:
        """Change the size in bytes, in place; new bytes are uninitialized. Tensors on the storage stay on it.

        Raises
        ------
        RuntimeError
            If the memory belongs to something else (an array, a file).
        """
        self._refuse_hollow("call resize_() on")
        if size < 0:
            raise RuntimeError(f"a storage cannot have a negative size, got {size}")
        resize_block(self._block, size)
        return self

    # Bytes

    def _slice(self, start: int, length: int) -> Any:
        return self._block.backend.as_strided(self._block.owner, (length,), (1,), start, _uint8)

    def _host_bytes(self) -> np.ndarray:
        """The bytes as a NumPy array; on the CPU, the very memory."""
        if self.device.type == "meta":
            raise NotImplementedError("Not available for 'meta' device type")
        return self._block.backend.to_host(self._block.owner)

    def _write(self, start: int, data: np.ndarray) -> None:
        target = self._slice(start, data.shape[0])
        backend = self._block.backend
        backend.copy(target, backend.from_host(data, _uint8, self.device.index))

    def data_ptr(self) -> int:
        """Address of the first byte; 0 where there is none (empty, meta).

        Raises
        ------
        RuntimeError
            Where only a class of tensors knows the elements (`_make_wrapper_subclass`); so do methods that write.
        """
        self._refuse_hollow("access the data pointer on")
        return self._block.backend.address(self._block.owner) if self.nbytes() else 0

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            start, length = self._span(index)
            part = Block(self._slice(start, length), self._block.backend, self._block.keys)
            part.attributes["resizable"] = False
            return UntypedStorage._of_block(part)
        if not isinstance(index, int):
            raise TypeError(f"can't index a torch.UntypedStorage with {type(index).__name__}")
        return int(self._host_bytes()[self._position(index)])

    def __setitem__(self, index: Any, value: Any) -> None:
        byte = _byte(value)
        if isinstance(index, slice):
            start, length = self._span(index)
            self._write(start, np.full(length, byte, np.uint8))
            return
        if not isinstance(index, int):
            raise TypeError(f"can't index a torch.UntypedStorage with {type(index).__name__}")
        if not 0 <= index < self.nbytes():
            raise RuntimeError("out of bounds")
        self._write(index, np.full(1, byte, np.uint8))

    def _position(self, index: int) -> int:
        size = self.nbytes()
        position = index + size if index < 0 else index
        if not 0 <= position < size:
            raise IndexError(f"index {position} out of range for storage of size {size}")
        return position

    def _span(self, index: slice) -> tuple[int, int]:
        start, stop, step = index.indices(self.nbytes())
        if step != 1:
            raise RuntimeError(f"Trying to slice with a step of {step}, but only a step of 1 is supported")
        return start, max(0, stop - start)

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def tolist(self) -> list[int]:
        """The bytes as Python ints."""
        return self._host_bytes().tolist()

    def _refuse_hollow(self, attempt: str) -> None:
        if self._block.attributes.get("hollow"):
            raise RuntimeError(f"Attempted to {attempt} an invalid python storage.")

    def fill_(self, value: int) -> UntypedStorage:
        """Set every byte, in place."""
        self._refuse_hollow("call fill_() on")
        self[:] = value
        return self

    def copy_(self, source: Any, non_blocking: bool | None = None) -> UntypedStorage:
        """Take over the bytes of another storage of the same size.

        Raises
        ------
        RuntimeError
            If the sizes differ.
        """
        self._refuse_hollow("call copy_() on")
        other = untyped(source)
        if other.nbytes() != self.nbytes():
            raise RuntimeError(
                f"size does not match, self was {self.nbytes()} bytes but src was {other.nbytes()} bytes"
            )
        other._refuse_copy_out()
        self._write(0, other._host_bytes())
        return self

    def _refuse_copy_out(self) -> None:
        if self.device.type == "meta":
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")

    def _write_file(self, f: Any, is_real_file: bool, save_size: bool, element_size: int) -> None:
        """Write the bytes to a binary file, behind the number of elements of `element_size` bytes if `save_size`.

        `is_real_file` tells PyTorch whether there is a descriptor to write to; the file's own ``write`` serves both.
        """
        self._refuse_hollow("call _write_file() on")
        self._refuse_copy_out()
        if save_size:
            f.write((self.nbytes() // element_size).to_bytes(8, "little"))
        f.write(self._host_bytes().tobytes())

    def byteswap(self, dtype: dtypes.dtype) -> None:
        """Reverse the byte order of each element of `dtype`, in place (of both parts, if complex)."""
        width = dtype.to_real().itemsize
        if width > 1:
            whole = self.nbytes() // width * width
            swapped = self._host_bytes()[:whole].reshape(-1, width)[:, ::-1]
            self._write(0, np.ascontiguousarray(swapped).reshape(-1))

    # Copies

    def clone(self) -> UntypedStorage:
        """A copy on the same device."""
        copied = UntypedStorage(self.nbytes(), device=self.device)
        if self.device.type != "meta":
            self._block.backend.copy(copied._block.owner, self._block.owner)
        return copied

    def __copy__(self) -> UntypedStorage:
        return self.clone()

    def __deepcopy__(self, memo: dict[Any, Any]) -> UntypedStorage:
        # Tensors leave their blocks' copies in the memo as well: what is copied together shares as the originals do.
        copied = memo.get(id(self._block))
        if copied is None:
            storage = self.clone()
            memo[id(self._block)] = storage._block
            return storage
        return UntypedStorage._of_block(copied)

    def to(self, *, device: Any, non_blocking: bool = False) -> UntypedStorage:
        """The storage on another device: itself where it already is there, otherwise a copy."""
        place = _as_device(device)
        if place.type == self.device.type and place.index in (None, self.device.index):
            return self
        if place.type == "meta":
            return UntypedStorage(self.nbytes(), device=place)
        if self.device.type == "meta":
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        backend = _backend_of(place)
        owner = backend.from_host(self._host_bytes(), _uint8, place.index)
        return UntypedStorage._of_block(Block(owner, backend, backend_key(place.type)))

    def cpu(self) -> UntypedStorage:
        """The storage in CPU memory: itself where it already is there."""
        return self.to(device="cpu")

    def cuda(self, device: Any = None, non_blocking: bool = False) -> UntypedStorage:
        """The storage on a CUDA device."""
        return self.to(device=_as_device("cuda" if device is None else device))

    def hpu(self, device: Any = None, non_blocking: bool = False) -> UntypedStorage:
        """The storage on an HPU device."""
        return self.to(device=_as_device("hpu" if device is None else device))

    def mps(self) -> UntypedStorage:
        """The storage on the MPS device."""
        return self.to(device="mps")

    def new(self) -> UntypedStorage:
        """An empty storage on the same device."""
        return UntypedStorage(0, device=self.device)

    def _get_filename(self) -> str | None:
        """Path of the file that the bytes are mapped from, if they are."""
        return self.filename

    @property
    def is_cuda(self) -> bool:
        return self.device.type == "cuda"

    def get_device(self) -> int:
        """Index of the accelerator that holds the bytes; -1 for the CPU."""
        return -1 if self.device.index is None else self.device.index

    def is_pinned(self, device: Any = "cuda") -> bool:
        """Whether the bytes lie in page-locked memory of the accelerator."""
        return self.device.type == "cpu" and array_is_pinned(self._block.owner)

    def pin_memory(self, device: Any = "cuda") -> UntypedStorage:
        """A copy of the bytes in page-locked memory; the storage itself where it lies there already.

        Raises
        ------
        TypeError
            When the storage is not the CPU's.
        RuntimeError, NotImplementedError
            As `Tensor.pin_memory`.
        """
        if self.device.type != "cpu":
            raise TypeError(f"cannot pin '{self.type()}' only CPU memory can be pinned")
        if self.is_pinned():
            return self
        owner = pinned_array((self.nbytes(),), _uint8.numpy_dtype, None, "UntypedStorage.pin_memory")
        owner[...] = self._block.owner
        return UntypedStorage._of_block(Block(owner, self._block.backend, self._block.keys))

    def untyped(self) -> UntypedStorage:
        """Itself."""
        return self

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The class name, or the bytes converted to elements of another storage class."""
        if dtype is None:
            return "torch.storage.UntypedStorage"
        raise NotImplementedError("UntypedStorage.type(dtype) is not supported: convert a tensor made on the storage")

    # Files, buffers and other processes

    @classmethod
    def from_buffer(
        cls, buffer: Any, byte_order: str | None = None, count: int = -1, offset: int = 0, *, dtype: dtypes.dtype
    ) -> UntypedStorage:
        """A storage with a copy of the elements of `dtype` that `buffer` holds in ``byte_order`` (little, big, native).

        Raises
        ------
        RuntimeError, ValueError
            If the byte order is missing or unknown, or the buffer does not hold `count` whole elements from `offset`
            on.
        """
        size = dtype.itemsize
        if byte_order is None and size > 1:
            raise RuntimeError("function missing required argument 'byte_order' (pos 2)")
        data = np.frombuffer(buffer, np.uint8)[offset:]
        if count < 0:
            if data.nbytes % size:
                raise ValueError(f"buffer size ({data.nbytes}) must be a multiple of element size ({size})")
            count = data.nbytes // size
        if count * size > data.nbytes:
            raise ValueError(
                f"buffer has only {data.nbytes // size} elements after offset {offset}, but specified a size of {count}"
            )
        storage = cls(data[: count * size])
        if byte_order not in (None, "native", sys.byteorder):
            if byte_order not in ("little", "big"):
                raise ValueError(f"invalid byte_order '{byte_order}' (expected 'big', 'little', or 'native')")
            storage.byteswap(dtype)
        return storage

    @classmethod
    def from_file(cls, filename: str, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """A storage mapped from a file; see `mt_core.shared_memory.map_file`."""
        from .shared_memory import map_file  # lazy: it loads mmap and tempfile

        storage = cls._over_numpy(map_file(filename, shared, nbytes))
        storage._block.attributes["filename"] = str(filename)
        return storage

    def share_memory_(self) -> UntypedStorage:
        """Move the bytes to memory that other processes can map, in place; tensors on the storage stay on it.

        Child processes that are forked share it as it is, and `multiprocessing` sends it without a copy.

        Raises
        ------
        RuntimeError
            For storages of other devices than the CPU.
        """
        if self.is_shared():
            return self
        self._refuse_sharing("fd")
        from .shared_memory import mapping_class  # lazy: it loads mmap and tempfile

        return self._move_to(mapping_class())

    def _move_to(self, kind: Any) -> UntypedStorage:
        mapping = kind.created(self.nbytes())
        memory = mapping.memory()
        memory[...] = self._host_bytes()
        move_block(self._block, memory)
        self._block.attributes.update(mapping=mapping, resizable=False)
        return self

    @classmethod
    def _of_mapping(cls, mapping: Any) -> UntypedStorage:
        """The storage of shared memory that another process has made."""
        storage = cls._over_numpy(mapping.memory())
        storage._block.attributes["mapping"] = mapping
        return storage

    def _share_fd_cpu_(self) -> tuple[int, int]:
        """Move the bytes to shared memory; a new descriptor of its file, which the caller closes, and the size."""
        from .shared_memory import DescriptorMapping  # lazy: it loads mmap and tempfile

        self._refuse_sharing("fd")
        mapping = self._mapping_of(DescriptorMapping)
        return os.dup(mapping.descriptor), mapping.nbytes

    def _share_filename_cpu_(self) -> tuple[bytes, bytes, int]:
        """Move the bytes to a file with a name; the name of its manager (there is none), its own, and the size."""
        from .shared_memory import NamedMapping  # lazy: it loads mmap and tempfile

        self._refuse_sharing("filename")
        mapping = self._mapping_of(NamedMapping)
        return b"", os.fsencode(mapping.path), mapping.nbytes

    def _refuse_sharing(self, strategy: str) -> None:
        if self.device.type != "cpu":
            raise RuntimeError(f"_share_{strategy}_: only available on CPU")

    def _mapping_of(self, kind: Any) -> Any:
        mapping = self._block.attributes.get("mapping")
        if mapping is None:
            mapping = self._move_to(kind)._block.attributes["mapping"]
        if not isinstance(mapping, kind):
            raise RuntimeError("the storage is shared by the other strategy already: it cannot be shared by both")
        return mapping

    @classmethod
    def _new_shared_fd_cpu(cls, descriptor: int, nbytes: int) -> UntypedStorage:
        """The storage of a descriptor that `_share_fd_cpu_` gave, which it keeps."""
        from .shared_memory import DescriptorMapping  # lazy: it loads mmap and tempfile

        return cls._of_mapping(DescriptorMapping(descriptor, nbytes))

    @classmethod
    def _new_shared_filename_cpu(cls, manager: bytes, name: bytes, nbytes: int) -> UntypedStorage:
        """The storage of a name that `_share_filename_cpu_` gave."""
        from .shared_memory import NamedMapping  # lazy: it loads mmap and tempfile

        mapping = NamedMapping.opened(os.fsdecode(name), nbytes)
        mapping.take_reference()
        return cls._of_mapping(mapping)

    @classmethod
    def _new_using_fd_cpu(cls, nbytes: int) -> UntypedStorage:
        """A new storage in shared memory that descriptors reach."""
        storage = cls(nbytes)
        from .shared_memory import DescriptorMapping  # lazy: it loads mmap and tempfile

        storage._mapping_of(DescriptorMapping)
        return storage

    @classmethod
    def _new_using_filename_cpu(cls, nbytes: int) -> UntypedStorage:
        """A new storage in shared memory that a name reaches."""
        storage = cls(nbytes)
        storage._share_filename_cpu_()
        return storage

    @property
    def _cdata(self) -> int:
        """A number that storage objects of the same bytes, and no others that live, have in common."""
        return id(self._block)

    def is_shared(self) -> bool:
        """Whether other processes can map the bytes."""
        return "mapping" in self._block.attributes or self.device.type not in ("cpu", "meta")

    @classmethod
    def _new_shared(cls, size: int, *, device: Any = "cpu") -> UntypedStorage:
        return cls(size, device=device).share_memory_()

    def __repr__(self) -> str:
        content = "..." if self.device.type == "meta" else "\n ".join(map(str, self.tolist()))
        lead = "" if self.device.type == "meta" else " "
        return f"{lead}{content}\n[torch.storage.UntypedStorage(device={self.device}) of size {len(self)}]"

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()


def _bad_arguments(args: Sequence[Any], keywords: dict[str, Any]) -> str:
    got = ", ".join([type(a).__name__ for a in args] + [f"{name}={type(a).__name__}" for name, a in keywords.items()])
    return (
        f"torch.UntypedStorage() received an invalid combination of arguments - got ({got}), but expected one of:\n"
        " * (*, int allocator = None, torch.device device = None)\n"
        " * (int size, *, int allocator = None, torch.device device = None)\n"
        " * (object sequence, *, int allocator = None, torch.device device = None)\n"
    )


def _bytes_of(content: Any) -> np.ndarray:
    """A fresh array of the bytes in a buffer or a sequence of ints; ints wrap around."""
    if isinstance(content, (bytes, bytearray, memoryview, np.ndarray)):
        return np.frombuffer(content, np.uint8).copy()
    for item in content:
        if not isinstance(item, int):
            raise RuntimeError(
                f"torch.UntypedStorage(): tried to construct a storage from a sequence ({type(content).__name__}), "
                f"but one "
                f"of the items was of type {type(item).__name__} instead of int"
            )
    return np.array([item & 0xFF for item in content], np.uint8)


def _byte(value: Any) -> int:
    if not isinstance(value, int):
        raise RuntimeError(f"can only set storage content with a int types, but got {type(value).__name__} instead")
    return value & 0xFF


def _as_device(place: Any) -> device:
    return device("cpu") if place is None else device(place)


def _backend_of(place: device) -> Any:
    return backend_for(backend_key(place.type))


def untyped(storage: Any) -> UntypedStorage:
    """The bytes of a typed or untyped storage.

    Raises
    ------
    TypeError
        If it is neither.
    """
    if isinstance(storage, UntypedStorage):
        return storage
    wrapped = getattr(storage, "_untyped_storage", None)
    if wrapped is None:
        raise TypeError(f"expected a storage, got {type(storage).__name__}")
    return wrapped


def untyped_storage_of(tensor: Any) -> UntypedStorage:
    """The storage of a tensor, the same object for all tensors on one block while any of them or anyone holds it."""
    return UntypedStorage._of_block(block_of(tensor))


def _device_methods_of_storages(name: str, strict: bool, unsupported: list[Any]) -> None:
    def to_device(self: UntypedStorage, device: Any = None, non_blocking: bool = False) -> UntypedStorage:
        return self.to(device=device_methods.moved_to(name, device), non_blocking=non_blocking)

    to_device.__name__ = name
    to_device.__doc__ = f"The storage on a device of type '{name}', by default the current one; itself if it is there."
    device_methods.install(UntypedStorage, f"is_{name}", device_methods.on_device(name), strict)
    device_methods.install(UntypedStorage, name, to_device, strict)


device_methods.offer("storage", _device_methods_of_storages)
