"""One module object under several names: ``torch.nn.functional``, ``mindtorch.nn.functional``, ``mt_nn.functional``.

The `torch` namespace is spread over distributions. `HOMES` says which module of which distribution a dotted name
means, and `AliasFinder` makes the import system follow it. So nothing is loaded twice, a class has one identity however
it was imported, and what a program replaces in ``torch.nn.init`` is replaced for the modules that use it.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import CodeType, FunctionType, ModuleType

__all__ = ["HOMES", "AliasFinder", "home_of", "install", "install_torch"]

#: Dotted name -> the module it means; what lies below it lies below that module.
HOMES = {
    "torch": "mindtorch",
    "mindtorch.__future__": "mt_nn._conversion_settings",
    "mindtorch._ops": "mt_library.ops",
    "mindtorch._tensor_str": "mt_core.printing",
    "mindtorch._C._distributed_c10d": "mindtorch.distributed._groups",
    "mindtorch.autograd": "mt_autograd",
    "mindtorch.autograd.profiler": "mindtorch.profiler.autograd_profiler",
    "mindtorch.autograd.profiler_util": "mindtorch.profiler.profiler_util",
    "mindtorch.distributed._functional_collectives": "mt_distributed.functional",
    "mindtorch.distributed.algorithms": "mt_distributed.algorithms",
    "mindtorch.distributed.device_mesh": "mt_distributed.device_mesh",
    "mindtorch.distributed.distributed_c10d": "mindtorch.distributed._groups",
    "mindtorch.distributed._tensor": "mt_distributed.tensor",
    "mindtorch.distributed.checkpoint": "mt_distributed.checkpoint",
    "mindtorch.distributed.elastic": "mt_distributed.elastic",
    "mindtorch.distributed.fsdp": "mt_distributed.fsdp",
    "mindtorch.distributed.nn": "mt_distributed.nn",
    "mindtorch.distributed.optim": "mt_distributed.optim",
    "mindtorch.distributed.pipelining": "mt_distributed.pipelining",
    "mindtorch.distributed.rendezvous": "mt_distributed.rendezvous",
    "mindtorch.distributed.rpc": "mt_distributed.rpc",
    "mindtorch.distributed.tensor": "mt_distributed.tensor",
    "mindtorch.futures": "mt_core.futures",
    "mindtorch.library": "mt_library",
    "mindtorch.multiprocessing.reductions": "mindtorch._storage_references",
    "mindtorch.multiprocessing.spawn": "mindtorch.multiprocessing",
    "mindtorch.nn": "mt_nn",
    "mindtorch.nn.parallel.distributed": "mt_distributed.data_parallel",
    "mindtorch.optim": "mt_nn.optim",
    "mindtorch.random": "mt_core.random",
    "mindtorch.return_types": "mt_core.return_types",
    "mindtorch.serialization": "mt_core.serialization",
    "mindtorch.signal.windows.windows": "mindtorch.signal.windows",
    "mindtorch.utils._pytree": "mt_core.pytree",
    "mindtorch.utils.checkpoint": "mt_autograd.checkpoint",
    "mindtorch.utils.data": "mt_nn.data",
    "mindtorch.utils.hooks": "mt_core.hooks",
}


@functools.cache
def home_of(name: str) -> str:
    """The name of the module that a dotted name means: ``mt_nn.functional`` for ``torch.nn.functional``."""
    prefix = name
    while prefix:
        home = HOMES.get(prefix)
        if home is not None:
            return home_of(home + name[len(prefix) :])
        prefix = prefix.rpartition(".")[0]
    return name


def _is_device(home: str) -> bool:
    """Whether a name is that of a third party's device type, ``mindtorch.npu``, whose module is made, not found."""
    package, _, name = home.rpartition(".")
    return package == "mindtorch" and sys.modules[package]._module_of_device(name) is not None


class AliasLoader(Loader):
    """Gives the import system a module that lives under another name."""

    def __init__(self, home: str) -> None:
        self.home = home
        self.spec: ModuleSpec | None = None

    def get_code(self, fullname: str) -> CodeType | None:
        """The code of the module, for ``python -m torch.distributed.run``."""
        spec = importlib.util.find_spec(self.home)
        return None if spec is None or spec.loader is None else spec.loader.get_code(self.home)  # type: ignore[attr-defined]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module itself, imported now if it was not yet."""
        module = sys.modules.get(self.home) or importlib.import_module(self.home)
        self.spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its own spec back, which the import system has replaced by that of the alias."""
        module.__spec__ = self.spec


class _KeepsFunctions(ModuleType):
    """A package in which a function is not replaced by the module of its name, when that is imported as an alias."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (isinstance(value, ModuleType) and isinstance(vars(self).get(name), FunctionType)):
            super().__setattr__(name, value)


def _keep_function(module: str) -> None:
    """Keep what the package of a module has under the module's name, if it is a function."""
    package, _, name = module.rpartition(".")
    parent = sys.modules.get(package)
    if parent is not None and type(parent) is ModuleType and isinstance(vars(parent).get(name), FunctionType):
        parent.__class__ = _KeepsFunctions


class AliasFinder(MetaPathFinder):
    """Finds every name that `HOMES` sends elsewhere, those below ``torch`` only while ``torch`` is mindtorch."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of an alias; None for names that mean themselves and for modules that do not exist."""
        top = fullname.partition(".")[0]
        if top not in ("mindtorch", "torch") or fullname == top:
            return None
        if top == "torch" and sys.modules.get("torch") is not sys.modules.get("mindtorch"):
            return None
        home = home_of(fullname)
        if _is_device(home):
            return ModuleSpec(fullname, AliasLoader(home), is_package=True)
        own_spec = importlib.util.find_spec(home) if home != fullname else None
        if own_spec is None:
            return None
        _keep_function(home)
        _keep_function(fullname)
        is_package = own_spec.submodule_search_locations is not None
        return ModuleSpec(fullname, AliasLoader(home), origin=own_spec.origin, is_package=is_package)


class TorchFinder(MetaPathFinder):
    """Finds ``torch`` where no other finder does: pickles name it, PyTorch's and our own."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of mindtorch under the name ``torch``; None for every other name."""
        return ModuleSpec(fullname, AliasLoader("mindtorch"), is_package=True) if fullname == "torch" else None


def install() -> None:
    """Put an `AliasFinder` first among the finders of this process, once."""
    if not any(isinstance(finder, AliasFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, AliasFinder())


def install_torch() -> None:
    """Let ``torch`` be found here if it is nowhere else, once."""
    if not any(isinstance(finder, TorchFinder) for finder in sys.meta_path):
        sys.meta_path.append(TorchFinder())
