"""``torch.jit``: what it decorates stays Python, and `trace` replays what a program did to tensors.

There is no compiler of TorchScript, and no graphs of its own. Marks can be read; `script` gives modules and functions
of PyTorch's classes that run the Python they were made of. `docs/jit.md` is about it. Archives are read, run and
written (`torchscript`, `docs/torchscript.md`).
"""

from typing import Any, Final, TypeVar

from mt_core.futures import Future

from .._jit_internal import _drop as _drop
from .._jit_internal import _isinstance as _isinstance
from .._jit_internal import _overload as _overload
from .._jit_internal import _overload_method as _overload_method
from .._jit_internal import export, ignore, is_scripting, unused
from .._unsupported import unsupported_class, unsupported_function
from . import _recursive as _recursive
from . import _state as _state
from . import annotations as annotations
from ._async import fork, wait
from ._freeze import freeze, optimize_for_inference
from ._fuser import enable_onednn_fusion as enable_onednn_fusion
from ._fuser import fuser as fuser
from ._fuser import onednn_fusion_enabled as onednn_fusion_enabled
from ._fuser import optimized_execution as optimized_execution
from ._fuser import set_fusion_strategy as set_fusion_strategy
from ._script import Attribute, ScriptFunction, ScriptModule, interface, script
from ._script import Error as Error
from ._script import RecursiveScriptModule as RecursiveScriptModule
from ._script import ScriptWarning as ScriptWarning
from ._script import script_method as script_method
from ._serialization import jit_module_from_flatbuffer as jit_module_from_flatbuffer
from ._serialization import load, save, set_loop_limit
from ._serialization import save_jit_module_to_flatbuffer as save_jit_module_to_flatbuffer
from ._trace import TopLevelTracedModule as TopLevelTracedModule
from ._trace import TracedModule as TracedModule
from ._trace import TracerWarning as TracerWarning
from ._trace import TracingCheckError as TracingCheckError
from ._trace import is_tracing, script_if_tracing, trace, trace_module
from ._trace import script_if_tracing as _script_if_tracing  # noqa: F401 - its name in libraries

__all__ = [
    "Attribute",
    "CompilationUnit",
    "Error",
    "Final",
    "Future",
    "ScriptFunction",
    "ScriptModule",
    "annotate",
    "export",
    "export_opnames",
    "fork",
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "optimize_for_inference",
    "save",
    "script",
    "script_if_tracing",
    "set_fusion_strategy",
    "set_loop_limit",
    "strict_fusion",
    "trace",
    "trace_module",
    "unused",
    "wait",
]

T = TypeVar("T")

_REMEDY = "Write the functions in Python, and decorate them with torch.jit.script where a program asks for it."
CompilationUnit = unsupported_class("torch.jit.CompilationUnit", _REMEDY)
RecursiveScriptClass = unsupported_class("torch.jit.RecursiveScriptClass", _REMEDY)
export_opnames = unsupported_function("torch.jit.export_opnames", "There are no operators of TorchScript to be named.")
strict_fusion = unsupported_class("torch.jit.strict_fusion", "There is no compiler that fuses.")


def annotate(the_type: Any, the_value: T) -> T:
    """The value; the type is for TorchScript."""
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """``isinstance`` for types with parameters, such as ``list[int]``, of which the parameters are not looked at."""
    return _isinstance(obj, target_type)
