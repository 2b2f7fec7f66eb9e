"""``torch.export.save`` and ``torch.export.load``."""

from __future__ import annotations

from typing import Any

from .exported_program import ExportedProgram
from .pt2_archive import load_pt2, package_pt2

__all__ = ["load", "save"]


def save(
    ep: ExportedProgram,
    f: Any,
    *,
    extra_files: dict[str, Any] | None = None,
    opset_version: dict[str, int] | None = None,
    pickle_protocol: int = 2,
) -> None:
    """Write an exported program to a file that PyTorch's ``torch.export.load`` reads, and `load`.

    Parameters
    ----------
    f
        A path, or a file that can be written to.
    extra_files
        Name -> text that is kept beside the program.
    opset_version
        Without effect, as in PyTorch.
    pickle_protocol
        Of the example arguments.

    Raises
    ------
    TypeError
        When `ep` is no exported program.
    NotImplementedError
        For programs that the format, or mindtorch, has no words for.
    """
    if not isinstance(ep, ExportedProgram):
        raise TypeError(
            f"The 'ep' parameter must be an instance of 'ExportedProgram', got '{type(ep).__name__}' instead."
        )
    package_pt2(
        f, exported_programs=ep, extra_files=extra_files, opset_version=opset_version, pickle_protocol=pickle_protocol
    )


def load(
    f: Any, *, extra_files: dict[str, Any] | None = None, expected_opset_version: dict[str, int] | None = None
) -> ExportedProgram:
    """Read an exported program that `save` wrote, here or in PyTorch 2.13. Nothing in the file is run.

    Parameters
    ----------
    f
        A path, or a file that can be read.
    extra_files
        A dict that the texts beside the program are added to.
    expected_opset_version
        Without effect, as in PyTorch.

    Raises
    ------
    RuntimeError
        When the file is damaged, is of an older format, or names operators that there are not.
    ValueError
        When it was written by another version of the archive.
    """
    contents = load_pt2(f, expected_opset_version=expected_opset_version)
    if "model" not in contents.exported_programs:
        raise RuntimeError(
            "PytorchStreamReader failed locating file models/model.json: the file has no program 'model'"
        )
    if extra_files is not None:
        extra_files.update(contents.extra_files)
    return contents.exported_programs["model"]
