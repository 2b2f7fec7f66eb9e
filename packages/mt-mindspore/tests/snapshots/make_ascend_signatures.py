"""Write what MindSpore says of its primitives' arguments, and which functions of CANN's it names; it must be installed.

Each primitive that has a kernel for Ascend is called with objects that fit no argument. MindSpore refuses them, and
says what a valid call has: names and kinds, of what it is made with and of what it is called with. Which have a kernel
is read off the headers that the wheel brings, names of CANN's functions off the library of Ascend's kernels.

``python make_ascend_signatures.py [--check]``
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from pathlib import Path
from typing import Any

import mindspore
from mindspore.ops import auto_generate

HERE = Path(__file__)
ROOT = Path(mindspore.__file__).parent
HEADERS = ROOT / "include/mindspore/ops/kernel/ascend/aclnn/pyboost_impl"
LIBRARY = ROOT / "lib/plugin/libmindspore_ops_ascend.so"
VALID = re.compile(r"The valid calling should be:\s*\"\w+\((.*?)\)\((.*)\)\"")
ARGUMENT = re.compile(r"(\w+)=<([^>]*)>")
ACLNN = re.compile(rb"aclnn[A-Z]\w+")
#: What MindSpore says of an argument that it looks at before all others -> what it takes there.
FILLINGS = (
    (re.compile(r"the input '(\w+)' should be a str"), "none"),
    (re.compile(r"the input '(\w+)' should be mindspore dtype"), mindspore.float32),
    (re.compile(r"the value of '(\w+)' is invalid"), 1),
    (re.compile(r"the type of '(\w+)' should be one of '\[list of int, tuple of int\]'"), (1, 1)),
)


class Odd:
    """Fits no argument."""

    dtype = mindspore.float32


def parameters(function: Any) -> list[inspect.Parameter]:
    return list(inspect.signature(function).parameters.values())[1:]


def attempt(cls: type, settings: dict[str, Any], given: dict[str, Any]) -> str:
    """What MindSpore says to a call with odd arguments."""
    try:
        cls(**settings)(*given.values())
    except Exception as error:  # noqa: BLE001 - whatever it raises, its words are what is read
        return str(error)
    return ""


def described(told: str, declared: list[inspect.Parameter]) -> list[list[Any]]:
    """[name, kinds, "required", "None" where that is its default, or else "optional"] of each argument."""
    need = {p.name: need_of(p) for p in declared}
    return [[name, sorted(kinds.split(", ")), need.get(name, "required")] for name, kinds in ARGUMENT.findall(told)]


def need_of(parameter: inspect.Parameter) -> str:
    if parameter.default is parameter.empty:
        return "required"
    return "None" if parameter.default is None else "optional"


def signature_of(cls: type) -> dict[str, Any] | None:
    """What a primitive is called with, and made with where that is something."""
    declared, made_with = parameters(cls.__call__), parameters(cls.__init__)
    if any(p.kind is not p.POSITIONAL_OR_KEYWORD for p in (*declared, *made_with)):
        return None
    settings: dict[str, Any] = {p.name: 1 for p in made_with if p.default is p.empty}
    given = {p.name: mindspore.float32 if "dtype" in p.name else Odd() for p in declared}
    for _ in range(8):
        words = attempt(cls, settings, given)
        said = VALID.search(words)
        if said is not None:
            call, made = described(said.group(2), declared), described(said.group(1), made_with)
            complete = len(call) >= len(declared) and len(made) >= len(made_with)
            return {"call": call, "made": made} if complete else None
        name, value = next(((m.group(1), v) for p, v in FILLINGS if (m := p.search(words))), ("", None))
        if name not in given and name not in settings:
            return None
        default = next((p.default for p in (*declared, *made_with) if p.name == name), None)
        (given if name in given else settings)[name] = default if type(default) is str else value
    return None


def text() -> str:
    mindspore.set_context(mode=mindspore.PYNATIVE_MODE)
    mindspore.set_device("CPU")
    with_kernel = {path.stem.replace("_", "") for folder in HEADERS.iterdir() for path in folder.glob("*.h")}
    calls, made = {}, {}
    for name, cls in sorted(vars(auto_generate).items()):
        if not inspect.isclass(cls) or not issubclass(cls, mindspore.ops.Primitive) or name.endswith("Prim_"):
            continue
        if name.lower() not in with_kernel:
            continue
        signature = signature_of(cls)
        if signature is None:
            print(name, "does not say what it takes", file=sys.stderr)
            continue
        calls[name] = signature["call"]
        if signature["made"]:
            made[name] = signature["made"]
    aclnn = sorted({found.decode() for found in ACLNN.findall(LIBRARY.read_bytes())})
    return (
        f'{{\n"version": {json.dumps(mindspore.__version__)},\n"primitives": {table(calls)},\n'
        f'"made_with": {table(made)},\n"aclnn": {json.dumps(aclnn)}\n}}\n'
    )


def table(rows: dict[str, Any]) -> str:
    return "{\n" + ",\n".join(f'"{name}": {json.dumps(row)}' for name, row in rows.items()) + "\n}"


def main() -> int:
    path, made = HERE.with_name("ascend_signatures.json"), text()
    if "--check" in sys.argv[1:]:
        if path.read_text(encoding="utf-8") != made:
            print(f"{path.name} is not what {HERE.name} writes: run it again")
            return 1
        return 0
    path.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
