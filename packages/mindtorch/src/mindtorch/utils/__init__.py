"""``torch.utils``: what is loaded when it is first used."""

from .._lazy import lazy_submodules

__getattr__, __dir__ = lazy_submodules(
    __name__, "_contextlib _python_dispatch _pytree checkpoint collect_env data dlpack hooks"
)
