"""``torch.func``: transforms of functions, by levels that record each for itself (`mt_core.transforms`)."""

from .directions import hessian as hessian
from .directions import jacfwd as jacfwd
from .directions import jvp as jvp
from .directions import linearize as linearize
from .gradients import grad as grad
from .gradients import grad_and_value as grad_and_value
from .gradients import vjp as vjp
from .jacobians import jacrev as jacrev
from .levels import debug_unwrap as debug_unwrap

__all__ = ["debug_unwrap", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp"]
