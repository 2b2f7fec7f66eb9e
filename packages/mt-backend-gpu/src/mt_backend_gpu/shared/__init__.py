"""The CPU backend's kernels over CuPy's arrays: its modules, executed a second time with another ``np``.

``mt_backend_gpu.shared.X`` is the source of ``mt_backend_cpu.X``, in which the line that imports NumPy imports
`mt_backend_gpu.namespace` in its place; nothing else is changed, lines keep their numbers, and tracebacks and debuggers
show the CPU backend's file. Modules that are about the host (how kernels are registered, blocks for its caches, memory,
conversion) are this package's own: `REPLACED`.

What a module of kernels does otherwise on a device stands in ``mt_backend_gpu.kernels`` under the same name. That is
imported as soon as the shared module is complete: it registers kernels that are asked first, and may put other helpers
in the place of the shared ones by `replace`.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

__all__ = ["NOT_SHARED", "REPLACED", "replace", "room"]

_SOURCE = "mt_backend_cpu"
_NUMPY, _OURS = "\nimport numpy as np\n", "\nfrom mt_backend_gpu import namespace as np\n"
#: Modules that this package has its own of.
REPLACED = ("registry", "blocks", "convert", "memory")
#: Rooms whose kernels are not for a device: NumPy's short cuts for views, and numbers drawn by PyTorch's CPU streams.
NOT_SHARED = ("view", "random")


class _Loader(importlib.abc.Loader):
    """Executes one module of the CPU backend under its shared name."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        exec(self.code(), vars(module))  # noqa: S102 - of an installed package
        own = module.__name__.replace(".shared.", ".", 1)
        if ".kernels." in own and importlib.util.find_spec(own) is not None:
            importlib.import_module(own)

    def code(self) -> CodeType:
        text = self.path.read_text(encoding="utf-8")
        return compile(text.replace(_NUMPY, _OURS, 1), str(self.path), "exec", dont_inherit=True)

    def get_source(self, fullname: str) -> str:
        return self.path.read_text(encoding="utf-8")


class _Finder(importlib.abc.MetaPathFinder):
    """Finds ``mt_backend_gpu.shared.X`` where ``mt_backend_cpu.X`` lies."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if not fullname.startswith(__name__ + "."):
            return None
        place = _file_of(fullname.removeprefix(__name__ + "."))
        if place is None:
            return None
        folder = [str(place.parent)] if place.name == "__init__.py" else None
        spec = importlib.util.spec_from_file_location(
            fullname, place, loader=_Loader(place), submodule_search_locations=folder
        )
        assert spec is not None
        spec.cached = None
        return spec


def _file_of(name: str) -> Path | None:
    """The file of a module of the CPU backend, its name without the package's."""
    spec = importlib.util.find_spec(_SOURCE)
    if spec is None or spec.origin is None:
        return None
    base = Path(spec.origin).parent.joinpath(*name.split("."))
    found = (p for p in (base.with_suffix(".py"), base / "__init__.py") if p.is_file())
    return next(found, None)


def replace(name: str, **functions: Any) -> ModuleType:
    """Put functions in the place of those of a shared module, for all that call them by name; returns the module.

    Raises
    ------
    AttributeError
        For what the module does not have: the CPU backend has renamed it.
    """
    module = importlib.import_module(f"{__name__}.{name}")
    for key, function in functions.items():
        if not hasattr(module, key):
            raise AttributeError(f"{_SOURCE}.{name} has no {key} to be replaced")
        setattr(module, key, function)
    return module


def room(family: str) -> list[str]:
    """Names of the shared modules of a family."""
    from mt_core.dispatch.registry import family_modules  # lazy: only a backend with a device loads kernels

    package = importlib.import_module(f"{__name__}.kernels")
    return [name for name in family_modules(package, family) if name not in NOT_SHARED]


sys.meta_path.insert(0, _Finder())
for _name in REPLACED:
    sys.modules[f"{__name__}.{_name}"] = importlib.import_module(f"mt_backend_gpu.{_name}")
