"""``torch._C._special``: where pickles and functions say that operators of ``torch.special`` are."""

from .._operator_module import operators_of

__getattr__, __dir__ = operators_of(__name__, "torch.special")
