"""``torch.export``: not supported."""

from ._unsupported import unsupported_class, unsupported_function

__all__ = ["Dim", "ExportedProgram", "export", "load", "save"]

_REMEDY = "Programs run operator by operator, without a graph."

Dim = unsupported_class("torch.export.Dim", _REMEDY)
ExportedProgram = unsupported_class("torch.export.ExportedProgram", _REMEDY)

export = unsupported_function("torch.export.export", _REMEDY)
load = unsupported_function("torch.export.load", "Save the weights as a state_dict with torch.save, and load them so.")
save = unsupported_function("torch.export.save", "Save the state_dict with torch.save.")
