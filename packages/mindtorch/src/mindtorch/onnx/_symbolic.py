"""What notes functions for an export to ONNX: libraries do so where they are imported; no export asks for them."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable
from typing import Any, NoReturn

from .._unsupported import _RefusedMember, refusal

__all__ = ["OperatorExportTypes", "TrainingMode", "parse_args", "refuse_member", "register_custom_op_symbolic"]

REMEDY = "Write the program with torch.export.save, and call torch.onnx.export on that file in PyTorch."

#: Name of an operator -> opset version -> the function that would describe it to ONNX.
SYMBOLIC_FUNCTIONS: dict[str, dict[int, Callable[..., Any]]] = {}


class OperatorExportTypes(enum.Enum):
    """What an export does with operators that ONNX has not."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


class TrainingMode(enum.Enum):
    """In which mode a model is exported."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Callable[..., Any], opset_version: int) -> None:
    """Note a function that describes an operator to ONNX; `torch.onnx.export` would ask for it, and raises.

    Raises
    ------
    ValueError
        When the name is not ``"namespace::name"``.
    """
    if symbolic_name.startswith("::"):
        symbolic_name = f"aten{symbolic_name}"
    if symbolic_name.count("::") != 1:
        raise ValueError(
            f"Failed to register operator {symbolic_name}. The symbolic name must match the format domain::name."
        )
    SYMBOLIC_FUNCTIONS.setdefault(symbolic_name, {})[opset_version] = symbolic_fn


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Forget a function that `register_custom_op_symbolic` noted."""
    if symbolic_name.startswith("::"):
        symbolic_name = f"aten{symbolic_name}"
    SYMBOLIC_FUNCTIONS.get(symbolic_name, {}).pop(opset_version, None)


def parse_args(*descriptors: str) -> Callable[[Callable[..., Any]], Callable[..., NoReturn]]:
    """A decorator of functions that describe operators to ONNX; called, they raise NotImplementedError."""

    def decorate(function: Callable[..., Any]) -> Callable[..., NoReturn]:
        @functools.wraps(function)
        def refuse(*args: Any, **kwargs: Any) -> NoReturn:
            raise refusal(f"{function.__name__} (a function for torch.onnx.export)", REMEDY)

        return refuse

    return decorate


def refuse_member(module: str, name: str) -> NoReturn:
    """Say that a module for exports to ONNX has not got a name; ``hasattr`` answers False."""
    if name.startswith("__"):
        raise AttributeError(f"module '{module}' has no attribute '{name}'")
    raise _RefusedMember(*refusal(f"torch.onnx.{module.rpartition('.')[2]}.{name}", REMEDY).args)
