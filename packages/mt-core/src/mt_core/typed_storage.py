"""``TypedStorage``, ``FloatStorage`` and the like: PyTorch's deprecated view of a storage as elements of one dtype."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from . import device_methods, dtypes
from .deprecation import warn_once
from .devices import device
from .dtypes import dtype
from .storage import UntypedStorage, untyped

__all__ = ["STORAGE_CLASSES", "TypedStorage", "storage_class_of"]

_FORMS = (
    "TypedStorage.__init__ received an invalid combination of arguments. Expected one of:\n"
    " * (*, torch.device device, torch.dtype dtype)\n"
    " * (int size, *, torch.device device, torch.dtype dtype)\n"
    " * (Sequence data, *, torch.device device, torch.dtype dtype)\n"
    " * (*, UntypedStorage wrap_storage, torch.dtype dtype)\n"
)

_LEGACY_FORMS = (
    "{}.__new__ received an invalid combination of arguments. Expected one of:\n * no arguments\n * (int size)\n"
    " * (Sequence data)\n * (*, UntypedStorage wrap_storage)\n"
)
_WITH_WRAPPED = "No positional arguments should be given when using 'wrap_storage'"
#: The numbers that storages of quantized dtypes show.
_SHOWN = {dtypes.quint8: np.uint8, dtypes.qint8: np.int8, dtypes.qint32: np.int32} | dict.fromkeys(
    (dtypes.quint4x2, dtypes.quint2x4), np.uint8
)


def _element_type(d: dtype) -> np.dtype:
    return np.dtype(_SHOWN[d]) if d in _SHOWN else d.numpy_dtype


def _warn_typed_storage_removal(stacklevel: int = 3) -> None:
    """PyTorch's deprecation warning, once a process."""
    warn_once(
        "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage "
        "class. This should only matter to you if you are using storages directly.  To access UntypedStorage "
        "directly, use tensor.untyped_storage() instead of tensor.storage()",
        stacklevel=stacklevel,
    )


class TypedStorage:
    """Elements of one dtype on an `UntypedStorage`. Deprecated in PyTorch; what it offers, tensors offer as well.

    Parameters
    ----------
    *args
        Nothing, a size in elements, or a sequence of elements.
    wrap_storage
        The bytes to look at, instead of new ones.
    dtype
        Type of the elements; the default dtype if not given.
    device
        Where new bytes live.
    """

    is_sparse = is_hpu = False
    _untyped_storage: UntypedStorage

    def __init__(
        self, *args: Any, device: Any = None, dtype: dtype | None = None, wrap_storage: UntypedStorage | None = None,
        _internal: bool = False,
    ) -> None:  # fmt: skip
        if not _internal:
            _warn_typed_storage_removal()
        if wrap_storage is not None:
            if args:
                raise RuntimeError(_FORMS + _WITH_WRAPPED)
            self._wrap(wrap_storage, dtype, device)
            return
        _check_content(_FORMS, args)
        self.dtype = dtype or dtypes.get_default_dtype()
        content = args[0] if args else 0
        if isinstance(content, int):
            self._untyped_storage = UntypedStorage(content * self.dtype.itemsize, device=device)
        else:
            self._untyped_storage = UntypedStorage(_as_bytes(content, self.dtype)).to(device=device)

    def _wrap(self, storage: UntypedStorage, d: dtype | None, place: Any) -> None:
        if d is None:
            raise RuntimeError(_FORMS + "Argument 'dtype' must be specified")
        if not isinstance(d, dtypes.dtype):
            raise TypeError(f"{_FORMS}Argument 'dtype' must be torch.dtype, not {type(d)}")
        if place is not None:
            raise RuntimeError(f"{_FORMS}Argument 'device' should not be specified when 'wrap_storage' is given")
        if not isinstance(storage, UntypedStorage):
            raise TypeError(f"{_FORMS}Argument 'wrap_storage' must be UntypedStorage, but got {type(storage)}")
        self.dtype = d
        self._untyped_storage = storage

    @property
    def device(self) -> device:
        return self._untyped_storage.device

    @property
    def is_cuda(self) -> bool:
        return self._untyped_storage.is_cuda

    @property
    def filename(self) -> str | None:
        """Path of the file that the bytes are mapped from, if they are."""
        return self._untyped_storage.filename

    def untyped(self) -> UntypedStorage:
        """The bytes."""
        _warn_typed_storage_removal()
        return self._untyped_storage

    # Elements

    def size(self) -> int:
        """Number of whole elements."""
        return self._untyped_storage.nbytes() // self.dtype.itemsize

    __len__ = size

    def nbytes(self) -> int:
        """Size in bytes."""
        return self._untyped_storage.nbytes()

    def element_size(self) -> int:
        """Bytes per element."""
        return self.dtype.itemsize

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def _elements(self) -> np.ndarray:
        count = self.size() * self.dtype.itemsize
        return self._untyped_storage._host_bytes()[:count].view(_element_type(self.dtype))

    def _write(self, start: int, elements: np.ndarray) -> None:
        self._untyped_storage._write(start * self.dtype.itemsize, elements.view(np.uint8).reshape(-1))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        if not isinstance(index, int):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        return _scalar(self._elements()[self._position(index)])

    def __setitem__(self, index: Any, value: Any) -> None:
        if not isinstance(index, (int, slice)):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        if not isinstance(value, (bool, int, float, complex)):
            raise RuntimeError(f"cannot set item with value type {type(value)}")
        where = index if isinstance(index, slice) else slice(self._position(index), self._position(index) + 1)
        start, stop, step = where.indices(self.size())
        if step != 1:
            raise RuntimeError(f"Trying to slice with a step of {step}, but only a step of 1 is supported")
        self._write(start, np.full(max(0, stop - start), value, _element_type(self.dtype)))

    def _position(self, index: int) -> int:
        size = self.size()
        position = index + size if index < 0 else index
        if not 0 <= position < size:
            raise IndexError(f"index {index} out of range for storage of size {size}")
        return position

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        return [_scalar(element) for element in self._elements()]

    def fill_(self, value: Any) -> TypedStorage:
        """Set every element, in place."""
        self[:] = value
        return self

    def copy_(self, source: Any, non_blocking: bool | None = None) -> TypedStorage:
        """Take over the bytes of another storage of the same size."""
        self._untyped_storage.copy_(untyped(source))
        return self

    def resize_(self, size: int) -> None:
        """Change the number of elements, in place."""
        self._untyped_storage.resize_(size * self.dtype.itemsize)

    def resizable(self) -> bool:
        """Whether `resize_` may change the size."""
        return self._untyped_storage.resizable()

    def data_ptr(self) -> int:
        """Address of the first byte."""
        return self._untyped_storage.data_ptr()

    # The same without PyTorch's warning, for its own modules and programs that use their names

    def _size(self) -> int:
        return TypedStorage.size(self)

    def _nbytes(self) -> int:
        return TypedStorage.nbytes(self)

    def _element_size(self) -> int:
        return TypedStorage.element_size(self)

    def _data_ptr(self) -> int:
        return TypedStorage.data_ptr(self)

    def _getitem(self, index: Any) -> Any:
        return self[index]

    def _setitem(self, index: Any, value: Any) -> None:
        self[index] = value

    def _resize_(self, size: int) -> None:
        TypedStorage.resize_(self, size)

    def _pickle_storage_type(self) -> str:
        return TypedStorage.pickle_storage_type(self)

    def _is_shared(self) -> bool:
        return TypedStorage.is_shared(self)

    def _share_memory_(self) -> TypedStorage:
        return TypedStorage.share_memory_(self)

    def _share_fd_cpu_(self) -> tuple[int, int]:
        return self._untyped_storage._share_fd_cpu_()

    def _share_filename_cpu_(self) -> tuple[bytes, bytes, int]:
        return self._untyped_storage._share_filename_cpu_()

    def _write_file(self, f: Any, is_real_file: bool, save_size: bool, element_size: int) -> None:
        self._untyped_storage._write_file(f, is_real_file, save_size, element_size)

    @property
    def _cdata(self) -> int:
        """A number that storage objects of the same bytes, and no others that live, have in common."""
        return self._untyped_storage._cdata

    def _weak_ref(self) -> int:
        """As `UntypedStorage._weak_ref`."""
        return self._untyped_storage._weak_ref()

    _expired = staticmethod(UntypedStorage._expired)
    _free_weak_ref = staticmethod(UntypedStorage._free_weak_ref)

    # Copies and conversions

    def _like(self, storage: UntypedStorage) -> TypedStorage:
        return TypedStorage(wrap_storage=storage, dtype=self.dtype, _internal=True)

    def clone(self) -> TypedStorage:
        """A copy on the same device."""
        return self._like(self._untyped_storage.clone())

    def __copy__(self) -> TypedStorage:
        return self.clone()

    def __deepcopy__(self, memo: dict[Any, Any]) -> TypedStorage:
        return self._like(self._untyped_storage.__deepcopy__(memo))

    _deepcopy = __deepcopy__

    def to(self, *, device: Any, non_blocking: bool = False) -> TypedStorage:
        """The storage on another device: the same bytes where they already are there, otherwise a copy."""
        return self._like(self._untyped_storage.to(device=device))

    def cpu(self) -> TypedStorage:
        """The storage in CPU memory."""
        return self.to(device="cpu")

    def cuda(self, device: Any = None, non_blocking: bool = False) -> TypedStorage:
        """The storage on a CUDA device."""
        return self._like(self._untyped_storage.cuda(device))

    def hpu(self, device: Any = None, non_blocking: bool = False) -> TypedStorage:
        """The storage on an HPU device."""
        return self._like(self._untyped_storage.hpu(device))

    def pin_memory(self, device: Any = None) -> TypedStorage:
        """A copy in page-locked memory, as `UntypedStorage.pin_memory`."""
        return self._like(self._untyped_storage.pin_memory("cuda" if device is None else device))

    def _converted(self, d: dtype) -> TypedStorage:
        if d is self.dtype:
            return self
        elements = self._elements().astype(d.numpy_dtype)
        return TypedStorage(wrap_storage=UntypedStorage(elements.view(np.uint8)), dtype=d, _internal=True)

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The legacy class name, ``torch.FloatStorage``; conversion by class is not supported.

        Raises
        ------
        NotImplementedError
            With a class to convert to: PyTorch copies the raw bytes into a storage of another size, and refuses.
        """
        if dtype is not None:
            raise NotImplementedError("TypedStorage.type(dtype) is not supported: use float(), int() and the like")
        found = storage_class_of(self.dtype)
        if found is None:
            return f"{type(self).__module__}.TypedStorage"
        prefix = "torch" if self.device.type == "cpu" else f"torch.{self.device.type}"
        return f"{prefix}.{found.__name__}"

    def pickle_storage_type(self) -> str:
        """Name of the legacy class for the dtype, which pickles carry."""
        found = storage_class_of(self.dtype)
        if found is None:
            raise KeyError(f"dtype {self.dtype} is not recognized")
        return found.__name__

    # Other processes

    def share_memory_(self) -> TypedStorage:
        """Move the bytes to memory that other processes can map."""
        self._untyped_storage.share_memory_()
        return self

    def is_shared(self) -> bool:
        """Whether other processes can map the bytes."""
        return self._untyped_storage.is_shared()

    def is_pinned(self, device: Any = "cuda") -> bool:
        """Whether the bytes lie in page-locked memory."""
        return self._untyped_storage.is_pinned(device)

    def get_device(self) -> int:
        """Index of the accelerator that holds the bytes; -1 for the CPU."""
        return self._untyped_storage.get_device()

    @classmethod
    def from_buffer(cls, *args: Any, dtype: dtype | None = None, **kwargs: Any) -> TypedStorage:
        """A storage with a copy of a buffer's elements; arguments as `UntypedStorage.from_buffer`."""
        d = getattr(cls, "dtype", None) or dtype or dtypes.get_default_dtype()
        return TypedStorage(wrap_storage=UntypedStorage.from_buffer(*args, dtype=d, **kwargs), dtype=d, _internal=True)

    @classmethod
    def from_file(cls, filename: str, shared: bool = False, size: int = 0) -> TypedStorage:
        """A storage of `size` elements mapped from a file, of the class's dtype."""
        d = getattr(cls, "dtype", None)
        if d is None:
            raise RuntimeError("from_file can only be called on derived classes")
        return TypedStorage(
            wrap_storage=UntypedStorage.from_file(filename, shared, size * d.itemsize), dtype=d, _internal=True
        )

    def __repr__(self) -> str:
        summary = f"[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {len(self)}]"
        if self.device.type == "meta":
            return "...\n" + summary
        return " " + "\n ".join(map(str, self.tolist())) + "\n" + summary


def _scalar(element: Any) -> Any:
    """A Python number from a NumPy one, ``ml_dtypes`` included."""
    value = element.item()
    return value if isinstance(value, (bool, int, float, complex)) else float(value)


def _as_bytes(content: Any, d: dtype) -> np.ndarray:
    if isinstance(content, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(content).__name__}'")
    return np.array(list(content), _element_type(d)).view(np.uint8)


def _check_content(forms: str, args: Sequence[Any]) -> None:
    """Refuse what is neither nothing, nor a number of elements, nor a sequence of them."""
    if len(args) > 1:
        raise RuntimeError(forms + "Too many positional arguments")
    if args and not isinstance(args[0], (int, Sequence)):
        raise TypeError(f"{forms}Argument type not recognized: {type(args[0])}")


class _LegacyStorageMeta(type):
    dtype: dtype

    @property
    def _dtype(cls) -> dtypes.dtype:
        """Its dtype, under PyTorch's inner name."""
        return cls.dtype

    def __instancecheck__(cls, instance: Any) -> bool:
        return type(instance) is TypedStorage and instance.dtype is cls.dtype


class _LegacyStorage(TypedStorage, metaclass=_LegacyStorageMeta):
    """Makes typed storages of one dtype."""

    dtype: dtype

    def __new__(
        cls, *args: Any, wrap_storage: Any = None, dtype: Any = None, device: Any = None, _internal: bool = False
    ) -> Any:
        if cls is _LegacyStorage:
            raise RuntimeError("Only child classes of _LegacyStorage can be instantiated")
        forms = _LEGACY_FORMS.format(cls)
        for name, value in (("device", device), ("dtype", dtype)):
            if value is not None:
                raise RuntimeError(f"{forms}Keyword argument '{name}' cannot be specified")
        if wrap_storage is None:
            _check_content(forms, args)
        elif args:
            raise RuntimeError(forms + _WITH_WRAPPED)
        elif not isinstance(wrap_storage, UntypedStorage):
            raise TypeError(f"{forms}Argument 'wrap_storage' must be UntypedStorage, but got {type(wrap_storage)}")
        if not _internal:
            _warn_typed_storage_removal()
        return TypedStorage(*args, wrap_storage=wrap_storage, dtype=cls.dtype, _internal=True)

    @classmethod
    def _new_shared(cls, size: int) -> TypedStorage:
        storage = UntypedStorage._new_shared(size * cls.dtype.itemsize)
        return TypedStorage(wrap_storage=storage, dtype=cls.dtype, _internal=True)


def _legacy_class(name: str, d: dtype) -> Any:
    doc = f"Makes typed storages of {d!r}."
    return _LegacyStorageMeta(name, (_LegacyStorage,), {"dtype": d, "__module__": __name__, "__doc__": doc})


DoubleStorage = _legacy_class("DoubleStorage", dtypes.float64)
FloatStorage = _legacy_class("FloatStorage", dtypes.float32)
HalfStorage = _legacy_class("HalfStorage", dtypes.float16)
LongStorage = _legacy_class("LongStorage", dtypes.int64)
IntStorage = _legacy_class("IntStorage", dtypes.int32)
ShortStorage = _legacy_class("ShortStorage", dtypes.int16)
CharStorage = _legacy_class("CharStorage", dtypes.int8)
ByteStorage = _legacy_class("ByteStorage", dtypes.uint8)
BoolStorage = _legacy_class("BoolStorage", dtypes.bool)
BFloat16Storage = _legacy_class("BFloat16Storage", dtypes.bfloat16)
ComplexDoubleStorage = _legacy_class("ComplexDoubleStorage", dtypes.complex128)
ComplexFloatStorage = _legacy_class("ComplexFloatStorage", dtypes.complex64)
QUInt8Storage = _legacy_class("QUInt8Storage", dtypes.quint8)
QInt8Storage = _legacy_class("QInt8Storage", dtypes.qint8)
QInt32Storage = _legacy_class("QInt32Storage", dtypes.qint32)
QUInt4x2Storage = _legacy_class("QUInt4x2Storage", dtypes.quint4x2)
QUInt2x4Storage = _legacy_class("QUInt2x4Storage", dtypes.quint2x4)

#: dtype -> the legacy class that files name for it; newer dtypes have none and are stored as bytes.
STORAGE_CLASSES: dict[dtype, Any] = {
    found.dtype: found
    for found in list(globals().values())
    if isinstance(found, _LegacyStorageMeta) and found is not _LegacyStorage and hasattr(found, "dtype")
}


def storage_class_of(d: dtype) -> type[TypedStorage] | None:
    """The legacy storage class of a dtype, or None for the dtypes that came after them."""
    return STORAGE_CLASSES.get(d)


def _dtype_to_storage_type_map() -> dict[dtype, str]:
    """The names of the legacy storage classes by dtype."""
    return {d: found.__name__ for d, found in STORAGE_CLASSES.items()}


def _storage_type_to_dtype_map() -> dict[str, dtype]:
    """The dtypes of the legacy storage classes by name."""
    return {found.__name__: d for d, found in STORAGE_CLASSES.items()}


def _add_conversion(name: str, d: dtype) -> None:
    def convert(self: TypedStorage) -> TypedStorage:
        _warn_typed_storage_removal()
        return self._converted(d)

    def convert_bytes(self: UntypedStorage) -> TypedStorage:
        _warn_typed_storage_removal()
        return TypedStorage(wrap_storage=self, dtype=dtypes.uint8, _internal=True)._converted(d)

    for cls, method in ((TypedStorage, convert), (UntypedStorage, convert_bytes)):
        method.__name__ = name
        method.__qualname__ = f"{cls.__name__}.{name}"
        method.__doc__ = f"The elements converted to {d!r}."
        setattr(cls, name, method)


for _name, _dtype in (
    ("double", dtypes.float64), ("float", dtypes.float32), ("half", dtypes.float16), ("long", dtypes.int64),
    ("int", dtypes.int32), ("short", dtypes.int16), ("char", dtypes.int8), ("byte", dtypes.uint8),
    ("bool", dtypes.bool), ("bfloat16", dtypes.bfloat16), ("complex_double", dtypes.complex128),
    ("complex_float", dtypes.complex64), ("float8_e5m2", dtypes.float8_e5m2), ("float8_e4m3fn", dtypes.float8_e4m3fn),
    ("float8_e5m2fnuz", dtypes.float8_e5m2fnuz), ("float8_e4m3fnuz", dtypes.float8_e4m3fnuz),
):  # fmt: skip
    _add_conversion(_name, _dtype)


def _device_methods_of_storages(name: str, strict: bool, unsupported: list[dtype]) -> None:
    def to_device(self: TypedStorage, device: Any = None, non_blocking: bool = False) -> TypedStorage:
        if self.dtype in unsupported:
            raise RuntimeError(f"Cannot create {name} storage as {self.dtype} dtype is not supported by this backend")
        place = device_methods.moved_to(name, device)
        return self._like(self._untyped_storage.to(device=place, non_blocking=non_blocking))

    to_device.__name__ = name
    to_device.__doc__ = f"The storage on a device of type '{name}', by default the current one; itself if it is there."
    device_methods.install(TypedStorage, f"is_{name}", device_methods.on_device(name), strict)
    device_methods.install(TypedStorage, name, to_device, strict)


device_methods.offer("storage", _device_methods_of_storages)
