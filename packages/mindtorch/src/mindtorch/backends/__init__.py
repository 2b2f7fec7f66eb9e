"""``torch.backends``: which libraries PyTorch would compute with, and preferences for them.

Preferences for libraries that are absent can be set, as programs do without asking first, and have no effect.
"""

from .._lazy import lazy_submodules

__getattr__, __dir__ = lazy_submodules(
    __name__, "cpu cuda cudnn cusparselt kleidiai mha miopen mkl mkldnn mps nnpack openmp opt_einsum quantized"
)
