"""What the readers of all file formats share: unpickling, and the storages that a pickle asks for."""

from __future__ import annotations

import pickle
from typing import IO, Any

from .. import dtypes
from ..storage import UntypedStorage
from ..typed_storage import TypedStorage
from .locations import restorer
from .pickler import unpickler_class
from .weights_unpickler import WeightsUnpickler, explain

__all__ = ["Reader", "SourceChangeWarning", "storage_request"]


class SourceChangeWarning(Warning):
    """A class in a file is not, in its source text, what it was when the file was written."""


class Reader:
    """How one call of `load` turns pickles into objects and storages into storages on their device."""

    def __init__(
        self, weights_only: bool, pickle_module: Any, map_location: Any, pickle_load_args: dict[str, Any]
    ) -> None:
        self.weights_only = weights_only
        self.pickle_module = pickle_module
        self.map_location = map_location
        self.restore = restorer(map_location)
        self._arguments = pickle_load_args

    def unpickle(self, file: IO[bytes], persistent_load: Any, record: str = "the file") -> Any:
        """The object that the pickle at the file's position describes; errors call the file `record`."""
        if not self.weights_only:
            return self._trusted(file, persistent_load, record)
        try:
            return WeightsUnpickler(file, persistent_load, record, **self._arguments).load()
        except pickle.UnpicklingError as error:
            raise explain(error) from None

    def unpickle_header(self, file: IO[bytes], persistent_load: Any) -> Any:
        """What a format itself writes as a pickle: numbers and dicts, never classes.

        No code is run to find out whether a file has the format, even if it is trusted. A `pickle_module` of the
        caller's is asked all the same, for it may have pickles that it alone reads.

        Raises
        ------
        RuntimeError
            If a trusted file has another pickle there, or none.
        """
        if self.weights_only or self.pickle_module is not pickle:
            return self.unpickle(file, persistent_load)
        try:
            return WeightsUnpickler(file, persistent_load, "the file", **self._arguments).load()
        except pickle.UnpicklingError as error:
            raise RuntimeError(f"Invalid magic number; corrupt file? ({error})") from error

    def _trusted(self, file: IO[bytes], persistent_load: Any, record: str) -> Any:
        """What Python's own unpickler makes of the file."""
        start = file.tell()
        try:
            return unpickler_class(self.pickle_module, persistent_load)(file, **self._arguments).load()
        except (pickle.UnpicklingError, EOFError) as error:
            if type(error) not in (pickle.UnpicklingError, EOFError):
                raise
            raise type(error)(f"{error} (the pickle from byte {start} of {record})") from error


def storage_request(saved_id: Any) -> tuple[Any, str, str, int]:
    """(dtype, key, location, size in bytes) of the tuple that stands for a storage in a pickle.

    Raises
    ------
    pickle.UnpicklingError
        If the tuple does not describe a storage.
    """
    if not isinstance(saved_id, tuple) or not saved_id or _text(saved_id[0]) != "storage":
        raise pickle.UnpicklingError(
            f"Unknown typename for persistent_load, expected 'storage' but got {saved_id!r:.100}"
        )
    if len(saved_id) < 5:
        raise pickle.UnpicklingError("the description of a storage is incomplete: the file is corrupt")
    kind, key, location, numel = saved_id[1:5]
    d = dtypes.uint8 if kind is UntypedStorage else getattr(kind, "dtype", None)
    is_storage = isinstance(kind, type) and issubclass(kind, (UntypedStorage, TypedStorage))
    if not is_storage or d is None or type(numel) is not int or numel < 0:
        raise pickle.UnpicklingError("the description of a storage makes no sense: the file is corrupt")
    return d, _text(key), _text(location), numel * d.itemsize


def _text(value: Any) -> Any:
    """Text that Python 2 may have written as bytes."""
    if isinstance(value, bytes):
        return value.decode("ascii", "replace")
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else ""
