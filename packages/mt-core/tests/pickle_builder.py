"""Builds files with pickles that no pickler would write."""

from __future__ import annotations

import io
import pickle
import zipfile
from typing import Any


class Global:
    """A class or function by the name that the file gives it."""

    def __init__(self, module: str, name: str) -> None:
        self.line = f"{module}\n{name}\n".encode()


class Call:
    """What `function` returns, given a state afterwards if there is one."""

    def __init__(self, function: Any, *args: Any, state: Any = None) -> None:
        self.function, self.args, self.state = function, args, state


class New(Call):
    """A new object of a class."""


class Persistent:
    """What the file stands a storage by."""

    def __init__(self, *saved_id: Any) -> None:
        self.saved_id = saved_id


class _Pickler(pickle._Pickler):
    def save(self, obj: Any, save_persistent_id: bool = True) -> None:
        if isinstance(obj, Global):
            self.write(b"c" + obj.line)
        elif isinstance(obj, Persistent):
            self.save(obj.saved_id)
            self.write(b"Q")
        elif isinstance(obj, Call):
            self.save(obj.function)
            self.save(obj.args)
            self.write(b"\x81" if isinstance(obj, New) else b"R")
            if obj.state is not None:
                self.save(obj.state)
                self.write(b"b")
        else:
            super().save(obj, save_persistent_id)


def pickled(obj: Any) -> bytes:
    """Protocol 2, with the stand-ins above anywhere inside."""
    buffer = io.BytesIO()
    _Pickler(buffer, 2).dump(obj)
    return buffer.getvalue()


def archive(data_pkl: bytes, storages: dict[str, bytes] | None = None, **records: bytes) -> io.BytesIO:
    """A file in the zip format around a pickle."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as target:
        target.writestr("archive/data.pkl", data_pkl)
        for name, data in {"version": b"3\n", "byteorder": b"little", **records}.items():
            target.writestr(f"archive/{name}", data)
        for key, data in (storages or {}).items():
            target.writestr(f"archive/data/{key}", data)
    buffer.seek(0)
    return buffer


REBUILD = Global("torch._utils", "_rebuild_tensor_v2")
FLOATS = Global("torch", "FloatStorage")
NO_HOOKS = Call(Global("collections", "OrderedDict"))


def storage(key: Any = "0", location: Any = "cpu", numel: Any = 4, kind: Any = FLOATS) -> Persistent:
    """The stand-in for a storage; by default one of four floats."""
    return Persistent("storage", kind, key, location, numel)


def tensor(size: Any = (2, 2), stride: Any = (2, 1), offset: Any = 0, block: Any = None, **options: Any) -> Call:
    """A tensor on `block`; by default two rows of two floats."""
    grad = options.pop("requires_grad", False)
    return Call(REBUILD, block or storage(), offset, size, stride, grad, NO_HOOKS, *options.pop("more", ()), **options)
