"""Calls of a name that might be good ones, out of its signature: PyTorch tells which is."""

from __future__ import annotations

import inspect
import itertools
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["inventions"]

#: What a tensor may be; the first kind that an operator takes is taken.
TENSORS = (
    "f(3, 3)", "f(2, 3, 4)", "f(2, 3, 4, 4)", "f(3)", "i(3, 3)", "b(3, 3)", "p(3, 3)", "c(3, 3)", "f(2, 3, 4, 4, 4)",
    "spd(3)", "i(3)", "f(3, 3).to_sparse()", "f(2, 4)", "f()", "f(2, 3, 3)",
)  # fmt: skip
_FILE = Path(__file__).with_name("words.txt")
#: Parameter -> what it may be; None is the tensor that the others are.
WORDS: dict[str, tuple[str | None, ...]] = {
    name: tuple(None if word == "TENSOR" else word for word in words.split(" | "))
    for name, _, words in (line.partition(": ") for line in _FILE.read_text(encoding="utf-8").splitlines()[1:])
}
TYPES: dict[str, tuple[str, ...]] = {
    "int": ("1", "0", "2"),
    "number": ("2", "0.5"),
    "Scalar": ("2",),
    "float": ("0.5",),
    "bool": ("True",),
    "str": ("'mean'",),
    "List[int]": ("(1,)", "(0, 1)", "(2, 2)"),
    "List[float]": ("(1.0,)",),
    "List[Tensor]": ("[f(3), f(3)]", "[f(3, 3), f(3, 3)]"),
    "Generator": ("torch.Generator()",),
    "Device": ("'cpu'",),
    "Callable": ("scaled",),
    "Module": ("linear()",),
    "SymInt": ("1", "2"),
    "Tensor": (),
}
LIMIT = 600

#: Where an operator of a public module is declared: what its name begins with.
PREFIXES = {
    "torch.linalg": ("linalg_",), "torch.fft": ("fft_",), "torch.special": ("special_", ""),
    "torch": ("",), "torch.Tensor": ("",), "torch.nn.functional": ("",), "torch.sparse": ("_sparse_", "sparse_", ""),
}  # fmt: skip


def inventions(torch: types.ModuleType, path: str, value: Any, instance: str | None) -> Iterator[str]:
    """Expressions that call what stands at `path`, on an instance where it is a class's member."""
    name = path.rpartition(".")[2]
    lists = [*_signed(value, instance is not None), *_declared(torch, path, instance is not None)]
    seen: set[str] = set()
    starts: tuple[str, ...] = (path,) if instance is None else (f"{instance}.{name}",)
    if instance == "f(3, 3)":
        starts = tuple(f"{tensor}.{name}" for tensor in TENSORS)
    for parameters in [*lists, []]:
        for start in starts:
            base = start.rpartition(".")[0] if instance == "f(3, 3)" else None
            for arguments in itertools.islice(_filled(parameters, base), LIMIT // len(starts)):
                call = f"{start}({arguments})"
                if call not in seen:
                    seen.add(call)
                    yield call


def _filled(parameters: list[tuple[str, str, bool]], base: str | None) -> Iterator[str]:
    """Arguments for required parameters, each a name, a type and whether it is given by keyword."""
    for tensor in (base,) if base is not None else TENSORS:
        choices = []
        for name, kind, keyword in parameters:
            given = WORDS.get(name) or TYPES.get(kind) or (None,)
            if name not in WORDS and kind == "Tensor":
                given = (None,)
            texts = [tensor if word is None else word for word in given]
            choices.append([f"{name}={text}" if keyword else text for text in texts])
        for chosen in itertools.product(*choices):
            yield ", ".join(chosen)
        if not any(None in (WORDS.get(name) or (None,)) for name, _, _ in parameters):
            return


def _signed(value: Any, bound: bool) -> list[list[tuple[str, str, bool]]]:
    try:
        signature = inspect.signature(value)
    except (ValueError, TypeError):
        return []
    found = []
    for position, parameter in enumerate(signature.parameters.values()):
        if bound and position == 0 and parameter.name in ("self", "cls"):
            continue
        if parameter.default is not parameter.empty or parameter.kind is parameter.VAR_KEYWORD:
            continue
        if parameter.kind is parameter.VAR_POSITIONAL and parameter.name not in WORDS:
            continue
        annotation = str(getattr(parameter.annotation, "__name__", parameter.annotation))
        kind = next((word for word in TYPES if word.lower() in annotation.lower()), "")
        found.append((parameter.name, kind, parameter.kind is parameter.KEYWORD_ONLY))
    every = [found]
    wild = [parameter.kind for parameter in signature.parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL in wild and not found:
        every.append([("input", "Tensor", False)])
        every.append([("input", "Tensor", False), ("other", "Tensor", False)])
    return every


def _declared(torch: types.ModuleType, path: str, bound: bool) -> list[list[tuple[str, str, bool]]]:
    """Required arguments of the operators that have this name."""
    module, _, name = path.rpartition(".")
    found = []
    for prefix in PREFIXES.get(module, ()):
        for schema in torch._C._jit_get_schemas_for_operator(f"aten::{prefix}{name}"):
            required = [argument for argument in schema.arguments if not argument.has_default_value()]
            listed = [(argument.name, str(argument.type), argument.kwarg_only) for argument in required]
            if any(name == "out" for name, _, _ in listed):
                continue
            found.append(listed[1:] if bound else [("input" if n == "self" else n, k, w) for n, k, w in listed])
    return sorted(found, key=len)
