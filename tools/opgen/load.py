"""Reading the declarations without importing the package whose files are being generated."""

from __future__ import annotations

import importlib
import pkgutil
import sys
import types
from pathlib import Path
from typing import Any


def load_declarations(core: Path) -> dict[str, Any]:
    """Overload name -> declaration, of every family, in the order of declaration.

    `mt_core/__init__.py` needs the generated wrappers, so it is not run: an empty module with its search path stands
    in.
    """
    package = types.ModuleType("mt_core")
    package.__path__ = [str(core)]  # type: ignore[attr-defined]
    sys.modules["mt_core"] = package
    operators = importlib.import_module("mt_core.declarations")
    for module in sorted(m.name for m in pkgutil.iter_modules(operators.__path__)):
        if not module.startswith("_"):
            importlib.import_module(f"mt_core.declarations.{module}")
    return importlib.import_module("mt_core.dispatch.registry").DECLARATIONS
