"""The docstrings of the wrappers: a line for each way of calling, then what the declaration says."""

from __future__ import annotations

from typing import Any

from .packets import Packet, is_missing, python_parameters, returns_list

__all__ = ["docstring"]


def docstring(packet: Packet, overloads: list[Any], method: bool) -> str:
    """Source of the docstring of a packet's function or method."""
    heads = dict.fromkeys(_head(d, method) for d in overloads)
    described = next((d.doc for d in overloads if d.doc), "") or next((d.doc for d in packet.all if d.doc), "")
    inplace = overloads[0].form == "inplace"
    text = "\n".join(heads) + ("\n\n" + _sentence(described, inplace) if described else "")
    return _quoted(text)


def _sentence(text: str, inplace: bool) -> str:
    words = " ".join(text.split())
    return f"{words} In place: the tensor itself is written, and returned." if inplace else words


def _head(declaration: Any, method: bool) -> str:
    parameters = python_parameters(declaration, method)[1 if method else 0 :]
    positional = [_parameter(p) for p in parameters if not p.argument.kwarg_only]
    keyword = [_parameter(p) for p in parameters if p.argument.kwarg_only]
    if declaration.python_out and not method:
        keyword.append("out=None")
    if any(p.key == "pin_memory" for p in parameters):
        keyword.append("requires_grad=False")
    listed = ", ".join(positional + (["*", *keyword] if keyword else []))
    return f"{declaration.python_name}({listed}) -> {_returns(declaration)}"


def _parameter(parameter: Any) -> str:
    default = getattr(parameter.argument.default, "in_python", parameter.argument.default)
    if is_missing(default):
        return parameter.key
    shown = default if isinstance(default, str) and parameter.argument.type != "str" else repr(default)
    return f"{parameter.key}={shown}"


def _returns(declaration: Any) -> str:
    one = [f"{r.type}s" if r.is_list else r.type for r in declaration.schema.returns]
    if not one:
        return "Tensors" if returns_list(declaration) else "None"
    return one[0] if len(one) == 1 else f"({', '.join(one)})"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'"""{escaped}\n"""' if escaped.endswith('"') else f'"""{escaped}"""'
