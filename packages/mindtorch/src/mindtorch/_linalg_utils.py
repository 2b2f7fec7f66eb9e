"""``torch._linalg_utils``: where PyTorch keeps the functions of linear algebra that it has removed."""

from mt_core.functional_removed import eig as eig
from mt_core.functional_removed import lstsq as lstsq
from mt_core.functional_removed import matrix_rank as matrix_rank
from mt_core.functional_removed import solve as solve
from mt_core.functional_removed import symeig as symeig

__all__ = ["eig", "lstsq", "matrix_rank", "solve", "symeig"]
