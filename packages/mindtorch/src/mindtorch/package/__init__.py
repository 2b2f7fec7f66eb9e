"""``torch.package``: archives of programs are neither read nor written; every class says so when it is called."""

from __future__ import annotations

from typing import Any

from .._unsupported import unsupported_class

__all__ = [
    "Directory", "EmptyMatchError", "GlobGroup", "Importer", "ObjMismatchError", "ObjNotFoundError", "OrderedImporter",
    "PackageExporter", "PackageImporter", "PackagingError", "is_from_package", "sys_importer",
]  # fmt: skip

_REMEDY = "Save weights with torch.save, programs with torch.export.save, and ship the code as a Python package."

Directory = unsupported_class("torch.package.Directory", _REMEDY)
GlobGroup = unsupported_class("torch.package.GlobGroup", _REMEDY)
Importer = unsupported_class("torch.package.Importer", _REMEDY)
OrderedImporter = unsupported_class("torch.package.OrderedImporter", _REMEDY)
PackageExporter = unsupported_class("torch.package.PackageExporter", _REMEDY)
PackageImporter = unsupported_class("torch.package.PackageImporter", _REMEDY)


class PackagingError(Exception):
    """What an exporter raises."""


class EmptyMatchError(Exception):
    """A pattern that no module matches."""


class ObjNotFoundError(Exception):
    """A name that an importer has not."""


class ObjMismatchError(Exception):
    """A name under which an importer has something else."""


def is_from_package(obj: Any) -> bool:
    """Whether an object or its class comes from an archive: never, as none is read."""
    return False


def __getattr__(name: str) -> Any:
    if name == "sys_importer":
        return Importer()
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
