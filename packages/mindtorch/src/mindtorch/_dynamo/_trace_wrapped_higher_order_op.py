"""``torch._dynamo._trace_wrapped_higher_order_op``: a mode for indexing under ``vmap``, which is not supported yet."""

from .._unsupported import unsupported_class

__all__ = ["TransformGetItemToIndex"]

TransformGetItemToIndex = unsupported_class(
    "torch._dynamo._trace_wrapped_higher_order_op.TransformGetItemToIndex", "It is for use with torch.vmap."
)
