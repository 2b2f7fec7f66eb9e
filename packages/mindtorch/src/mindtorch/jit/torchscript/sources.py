"""The code of an archive: records that are parsed when a name in them is first asked for."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Callable, Iterable

__all__ = ["Sources", "plain_name", "plain_text"]

#: Bytes of code that an archive may have: the trees of statements take a hundred times as much memory.
_MAX_CODE = 1 << 24
#: Behind what is no keyword in TorchScript, but one in Python: ``self.lambda``.
_MARK = "\N{LATIN SMALL LETTER O WITH STROKE}"
_KEYWORDS = "|".join(keyword.kwlist)
_TOKEN = re.compile(rf'"(?:[^"\\\n]|\\.)*"|(?<=\.)(?:{_KEYWORDS})\b|^  (?:{_KEYWORDS})(?= : )', re.MULTILINE)


def plain_name(name: str) -> str:
    """A name of the parsed text as the archive has it."""
    return name.rstrip(_MARK)


def plain_text(text: str) -> str:
    """A string of the parsed text, of which each character is a byte, as the archive means it."""
    return text.encode("latin-1").decode("utf-8", "surrogateescape")


def _as_python(code: bytes) -> str:
    """Code with the names marked that Python would not take."""

    def marked(found: re.Match[str]) -> str:
        return found[0] if found[0].startswith('"') else found[0] + _MARK

    return _TOKEN.sub(marked, code.decode("latin-1"))


class Sources:
    """Finds classes and functions by their full names.

    Parameters
    ----------
    read
        Name of a record -> its bytes.
    names
        The names of the records.
    folder
        Where the code is: ``code/``.
    """

    def __init__(self, read: Callable[[str], bytes], names: Iterable[str], folder: str = "code/") -> None:
        self._read = read
        self._folder = folder
        self.names = [n for n in names if n.startswith(folder) and n.endswith(".py")]
        self._known = frozenset(self.names)
        self._parsed: dict[str, dict[str, ast.stmt]] = {}
        self._size = 0
        self._kept: dict[str, bytes] = {}
        #: Record -> its lines, for messages.
        self.lines: dict[str, list[str]] = {}

    def text(self, record: str) -> bytes:
        """The bytes of a record, as they are written again.

        Raises
        ------
        RuntimeError
            Where there is more code than programs have.
        """
        if record not in self._kept:
            self._kept[record] = code = self._read(record)
            self._size += len(code)
            if self._size > _MAX_CODE:
                raise RuntimeError(f"the code of the archive is longer than {_MAX_CODE} bytes (record {record})")
        return self._kept[record]

    def keep(self) -> None:
        """Hold all of the code: the file that it is from will be closed."""
        for record in self.names:
            self.text(record)

    def find(self, name: str) -> tuple[ast.stmt, str] | None:
        """The definition of a full name and its record; None where there is none."""
        module, _, own = name.rpartition(".")
        record = f"{self._folder}{module.replace('.', '/')}.py"
        if record not in self._known:
            return None
        found = self.definitions(record).get(own)
        return None if found is None else (found, record)

    def definitions(self, record: str) -> dict[str, ast.stmt]:
        """Name -> class or function of a record.

        Raises
        ------
        RuntimeError
            For what is no TorchScript.
        """
        if record not in self._parsed:
            self._parsed[record] = self._parse(record)
        return self._parsed[record]

    def _parse(self, record: str) -> dict[str, ast.stmt]:
        code = self.text(record)
        text = _as_python(code)
        self.lines[record] = text.splitlines()
        found: dict[str, ast.stmt] = {}
        for statement in parsed(text, record):
            if not isinstance(statement, (ast.ClassDef, ast.FunctionDef)):
                raise RuntimeError(
                    f"expected a class or a function at line {statement.lineno} (record {record}), got "
                    f"{ast.unparse(statement)[:80]}"
                )
            found[statement.name] = statement
        return found


def parsed(text: str, record: str) -> list[ast.stmt]:
    """The statements of a text.

    Raises
    ------
    RuntimeError
        For what Python's grammar does not take, or is nested too deep.
    """
    try:
        return ast.parse(text).body
    except (SyntaxError, ValueError) as error:
        raise RuntimeError(f"the code cannot be parsed: {error} (record {record})") from None
    except (RecursionError, MemoryError):
        raise RuntimeError(f"the code is nested too deep (record {record})") from None
