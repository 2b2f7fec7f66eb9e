"""``torch.masked``: reductions and normalizations over the elements that a mask selects."""

from . import _ops as _ops
from ._ops import _canonical_dim as _canonical_dim
from ._ops import _combine_input_and_mask as _combine_input_and_mask
from ._ops import _input_mask as _input_mask
from ._ops import _output_mask as _output_mask
from ._ops import amax as amax
from ._ops import amin as amin
from ._ops import argmax as argmax
from ._ops import argmin as argmin
from ._ops import cumprod as cumprod
from ._ops import cumsum as cumsum
from ._ops import log_softmax as log_softmax
from ._ops import logaddexp as logaddexp
from ._ops import logsumexp as logsumexp
from ._ops import mean as mean
from ._ops import median as median
from ._ops import norm as norm
from ._ops import normalize as normalize
from ._ops import prod as prod
from ._ops import softmax as softmax
from ._ops import softmin as softmin
from ._ops import std as std
from ._ops import sum as sum
from ._ops import var as var
from .maskedtensor import MaskedTensor as MaskedTensor
from .maskedtensor import as_masked_tensor as as_masked_tensor
from .maskedtensor import is_masked_tensor as is_masked_tensor
from .maskedtensor import masked_tensor as masked_tensor

__all__ = [
    "MaskedTensor",
    "amax",
    "amin",
    "argmax",
    "argmin",
    "as_masked_tensor",
    "cumprod",
    "cumsum",
    "is_masked_tensor",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "masked_tensor",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]
