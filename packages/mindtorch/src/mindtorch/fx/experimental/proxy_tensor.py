"""``torch.fx.experimental.proxy_tensor``: graphs of operators, which are not made."""

from __future__ import annotations

from ..._unsupported import unsupported_function

__all__ = ["make_fx"]

make_fx = unsupported_function("torch.fx.experimental.proxy_tensor.make_fx", "torch.fx.symbolic_trace traces programs.")
