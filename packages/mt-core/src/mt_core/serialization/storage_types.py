"""Small questions that programs ask ``torch.serialization``."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .. import typed_storage

__all__ = ["StorageType", "check_module_version_greater_or_equal", "mkdtemp", "normalize_storage_type"]


class StorageType:
    """A class of storages by its name, in place of the class.

    Attributes
    ----------
    dtype
        Of its elements.
    """

    def __init__(self, name: str) -> None:
        self._dtype = getattr(typed_storage, name).dtype

    @property
    def dtype(self) -> Any:
        return self._dtype

    def __str__(self) -> str:
        return f"StorageType(dtype={self.dtype})"


@contextmanager
def mkdtemp() -> Iterator[str]:
    """A folder for the time of a ``with`` statement."""
    path = tempfile.mkdtemp()
    try:
        yield path
    finally:
        shutil.rmtree(path)


def normalize_storage_type(storage_type: type) -> Any:
    """The class of storages at the top level that has the name of another."""
    return getattr(typed_storage, storage_type.__name__)


def check_module_version_greater_or_equal(
    module: Any, req_version_tuple: tuple[Any, ...], error_if_malformed: bool = True
) -> bool:
    """Whether the version of a module, number by number, is as high as another.

    Raises
    ------
    RuntimeError
        For a version that is not made of such numbers.
    """
    try:
        parts = module.__version__.split(".")
        found = tuple(type(wanted)(part) for wanted, part in zip(req_version_tuple, parts, strict=False))
        return bool(found >= req_version_tuple)
    except (AttributeError, ValueError) as error:
        message = (
            f"'{module.__name__}' module version string is malformed '{getattr(module, '__version__', None)}' and "
            f"cannot be compared with tuple {req_version_tuple!s}"
        )
        if error_if_malformed:
            raise RuntimeError(message) from error
        return True
