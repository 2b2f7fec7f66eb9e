"""Write device_modules.json: what PyTorch's CPU build answers and raises in its modules for device types.

Run with PyTorch 2.13: ``python make_device_modules.py [--check]``.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import warnings
from pathlib import Path

import torch
from device_calls import ARGUMENTS, MODULES, outcome
from writing import write_or_check

#: What modules have by importing it for themselves.
_BORROWED = ("builtins", "collections", "contextlib", "ctypes", "functools", "typing", "warnings", "torch._utils")


def own_names(module: object) -> list[str]:
    """The public functions and classes of a module, and those private ones that have arguments listed."""
    return [
        name for name in sorted(dir(module))
        if (not name.startswith("_") or name in ARGUMENTS) and callable(getattr(module, name))
        and not inspect.ismodule(getattr(module, name))
        and not (getattr(getattr(module, name), "__module__", None) or "").startswith(_BORROWED)
    ]  # fmt: skip


def find(name: str) -> object:
    """A module, or None where there is none."""
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


def main() -> None:
    warnings.simplefilter("ignore")
    found = {
        module: {name: outcome(torch, module, name) for name in own_names(getattr(torch, module))} for module in MODULES
    }
    found["names"] = {
        f"{module}.{name}": sorted(found_module.__all__)
        for module in MODULES
        for name in ("memory", "random", "graphs")
        if (found_module := find(f"torch.{module}.{name}")) is not None
    }
    write_or_check(Path(__file__).with_name("device_modules.json"), json.dumps(found, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
