"""Write schemas.json: which texts PyTorch takes for operator schemas, and what it reads in them.

The texts are schemas of PyTorch, and schemas put together and damaged at random from a fixed seed.

Run with PyTorch 2.13: ``python make_schemas.py [--check]``.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import torch
from writing import write_or_check

TYPES = "Tensor int float bool str Scalar ScalarType Layout Device Generator MemoryFormat SymInt complex number".split()
SUFFIXES = (
    "",
    "?",
    "[]",
    "[]?",
    "?[]",
    "[2]",
    "[2]?",
    "(a)",
    "(a!)",
    "(a)?",
    "(a!)[]",
    "[](a)",
    "(a -> *)",
    "(a|b)",
    "(*)",
)
NAMES = ("x", "self", "other_1", "_y", "dim", "out", "X2", "is_causal", "from", "lambda", "i")
DEFAULTS = {
    "Tensor": ("None", "[]", "1"),
    "int": ("0", "-1", "3", "None", "[]", "[0,1]", "[1, 2]", "1.5", "True", "Mean", "Sum", "long", "1e3"),
    "SymInt": ("0", "-1", "None", "[0, 1]"),
    "float": ("0.", "1e-5", "-1.5", "1", "None", "inf", "-inf", "nan", ".5", "1.", "1e", "True", "[1., 2]"),
    "bool": ("True", "False", "None", "true", "1", "[True,False]"),
    "str": ("'a'", '"none"', "None", "a", "'it\\'s'", '"a,b"', "''"),
    "Scalar": ("1", "-1.5", "None", "True", "1e2"),
    "ScalarType": ("None", "long", "float", "7", "float32"),
    "Layout": ("None", "strided", "sparse"),
    "Device": ("None", "'cpu'", "cpu"),
    "Generator": ("None", "1"),
    "MemoryFormat": ("None", "contiguous_format", "preserve_format", "nonsense"),
    "complex": ("1j", "None", "1+2j", "1"),
    "number": ("1", "None", "2.5"),
}
ODD_NAMES = (
    "2f",
    "f g",
    "",
    "aten::f",
    "a::b::c",
    "f.",
    "f.Tensor",
    "f.default",
    "f.__x",
    "f.a.b",
    "_f",
    "f-1",
    "f::",
    "::f",
    "f.2",
)
RETURNS = (
    "Tensor", "()", "(Tensor, Tensor)", "(Tensor a, Tensor b)", "Tensor[]", "Tensor?", "Tensor(a)", "Tensor(a!)", "int",
    "(Tensor(a!), int)", "Tensor x", "(Tensor,)", "(Tensor)", "", "Tensor, Tensor", "None", "...", "Tensor 1x",
    "(Tensor(a)[])", "Tensor(a)[]", "bool[]", "float?", "Scalar", "(Tensor a, Tensor)", "Tensor=1", "tensor",
    "nonsense",
)  # fmt: skip
BY_HAND = [
    "f(Tensor x,) -> Tensor", "2f(Tensor x) -> Tensor", "f(Tensor 1x) -> Tensor", "f(,) -> Tensor", "f() -> Tensor",
    "f(*) -> Tensor", "f(*, Tensor x) -> Tensor", "f(Tensor x, *) -> Tensor", "f(Tensor x, *, *, int y) -> Tensor",
    "f(Tensor x, int y=1, int z) -> Tensor", "f(Tensor x, *, int y=1, int z) -> Tensor", "f(Tensor) -> Tensor",
    "f(Tensor x Tensor y) -> Tensor", "f(Tensor x, Tensor x) -> Tensor", "f(Tensor x) -> Tensor;",
    "f(Tensor x)->Tensor",
    "f(Tensor x) Tensor", "f(Tensor x)", "f Tensor x -> Tensor", "f(Tensor x -> Tensor", "f(Tensor x)) -> Tensor",
    "f(...) -> ...", "f(Tensor x, ...) -> Tensor", "f(..., Tensor x) -> Tensor", "f(Tensor\nx) -> Tensor",
    " f ( Tensor x ) -> Tensor ", "f(Tensor x) -> (Tensor", "f(Tensor x) -> Tensor)", "f(Tensor[ x) -> Tensor",
    "f(Tensor] x) -> Tensor", "f(Tensor[-1] x) -> Tensor", "f(Tensor[2.5] x) -> Tensor", "f(Tensor[][] x) -> Tensor",
    "f(Tensor?? x) -> Tensor", "f(int[2][3] x) -> Tensor", "f(Tensor (a) x) -> Tensor", "f(Tensor(a) x) -> Tensor(b)",
    "f(Tensor(A) x) -> Tensor(A)", "f(Tensor(ab) x) -> Tensor(ab)", "f(Tensor(a1!) x) -> Tensor(a1!)",
    "f(Tensor(1) x) -> Tensor", "f(Tensor() x) -> Tensor", "f(Tensor(!) x) -> Tensor", "f(Tensor(a!!) x) -> Tensor",
    "f(Tensor(a -> b) x) -> Tensor(b)", "f(Tensor(a! -> a|b) x) -> Tensor", "f(Tensor(a) x -> Tensor",
    "f(int x=) -> int",
    "f(int x==1) -> int", "f(int x=1 2) -> int", "f(int x=--1) -> int", "f(int x=- 1) -> int", "f(int x=+1) -> int",
    "f(int x=1_000) -> int", "f(int x=0x10) -> int", "f(int x=01) -> int", "f(int x=99999999999999999999) -> int",
    "f(int[] x=[1,]) -> int", "f(int[] x=[) -> int", "f(int[] x=(1,2)) -> int", "f(int[2] x=1) -> int",
    "f(int[] x=1) -> int", "f(str x='a) -> int", "f(str x=\"a') -> int", "f(Tensor x, # comment\n int y) -> int",
    "f(Dict(str, Tensor) x) -> int", "f(Dict(str, int)? x) -> int", "f((Tensor, int) x) -> int", "f(Any x) -> Any",
    "f(t x) -> t", "f(t[] x) -> t", "f(Future(t) x) -> t", "f(Stream x) -> int", "f(Storage x) -> int",
    "f(__torch__.torch.classes.a.B x) -> int", "f(QScheme x) -> int", "f(Dimname[] x) -> int",
    "f(SymBool x) -> SymBool",
    "f(SymFloat x) -> SymFloat", "f(Tensor self, int $x) -> int", "f(Tensor @x) -> int", "f(Tensor x.y) -> int",
    "f(Tensor x-y) -> int", "f(TensorList x) -> int", "f(Tensor ü) -> int", "f(Tensor if) -> int",
    "f(Tensor def) -> int",
    "f(Tensor and) -> int", "f(Tensor None) -> int", "f(Tensor True) -> int", "f(Tensor as) -> int",
    "f(Tensor in) -> int",
    "if(Tensor x) -> int", "None(Tensor x) -> int", "f(int x=None) -> int", "f(Tensor x) - > int", "f(Tensor x) => int",
    "", "f", "f()", "()", "-> int", "f() -> f() -> int", "f() -> int -> int", "f(Tensor x) -> Tensor extra words",
]  # fmt: skip


def argument(draw: random.Random) -> str:
    kind = draw.choice(TYPES)
    text = f"{kind}{draw.choice(SUFFIXES)} {draw.choice(NAMES)}"
    return f"{text}={draw.choice(DEFAULTS[kind])}" if draw.random() < 0.4 else text


def random_schema(draw: random.Random) -> str:
    name = draw.choice(ODD_NAMES) if draw.random() < 0.15 else "f"
    arguments = [argument(draw) for _ in range(draw.randrange(4))]
    if draw.random() < 0.3:
        arguments.insert(draw.randrange(len(arguments) + 1), "*")
    return f"{name}({', '.join(arguments)}) -> {draw.choice(RETURNS)}"


def damaged(text: str, draw: random.Random) -> str:
    """One character less, more, other, or two exchanged."""
    i = draw.randrange(len(text))
    other = draw.choice("(),[]?!*=-> .:a1_ \n'\"|#")
    return draw.choice((text[:i] + text[i + 1 :], text[:i] + other + text[i:], text[:i] + other + text[i + 1 :]))


def texts() -> list[str]:
    draw = random.Random(5)
    known = sorted(str(schema) for schema in torch._C._jit_get_all_schemas() if schema.name.startswith("aten::"))
    sampled = draw.sample(known, 200)
    made = [random_schema(draw) for _ in range(700)]
    return list(
        dict.fromkeys(
            [*BY_HAND, *sampled, *made, *(damaged(draw.choice(sampled + made[:300]), draw) for _ in range(900))]
        )
    )


def described(schema: torch.FunctionSchema) -> list[object]:
    def part(argument: torch.Argument) -> list[object]:
        alias = argument.alias_info
        return [
            argument.name, str(argument.type), argument.N, argument.kwarg_only, argument.has_default_value(),
            sorted(alias.before_set) if alias else [], bool(alias and alias.is_write),
        ]  # fmt: skip

    return [schema.name, schema.overload_name, [part(a) for a in schema.arguments], [part(r) for r in schema.returns]]


def read(text: str) -> list[object] | None:
    try:
        return described(torch._C.parse_schema(text, allow_typevars=False))
    except (RuntimeError, IndexError, ValueError):  # numbers that no type holds raise the latter two
        return None


def main() -> None:
    found = {text: read(text) for text in texts()}
    write_or_check(Path(__file__).with_name("schemas.json"), json.dumps(found, indent=0) + "\n")


if __name__ == "__main__":
    main()
