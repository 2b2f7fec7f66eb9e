"""Operators that come as two-phase aclnn packages, as functions on tensors: `aclnn_op`."""

from .arguments import formatted, scalar
from .operators import AclnnOperator, aclnn_op

__all__ = ["AclnnOperator", "aclnn_op", "formatted", "scalar"]
