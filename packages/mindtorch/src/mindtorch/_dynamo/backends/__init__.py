"""``torch._dynamo.backends``: the backends of ``torch.compile``."""

from ..._lazy import lazy_submodules

__getattr__, __dir__ = lazy_submodules(__name__, "common registry")
