"""Divergences that are infinite, because q has no density somewhere that p has one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mt_core as mt
from mt_core import Tensor

from ..bernoulli import Bernoulli
from ..beta import Beta
from ..binomial import Binomial
from ..continuous_bernoulli import ContinuousBernoulli
from ..exponential import Exponential
from ..gamma import Gamma
from ..gumbel import Gumbel
from ..laplace import Laplace
from ..normal import Normal
from ..pareto import Pareto
from ..poisson import Poisson
from ..uniform import Uniform
from .registry import _Formula, register_kl

__all__: list[str] = []


def _infinite(of: Callable[[Any], Tensor]) -> _Formula:
    return lambda p, q: mt.full_like(of(p), math.inf)


_BOUNDED = (Beta, ContinuousBernoulli, Uniform)
_POSITIVE = (Exponential, Gamma)
_kl_normal_infinity = _infinite(lambda p: p.loc)
_kl_gumbel_infinity = _kl_laplace_infinity = _kl_normal_infinity
_kl_exponential_infinity = _infinite(lambda p: p.rate)
_kl_poisson_infinity = _kl_exponential_infinity
_kl_gamma_infinity = _infinite(lambda p: p.concentration)
_kl_pareto_infinity = _infinite(lambda p: p.scale)
_kl_beta_infinity = _infinite(lambda p: p.concentration1)
_kl_continuous_bernoulli_infinity = _infinite(lambda p: p.probs)

for _p, _formula, _qs in (
    (Normal, _kl_normal_infinity, (*_BOUNDED, *_POSITIVE, Pareto)),
    (Gumbel, _kl_gumbel_infinity, (*_BOUNDED, *_POSITIVE, Pareto)),
    (Laplace, _kl_laplace_infinity, (*_BOUNDED, *_POSITIVE, Pareto)),
    (Exponential, _kl_exponential_infinity, (*_BOUNDED, Pareto)),
    (Gamma, _kl_gamma_infinity, (*_BOUNDED, Pareto)),
    (Pareto, _kl_pareto_infinity, _BOUNDED),
    (Beta, _kl_beta_infinity, (Pareto,)),
    (ContinuousBernoulli, _kl_continuous_bernoulli_infinity, (Pareto,)),
    (Poisson, _kl_poisson_infinity, (Bernoulli, Binomial)),
):
    for _q in _qs:
        register_kl(_p, _q)(_formula)
