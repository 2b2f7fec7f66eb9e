"""``torch._functorch``: what libraries reach of the insides of ``torch.func``, and the older names of it.

The transforms themselves are in `mt_core.transforms` and `mt_autograd.func`; the settings are those of what checks
custom operators.
"""

from .._lazy import lazy_submodules

__getattr__, __dir__ = lazy_submodules(
    __name__,
    "aot_autograd apis autograd_function compilers config deprecated eager_transforms functional_call make_functional "
    "partitioners vmap",
)
