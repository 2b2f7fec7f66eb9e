"""The first format of ``torch.save`` (before PyTorch 0.1.10): a tar archive of storages, tensors, and a pickle."""

from __future__ import annotations

import struct
import tarfile
from typing import IO, Any

from ..dtypes import dtype
from ..storage import UntypedStorage
from ..storage_tensors import rebuild_tensor
from ..tensor import Tensor
from .blocks import read_block
from .pickler import unpickler_class

__all__ = ["is_tar", "load_tar"]

_MAGIC_POSITION = 257
_MAGIC = b"ustar"


def is_tar(file: IO[bytes]) -> bool:
    """Whether a tar archive begins at the file's position."""
    start = file.tell()
    block = file.read(_MAGIC_POSITION + len(_MAGIC))
    file.seek(start)
    return block[_MAGIC_POSITION:] == _MAGIC


def load_tar(file: IO[bytes], reader: Any) -> Any:
    """The object in a file of this format.

    Raises
    ------
    RuntimeError
        With ``weights_only=True``, which the format does not allow, and for damaged files.
    """
    if reader.weights_only:
        raise RuntimeError(
            "Cannot use ``weights_only=True`` with files saved in the legacy .tar format. In PyTorch 2.6, we changed "
            "the "
            "default value of the `weights_only` argument in `torch.load` from `False` to `True`. Re-running "
            "`torch.load` "
            "with `weights_only` set to `False` will likely succeed, but it can result in arbitrary code execution. "
            "Do it "
            "only if you got the file from a trusted source."
        )
    try:
        with tarfile.open(fileobj=file, mode="r:") as archive:
            members = [_member(archive, name) for name in ("storages", "tensors", "pickle")]
            return _TarFile(reader).load(*members)
    except tarfile.TarError as error:
        raise RuntimeError(f"the legacy .tar file is damaged: {error}") from error


def _member(archive: tarfile.TarFile, name: str) -> IO[bytes]:
    try:
        member = archive.extractfile(name)
    except KeyError:
        member = None
    if member is None:
        raise RuntimeError(f"the legacy .tar file has no member '{name}'; corrupt file?")
    return member


class _TarFile:
    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self._storages: dict[Any, tuple[UntypedStorage, dtype]] = {}
        self._tensors: dict[int, Tensor] = {}

    def load(self, storages: IO[bytes], tensors: IO[bytes], pickled: IO[bytes]) -> Any:
        """The object whose three parts are given."""
        for _ in range(self._unpickle(storages)):
            self._read_storage(storages)
        for target, root, offset, size in self._unpickle(storages):
            block, d = self._storages[root]
            self._storages[target] = block[offset * d.itemsize : (offset + size) * d.itemsize], d
        for _ in range(self._unpickle(tensors)):
            self._read_tensor(tensors)
        return self._unpickle(pickled)

    def _unpickle(self, file: IO[bytes]) -> Any:
        class TensorTypes(unpickler_class(self._reader.pickle_module, self._persistent_load)):  # type: ignore[misc]
            def find_class(self, module: str, name: str) -> Any:
                # Tensor classes of one dtype each ("torch FloatTensor"): the storage tells the dtype as well.
                return (
                    name if module.startswith("torch") and name.endswith("Tensor") else super().find_class(module, name)
                )

        return TensorTypes(file).load()

    def _persistent_load(self, saved_id: Any) -> Any:
        return saved_id[0] if isinstance(saved_id, tuple) else self._tensors[int(saved_id)]

    def _read_storage(self, file: IO[bytes]) -> None:
        key, location, kind = self._unpickle(file)
        position = file.tell()
        count = struct.unpack("<q", file.read(8))[0]
        file.seek(position)
        storage = UntypedStorage(count * kind.dtype.itemsize)
        read_block(file, storage, kind.dtype)
        self._storages[key] = self._reader.restore(storage, location), kind.dtype

    def _read_tensor(self, file: IO[bytes]) -> None:
        key, storage_key, _ = self._unpickle(file)
        (ndim,) = struct.unpack("<i", file.read(4))
        file.read(4)
        size = struct.unpack(f"<{ndim}q", file.read(8 * ndim))
        stride = struct.unpack(f"<{ndim}q", file.read(8 * ndim))
        (offset,) = struct.unpack("<q", file.read(8))
        self._tensors[key] = rebuild_tensor(*self._storages[storage_key], offset, size, stride)
