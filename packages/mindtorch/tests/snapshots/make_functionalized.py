"""Write `functionalized.json`: what PyTorch calls, and gives, for `functionalized_programs` under ``functionalize``.

Run with PyTorch: ``python make_functionalized.py [--check]``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
from functionalized_programs import PROGRAMS
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

TARGET = Path(__file__).with_name("functionalized.json")


class Names(TorchDispatchMode):
    """The names of all operators, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.called: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.called.append(str(func))
        return func(*args, **(kwargs or {}))


def numbers(tree: Any) -> Any:
    return tree_map_only(torch.Tensor, lambda tensor: tensor.tolist(), tree)


def record(name: str, remove: str) -> dict[str, Any]:
    make_inputs, program = PROGRAMS[name]
    inputs = make_inputs(torch)
    with Names() as names:
        result = torch.func.functionalize(lambda *args: program(torch, *args), remove=remove)(*inputs)
    return {"calls": names.called, "result": numbers(result), "inputs": numbers(inputs)}


def main() -> int:
    kinds = ("mutations", "mutations_and_views")
    found = {name: {remove: record(name, remove) for remove in kinds} for name in PROGRAMS}
    text = json.dumps(found, indent=1, sort_keys=True) + "\n"
    if "--check" in sys.argv:
        return int(TARGET.read_text() != text)
    TARGET.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
