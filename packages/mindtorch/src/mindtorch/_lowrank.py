"""``torch._lowrank``: where PyTorch keeps factorizations of low rank."""

from mt_core.functional_linalg import get_lowrank_basis as get_lowrank_basis
from mt_core.functional_linalg import pca_lowrank as pca_lowrank
from mt_core.functional_linalg import svd_lowrank as svd_lowrank

__all__ = ["get_lowrank_basis", "pca_lowrank", "svd_lowrank"]
