"""Divergences of distributions of two classes: the cross entropy of q, less the entropy of p."""

from __future__ import annotations

import math
from typing import Any

import mt_core as mt
from mt_core import Tensor

from ..bernoulli import Bernoulli
from ..beta import Beta
from ..continuous_bernoulli import ContinuousBernoulli
from ..exponential import Exponential
from ..gamma import Gamma
from ..gumbel import Gumbel
from ..laplace import Laplace
from ..normal import Normal
from ..pareto import Pareto
from ..poisson import Poisson
from ..uniform import Uniform
from ..utils import euler_constant
from .elements import infinite_where, x_log_x
from .registry import register_kl

__all__: list[str] = []


# From beta and continuous Bernoulli numbers


@register_kl(Beta, ContinuousBernoulli)
def _kl_beta_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    return -p.entropy() - p.mean * q.logits - mt.log1p(-q.probs) - q._cont_bern_log_norm()


@register_kl(Beta, Exponential)
def _kl_beta_exponential(p: Any, q: Any) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(Beta, Gamma)
def _kl_beta_gamma(p: Any, q: Any) -> Tensor:
    mean_log = p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    normalizer = q.concentration.lgamma() - q.concentration * q.rate.log()
    return -p.entropy() + normalizer - (q.concentration - 1) * mean_log + q.rate * p.mean


@register_kl(Beta, Normal)
def _kl_beta_normal(p: Any, q: Any) -> Tensor:
    variance = q.scale.pow(2)
    second_moment = p.variance + p.mean.pow(2)
    off = second_moment * 0.5 - q.loc * p.mean + q.loc.pow(2) * 0.5
    return -p.entropy() + 0.5 * (variance * 2 * math.pi).log() + off / variance


@register_kl(Beta, Uniform)
def _kl_beta_uniform(p: Any, q: Any) -> Tensor:
    result = -p.entropy() + (q.high - q.low).log()
    return infinite_where(result, (q.low > p.support.lower_bound) | (q.high < p.support.upper_bound))


@register_kl(ContinuousBernoulli, Exponential)
def _kl_continuous_bernoulli_exponential(p: Any, q: Any) -> Tensor:
    return -p.entropy() - mt.log(q.rate) + q.rate * p.mean


@register_kl(ContinuousBernoulli, Normal)
def _kl_continuous_bernoulli_normal(p: Any, q: Any) -> Tensor:
    normalizer = 0.5 * (math.log(2.0 * math.pi) + mt.square(q.loc / q.scale)) + mt.log(q.scale)
    off = (p.variance + mt.square(p.mean) - 2.0 * q.loc * p.mean) / (2.0 * mt.square(q.scale))
    return -p.entropy() + normalizer + off


@register_kl(ContinuousBernoulli, Uniform)
def _kl_continuous_bernoulli_uniform(p: Any, q: Any) -> Tensor:
    result = -p.entropy() + (q.high - q.low).log()
    outside = mt.max(mt.ge(q.low, p.support.lower_bound), mt.le(q.high, p.support.upper_bound))
    return mt.where(outside, mt.ones_like(result) * math.inf, result)


# From exponential and gamma numbers


@register_kl(Exponential, Gamma)
def _kl_exponential_gamma(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    return (
        -q.concentration * mt.log(ratio)
        + ratio
        + q.concentration.lgamma()
        + q.concentration * euler_constant
        - (1 + euler_constant)
    )


@register_kl(Exponential, Gumbel)
def _kl_exponential_gumbel(p: Any, q: Any) -> Tensor:
    product, loc = p.rate * q.scale, q.loc / q.scale
    return product.log() - 1 - loc + mt.exp(loc) * product / (product + 1) + product.reciprocal()


@register_kl(Exponential, Normal)
def _kl_exponential_normal(p: Any, q: Any) -> Tensor:
    variance, rate_squared = q.scale.pow(2), p.rate.pow(2)
    normalizer = 0.5 * mt.log(rate_squared * variance * 2 * math.pi)
    off = rate_squared.reciprocal() - q.loc / p.rate + q.loc.pow(2) * 0.5
    return normalizer - 1 + off / variance


@register_kl(Gamma, Exponential)
def _kl_gamma_exponential(p: Any, q: Any) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.concentration / p.rate


@register_kl(Gamma, Gumbel)
def _kl_gamma_gumbel(p: Any, q: Any) -> Tensor:
    product, loc = p.rate * q.scale, q.loc / q.scale
    entropy = (p.concentration - 1) * p.concentration.digamma() - p.concentration.lgamma() - p.concentration
    means = mt.exp(loc) * (1 + product.reciprocal()).pow(-p.concentration) - loc
    return entropy + product.log() + p.concentration / product + means


@register_kl(Gamma, Normal)
def _kl_gamma_normal(p: Any, q: Any) -> Tensor:
    variance, rate_squared = q.scale.pow(2), p.rate.pow(2)
    normalizer = 0.5 * mt.log(rate_squared * variance * 2 * math.pi) - p.concentration - p.concentration.lgamma()
    off = (
        0.5 * (p.concentration.pow(2) + p.concentration) / rate_squared
        - q.loc * p.concentration / p.rate
        + 0.5 * q.loc.pow(2)
    )
    return normalizer + (p.concentration - 1) * p.concentration.digamma() + off / variance


# From Gumbel, Laplace and normal numbers


@register_kl(Gumbel, Normal)
def _kl_gumbel_normal(p: Any, q: Any) -> Tensor:
    ratio = p.scale / q.scale
    variances = (math.pi * ratio * 0.5).pow(2) / 3
    off = ((p.loc + p.scale * euler_constant - q.loc) / q.scale).pow(2) * 0.5
    return -(ratio / math.sqrt(2 * math.pi)).log() + variances + off - (euler_constant + 1)


@register_kl(Laplace, Normal)
def _kl_laplace_normal(p: Any, q: Any) -> Tensor:
    variance = q.scale.pow(2)
    ratio = p.scale.pow(2) / variance
    off = 0.5 * p.loc.pow(2) - p.loc * q.loc + 0.5 * q.loc.pow(2)
    return -0.5 * mt.log(2 * ratio / math.pi) + ratio + off / variance - 1


@register_kl(Normal, Gumbel)
def _kl_normal_gumbel(p: Any, q: Any) -> Tensor:
    mean, variance, loc = p.loc / q.scale, (p.scale / q.scale).pow(2), q.loc / q.scale
    means = mt.exp(-mean + 0.5 * variance + loc)
    return -variance.log() * 0.5 + mean - loc + means - (0.5 * (1 + math.log(2 * math.pi)))


@register_kl(Normal, Laplace)
def _kl_normal_laplace(p: Any, q: Any) -> Tensor:
    off = p.loc - q.loc
    steps = off / p.scale
    near = math.sqrt(2 / math.pi) * p.scale * mt.exp(-0.5 * steps.pow(2))
    far = off * mt.erf(math.sqrt(0.5) * steps)
    return -mt.log(p.scale / q.scale) + (near + far) / q.scale - (0.5 * (1 + math.log(0.5 * math.pi)))


# From Pareto numbers


@register_kl(Pareto, Exponential)
def _kl_pareto_exponential(p: Any, q: Any) -> Tensor:
    product = p.scale * q.rate
    mean = p.alpha * product / (p.alpha - 1)
    return infinite_where((p.alpha / product).log() - p.alpha.reciprocal() + mean - 1, p.alpha <= 1)


@register_kl(Pareto, Gamma)
def _kl_pareto_gamma(p: Any, q: Any) -> Tensor:
    mean_log = p.scale.log() + p.alpha.reciprocal()
    normalizer = q.concentration.lgamma() - q.concentration * q.rate.log()
    mean = q.rate * p.alpha * p.scale / (p.alpha - 1)
    result = p.alpha.log() - mean_log + normalizer + (1 - q.concentration) * mean_log + mean - 1
    return infinite_where(result, p.alpha <= 1)


@register_kl(Pareto, Normal)
def _kl_pareto_normal(p: Any, q: Any) -> Tensor:
    share = p.scale / (p.alpha - 1)
    normalizer = (math.sqrt(2 * math.pi) * q.scale * p.alpha / p.scale).log()
    variance = p.alpha * share.pow(2) / (p.alpha - 2)
    off = (p.alpha * share - q.loc).pow(2)
    result = normalizer - p.alpha.reciprocal() + (variance + off) / (2 * q.scale.pow(2)) - 1
    return infinite_where(result, p.alpha <= 2)


# From uniform numbers


def _mean_log(low: Tensor, high: Tensor) -> Tensor:
    """The mean of the logarithm of uniform numbers."""
    width = high - low
    return (x_log_x(high) - x_log_x(low) - width) / width


@register_kl(Uniform, Beta)
def _kl_uniform_beta(p: Any, q: Any) -> Tensor:
    normalizer = q.concentration1.lgamma() + q.concentration0.lgamma() - (q.concentration1 + q.concentration0).lgamma()
    result = (
        normalizer
        - mt.log(p.high - p.low)
        - (q.concentration1 - 1) * _mean_log(p.low, p.high)
        - (q.concentration0 - 1) * _mean_log(1 - p.high, 1 - p.low)
    )
    return infinite_where(result, (p.high > q.support.upper_bound) | (p.low < q.support.lower_bound))


@register_kl(Uniform, ContinuousBernoulli)
def _kl_uniform_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    result = -p.entropy() - p.mean * q.logits - mt.log1p(-q.probs) - q._cont_bern_log_norm()
    outside = mt.max(mt.ge(p.high, q.support.upper_bound), mt.le(p.low, q.support.lower_bound))
    return mt.where(outside, mt.ones_like(result) * math.inf, result)


@register_kl(Uniform, Exponential)
def _kl_uniform_exponetial(p: Any, q: Any) -> Tensor:
    result = q.rate * (p.high + p.low) / 2 - ((p.high - p.low) * q.rate).log()
    return infinite_where(result, p.low < q.support.lower_bound)


@register_kl(Uniform, Gamma)
def _kl_uniform_gamma(p: Any, q: Any) -> Tensor:
    normalizer = q.concentration.lgamma() - q.concentration * q.rate.log()
    result = (
        -(p.high - p.low).log()
        + normalizer
        + (1 - q.concentration) * _mean_log(p.low, p.high)
        + q.rate * (p.high + p.low) / 2
    )
    return infinite_where(result, p.low < q.support.lower_bound)


@register_kl(Uniform, Gumbel)
def _kl_uniform_gumbel(p: Any, q: Any) -> Tensor:
    share = q.scale / (p.high - p.low)
    high, low = (p.high - q.loc) / q.scale, (p.low - q.loc) / q.scale
    return share.log() + 0.5 * (high + low) - share * (mt.exp(-high) - mt.exp(-low))


@register_kl(Uniform, Normal)
def _kl_uniform_normal(p: Any, q: Any) -> Tensor:
    width = p.high - p.low
    off = ((p.high + p.low - 2 * q.loc) / 2).pow(2)
    normalizer = (math.sqrt(math.pi * 2) * q.scale / width).log()
    return normalizer + 0.5 * (width.pow(2) / 12 + off) / q.scale.pow(2)


@register_kl(Uniform, Pareto)
def _kl_uniform_pareto(p: Any, q: Any) -> Tensor:
    normalizer = (q.alpha * q.scale.pow(q.alpha) * (p.high - p.low)).log()
    result = _mean_log(p.low, p.high) * (q.alpha + 1) - normalizer
    return infinite_where(result, p.low < q.support.lower_bound)


# Counts


@register_kl(Bernoulli, Poisson)
def _kl_bernoulli_poisson(p: Any, q: Any) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)
