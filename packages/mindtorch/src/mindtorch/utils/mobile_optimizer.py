"""``torch.utils.mobile_optimizer``: refused, as there is no interpreter for phones."""

from __future__ import annotations

from .._unsupported import unsupported_class, unsupported_function

__all__ = ["LintCode", "generate_mobile_module_lints", "optimize_for_mobile"]

_REMEDY = "Use torch.export."
LintCode = unsupported_class("torch.utils.mobile_optimizer.LintCode", _REMEDY)
generate_mobile_module_lints = unsupported_function(
    "torch.utils.mobile_optimizer.generate_mobile_module_lints", _REMEDY
)
optimize_for_mobile = unsupported_function("torch.utils.mobile_optimizer.optimize_for_mobile", _REMEDY)
