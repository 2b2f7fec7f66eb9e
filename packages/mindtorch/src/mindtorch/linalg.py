"""``torch.linalg``: linear algebra."""

from ._operator_module import operator_module

__getattr__, __dir__ = operator_module(__name__, "linalg_")
