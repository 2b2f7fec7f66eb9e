"""What the public names of ``torch`` say of themselves, and which of them have real annotations."""

from __future__ import annotations

import importlib
import inspect
import types
from typing import Any

__all__ = ["described"]

MODULES = """
    torch torch._C torch.amp torch.autograd torch.autograd.forward_ad torch.autograd.function torch.autograd.functional
    torch.autograd.grad_mode torch.autograd.gradcheck torch.autograd.graph torch.backends torch.backends.cuda
    torch.backends.cudnn torch.compiler torch.distributed torch.distributions.constraints torch.fft torch.functional
    torch.hub torch.library torch.linalg torch.masked torch.multiprocessing torch.nn torch.nn.functional torch.nn.init
    torch.nn.modules torch.nn.parallel torch.nn.parameter torch.nn.utils torch.nn.utils.parametrizations
    torch.nn.utils.parametrize torch.nn.utils.prune torch.nn.utils.rnn torch.nn.utils.stateless torch.optim
    torch.optim.lr_scheduler torch.optim.swa_utils torch.overrides torch.random torch.serialization
    torch.signal.windows torch.special torch.storage torch.testing torch.torch_version torch.utils torch.utils._pytree
    torch.utils.checkpoint torch.utils.data torch.utils.dlpack torch.utils.hooks
""".split()


def _is_own(value: Any) -> bool:
    """Whether a class or function of a module is one of the library's."""
    if isinstance(value, types.ModuleType) or not callable(value) or not hasattr(value, "__qualname__"):
        return False
    return str(getattr(value, "__module__", "")).partition(".")[0] in ("torch", "mindtorch", "mt_core", "mt_nn")


def _annotations(value: Any) -> str:
    """``real`` where a function in Python has annotations and none of them is a text; ``text`` where one is."""
    if not isinstance(value, types.FunctionType):
        return ""
    given = list(inspect.get_annotations(value).values())
    return "" if not given else "text" if any(isinstance(annotation, str) for annotation in given) else "real"


def _described(owner: Any, name: str) -> list[str] | None:
    value = getattr(owner, name, None)
    if not _is_own(value):
        return None
    return [value.__module__, value.__qualname__, _annotations(value)]


def described() -> dict[str, dict[str, list[str]]]:
    """Module -> public name -> module, qualified name and annotations of what has that name."""
    found: dict[str, dict[str, list[str]]] = {}
    for path in MODULES:
        module = importlib.import_module(path)
        names = [name for name in dir(module) if not name.startswith("_")]
        facts = {name: _described(module, name) for name in names}
        found[path] = {name: fact for name, fact in facts.items() if fact is not None}
    methods = {name: getattr(importlib.import_module("torch").Tensor, name, None) for name in TENSOR_METHODS}
    found["torch.Tensor"] = {name: ["", method.__qualname__, ""] for name, method in methods.items() if method}
    return found


TENSOR_METHODS = """
    __add__ __bool__ __contains__ __deepcopy__ __eq__ __floordiv__ __getitem__ __hash__ __iter__ __len__ __matmul__
    __rsub__ __setitem__ abs add_ apply_ backward bool cpu detach dim float item istft lu ndimension nelement norm numel
    numpy register_hook requires_grad_ size split stft storage storage_type stride sum to tolist type unflatten unique
    untyped_storage view
""".split()
