"""Divergences of multivariate normal distributions."""

from __future__ import annotations

from typing import Any

import mt_core as mt
from mt_core import Tensor

from ... import linalg
from .._matrices import (
    half_log_determinant,
    low_rank_log_determinant,
    low_rank_mahalanobis,
    mahalanobis,
    trace_of_product,
)
from ..lowrank_multivariate_normal import LowRankMultivariateNormal
from ..multivariate_normal import MultivariateNormal
from .registry import register_kl

__all__: list[str] = []


def _require_one_event_shape(p: Any, q: Any, what: str) -> None:
    if p.event_shape != q.event_shape:
        raise ValueError(f"KL-divergence between two {what} with different event shapes cannot be computed")


@register_kl(MultivariateNormal, MultivariateNormal)
def _kl_multivariatenormal_multivariatenormal(p: Any, q: Any) -> Tensor:
    _require_one_event_shape(p, q, "Multivariate Normals")
    tril_p, tril_q = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    log_dets = half_log_determinant(tril_q) - half_log_determinant(tril_p)
    trace = trace_of_product(linalg.solve_triangular(tril_q, tril_p, upper=False))
    lengths = mahalanobis(tril_q, q.loc - p.loc)
    return log_dets + 0.5 * (trace + lengths - p.event_shape[0])


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _kl_lowrankmultivariatenormal_lowrankmultivariatenormal(p: Any, q: Any) -> Tensor:
    _require_one_event_shape(p, q, "Low Rank Multivariate Normals")
    factor_p, diag_p = p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag
    factor_q, diag_q = q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag
    lengths = low_rank_mahalanobis(factor_q, diag_q, q.loc - p.loc, q._capacitance_tril)
    # The trace of the inverse covariances of q, by Woodbury's formula, times the covariances of p.
    scaled = factor_q.mT / diag_q.unsqueeze(-2)
    a = linalg.solve_triangular(q._capacitance_tril, scaled, upper=False)
    trace = (
        (diag_p / diag_q).sum(-1)
        + trace_of_product(factor_p * diag_q.rsqrt().unsqueeze(-1))
        - trace_of_product(a * diag_p.sqrt().unsqueeze(-2))
        - trace_of_product(a.matmul(factor_p))
    )
    return 0.5 * (_low_rank_log_det(q) - _low_rank_log_det(p) + trace + lengths - p.event_shape[0])


def _low_rank_log_det(d: Any) -> Tensor:
    return low_rank_log_determinant(d._unbroadcasted_cov_factor, d._unbroadcasted_cov_diag, d._capacitance_tril)


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _kl_multivariatenormal_lowrankmultivariatenormal(p: Any, q: Any) -> Tensor:
    _require_one_event_shape(p, q, "(Low Rank) Multivariate Normals")
    tril, factor, diag = p._unbroadcasted_scale_tril, q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag
    lengths = low_rank_mahalanobis(factor, diag, q.loc - p.loc, q._capacitance_tril)
    scaled = factor.mT / diag.unsqueeze(-2)
    a = linalg.solve_triangular(q._capacitance_tril, scaled, upper=False)
    trace = trace_of_product(tril * diag.rsqrt().unsqueeze(-1)) - trace_of_product(a.matmul(tril))
    log_dets = _low_rank_log_det(q) - 2 * half_log_determinant(tril)
    return 0.5 * (log_dets + trace + lengths - p.event_shape[0])


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _kl_lowrankmultivariatenormal_multivariatenormal(p: Any, q: Any) -> Tensor:
    _require_one_event_shape(p, q, "(Low Rank) Multivariate Normals")
    tril, factor, diag = q._unbroadcasted_scale_tril, p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag
    lengths = mahalanobis(tril, q.loc - p.loc)
    root = mt.diag_embed(diag.sqrt())
    trace = trace_of_product(linalg.solve_triangular(tril, factor, upper=False)) + trace_of_product(
        linalg.solve_triangular(tril, root, upper=False)
    )
    log_dets = 2 * half_log_determinant(tril) - _low_rank_log_det(p)
    return 0.5 * (log_dets + trace + lengths - p.event_shape[0])
