"""``torch.export.pt2_archive._package``: files of exported programs.

A file is a zip archive of ``torch.save``'s kind: of each program ``models/NAME.json``, the memory of its tensors under
``data/weights`` and ``data/constants``, and its example arguments under ``data/sample_inputs``; besides them
``extra/NAME``, and what kind of archive it is.
"""

from __future__ import annotations

import dataclasses
import io
import json
import logging
import os
import pickle
import sys
import warnings
import zipfile
from typing import Any

from mt_core.pytree.nodes import SUPPORTED_NODES
from mt_core.serialization import load, safe_globals
from mt_core.serialization.archive import ArchiveReader, ArchiveWriter, archive_name_of
from mt_core.serialization.config import is_byteswapped
from mt_core.serialization.files import is_path, opened, written

from ..exported_program import ExportedProgram
from . import constants as names
from ._fields import damaged, parse
from ._reading import program_from_json
from ._tensors import read_tensors, save_pickled, write_tensors
from ._writing import program_to_json

__all__ = ["PT2ArchiveContents", "is_pt2_package", "load_pt2", "package_pt2"]

log = logging.getLogger(__name__)
_VERSION = (".data/version", b"6\n")


@dataclasses.dataclass
class PT2ArchiveContents:
    """What a file holds.

    Attributes
    ----------
    exported_programs
        By name.
    aoti_runners
        Compiled models: none are read.
    extra_files
        Name -> text.
    """

    exported_programs: dict[str, ExportedProgram]
    aoti_runners: dict[str, Any]
    extra_files: dict[str, Any]


def is_pt2_package(serialized_model: bytes | str) -> bool:
    """Whether the bytes of a file, or the file at a path, are of this format."""
    try:
        with zipfile.ZipFile(
            io.BytesIO(serialized_model) if isinstance(serialized_model, bytes) else serialized_model
        ) as archive:
            root = archive.namelist()[0].split(os.sep)[0]
            if f"{root}/{names.ARCHIVE_FORMAT_PATH}" not in archive.namelist():
                return False
            return archive.read(f"{root}/{names.ARCHIVE_FORMAT_PATH}") == names.ARCHIVE_FORMAT_VALUE.encode()
    except (zipfile.BadZipFile, OSError, IndexError):
        return False


# Writing


def package_pt2(
    f: Any,
    *,
    exported_programs: ExportedProgram | dict[str, ExportedProgram] | None = None,
    aoti_files: Any = None,
    extra_files: dict[str, Any] | None = None,
    opset_version: dict[str, int] | None = None,
    pickle_protocol: int = 2,
    executorch_files: Any = None,
) -> Any:
    """Write exported programs to a file that PyTorch reads.

    Parameters
    ----------
    f
        A path, or a file that can be written to.
    exported_programs
        One program, which is named ``model``, or several by name.
    extra_files
        Name -> text.
    opset_version
        Without effect, as in PyTorch: what is written has the version of this release.
    pickle_protocol
        Of the example arguments.

    Returns
    -------
    `f`

    Raises
    ------
    NotImplementedError
        For compiled models, and for programs that the format, or mindtorch, has no words for.
    """
    if aoti_files is not None or executorch_files is not None:
        raise NotImplementedError(
            "torch.export.pt2_archive: compiled models (aoti_files, executorch_files) are not kept"
        )
    if is_path(f) and not os.fspath(f).endswith(".pt2"):
        log.warning("Expect archive file to be a file ending in .pt2, or is a buffer. Instead got {%s}", f)
    programs = {"model": exported_programs} if isinstance(exported_programs, ExportedProgram) else exported_programs
    described = {name: json.dumps(program_to_json(program)) for name, program in (programs or {}).items()}
    for name, text in (extra_files or {}).items():
        if not isinstance(text, str):
            raise AssertionError(f"Expected string but got {type(text)} for the extra file {name}")
    root = archive_name_of(os.fspath(f)) if is_path(f) else "archive"
    with written(f) as file, ArchiveWriter(file.write, root, version=_VERSION) as writer:
        for name, program in (programs or {}).items():
            _write_program(writer, name, program, described[name], pickle_protocol)
        for name, text in (extra_files or {}).items():
            writer.write_record(names.EXTRA_DIR + name, text.encode())
        writer.write_record(names.ARCHIVE_FORMAT_PATH, names.ARCHIVE_FORMAT_VALUE.encode())
        writer.write_record(names.ARCHIVE_VERSION_PATH, names.ARCHIVE_VERSION_VALUE.encode())
        writer.write_record("byteorder", sys.byteorder.encode())
    return f


def _write_program(
    writer: ArchiveWriter, name: str, program: ExportedProgram, described: str, pickle_protocol: int
) -> None:
    weights = names.WEIGHTS_CONFIG_FILENAME_FORMAT.format(name)
    write_tensors(writer, program.state_dict, names.WEIGHTS_DIR, names.WEIGHT_FILENAME_PREFIX, weights)
    constants = names.CONSTANTS_CONFIG_FILENAME_FORMAT.format(name)
    write_tensors(writer, program.constants, names.CONSTANTS_DIR, names.TENSOR_CONSTANT_FILENAME_PREFIX, constants)
    writer.write_record(names.MODELS_FILENAME_FORMAT.format(name), described.encode())
    record = names.SAMPLE_INPUTS_FILENAME_FORMAT.format(name)
    save_pickled(writer, record, program.example_inputs, pickle_protocol)


# Reading


def load_pt2(
    f: Any,
    *,
    expected_opset_version: dict[str, int] | None = None,
    run_single_threaded: bool = False,
    num_runners: int = 1,
    device_index: int = -1,
    load_weights_from_disk: bool = False,
) -> PT2ArchiveContents:
    """Read a file that `package_pt2` wrote, here or in PyTorch.

    Nothing in the file is run: graphs name operators, and pickles hold tensors, plain values, containers, and classes
    that are registered as containers.

    Parameters
    ----------
    f
        A path, or a file that can be read.
    expected_opset_version
        Without effect, as in PyTorch.
    run_single_threaded, num_runners, device_index, load_weights_from_disk
        Of compiled models, which are not read.

    Raises
    ------
    ValueError
        When it was written by another version of the archive.
    RuntimeError
        When it is damaged, or names operators that there are not; the message names the record.
    NotImplementedError
        When it holds compiled models.
    """
    with opened(f) as file:
        archive = ArchiveReader(file)
        _check_kind(archive)
        recorded = archive.names()
        if any(record.startswith("data/aotinductor/") for record in recorded):
            raise NotImplementedError("torch.export.pt2_archive.load_pt2: compiled models cannot be run by mindtorch")
        models = [name for name in recorded if name.startswith(names.MODELS_DIR) and name.endswith(".json")]
        programs = {name[len(names.MODELS_DIR) : -5]: _read_program(archive, name) for name in models}
        extras = [name for name in recorded if name.startswith(names.EXTRA_DIR) and not name.endswith("/")]
        return PT2ArchiveContents(programs, {}, {name[len(names.EXTRA_DIR) :]: _text(archive, name) for name in extras})


def _check_kind(archive: ArchiveReader) -> None:
    found = archive.read(names.ARCHIVE_FORMAT_PATH)
    if found != names.ARCHIVE_FORMAT_VALUE.encode():
        raise damaged(names.ARCHIVE_FORMAT_PATH, "says that it is no archive of exported programs")
    version = _text(archive, names.ARCHIVE_VERSION_PATH)
    if version != names.ARCHIVE_VERSION_VALUE:
        raise ValueError(
            f"Saved archive version {version} does not match our current archive version {names.ARCHIVE_VERSION_VALUE}."
        )


def _text(archive: ArchiveReader, record: str) -> str:
    try:
        return archive.read(record).decode()
    except UnicodeDecodeError as error:
        raise damaged(record, f"is no text: {error}") from error


def _read_program(archive: ArchiveReader, record: str) -> ExportedProgram:
    name = record[len(names.MODELS_DIR) : -5]
    byteswapped = is_byteswapped(archive.read("byteorder") if "byteorder" in archive else None)
    weights = names.WEIGHTS_CONFIG_FILENAME_FORMAT.format(name)
    state = read_tensors(archive, names.WEIGHTS_DIR, weights, byteswapped)
    config = names.CONSTANTS_CONFIG_FILENAME_FORMAT.format(name)
    constants = read_tensors(archive, names.CONSTANTS_DIR, config, byteswapped)
    example = _example_inputs(archive, names.SAMPLE_INPUTS_FILENAME_FORMAT.format(name))
    return program_from_json(parse(archive.read(record), record), state, constants, example)


def _example_inputs(archive: ArchiveReader, record: str) -> Any:
    """The arguments that the program was exported with; None, with a warning, where their pickle is refused."""
    registered: list[Any] = [kind for kind in SUPPORTED_NODES if isinstance(kind, type)]
    try:
        with safe_globals(registered):
            return load(archive.open(record), weights_only=True)
    except pickle.UnpicklingError as error:
        warnings.warn(f"{record}: the example inputs are left out, since {error}", stacklevel=4)
        return None
