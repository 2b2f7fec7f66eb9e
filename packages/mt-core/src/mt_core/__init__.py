"""The core of mindtorch: tensors, operators and their dispatch, without any backend's arithmetic."""

from __future__ import annotations

from . import dtypes as _dtypes
from .dispatch import dispatcher as _dispatcher
from .keys import AUTOGRAD as _AUTOGRAD
from .keys import TORCH_FUNCTION as _TORCH_FUNCTION
from .tensor import Tensor as Tensor

_dispatcher.register_layer(_AUTOGRAD, "autograd")

from .overrides import FunctionLayer as _FunctionLayer  # noqa: E402

_dispatcher.register_layer(_TORCH_FUNCTION, _FunctionLayer())

from .api._functions import *  # noqa: E402, F403 - the generated operators, listed in their __all__
from .autograd_state import (  # noqa: E402
    enable_grad as enable_grad,
)
from .autograd_state import (  # noqa: E402
    inference_mode as inference_mode,
)
from .autograd_state import (  # noqa: E402
    is_grad_enabled as is_grad_enabled,
)
from .autograd_state import (  # noqa: E402
    is_inference_mode_enabled as is_inference_mode_enabled,
)
from .autograd_state import (  # noqa: E402
    no_grad as no_grad,
)
from .autograd_state import (  # noqa: E402
    set_grad_enabled as set_grad_enabled,
)
from .construct import tensor as tensor  # noqa: E402
from .devices import device as device  # noqa: E402
from .dtypes import *  # noqa: E402, F403
from .formats import *  # noqa: E402, F403
from .functional import *  # type: ignore[no-redef]  # noqa: E402, F403 - as PyTorch, over operators of the same name
from .functional_linalg import cdist as cdist  # type: ignore[assignment]  # noqa: E402 - over the operator of the name
from .functional_linalg import lu as lu  # noqa: E402
from .functional_linalg import pca_lowrank as pca_lowrank  # noqa: E402
from .functional_linalg import svd_lowrank as svd_lowrank  # noqa: E402
from .functional_norm import norm as norm  # noqa: E402
from .random import Generator as Generator  # noqa: E402
from .random import default_generator as default_generator  # noqa: E402
from .random import manual_seed as manual_seed  # noqa: E402
from .size import Size as Size  # noqa: E402

# PyTorch's second names of dtypes.
half, float, double = _dtypes.float16, _dtypes.float32, _dtypes.float64
short, int, long = _dtypes.int16, _dtypes.int32, _dtypes.int64
chalf, cfloat, cdouble = _dtypes.complex32, _dtypes.complex64, _dtypes.complex128
