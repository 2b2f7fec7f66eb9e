"""Which names are public: those of the documented modules, and the members of the classes that users handle."""

from __future__ import annotations

import importlib
import inspect
import types
from typing import Any

__all__ = ["CLASSES", "INSTANCES", "MODULES", "kind_of", "public_names", "resolve"]

#: The modules that PyTorch's documentation has pages of.
MODULES = """
    torch torch.nn torch.nn.functional torch.nn.init torch.nn.parallel torch.nn.attention torch.nn.attention.bias
    torch.nn.utils torch.nn.utils.rnn torch.nn.utils.parametrize torch.nn.utils.parametrizations torch.nn.utils.prune
    torch.nn.utils.stateless
    torch.optim torch.optim.lr_scheduler torch.optim.swa_utils
    torch.linalg torch.fft torch.special torch.signal torch.signal.windows
    torch.autograd torch.autograd.functional torch.autograd.graph torch.autograd.forward_ad torch.autograd.function
    torch.autograd.grad_mode torch.autograd.gradcheck torch.autograd.profiler
    torch.func torch.library torch.amp torch.random torch.serialization torch.sparse torch.nested torch.masked
    torch.distributions torch.distributions.constraints torch.distributions.transforms torch.distributions.kl
    torch.testing torch.profiler torch.fx torch.fx.experimental torch.jit torch.export torch.compiler torch.futures
    torch.hub torch.onnx torch.package torch.monitor torch.quasirandom torch.types torch.storage torch.overrides
    torch.return_types torch.utils torch.utils.data torch.utils.data.distributed torch.utils.checkpoint
    torch.utils._pytree torch.utils.dlpack torch.utils.hooks torch.utils.benchmark torch.utils.flop_counter
    torch.utils.module_tracker
    torch.utils.cpp_extension torch.utils.mobile_optimizer
    torch.multiprocessing torch.distributed torch.backends torch.backends.cpu torch.backends.cuda
    torch.backends.cudnn torch.backends.mkldnn torch.backends.mkl torch.backends.mps torch.backends.openmp
    torch.backends.opt_einsum torch.accelerator torch.cpu torch.cuda torch.cuda.amp torch.mps
    torch.mtia torch.xpu
""".split()

#: Classes whose members are part of the surface -> what makes an instance.
INSTANCES = {
    "torch.Tensor": "f(3, 3)",
    "torch.nn.Module": "torch.nn.Linear(3, 2)",
    "torch.optim.Optimizer": "optimizer()",
    "torch.optim.lr_scheduler.LRScheduler": "torch.optim.lr_scheduler.StepLR(optimizer(), 2)",
    "torch.autograd.Function": "torch.autograd.Function",
    "torch.Generator": "torch.Generator()",
    "torch.Size": "torch.Size([2, 3])",
    "torch.device": "torch.device('cpu')",
    "torch.dtype": "torch.float32",
    "torch.finfo": "torch.finfo(torch.float32)",
    "torch.iinfo": "torch.iinfo(torch.int32)",
    "torch.UntypedStorage": "f(4).untyped_storage()",
    "torch.TypedStorage": "f(4).storage()",
    "torch.utils.data.DataLoader": "torch.utils.data.DataLoader([1, 2, 3])",
    "torch.distributions.Distribution": "torch.distributions.Normal(f(3), p(3))",
    "torch.fx.Graph": "torch.fx.symbolic_trace(torch.nn.ReLU()).graph",
    "torch.fx.Node": "list(torch.fx.symbolic_trace(torch.nn.ReLU()).graph.nodes)[1]",
}
CLASSES = tuple(INSTANCES)

#: Left over from how PyTorch is made: constants of its build, what a module imported, texts for documentation.
NOT_PUBLIC = set(
    """
    torch.PRIVATE_OPS torch.USE_GLOBAL_DEPS torch.USE_RTLD_GLOBAL_WITH_LIBTORCH torch.cpp torch.classes
    torch.nn.functional.BroadcastingList1 torch.nn.functional.BroadcastingList2 torch.nn.functional.BroadcastingList3
    torch.nn.functional.Tensor torch.nn.functional.GRID_SAMPLE_INTERPOLATION_MODES
    torch.nn.functional.GRID_SAMPLE_PADDING_MODES torch.nn.functional.assert_int_or_pair
    torch.nn.functional.reproducibility_notes torch.nn.functional.sparse_support_notes torch.nn.functional.tf32_notes
    torch.linalg.common_notes
    """.split()
)

#: What every class has, or what the interpreter puts there.
_PLAIN = set(dir(type("plain", (), {}))) | {
    "__annotations__",
    "__slots__",
    "__static_attributes__",
    "__firstlineno__",
    "__abstractmethods__",
}


def resolve(torch: types.ModuleType, path: str) -> Any:
    """What a dotted name means, modules imported on the way; AttributeError or ImportError where there is none."""
    found = torch
    for part in path.split(".")[1:]:
        if isinstance(found, types.ModuleType) and not hasattr(found, part):
            try:
                importlib.import_module(f"{found.__name__}.{part}")
            except ModuleNotFoundError as error:
                if error.name is not None and error.name.endswith(f".{part}"):
                    raise AttributeError(f"{found.__name__} has no {part}") from None
                raise
        found = getattr(found, part)
    return found


def public_names(path: str, owner: Any) -> list[str]:
    """The public names of a module or class of PyTorch, in order."""
    names = _members(owner) if inspect.isclass(owner) else _offered(owner)
    return sorted(name for name in names if f"{path}.{name}" not in NOT_PUBLIC and hasattr(owner, name))


def _members(owner: type) -> set[str]:
    special = {name for name in dir(owner) if name.startswith("__") and name.endswith("__")} - _PLAIN
    return special | {name for name in dir(owner) if not name.startswith("_")}


def _offered(module: types.ModuleType) -> set[str]:
    """What a module lists and its submodules; all that is its own for ``torch`` and where nothing is listed."""
    listed = {name for name in getattr(module, "__all__", ()) if not name.startswith("_")}
    below = {name for name, value in vars(module).items() if _is_below(module, name, value)}
    if listed and module.__name__ != "torch":
        return listed | below
    return listed | below | {name for name in dir(module) if not name.startswith("_") and _is_own(module, name)}


def _is_below(module: types.ModuleType, name: str, value: Any) -> bool:
    return (
        not name.startswith("_")
        and isinstance(value, types.ModuleType)
        and value.__name__ == f"{module.__name__}.{name}"
    )


def _is_own(module: types.ModuleType, name: str) -> bool:
    value = getattr(module, name)
    if isinstance(value, types.ModuleType):
        return False  # its own submodules are counted already
    if type(value).__module__.split(".")[0] == "typing":
        return False
    if not callable(value):
        return type(value).__module__.split(".")[0] in ("torch", "builtins") and name != "TYPE_CHECKING"
    home = getattr(value, "__module__", None) or "torch"
    if inspect.isbuiltin(value) and home.split(".")[0] == "torch":
        return True
    if module.__name__ == "torch":
        return home.split(".")[0] == "torch" and not any(part.startswith("_") for part in home.split(".")[1:])
    return home == module.__name__ or home.startswith(module.__name__ + ".")


def kind_of(value: Any) -> str:
    """``module``, ``class``, ``function`` (anything else that can be called) or ``value``."""
    if isinstance(value, types.ModuleType):
        return "module"
    if inspect.isclass(value):
        return "class"
    return "function" if callable(value) else "value"
