"""``torch.nested``: tensors of several lengths are not supported; every function says so when it is called."""

from __future__ import annotations

from ._unsupported import unsupported_function

__all__ = [
    "as_nested_tensor", "masked_select", "narrow", "nested_tensor", "nested_tensor_from_jagged", "to_padded_tensor",
]  # fmt: skip

_REMEDY = "Pad the tensors with torch.nn.utils.rnn.pad_sequence, and give attention a mask."

as_nested_tensor = unsupported_function("torch.nested.as_nested_tensor", _REMEDY)
masked_select = unsupported_function("torch.nested.masked_select", _REMEDY)
narrow = unsupported_function("torch.nested.narrow", _REMEDY)
nested_tensor = unsupported_function("torch.nested.nested_tensor", _REMEDY)
nested_tensor_from_jagged = unsupported_function("torch.nested.nested_tensor_from_jagged", _REMEDY)
to_padded_tensor = unsupported_function("torch.nested.to_padded_tensor", _REMEDY)
