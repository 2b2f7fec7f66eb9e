"""Traces as TorchScript: the recorded calls are made once more, and the operators that they call are written.

A size that the trace follows is a number with the text that computes it. Where a recorded call hands it to its one
operator the text is written there; where the call computes with it, the number would become a constant without a word,
and the trace is refused.
"""

from __future__ import annotations

import keyword
import operator
from collections.abc import Callable
from typing import Any

from mt_core import Tensor, device, dtypes, formats, pytree
from mt_core.dispatch.registry import Overload
from mt_library.defaults import defaults_left_out

from ...export._recording import Recording
from .._tracer import Attribute, Program, Reference, Step, step_text
from .formats import number_of_dtype, number_of_layout, number_of_memory_format
from .operators import is_known

__all__ = ["Body", "Unwritable", "translated"]


class Unwritable(NotImplementedError):
    """A step that cannot be written."""


class _Number:
    """What numbers that are followed have besides their value."""

    text: str


class _Int(int, _Number):
    def __index__(self) -> int:
        return self  # as it is handed on, so that it is known again


class _Float(float, _Number):
    pass


def _followed(value: Any, text: str) -> Any:
    made: Any = _Int(value) if isinstance(value, int) else _Float(value)
    made.text = text
    return made


class Body:
    """The statements of a translated trace.

    Attributes
    ----------
    lines
        The statements.
    result
        The text of what is returned, and its type.
    constants
        The tensors that the statements name ``CONSTANTS.c0`` and so on.
    """

    def __init__(self, constants: list[Tensor]) -> None:
        self.lines: list[str] = []
        self.result = ("", "")
        self.constants = constants


#: Functions of Python on numbers -> the operator.
_ON_NUMBERS = {
    operator.add: "torch.add", operator.sub: "torch.sub", operator.mul: "torch.mul", operator.truediv: "torch.div",
    operator.floordiv: "torch.floordiv", operator.mod: "torch.remainder", operator.neg: "torch.neg",
    operator.pow: "torch.pow", operator.abs: "ops.prim.abs",
}  # fmt: skip


def translated(
    program: Program, inputs: list[Tensor], texts: list[str], attribute: Callable[[str], Any], constants: list[Tensor]
) -> Body:
    """The body of a trace.

    Parameters
    ----------
    inputs, texts
        The examples, and what names each of them.
    attribute
        Path -> parameter or buffer.

    Raises
    ------
    Unwritable
        For a step that is no operator, or computes with a size; the message names it.
    """
    return _Translator(program, inputs, texts, attribute, constants).run()


class _Translator:
    def __init__(
        self, program: Program, inputs: list[Tensor], texts: list[str], attribute: Any, constants: list[Tensor]
    ) -> None:
        self.program = program
        self.body = Body(constants)
        self._attribute = attribute
        self._values: dict[int, Any] = dict(enumerate(inputs))
        #: Of each tensor, and list of sizes, its text; they are kept, so that none takes another's identity.
        self._texts: dict[int, str] = {}
        self._kept: list[Any] = []
        self._used: set[int] = set()
        self._noted = 0
        for value, text in zip(inputs, texts, strict=True):
            self._name(value, text)

    def run(self) -> Body:
        """Translate all steps."""
        for step in self.program.steps:
            if step.is_pure and self._is_about_numbers(step):
                self._values[step.gives] = self._number_step(step)
            else:
                self._values[step.gives] = self._call(step)
        self.body.result = self._returned(self.program.output)
        return self.body

    def _name(self, value: Any, text: str) -> None:
        self._texts[id(value)] = text
        self._kept.append(value)

    def _value(self, held: Any) -> Any:
        """A held argument with its values."""
        if isinstance(held, Reference):
            return self._values[held.index]
        if isinstance(held, Attribute):
            found = self._attribute(held.path)
            if id(found) not in self._texts:
                self._name(found, path_text(held.path))
            return found
        if isinstance(held, (list, tuple)):
            items = [self._value(item) for item in held]
            return (
                type(held)(*items)
                if hasattr(held, "_fields")
                else type(held)(items)
                if type(held) is list
                else tuple(items)
            )
        if isinstance(held, dict):
            return {key: self._value(item) for key, item in held.items()}
        if isinstance(held, slice):
            return slice(self._value(held.start), self._value(held.stop), self._value(held.step))
        return held

    # Sizes

    def _is_about_numbers(self, step: Step) -> bool:
        if step.function is not operator.getitem:
            return True
        return not _holds_tensors(self._value(step.args[0]))

    def _number_step(self, step: Step) -> Any:
        args = self._value(step.args)
        text = self._number_text(step, args)
        if text is None:
            raise self._refusal(step, "which computes a number")
        result = step.function(*[_plain(a) for a in args], **step.kwargs)
        if isinstance(result, tuple):
            kept = tuple(_followed(size, f"({text})[{place}]") for place, size in enumerate(result))
            return kept
        if isinstance(result, int) and step.function is operator.pow:
            text = f"int({text})"
        return _followed(result, text)

    def _number_text(self, step: Step, args: Any) -> str | None:
        name = getattr(step.function, "__name__", "")
        owner = getattr(step.function, "__self__", None)
        if isinstance(args[0], Tensor):
            tensor = self._tensor(args[0])
            if owner is Tensor.shape or name == "size" and len(args) == 1 and not step.kwargs:
                return f"torch.size({tensor})"
            if name == "size" and len(args) == 2 and isinstance(args[1], int):
                return f"torch.size({tensor}, {args[1]})"
            return f"torch.numel({tensor})" if name in ("numel", "nelement") else None
        if step.function is operator.getitem:
            found = args[0][args[1]]
            return getattr(found, "text", None)
        if step.function in _ON_NUMBERS:
            return f"{_ON_NUMBERS[step.function]}({', '.join(map(self._argument, args))})"
        return None

    # Operators

    def _call(self, step: Step) -> Any:
        args, kwargs = self._value(step.args), self._value(step.kwargs)
        if step.function is operator.getitem:
            return args[0][args[1]]
        if getattr(step.function, "__name__", "") == "apply":
            raise self._refusal(step, "a call of an autograd function")
        numbers = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, _Number)]
        slices = [part for s in _slices((args, kwargs)) for part in (s.start, s.stop, s.step)]
        numbers += [part for part in slices if isinstance(part, _Number)]
        self._used, self._noted, self._step = set(), 0, step
        with Recording(self):
            result = step.function(*args, **kwargs)
        lost = any(id(number) not in self._used for number in numbers)
        if lost or numbers and self._noted != 1:
            raise self._refusal(step, "which computes with a size, so that it would be a constant")
        return result

    def note_control_flow(self, operator: Any, args: Any, kwargs: Any) -> Any:
        """Control flow is not written."""
        raise self._refusal(self._step, "an operator on functions")

    def note(self, overload: Overload, args: tuple[Any, ...], result: Any) -> None:
        """Write the call of an operator."""
        results = [t for t in pytree.tree_leaves(result) if isinstance(t, Tensor)]
        if not results and not overload.schema.is_mutable:
            return
        self._noted += 1
        namespace, _, rest = overload.qualified_name.partition("::")
        name = rest.partition(".")[0]
        if namespace == "aten" and not (is_known(rest) or is_known(name)):
            raise self._refusal(self._step, f"whose operator {name} PyTorch has not")
        positional, named = defaults_left_out(overload.schema)(args)
        given = [*map(self._argument, positional), *(f"{key}={self._argument(v)}" for key, v in named.items())]
        call = f"{'torch' if namespace == 'aten' else f'ops.{namespace}'}.{name}({', '.join(given)})"
        self._write(call, result)

    def _write(self, call: str, result: Any) -> None:
        name = f"_{len(self.body.lines)}"
        if isinstance(result, Tensor):
            self.body.lines.append(f"{name} = {call}")
            self._name(result, name)
        elif isinstance(result, list):
            self.body.lines.append(f"{name} = {call}")
            for place, item in enumerate(result):
                self._name(item, f"({name})[{place}]")
        elif isinstance(result, tuple):
            names = [f"{name}_{place}" for place in range(len(result))]
            self.body.lines.append(f"{', '.join(names)}, = {call}")
            for item, one in zip(result, names, strict=True):
                self._name(item, one)
        else:
            self.body.lines.append(f"{name} = {call}")

    def _tensor(self, value: Tensor) -> str:
        found = self._texts.get(id(value))
        if found is None:
            found = f"CONSTANTS.c{len(self.body.constants)}"
            self.body.constants.append(value.detach())
            self._name(value, found)
        return found

    def _argument(self, value: Any) -> str:
        if isinstance(value, _Number):
            self._used.add(id(value))
            return value.text
        if isinstance(value, Tensor):
            return self._tensor(value)
        if isinstance(value, (list, tuple)):
            items = ", ".join(map(self._argument, value))
            return f"[{items}]" if items else "annotate(List[int], [])"
        if isinstance(value, (bool, int, type(None))):
            return str(value)
        if isinstance(value, float):
            return _float_text(value)
        if isinstance(value, str):
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        if isinstance(value, dtypes.dtype):
            return str(number_of_dtype(value))
        if isinstance(value, formats.layout):
            return str(number_of_layout(value))
        if isinstance(value, formats.memory_format):
            return str(number_of_memory_format(value))
        if isinstance(value, device):
            return f'torch.device("{value}")'
        raise self._refusal(self._step, f"with a {type(value).__name__}")

    # The result

    def _returned(self, held: Any) -> tuple[str, str]:
        value = self._value(held)
        if isinstance(value, Tensor):
            return self._tensor(value), "Tensor"
        if isinstance(value, dict):
            parts = {key: self._returned(item) for key, item in held.items()}
            kinds = {kind for _, kind in parts.values()}
            if len(kinds) == 1 and all(isinstance(key, str) for key in parts):
                items = ", ".join(f"{self._argument(key)}: {text}" for key, (text, _) in parts.items())
                return f"{{{items}}}", f"Dict[str, {kinds.pop()}]"
        if isinstance(value, (list, tuple)):
            parts_ = [self._returned(item) for item in held]
            texts, kinds_ = ", ".join(text for text, _ in parts_), [kind for _, kind in parts_]
            if isinstance(value, tuple):
                return f"({texts},)", f"Tuple[{', '.join(kinds_)}]"
            if len(set(kinds_)) == 1:
                return f"[{texts}]", f"List[{kinds_[0]}]"
        raise Unwritable("torch.jit.save of a trace with such an output is not supported by mindtorch.")

    def _refusal(self, step: Step, why: str) -> Unwritable:
        return Unwritable(f"torch.jit.save of the step {step_text(step)}, {why}, is not supported by mindtorch.")


def _plain(value: Any) -> Any:
    if isinstance(value, _Int):
        return int.__int__(value)
    return float.__float__(value) if isinstance(value, _Float) else value


def _holds_tensors(value: Any) -> bool:
    return any(isinstance(leaf, Tensor) for leaf in pytree.tree_leaves(value))


def _slices(value: Any) -> list[slice]:
    if isinstance(value, slice):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [s for item in value for s in _slices(item)] if isinstance(value, (list, tuple)) else []


def _float_text(value: float) -> str:
    if value != value:
        return "nan"
    if value in (float("inf"), -float("inf")):
        return "inf" if value > 0 else "torch.neg(inf)"
    return repr(value)


def path_text(path: str) -> str:
    """``self.layers.0.weight`` as code has it."""
    text = "self"
    for name in path.split("."):
        plain = name.isidentifier() and not keyword.iskeyword(name)
        text = f"{text}.{name}" if plain else f'getattr({text}, "{name}")'
    return text
