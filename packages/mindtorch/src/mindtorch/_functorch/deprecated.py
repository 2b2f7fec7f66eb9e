"""The names of ``functorch``, which warn that ``torch.func`` has them."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from mindtorch import func

from . import make_functional as _modules

__all__ = [
    "combine_state_for_ensemble", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp",
    "make_functional", "make_functional_with_buffers", "vjp", "vmap",
]  # fmt: skip


def _deprecated(function: Callable[..., Any], instead: str) -> Callable[..., Any]:
    name = function.__name__

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(
            "We've integrated functorch into PyTorch. As the final step of the integration, "
            f"`functorch.{name}` is deprecated as of PyTorch 2.0 and will be deleted in a future version of PyTorch "
            f">= 2.3. Please use `{instead}` instead; see the PyTorch 2.0 release notes and/or the `torch.func` "
            "migration guide for more details https://pytorch.org/docs/main/func.migrating.html",
            FutureWarning,
            stacklevel=2,
        )
        return function(*args, **kwargs)

    return called


vmap = _deprecated(func.vmap, "torch.vmap")
functionalize = _deprecated(func.functionalize, "torch.func.functionalize")
grad = _deprecated(func.grad, "torch.func.grad")
grad_and_value = _deprecated(func.grad_and_value, "torch.func.grad_and_value")
hessian = _deprecated(func.hessian, "torch.func.hessian")
jacfwd = _deprecated(func.jacfwd, "torch.func.jacfwd")
jacrev = _deprecated(func.jacrev, "torch.func.jacrev")
jvp = _deprecated(func.jvp, "torch.func.jvp")
vjp = _deprecated(func.vjp, "torch.func.vjp")
combine_state_for_ensemble = _deprecated(_modules.combine_state_for_ensemble, "torch.func.stack_module_state")
make_functional = _deprecated(_modules.make_functional, "torch.func.functional_call")
make_functional_with_buffers = _deprecated(_modules.make_functional_with_buffers, "torch.func.functional_call")
