"""The zip archive of PyTorch's file format: named records, stored uncompressed and aligned.

Layout: ``<archive>/data.pkl`` (the pickle), ``<archive>/data/<key>`` (one record per storage), ``byteorder``,
``version``, and a few records about the format itself. All share one top directory.
"""

from __future__ import annotations

import hashlib
import io
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from typing import IO, Any

import numpy as np

__all__ = ["ArchiveReader", "ArchiveWriter"]

FORMAT_VERSION = b"3\n"
_NEWEST_READABLE_VERSION = 10
_LOCAL_HEADER = struct.Struct("<4s5H3I2H")
_END_OF_CENTRAL_DIRECTORY_SIZE = 22
_ZIP64_EXTRA_SIZE = 20
#: No deflate stream expands further than this; a directory that claims more is lying about sizes.
_MAX_DEFLATE_RATIO = 1032
#: ``torch.save`` does not compress. What others compressed may expand to so many times the file's size, plus 64 MiB.
_MAX_EXPANSION = 8
_SMALL = 1 << 26
#: Bytes that are inflated at a time.
_PIECE = 1 << 20

_CORRUPT = (
    "If you are seeing this error, there is a high likelihood that your checkpoint file is corrupted. This can "
    "happen if "
    "the checkpoint was not saved properly, was transferred incorrectly, or the file was modified after saving."
)


class _Output:
    """What `zipfile` sees of the output: it cannot seek, so each record is written once, in order."""

    def __init__(self, write: Callable[[Any], Any]) -> None:
        self._write = write

    def write(self, data: Any) -> int:
        self._write(data)
        return len(data)

    def flush(self) -> None:
        """Nothing is held back here; whoever opened the output flushes it."""

    def abandon(self) -> None:
        """Swallow whatever is still written."""
        self._write = len


class ArchiveWriter:
    """Writes records through a function that takes bytes-like objects. The archive is complete after `close`.

    Parameters
    ----------
    write
        Called with consecutive pieces of the file.
    archive_name
        The top directory of all records.
    alignment
        Each record's bytes begin at a multiple of this, so that a mapped file can be used in place.
    version
        Name and content of the record that says the version of the format.
    """

    def __init__(
        self,
        write: Callable[[Any], Any],
        archive_name: str,
        alignment: int = 64,
        version: tuple[str, bytes] = ("version", FORMAT_VERSION),
    ) -> None:
        self._output = _Output(write)
        self._zip = zipfile.ZipFile(self._output, "w", zipfile.ZIP_STORED)  # type: ignore[call-overload]
        self._name = archive_name
        self._alignment = alignment
        self._checksum = 0
        self._version = version

    def __enter__(self) -> ArchiveWriter:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        if error is None:
            self.close()
        else:
            self._output.abandon()
            self._zip.close()

    def names(self) -> list[str]:
        """Names of the records so far, without the top directory."""
        return [info.filename[len(self._name) + 1 :] for info in self._zip.filelist]

    def write_record(self, name: str, data: Any) -> None:
        """Add a record of the bytes of `data`, a bytes-like object."""
        view = memoryview(data).cast("B") if memoryview(data).nbytes else memoryview(b"")
        self.write_pieces(name, [view], view.nbytes)

    def write_pieces(self, name: str, pieces: Any, nbytes: int) -> None:
        """Add a record of `nbytes` bytes from an iterable of bytes-like objects."""
        info = zipfile.ZipInfo(f"{self._name}/{name}")
        info.file_size = nbytes
        info.extra = self._padding(info)
        with self._zip.open(info, "w", force_zip64=_needs_zip64(nbytes)) as record:
            for piece in pieces:
                record.write(piece)
        # The padding aligns the record and has no business in the directory.
        info.extra = b""
        self._checksum = (self._checksum * 0x100000001B3 ^ info.CRC) & 0xFFFFFFFFFFFFFFFF

    def _padding(self, info: zipfile.ZipInfo) -> bytes:
        unpadded = self._zip.fp.tell() + _LOCAL_HEADER.size + len(info.filename.encode()) + 4
        if _needs_zip64(info.file_size):
            unpadded += _ZIP64_EXTRA_SIZE
        fill = -unpadded % self._alignment
        return b"FB" + struct.pack("<H", fill) + b"Z" * fill

    def close(self) -> None:
        """Write the version, the content's identity, and the directory."""
        self.write_record(*self._version)
        names = "\n".join(info.filename for info in self._zip.filelist)
        digest = int.from_bytes(hashlib.blake2b(names.encode(), digest_size=8).digest(), "little")
        self.write_record(".data/serialization_id", f"{digest:020d}{self._checksum:020d}".encode())
        self._zip.close()


def _needs_zip64(nbytes: int) -> bool:
    # Well below the limit, because `zipfile` itself decides with a margin and must come to the same answer.
    return nbytes > zipfile.ZIP64_LIMIT // 2


class ArchiveReader:
    """Reads records of an archive that PyTorch or `ArchiveWriter` made.

    Everything a damaged or hostile archive can get wrong raises RuntimeError, and sizes are checked against the file
    before memory is asked for. Checksums are not verified, as in PyTorch, whose writer may leave them out.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        file.seek(0, io.SEEK_END)
        self._size = file.tell()
        entries = _read_directory(file, self._size)
        self._name = _archive_name(entries)
        self._records = {info.filename: info for info in entries}
        self._check_directory(entries)
        self._check_version()

    def _check_directory(self, entries: list[zipfile.ZipInfo]) -> None:
        if len(self._records) < len(entries):
            twice = Counter(info.filename for info in entries).most_common(1)[0][0]
            raise RuntimeError(f"the archive has two records {twice}, of which one would hide the other. {_CORRUPT}")
        if sum(info.compress_size for info in entries) > self._size:
            raise _unreadable("invalid header or archive is corrupted")
        expanded = sum(info.file_size for info in entries if info.compress_type != zipfile.ZIP_STORED)
        if expanded > _MAX_EXPANSION * self._size + _SMALL:
            raise _unreadable(
                f"its compressed records expand to {expanded} bytes, more than {_MAX_EXPANSION} times the file; if it "
                "is to be trusted, write the archive again without compression"
            )

    def _check_version(self) -> None:
        name = next((n for n in (".data/version", "version") if n in self), None)
        if name is None:
            raise RuntimeError(
                'Expected hasRecord("version") to be true, but got false. The file is a zip archive, but not one that '
                "torch.save wrote."
            )
        text = self.read(name)
        try:
            version = int(text)
        except ValueError:
            raise RuntimeError(
                f"Couldn't parse the version {text[:20].decode(errors='replace')} as Long Long. (record {name})"
            ) from None
        if version > _NEWEST_READABLE_VERSION:
            raise RuntimeError(
                f"Attempted to read a PyTorch file with version {version}, but the maximum supported version for "
                f"reading "
                f"is {_NEWEST_READABLE_VERSION}. The version of your PyTorch installation may be too old, please "
                f"upgrade "
                f"PyTorch to latest version to mitigate this issue. (record {name})"
            )

    def __contains__(self, name: str) -> bool:
        return f"{self._name}/{name}" in self._records

    def names(self) -> list[str]:
        """Names of all records, without the top directory."""
        return [name[len(self._name) + 1 :] for name in self._records]

    def _entry(self, name: str) -> zipfile.ZipInfo:
        try:
            return self._records[f"{self._name}/{name}"]
        except KeyError:
            raise RuntimeError(
                f"PytorchStreamReader failed locating file {name}: file not found. {_CORRUPT} (record {name})"
            ) from None

    def size(self, name: str) -> int:
        """Bytes of a record."""
        return self._entry(name).file_size

    def offset(self, name: str) -> int:
        """Where in the file an uncompressed record's bytes begin."""
        info = self._entry(name)
        if info.compress_type != zipfile.ZIP_STORED:
            raise RuntimeError(f"record {name} is compressed, which cannot be mapped: load the file with mmap=False")
        return self._data_offset(info)

    def _data_offset(self, info: zipfile.ZipInfo) -> int:
        if not 0 <= info.header_offset <= self._size - _LOCAL_HEADER.size:
            raise _unreadable("invalid header or archive is corrupted", info.filename)
        self._file.seek(info.header_offset)
        header = self._file.read(_LOCAL_HEADER.size)
        if len(header) < _LOCAL_HEADER.size or header[:4] != b"PK\x03\x04":
            raise _unreadable("invalid header or archive is corrupted", info.filename)
        name_length, extra_length = _LOCAL_HEADER.unpack(header)[-2:]
        offset = info.header_offset + _LOCAL_HEADER.size + name_length + extra_length
        if offset + info.compress_size > self._size:
            raise _unreadable("invalid header or archive is corrupted", info.filename)
        if info.compress_type == zipfile.ZIP_STORED and info.compress_size != info.file_size:
            raise _unreadable("invalid header or archive is corrupted", info.filename)
        return offset

    def read(self, name: str) -> bytes:
        """The bytes of a record."""
        info = self._entry(name)
        return b"".join(self._pieces(info))

    def open(self, name: str) -> io.BytesIO:
        """A record as a file in memory, which holds its bytes once."""
        pieces = self._pieces(self._entry(name))
        file = io.BytesIO(next(pieces, b""))
        file.seek(0, io.SEEK_END)
        for piece in pieces:
            file.write(piece)
        file.seek(0)
        return file

    def _pieces(self, info: zipfile.ZipInfo) -> Iterator[bytes]:
        """The bytes of a record: in one piece where they are stored as they are, else inflated bit by bit."""
        self._file.seek(self._data_offset(info))
        data = self._file.read(info.compress_size)
        if len(data) != info.compress_size:
            raise _unreadable("file read failed", info.filename)
        if info.compress_type == zipfile.ZIP_STORED:
            yield data
        else:
            yield from _inflated(info, data)

    def read_into(self, name: str, target: np.ndarray) -> None:
        """Fill `target`, a contiguous uint8 array of the record's size, with the record's bytes."""
        info = self._entry(name)
        if info.compress_type != zipfile.ZIP_STORED or not hasattr(self._file, "readinto"):
            at = 0
            for piece in self._pieces(info):
                target[at : at + len(piece)] = np.frombuffer(piece, np.uint8)
                at += len(piece)
            return
        self._file.seek(self._data_offset(info))
        view, filled = memoryview(target), 0  # type: ignore[arg-type]
        while filled < target.nbytes:
            count = self._file.readinto(view[filled:])
            if not count:
                raise _unreadable("file read failed", info.filename)
            filled += count


def _unreadable(reason: str, record: str = "") -> RuntimeError:
    where = f" (record {record})" if record else ""
    return RuntimeError(f"PytorchStreamReader failed reading zip archive: {reason}{where}. {_CORRUPT}")


def _read_directory(file: IO[bytes], size: int) -> list[zipfile.ZipInfo]:
    if size < _END_OF_CENTRAL_DIRECTORY_SIZE:
        raise _unreadable("not a ZIP archive")
    try:
        directory = zipfile.ZipFile(file)
    except zipfile.BadZipFile as error:
        missing = str(error) == "File is not a zip file"
        reason = "failed finding central directory" if missing else "invalid header or archive is corrupted"
        raise _unreadable(reason) from error
    except (NotImplementedError, ValueError, struct.error, OSError, OverflowError) as error:
        # What `zipfile` lets through from a directory whose numbers make no sense.
        raise _unreadable("invalid header or archive is corrupted") from error
    return directory.infolist()


def _archive_name(entries: list[zipfile.ZipInfo]) -> str:
    if not entries:
        raise _unreadable("the archive holds no file")
    name, slash, _ = entries[0].filename.partition("/")
    if not slash:
        raise RuntimeError(f"file in archive is not in a subdirectory: {name}")
    for info in entries:
        if not info.filename.startswith(name + "/"):
            raise RuntimeError(f"file in archive is not in a subdirectory {name}/: {info.filename}")
    return name


def _inflated(info: zipfile.ZipInfo, data: bytes) -> Iterator[bytes]:
    """The pieces of a deflated record, which are as long together as the directory says."""
    if info.compress_type != zipfile.ZIP_DEFLATED:
        raise _unreadable("unsupported method", info.filename)
    if info.file_size > _MAX_DEFLATE_RATIO * (len(data) + 1):
        raise _unreadable("invalid header or archive is corrupted", info.filename)
    stream, left = zlib.decompressobj(-zlib.MAX_WBITS), info.file_size
    while True:
        try:
            piece = stream.decompress(data, min(_PIECE, left + 1))
        except zlib.error as error:
            raise _unreadable("decompression failed or archive is corrupted", info.filename) from error
        left -= len(piece)
        if left < 0 or not piece:
            break
        yield piece
        data = stream.unconsumed_tail
    if left:
        raise _unreadable("decompression failed or archive is corrupted", info.filename)


def expected_size_error(record: str, record_size: int, nbytes: int) -> RuntimeError:
    """The error for a storage whose record does not have the size that the pickle says."""
    return RuntimeError(
        f"record size ({record_size} bytes) does not match expected size ({nbytes} bytes = {nbytes} elements * 1 "
        f"bytes/element) for dtype Byte (record {record})"
    )


def archive_name_of(path: str) -> str:
    """The top directory for a file at `path`: its name without the last extension, as PyTorch has it.

    Raises
    ------
    RuntimeError
        If nothing is left, as for ``.pt``.
    """
    name = path.replace("\\", "/").rpartition("/")[2]
    if not name.isascii():
        return "archive"
    stem = name[: name.rindex(".")] if "." in name else name
    if not stem:
        raise RuntimeError(f"invalid file name: {path}")
    return stem
