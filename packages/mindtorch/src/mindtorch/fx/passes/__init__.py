"""``torch.fx.passes``: what is done to graphs."""

from __future__ import annotations

from ..._lazy import lazy_submodules

__getattr__, __dir__ = lazy_submodules(
    __name__,
    "dialect fake_tensor_prop graph_drawer graph_manipulation infra operator_support pass_manager shape_prop "
    "split_module split_utils tools_common utils",
)
