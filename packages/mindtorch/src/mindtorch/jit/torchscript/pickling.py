"""Pickles of an archive's values, of the opcodes that PyTorch's interpreter reads."""

from __future__ import annotations

import struct
from typing import Any

from mt_core import Tensor, device
from mt_core.formats import strided
from mt_core.serialization.locations import location_tag
from mt_nn import Module

from .calling import ScriptMethod
from .classes import ScriptClass
from .types import Type, type_of

__all__ = ["Pickler"]

_PROTOCOL, _STOP, _MARK = b"\x80\x02", b".", b"("


class Pickler:
    """Writes one pickle. `storages` are those of its tensors, in the order of their keys.

    Parameters
    ----------
    first_key
        The key of the first storage.
    """

    def __init__(self) -> None:
        self._out: list[bytes] = []
        self._memo: dict[int, int] = {}
        #: What the memo names by identity is kept, so that no other value takes its place.
        self._kept: list[Any] = []
        self.storages: list[Any] = []
        self._keys: dict[int, int] = {}

    def dumps(self, value: Any, t: Type) -> bytes:
        """The pickle of a value of a type."""
        self._write(value, t)
        return _PROTOCOL + b"".join(self._out) + _STOP

    def _put(self, data: bytes) -> None:
        self._out.append(data)

    def _write(self, value: Any, t: Type) -> None:
        if t.name == "Optional" and value is not None:
            t = t.parts[0]
        if id(value) in self._memo:
            self._put(b"j" + struct.pack("<I", self._memo[id(value)]))
        elif isinstance(value, Tensor):
            self._tensor(value)
        elif isinstance(value, Module) or hasattr(value, "_script_class"):
            self._instance(value)
        elif isinstance(value, (list, dict)):
            self._tagged(value, t)
        elif isinstance(value, tuple):
            types = t.parts if len(t.parts) == len(value) else [type_of(v) for v in value]
            self._tuple(value, list(types))
        else:
            self._plain(value)

    def _plain(self, value: Any) -> None:
        if value is None or isinstance(value, bool):
            self._put(b"N" if value is None else b"\x88" if value else b"\x89")
        elif isinstance(value, int):
            self._int(value)
        elif isinstance(value, float):
            self._put(b"G" + struct.pack(">d", value))
        elif isinstance(value, str):
            self._text(value)
        elif isinstance(value, device):
            self._global("torch", "device")
            self._tuple((value.type,) if value.index is None else (value.type, value.index), [])
            self._put(b"R")
        else:
            raise NotImplementedError(
                f"a {type(value).__name__} in an archive of TorchScript is not supported by mindtorch."
            )

    def _int(self, value: int) -> None:
        if 0 <= value < 256:
            self._put(b"K" + bytes([value]))
        elif -(1 << 31) <= value < 1 << 31:
            self._put(b"J" + struct.pack("<i", value))
        else:
            self._put(b"\x8a\x08" + struct.pack("<q", value))

    def _text(self, value: str) -> None:
        data = value.encode("utf-8", "surrogateescape")
        self._put(b"X" + struct.pack("<I", len(data)) + data)

    def _global(self, module: str, name: str) -> None:
        self._put(b"c" + f"{module}\n{name}\n".encode())

    def _remember(self, value: Any) -> None:
        self._memo[id(value)] = number = len(self._memo)
        self._kept.append(value)
        self._put(b"r" + struct.pack("<I", number))

    def _tuple(self, value: tuple[Any, ...], types: list[Type]) -> None:
        self._put(_MARK)
        for item, t in zip(value, types or map(type_of, value), strict=True):
            self._write(item, t)
        self._put(b"t")

    def _tagged(self, value: Any, t: Type) -> None:
        """A list or dict, with the type that it has in the program."""
        t = t if t.name in ("List", "Dict") else type_of(value)
        if "?" in str(t):
            raise NotImplementedError(
                f"a {type(value).__name__} of unknown type in an archive is not supported by mindtorch."
            )
        self._global("torch.jit._pickle", "restore_type_tag")
        self._put(_MARK)
        self._put(b"]" if isinstance(value, list) else b"}")
        self._put(_MARK)
        if isinstance(value, list):
            for item in value:
                self._write(item, t.parts[0])
            self._put(b"e")
        else:
            for key, item in value.items():
                self._write(key, t.parts[0])
                self._write(item, t.parts[1])
            self._put(b"u")
        self._text(str(t))
        self._put(b"tR")
        self._remember(value)

    def _instance(self, value: Any) -> None:
        cls: ScriptClass = value._script_class
        module, _, name = cls.name.rpartition(".")
        self._global(module, name)
        if cls.kind == "namedtuple":
            self._tuple(tuple(value), list(cls.attributes.values()))
            self._put(b"\x81")
            return
        if cls.kind == "enum":
            self._write(value.value, type_of(value.value))
            self._put(b"R")
            return
        self._put(b")\x81")
        if "__getstate__" in cls.methods:
            method = cls.methods["__getstate__"]
            self._write(ScriptMethod(method, value)(), method.returns)
        else:
            self._state(value, cls)
        self._put(b"b")
        self._remember(value)

    def _state(self, value: Any, cls: ScriptClass) -> None:
        self._put(b"}" + _MARK)
        for name, t in cls.attributes.items():
            self._text(name)
            self._write(held(value, cls, name), t)
        self._put(b"u")

    def _tensor(self, value: Tensor) -> None:
        if value.layout is not strided:
            raise NotImplementedError(f"tensors of layout {value.layout} in an archive are not supported by mindtorch.")
        if value.is_conj() or value.is_neg():
            value = value.resolve_conj().resolve_neg()
        storage = value.untyped_storage()
        self._global("torch._utils", "_rebuild_tensor_v2")
        self._put(_MARK)
        key = self._keys.setdefault(storage.data_ptr() or -id(storage), len(self.storages))
        if key == len(self.storages):
            self.storages.append(storage)
        self._put(_MARK)
        self._text("storage")
        self._global("torch", _storage_name(value.dtype))
        self._text(str(key))
        self._text(location_tag(storage))
        self._int(storage.nbytes() // value.dtype.itemsize)
        self._put(b"tQ")
        self._int(value.storage_offset())
        self._tuple(tuple(value.shape), [])
        self._tuple(tuple(value.stride()), [])
        self._plain(bool(value.requires_grad and value.is_leaf))
        self._global("collections", "OrderedDict")
        self._put(b")RtR")
        self._remember(value)


def held(value: Any, cls: ScriptClass, name: str) -> Any:
    """What an instance has for an attribute."""
    if cls.kind == "class":
        return value._attributes[name]
    if name in ("training", "_is_full_backward_hook"):
        return value.__dict__[name]
    for room in (value._parameters, value._buffers, value._modules, value._attributes):
        if name in room:
            return room[name]
    raise RuntimeError(f"the module has no '{name}', which {cls.name} declares")


def _storage_name(d: Any) -> str:
    named = {
        "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long", "float16": "Half",
        "float32": "Float", "float64": "Double", "complex64": "ComplexFloat", "complex128": "ComplexDouble",
        "bool": "Bool", "bfloat16": "BFloat16",
    }  # fmt: skip
    if d.name not in named:
        raise NotImplementedError(f"tensors of {d} in an archive of TorchScript are not supported by mindtorch.")
    return f"{named[d.name]}Storage"
