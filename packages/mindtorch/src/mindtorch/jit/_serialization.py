"""``torch.jit.load`` and ``torch.jit.save``: archives of TorchScript."""

from __future__ import annotations

from typing import Any

from .._unsupported import refusal
from ._script import RecursiveScriptModule, ScriptFunction, ScriptModule

__all__ = ["jit_module_from_flatbuffer", "load", "save", "save_jit_module_to_flatbuffer", "set_loop_limit"]

_NO_FLATBUFFER = "Write the module with torch.jit.save in PyTorch."


def load(
    f: Any, map_location: Any = None, _extra_files: dict[str, Any] | None = None, _restore_shapes: bool = False
) -> Any:
    """Read a module that ``torch.jit.save`` wrote, here or in PyTorch. Its code is checked, and run by an interpreter.

    The code can reach operators and the module's own values, and nothing else: no Python, no files, no names outside
    of the table of operators. Its calls end after `set_loop_limit` steps.

    Parameters
    ----------
    f
        A path, or a file with ``read``, ``seek`` and ``tell``.
    map_location
        Where tensors go, as for ``torch.load``.
    _extra_files
        Name -> anything; the values become the contents of these files of the archive, empty of what it has not.
    _restore_shapes
        Not supported.

    Returns
    -------
    A `RecursiveScriptModule`.

    Raises
    ------
    ValueError
        For a path without a file.
    RuntimeError
        For damaged files, naming the record, and code that is not in the language, naming the line.
    """
    from .torchscript.reading import load_archive  # lazy: few programs read archives

    if _restore_shapes:
        raise refusal("torch.jit.load(_restore_shapes=True)", "Leave it out.")
    return load_archive(f, map_location, _extra_files)


def save(m: Any, f: Any, _extra_files: dict[str, Any] | None = None) -> None:
    """Write a module to a file that ``torch.jit.load`` reads, here and in PyTorch.

    Parameters
    ----------
    m
        A module that `load`, ``trace`` or ``script`` made, or a traced or scripted function. Of a trace the recorded
        calls are made once more with the examples that it was made with, and the operators that they call are written;
        of what was scripted its Python is.
    f
        A path, or a file with ``write``.
    _extra_files
        Name -> text or bytes that are put into the archive.

    Raises
    ------
    NotImplementedError
        For what cannot be written in TorchScript; the message names the statement.
    """
    from .torchscript.writing import save_module  # lazy: few programs write archives

    save_module(_in_torchscript(m), f, _extra_files)


def _in_torchscript(m: Any) -> Any:
    """A module whose class is of an archive: as it is, or made of what was traced."""
    if hasattr(m, "_script_class"):
        return m
    if (
        isinstance(m, (RecursiveScriptModule, ScriptFunction))
        and getattr(m, "traced", None) is None
        and not (m.__dict__.get("_methods"))
    ):
        from .torchscript.scripting import as_archive as scripted  # lazy: few programs write archives

        return scripted(m)
    # What is traced has what was recorded; modules besides their parts.
    traced = getattr(m, "traced", None)
    methods = m.__dict__.get("_methods") if traced is None else {"forward": traced}
    if not methods:
        raise refusal(
            f"torch.jit.save of a {type(m).__name__}",
            "It writes what torch.jit.load and torch.jit.trace gave. Save the state_dict with torch.save.",
        )
    from .torchscript.tracing import as_archive  # lazy: few programs write archives

    return as_archive(None if traced is not None else m, methods)


def _save(self: Any, f: Any, **kwargs: Any) -> None:
    """As ``torch.jit.save``."""
    save(self, f, **kwargs)


# What they are saved by stands above them.
for _saved in (ScriptModule, ScriptFunction):
    _saved.save = _save  # type: ignore[method-assign, assignment]


def set_loop_limit(limit: int) -> int:
    """Have calls of loaded modules end with an error after so many steps: rounds of loops, and calls of functions.

    The limit holds for every call from Python, in all threads. It is 50 million at first.

    Returns
    -------
    The limit before.

    Raises
    ------
    ValueError
        For what is no positive integer.
    """
    from .torchscript import limits  # lazy, as above

    return limits.set_loop_limit(limit)


def jit_module_from_flatbuffer(f: Any) -> Any:
    """Not supported: raises NotImplementedError."""
    raise refusal("torch.jit.jit_module_from_flatbuffer", _NO_FLATBUFFER)


def save_jit_module_to_flatbuffer(m: Any, f: Any, _extra_files: Any = None) -> None:
    """Not supported: raises NotImplementedError."""
    raise refusal("torch.jit.save_jit_module_to_flatbuffer", _NO_FLATBUFFER)
