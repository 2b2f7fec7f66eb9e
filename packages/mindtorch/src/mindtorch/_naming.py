"""PyTorch's module names for classes and functions.

Libraries choose by ``type(x).__module__``: an array of ``torch`` is told from one of ``numpy``. And pickles name what
they are to call by it. So what a module of the house defines says that it is from the module where PyTorch has it, and
under that name it can be imported: PyTorch opens the pickles, and pickles of PyTorch open here. Only where PyTorch is
installed beside mindtorch, and mindtorch does not stand in for it, all keep the names of the house, for there
``torch`` means PyTorch.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import FunctionType, ModuleType
from typing import Any

from mt_core import Tensor, _assemble
from mt_core.api import _functions
from mt_core.process_hook import call_when_executed
from mt_core.torch_names import is_named, torch_name

from ._importer import HOMES

__all__ = ["NamingFinder", "gather", "install", "rename"]

_OURS = ("mindtorch", "mt_core", "mt_autograd", "mt_nn", "mt_library", "mt_distributed")
#: Our module -> PyTorch's, where files never name it and `HOMES` does not either.
_MODULES = {
    "mt_core.functional": "torch.functional",
    "mt_core.functional_einsum": "torch.functional",
    "mt_core.functional_linalg": "torch.functional",
    "mt_core.functional_removed": "torch._linalg_utils",
    "mt_core.construct": "torch",
    "mt_core.dtypes": "torch",
    "mt_core.formats": "torch",
    "mt_core.quantized.tensors": "torch",
    "mt_core.interop": "torch",
    "mt_core.serialization.loading": "torch.serialization",
    "mt_core.serialization.saving": "torch.serialization",
    "mt_core.tensor": "torch",
    "mt_autograd.api": "torch.autograd",
    "mt_distributed": "torch.distributed.distributed_c10d",
    "mt_distributed.errors": "torch.distributed",
    "mt_distributed.functional": "torch.distributed._functional_collectives",
    "mt_distributed.rendezvous": "torch.distributed.rendezvous",
    "mt_distributed.grad_bucket": "torch._C._distributed_c10d",
    "mt_distributed.stores.file_store": "torch._C._distributed_c10d",
    "mt_distributed.stores.hash_store": "torch._C._distributed_c10d",
    "mt_distributed.stores.tcp_store": "torch._C._distributed_c10d",
} | {home: name.replace("mindtorch", "torch", 1) for name, home in HOMES.items() if home != "mindtorch"}
#: Our packages that are one file in PyTorch: what they have from the modules below them is theirs.
_FILES = {
    "mindtorch.distributions.kl": "torch.distributions.kl",
    "mindtorch.distributions.transforms": "torch.distributions.transforms",
    "mt_distributed.distributed_c10d": "torch.distributed.distributed_c10d",
    "mt_core.pytree": "torch.utils._pytree",
    "mt_core.serialization": "torch.serialization",
    "mt_library": "torch.library",
}
#: PyTorch's module -> our modules, and what they define that lies elsewhere than its neighbours.
_ELSEWHERE = {
    "torch": {
        "mindtorch._higher_order_ops.cond": "cond",
        "mindtorch._predicates": "_assert",
        "mindtorch.amp.autocast_mode": """autocast_decrement_nesting autocast_increment_nesting clear_autocast_cache
            get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype get_autocast_ipu_dtype
            get_autocast_xla_dtype is_autocast_cache_enabled is_autocast_cpu_enabled is_autocast_enabled
            is_autocast_ipu_enabled is_autocast_xla_enabled set_autocast_cache_enabled set_autocast_cpu_dtype
            set_autocast_cpu_enabled set_autocast_dtype set_autocast_enabled set_autocast_gpu_dtype
            set_autocast_ipu_dtype set_autocast_ipu_enabled set_autocast_xla_dtype set_autocast_xla_enabled""",
        "mindtorch.testing._file_check": "FileCheck",
        "mindtorch._symbolic": """_sym_acos _sym_asin _sym_atan _sym_cos _sym_cosh _sym_log2 _sym_sin _sym_sinh
            _sym_sqrt _sym_tan _sym_tanh""",
        "mt_autograd.anomaly_mode": "is_anomaly_check_nan_enabled is_anomaly_enabled set_anomaly_enabled",
        "mt_core.autograd_state": "is_grad_enabled is_inference_mode_enabled",
        "mt_core.functional": "combinations nonzero",
        "mt_core.plugins.runtime_access": "AcceleratorError OutOfMemoryError",
        "mt_core.storage_tensors": "from_file",
        "mt_core.streams": "Event Stream",
        "mindtorch._C._schemas": "parse_schema",
        "mt_library.function_schema": "Argument FunctionSchema",
        "mt_library.schema_types": """AnyType AwaitType BoolType ComplexType DeviceObjType DictType FloatType FutureType
            IntType ListType NoneType NumberType OptionalType RRefType StreamObjType StringType SymBoolType SymIntType
            TensorType TupleType Type""",
        "mt_library.tags": "Tag",
    },
    "torch.multiprocessing": {
        "mindtorch.multiprocessing": "get_all_sharing_strategies get_sharing_strategy set_sharing_strategy",
    },
    "torch.distributed": {"mindtorch.distributed": "is_available"},
    "torch.distributed.tensor": {
        "mt_distributed.tensor._api": "DTensor distribute_module distribute_tensor",
        "mt_distributed.tensor.factories": "empty full ones rand randn zeros",
    },
    "torch.distributed.tensor._dtensor_spec": {"mt_distributed.tensor.spec": "DTensorSpec TensorMeta"},
    "torch._C": {
        "mt_core.errors": "_LinAlgError",
        "mt_core.storage": "StorageBase",
        "mt_core.overriding": "DisableTorchFunction DisableTorchFunctionSubclass",
    },
    "torch._lobpcg": {"mindtorch._lobpcg": "LOBPCG lobpcg"},
    "torch._lowrank": {"mt_core.functional_linalg": "get_lowrank_basis pca_lowrank svd_lowrank"},
    "torch.autograd.graph": {"mt_autograd.api": "GradientEdge get_gradient_edge"},
    "torch.func": {
        "mt_autograd.func.directions": "hessian jacfwd jvp linearize",
        "mt_autograd.func.gradients": "grad grad_and_value vjp",
        "mt_autograd.func.jacobians": "jacrev",
        "mt_autograd.func.levels": "debug_unwrap",
        "mt_core.transforms.vmapping": "vmap",
        "mindtorch._functorch.rearrange": "rearrange",
        "mt_nn.func": "functional_call replace_all_batch_norm_modules_ stack_module_state",
    },
    "torch.functional": {"mt_core.api._functions": "stft"},
    "torch.fx.graph": {"mindtorch.fx._codegen": "CodeGen PythonCode _PyTreeCodeGen _PyTreeInfo"},
    "torch.jit._trace": {"mindtorch.jit._tracer": "TracerWarning"},
    "torch.optim": {
        "mt_nn.optim._adafactor": "Adafactor",
        "mt_nn.optim._muon": "Muon",
        "mt_nn.optim._stateless": "swap_in_optimizer_params_and_state",
    },
    "torch.overrides": {
        "mt_core.overrides": """BaseTorchFunctionMode TorchFunctionMode handle_torch_function has_torch_function
            has_torch_function_unary has_torch_function_variadic""",
    },
    "torch.utils.backend_registration": {
        "mindtorch._privateuse1": "generate_methods_for_privateuse1_backend rename_privateuse1_backend",
    },
    "torch.utils": {"mt_core.swapping": "swap_tensors"},
    "torch.utils.dlpack": {"mt_core.interop": "from_dlpack"},
}  # fmt: skip
_APART = {
    (home, name): module
    for module, homes in _ELSEWHERE.items()
    for home, names in homes.items()
    for name in names.split()
}
#: Where PyTorch keeps the functions of an operator's namespace.
_OPERATORS = {"torch.fft": "torch._C._fft", "torch.linalg": "torch._C._linalg", "torch.special": "torch._C._special"}


_NAMED = (type, FunctionType, type(functools.cache(len)))


def rename(module: ModuleType) -> None:
    """Give a module's own public classes and functions, and what pickles call, PyTorch's module names."""
    home = module.__name__
    if module is _functions:
        _rename_operators()
    elif module is _assemble:
        _rename_members()
    for attribute, value in _defined_in(module):
        private = attribute[0] == "_" and (home, value.__qualname__) not in _APART
        if private and not is_named(home, value.__name__):
            continue
        name = _name_of(home, value.__qualname__)
        if name is not None:
            _rename_with_methods(value, name)


def gather(module: ModuleType) -> None:
    """Let a package that is one file in PyTorch have what it has from its own modules, once these are renamed."""
    file = _FILES.get(module.__name__)
    if file is not None:
        for attribute, value in list(vars(module).items()):
            if attribute[0] != "_" and isinstance(value, _NAMED) and value.__module__.startswith(file + "."):
                _rename_with_methods(value, file)


def _rename_and_gather(module: ModuleType) -> None:
    rename(module)
    gather(module)


def _defined_in(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """The classes and functions that say they are from a module, operators' functions apart."""
    if module is not _functions:
        for attribute, value in list(vars(module).items()):
            if isinstance(value, _NAMED) and value.__module__ in (module.__name__, "mindtorch"):
                yield attribute, value


def _rename_with_methods(value: Any, name: str) -> None:
    home, value.__module__ = value.__module__, name
    if isinstance(value, type):
        if home.startswith("mt_nn.") and home.rpartition(".")[2] == name.rpartition(".")[2]:
            # `typing.get_type_hints` looks annotations up in the module that a class names, and does not import it.
            sys.modules.setdefault(name, sys.modules[home])
        for member in vars(value).values():
            if isinstance(member, FunctionType) and member.__module__ == home:
                member.__module__ = name


def _rename_members() -> None:
    """Of a tensor's methods, those that PyTorch writes in Python are its class's, all others its base class's."""
    members = vars(Tensor)
    for attribute, member in members.items():
        if isinstance(member, FunctionType):
            name = member.__name__ if member.__name__ in members else attribute
            in_python = name in _assemble.IN_PYTHON
            member.__module__ = "torch._tensor" if in_python else "torch._C"
            member.__qualname__ = f"{'Tensor' if in_python else 'TensorBase'}.{name}"


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
            call_when_executed(spec.loader, _rename_and_gather)
        return spec


def install() -> None:
    """Rename what is loaded, and what will be; once in a process."""
    if any(isinstance(finder, NamingFinder) for finder in sys.meta_path):
        return
    loaded = [
        module
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] in _OURS and module is not None and module.__name__ == name
    ]
    for step in (rename, gather):
        for module in loaded:
            step(module)
    sys.meta_path.insert(0, NamingFinder())
