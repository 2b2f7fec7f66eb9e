"""PyTorch's module names for classes and functions.

Libraries choose by ``type(x).__module__``: an array of ``torch`` is told from one of ``numpy``. And pickles name what
they are to call by it. So what a module of the house defines says that it is from the module where PyTorch has it, and
under that name it can be imported: PyTorch opens the pickles, and pickles of PyTorch open here. Only where PyTorch is
installed beside mindtorch, and mindtorch does not stand in for it, all keep the names of the house, for there
``torch`` means PyTorch.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import FunctionType, ModuleType
from typing import Any

from mt_core.api import _functions, _methods
from mt_core.process_hook import call_when_executed
from mt_core.torch_names import is_named, torch_name

from ._importer import HOMES

__all__ = ["NamingFinder", "install", "rename"]

_OURS = ("mindtorch", "mt_core", "mt_autograd", "mt_nn", "mt_library")
#: Our module -> PyTorch's, where files never name it and `HOMES` does not either.
_MODULES = {
    "mt_core.functional": "torch.functional",
    "mt_core.functional_einsum": "torch.functional",
    "mt_core.functional_linalg": "torch.functional",
    "mt_core.construct": "torch",
    "mt_core.dtypes": "torch",
    "mt_core.formats": "torch",
    "mt_core.interop": "torch",
    "mt_core.serialization.loading": "torch.serialization",
    "mt_core.serialization.saving": "torch.serialization",
    "mt_core.tensor": "torch",
    "mt_core.tensor_autograd": "torch._tensor",
    "mt_core.tensor_cast": "torch._tensor",
    "mt_core.tensor_convert": "torch._tensor",
    "mt_core.tensor_handwritten": "torch._tensor",
    "mt_core.tensor_index": "torch._tensor",
    "mt_autograd.api": "torch.autograd",
} | {home: name.replace("mindtorch", "torch", 1) for name, home in HOMES.items() if home != "mindtorch"}
#: (our module, name) -> PyTorch's module, of what lies elsewhere than its neighbours.
_APART = {
    ("mt_core.api._functions", "stft"): "torch.functional",
    ("mt_core.functional_linalg", "pca_lowrank"): "torch._lowrank",
    ("mt_core.functional_linalg", "svd_lowrank"): "torch._lowrank",
    ("mt_core.functional_linalg", "lu"): "torch",
    ("mt_core.functional_linalg", "get_lowrank_basis"): "torch._lowrank",
    ("mt_core.overrides", "TorchFunctionMode"): "torch.overrides",
    ("mt_core.overrides", "BaseTorchFunctionMode"): "torch.overrides",
    ("mt_library.library", "Library"): "torch.library",
    ("mt_autograd.api", "GradientEdge"): "torch.autograd.graph",
    ("mt_autograd.api", "get_gradient_edge"): "torch.autograd.graph",
    ("mt_core.errors", "_LinAlgError"): "torch._C",
    ("mt_core.functional", "combinations"): "torch",
    ("mt_core.storage_tensors", "from_file"): "torch",
    ("mt_core.functional", "nonzero"): "torch",
}
#: Where PyTorch keeps the functions of an operator's namespace.
_OPERATORS = {"torch.fft": "torch._C._fft", "torch.linalg": "torch._C._linalg", "torch.special": "torch._C._special"}


def rename(module: ModuleType) -> None:
    """Give a module's own public classes and functions, and what pickles call, PyTorch's module names."""
    home = module.__name__
    if module is _functions:
        _rename_operators()
        return
    if module is _methods:
        _rename_with_methods(_methods.TensorBase, "torch._C")
        return
    for value in list(vars(module).values()):
        if isinstance(value, (type, FunctionType)) and value.__module__ == home:
            private = value.__name__[0] == "_" and (home, value.__qualname__) not in _APART
            if private and not is_named(home, value.__name__):
                continue
            name = _name_of(home, value.__qualname__)
            if name is not None:
                _rename_with_methods(value, name)


def _rename_with_methods(value: Any, name: str) -> None:
    home, value.__module__ = value.__module__, name
    if isinstance(value, type):
        if home.startswith("mt_nn.") and home.rpartition(".")[2] == name.rpartition(".")[2]:
            # `typing.get_type_hints` looks annotations up in the module that a class names, and does not import it.
            sys.modules.setdefault(name, sys.modules[home])
        for member in vars(value).values():
            if isinstance(member, FunctionType) and member.__module__ == home:
                member.__module__ = name


def _rename_operators() -> None:
    for space, pairs in _functions.NAMESPACES.items():
        if space != "internal":
            for _, own in pairs:
                name = _APART.get((_functions.__name__, own)) or _OPERATORS.get(space, space)
                getattr(_functions, own).__module__ = name


def _name_of(home: str, qualified_name: str) -> str | None:
    """PyTorch's module for what our module `home` calls `qualified_name`; None for what has no place there."""
    if (home, qualified_name) in _APART:
        return _APART[home, qualified_name]
    if is_named(home, qualified_name):
        return _home_in_files(home, qualified_name)
    if home in _MODULES:
        return _MODULES[home] if _is_public(home, qualified_name) else None
    if home.startswith("mindtorch._") and _exports().get(qualified_name) == home.removeprefix("mindtorch"):
        return "torch"
    known = _home_in_files(home, qualified_name)
    if known is not None:
        return known
    best = max((own for own in _MODULES if home == own or home.startswith(own + ".")), key=len, default=None)
    if best is not None:
        return _MODULES[best] + home[len(best) :]
    return "torch" + home.removeprefix("mindtorch") if home.startswith("mindtorch") else None


def _home_in_files(home: str, qualified_name: str) -> str | None:
    renamed = torch_name(home, qualified_name)
    return None if renamed is None else renamed[0]


def _exports() -> dict[str, str]:
    """What the top level has from modules of the package: name -> module."""
    return vars(sys.modules["mindtorch"])["_MODULE_OF"]


def _is_public(home: str, name: str) -> bool:
    if _MODULES[home] == "torch":
        return name in _exports() or name in vars(sys.modules["mindtorch"])
    return name in getattr(sys.modules[home], "__all__", (name,))


class NamingFinder(MetaPathFinder):
    """Finds our modules as the other finders do, and has what they define renamed when they have been executed."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec that the finders after this one give; None for modules that are not ours."""
        if fullname.partition(".")[0] not in _OURS:
            return None
        others = sys.meta_path[sys.meta_path.index(self) + 1 :]
        specs = (finder.find_spec(fullname, path, target) for finder in others)
        spec = next((found for found in specs if found is not None), None)
        if spec is not None and spec.loader is not None and spec.name == fullname:
            call_when_executed(spec.loader, rename)
        return spec


def install() -> None:
    """Rename what is loaded, and what will be; once in a process."""
    if any(isinstance(finder, NamingFinder) for finder in sys.meta_path):
        return
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in _OURS and module is not None and module.__name__ == name:
            rename(module)
    sys.meta_path.insert(0, NamingFinder())
