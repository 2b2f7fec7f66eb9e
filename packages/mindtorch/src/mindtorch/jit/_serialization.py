"""Archives of TorchScript, which are not supported."""

from __future__ import annotations

from .._unsupported import unsupported_function

__all__ = ["load", "save"]

load = unsupported_function(
    "torch.jit.load", "Archives of TorchScript hold code that nothing here runs. Save and load a state_dict instead."
)
save = unsupported_function(
    "torch.jit.save", "There is no TorchScript to be archived. Save the state_dict with torch.save."
)
