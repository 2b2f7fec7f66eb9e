"""``torch.distributions.lkj_cholesky``: Cholesky factors of random correlation matrices."""

from __future__ import annotations

import math
from typing import Any

import mt_core as mt
from mt_core import Size, Tensor

from ..types import _Number, _size
from . import constraints
from .beta import Beta
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices, of density det(matrix) ** (concentration - 1) of the matrix.

    D. Lewandowski, D. Kurowicka and H. Joe, "Generating random correlation matrices based on vines and extended onion
    method" (2009), section 3.

    Parameters
    ----------
    dim
        How many rows and columns, at least 2.
    concentration
        1 for a uniform density, above for matrices near the identity.
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _parameters = {"concentration": 0}

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        batch_shape = Size() if isinstance(concentration, _Number) else self.concentration.size()
        # Each row, the squared length of what is below the diagonal.
        marginal = self.concentration + 0.5 * (self.dim - 2)
        offset = mt.arange(self.dim - 1, dtype=self.concentration.dtype, device=self.concentration.device)
        offset = mt.cat([offset.new_zeros((1,)), offset])
        self._beta = Beta(offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset)
        super().__init__(batch_shape, Size((dim, dim)), validate_args=validate_args)

    def _expand_rest(self, made: Any, batch_shape: Size) -> None:
        made.dim = self.dim
        made._beta = self._beta.expand(batch_shape + (self.dim,))

    def sample(self, sample_shape: _size = ()) -> Tensor:
        """Draws by the onion method: each row is a length and a point of a sphere."""
        lengths = self._beta.sample(sample_shape).unsqueeze(-1)
        points = mt.randn(self._extended_shape(sample_shape), dtype=lengths.dtype, device=lengths.device).tril(-1)
        points = points / points.norm(dim=-1, keepdim=True)
        points[..., 0, :].fill_(0.0)
        w = mt.sqrt(lengths) * points
        left = mt.clamp(1 - mt.sum(w**2, dim=-1), min=mt.finfo(w.dtype).tiny).sqrt()
        return w + mt.diag_embed(left)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = mt.arange(2, self.dim + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        unnormalized = mt.sum(order * diagonal.log(), dim=-1)
        below = self.dim - 1
        alpha = self.concentration + 0.5 * below
        normalizer = 0.5 * below * math.log(math.pi) + mt.mvlgamma(alpha - 0.5, below) - mt.lgamma(alpha) * below
        return unnormalized - normalizer
