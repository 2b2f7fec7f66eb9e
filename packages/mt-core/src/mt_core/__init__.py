"""The core of mindtorch: tensors, operators and their dispatch, without any backend's arithmetic."""

from __future__ import annotations

from . import _assemble as _assemble
from . import dtypes as _dtypes
from .api._functions import *  # noqa: F403 - the generated operators, listed in their __all__
from .autograd_state import (
    enable_grad as enable_grad,
)
from .autograd_state import (
    inference_mode as inference_mode,
)
from .autograd_state import (
    is_grad_enabled as is_grad_enabled,
)
from .autograd_state import (
    is_inference_mode_enabled as is_inference_mode_enabled,
)
from .autograd_state import (
    no_grad as no_grad,
)
from .autograd_state import (
    set_grad_enabled as set_grad_enabled,
)
from .construct import tensor as tensor
from .devices import device as device
from .dtypes import *  # noqa: F403
from .formats import *  # noqa: F403
from .functional import *  # type: ignore[no-redef]  # noqa: F403 - as PyTorch, over operators of the same name
from .functional_linalg import cdist as cdist  # type: ignore[assignment]  # over the operator of the name
from .functional_linalg import chain_matmul as chain_matmul  # type: ignore[assignment]  # over the operator of the name
from .functional_linalg import lu as lu
from .functional_linalg import norm as norm
from .functional_linalg import pca_lowrank as pca_lowrank
from .functional_linalg import svd_lowrank as svd_lowrank
from .quantized.tensors import per_channel_affine as per_channel_affine
from .quantized.tensors import per_channel_affine_float_qparams as per_channel_affine_float_qparams
from .quantized.tensors import per_channel_symmetric as per_channel_symmetric
from .quantized.tensors import per_tensor_affine as per_tensor_affine
from .quantized.tensors import per_tensor_symmetric as per_tensor_symmetric
from .quantized.tensors import qscheme as qscheme
from .random import Generator as Generator
from .random import default_generator as default_generator
from .random import manual_seed as manual_seed
from .size import Size as Size
from .tensor import Tensor as Tensor

# PyTorch's second names of dtypes.
half, float, double = _dtypes.float16, _dtypes.float32, _dtypes.float64
short, int, long = _dtypes.int16, _dtypes.int32, _dtypes.int64
chalf, cfloat, cdouble = _dtypes.complex32, _dtypes.complex64, _dtypes.complex128
