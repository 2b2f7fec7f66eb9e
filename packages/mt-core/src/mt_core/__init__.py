"""The core of mindtorch: tensors, operators and their dispatch, without any backend's arithmetic."""

from __future__ import annotations

from .dispatch import dispatcher as _dispatcher
from .keys import AUTOGRAD as _AUTOGRAD
from .tensor import Tensor

_dispatcher.register_layer(_AUTOGRAD, "autograd")
from .api._functions import *  # noqa: E402, F403
