"""Derivatives of patterned matrices."""

from __future__ import annotations

from ..rules import derivative, forward_rule

derivative("tril", self=lambda grad, diagonal: grad.tril(diagonal))
derivative("triu", self=lambda grad, diagonal: grad.triu(diagonal))
derivative("diag_embed", self=lambda grad, offset, dim1, dim2: grad.diagonal(offset, dim1, dim2))

forward_rule("linear", "diag_embed", "tril", "triu")
