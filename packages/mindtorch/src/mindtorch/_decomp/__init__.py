"""``torch._decomp``: operators written in other operators, by operator."""

from mt_library.decompositions import core_aten_decompositions as core_aten_decompositions
from mt_library.decompositions import decomposition_table as decomposition_table
from mt_library.decompositions import get_decompositions as get_decompositions
from mt_library.decompositions import global_decomposition_table as global_decomposition_table
from mt_library.decompositions import meta_table as meta_table
from mt_library.decompositions import pre_autograd_decomposition_table as pre_autograd_decomposition_table
from mt_library.decompositions import register_decomposition as register_decomposition
from mt_library.decompositions import remove_decompositions as remove_decompositions

__all__ = [
    "core_aten_decompositions", "decomposition_table", "get_decompositions", "register_decomposition",
    "remove_decompositions",
]  # fmt: skip
