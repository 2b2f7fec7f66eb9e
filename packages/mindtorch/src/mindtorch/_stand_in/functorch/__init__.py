"""What ``import functorch`` finds when mindtorch stands in for PyTorch: the names that preceded ``torch.func``."""

from typing import Any

import mindtorch
from mindtorch._functorch.deprecated import combine_state_for_ensemble as combine_state_for_ensemble
from mindtorch._functorch.deprecated import functionalize as functionalize
from mindtorch._functorch.deprecated import grad as grad
from mindtorch._functorch.deprecated import grad_and_value as grad_and_value
from mindtorch._functorch.deprecated import hessian as hessian
from mindtorch._functorch.deprecated import jacfwd as jacfwd
from mindtorch._functorch.deprecated import jacrev as jacrev
from mindtorch._functorch.deprecated import jvp as jvp
from mindtorch._functorch.deprecated import make_functional as make_functional
from mindtorch._functorch.deprecated import make_functional_with_buffers as make_functional_with_buffers
from mindtorch._functorch.deprecated import vjp as vjp
from mindtorch._functorch.deprecated import vmap as vmap
from mindtorch._functorch.make_functional import FunctionalModule as FunctionalModule
from mindtorch._functorch.make_functional import FunctionalModuleWithBuffers as FunctionalModuleWithBuffers

__version__ = mindtorch.__version__


def __getattr__(name: str) -> Any:
    if name != "make_fx":
        raise AttributeError(f"module 'functorch' has no attribute '{name}'")
    from mindtorch.fx.experimental.proxy_tensor import make_fx  # lazy: few who map or differentiate trace

    return make_fx
