"""``torch._C._nn``: where pickles and functions say that operators of ``torch.nn.functional`` are."""

from .._operator_module import operators_of

__getattr__, __dir__ = operators_of(__name__, "torch._C._nn")
