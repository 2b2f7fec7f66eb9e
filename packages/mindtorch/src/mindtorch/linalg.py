"""``torch.linalg``: linear algebra."""

from mt_core.errors import LinAlgError as LinAlgError

from ._operator_module import operator_module

__getattr__, __dir__ = operator_module(__name__, "linalg_")
