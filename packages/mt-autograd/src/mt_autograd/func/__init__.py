"""``torch.func``: transforms of functions, by levels that record each for itself (`mt_core.transforms`)."""

from .gradients import grad as grad
from .gradients import grad_and_value as grad_and_value
from .gradients import vjp as vjp
from .jacobians import jacrev as jacrev
from .levels import GradInterpreter as GradInterpreter
from .levels import debug_unwrap as debug_unwrap

__all__ = ["GradInterpreter", "debug_unwrap", "grad", "grad_and_value", "jacrev", "vjp"]
