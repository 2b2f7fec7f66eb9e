"""What the scripts of this folder do with the text that they make."""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["write_or_check"]


def write_or_check(path: Path, text: str) -> None:
    """Write the file, or with ``--check`` compare what it holds.

    Raises
    ------
    SystemExit
        When PyTorch gives something else.
    """
    if "--check" not in sys.argv:
        path.write_text(text)
    elif path.read_text() != text:
        raise SystemExit(f"{path.name} differs from what PyTorch gives")
