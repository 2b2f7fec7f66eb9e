"""Write what MindSpore says of its primitives' arguments; it must be installed.

Each primitive that has a kernel for Ascend is called with objects that fit no argument. MindSpore refuses them, and
says what a valid call has: names and kinds. Which have a kernel is read off the headers that the wheel brings.
"""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any

import mindspore
from mindspore.ops import auto_generate

HEADERS = Path(mindspore.__file__).parent / "include/mindspore/ops/kernel/ascend/aclnn/pyboost_impl"
VALID = re.compile(r"The valid calling should be:\s*\"\w+\(\)\((.*)\)\"")
ARGUMENT = re.compile(r"(\w+)=<([^>]*)>")


class Odd:
    """Fits no argument."""


def attempt(primitive: Any, count: int, dtypes: set[int]) -> str:
    """What MindSpore says to a call with odd arguments."""
    given = [mindspore.float32 if i in dtypes else Odd() for i in range(count)]
    try:
        primitive(*given)
    except Exception as error:  # noqa: BLE001 - whatever it raises, its words are what is read
        return str(error)
    return ""


def need_of(parameter: inspect.Parameter) -> str:
    if parameter.default is parameter.empty:
        return "required"
    return "None" if parameter.default is None else "optional"


def signature_of(cls: type) -> list[list[Any]] | None:
    """[name, kinds, "required", "None" where that is its default, or else "optional"] of each argument."""
    declared = list(inspect.signature(cls.__call__).parameters.values())[1:]
    needed = [p for p in list(inspect.signature(cls.__init__).parameters.values())[1:] if p.default is p.empty]
    if any(p.kind is not p.POSITIONAL_OR_KEYWORD for p in declared):
        return None
    primitive = cls(*[1] * len(needed))
    dtypes = {i for i, p in enumerate(declared) if "dtype" in p.name}
    said = VALID.search(attempt(primitive, len(declared), dtypes))
    if said is None:
        return None
    told = ARGUMENT.findall(said.group(1))
    if len(told) < len(declared):
        return None
    need = {p.name: need_of(p) for p in declared}
    return [[name, sorted(kinds.split(", ")), need.get(name, "required")] for name, kinds in told]


def main() -> None:
    mindspore.set_context(mode=mindspore.PYNATIVE_MODE)
    mindspore.set_device("CPU")
    with_kernel = {path.stem.replace("_", "") for folder in HEADERS.iterdir() for path in folder.glob("*.h")}
    found = {}
    for name, cls in sorted(vars(auto_generate).items()):
        if not inspect.isclass(cls) or not issubclass(cls, mindspore.ops.Primitive) or name.endswith("Prim_"):
            continue
        if name.lower() not in with_kernel:
            continue
        try:
            signature = signature_of(cls)
        except (TypeError, ValueError) as error:
            print(name, str(error).splitlines()[0])
            continue
        if signature is not None:
            found[name] = signature
    lines = [f'"{name}": {json.dumps(signature)}' for name, signature in found.items()]
    version = json.dumps(mindspore.__version__)
    text = '{\n"version": ' + version + ',\n"primitives": {\n' + ",\n".join(lines) + "\n}\n}\n"
    Path(__file__).with_name("ascend_signatures.json").write_text(text, encoding="utf-8")
    print(len(found), "primitives")


if __name__ == "__main__":
    main()
