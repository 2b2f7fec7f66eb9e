"""``torch.func``: functions of functions. See `mt_autograd.func` and `mt_nn.func`."""

from mt_autograd.func import debug_unwrap as debug_unwrap
from mt_autograd.func import grad as grad
from mt_autograd.func import grad_and_value as grad_and_value
from mt_autograd.func import hessian as hessian
from mt_autograd.func import jacfwd as jacfwd
from mt_autograd.func import jacrev as jacrev
from mt_autograd.func import jvp as jvp
from mt_autograd.func import linearize as linearize
from mt_autograd.func import vjp as vjp
from mt_core.functionalization.transform import functionalize as functionalize
from mt_core.transforms.vmapping import vmap as vmap
from mt_nn.func import functional_call as functional_call
from mt_nn.func import replace_all_batch_norm_modules_ as replace_all_batch_norm_modules_
from mt_nn.func import stack_module_state as stack_module_state

from ._functorch.rearrange import rearrange as rearrange

__all__ = [
    "debug_unwrap", "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp",
    "linearize", "rearrange", "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap",
]  # fmt: skip
