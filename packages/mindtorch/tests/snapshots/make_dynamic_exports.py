"""Write `dynamic_exports.json`: what PyTorch exports for `dynamic_programs`, and what it says of what it refuses.

Run with PyTorch: ``python make_dynamic_exports.py [--check]``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
from dynamic_programs import PROGRAMS, REFUSED

TARGET = Path(__file__).with_name("dynamic_exports.json")
#: What follows the reason: advice about a function that mindtorch does not have.
ADVICE = "\n\nThe error above occurred when calling torch.export.export."


def record(name: str) -> dict[str, Any]:
    module, args, kwargs, dynamic_shapes, calls = PROGRAMS[name](torch)
    program = torch.export.export(module, args, kwargs, dynamic_shapes=dynamic_shapes)
    sizes = [
        str(tuple(node.meta["val"].shape))
        for node in program.graph.find_nodes(op="placeholder")
        if isinstance(node.meta["val"], torch.Tensor)
    ]
    return {
        "code": program.graph_module.code.strip(),
        "signature": str(program.graph_signature),
        "ranges": str(program.range_constraints),
        "sizes": sizes,
        "calls": [called(program.module(), sizes) for sizes in calls],
    }


def called(module: Any, sizes: Any) -> str:
    """What a call gives: the reason where it is refused."""
    try:
        module(*(torch.ones(size) for size in sizes))
    except AssertionError as error:
        return str(error)
    return "fine"


def refusal(name: str) -> list[str]:
    module, args, kwargs, dynamic_shapes = REFUSED[name](torch)
    try:
        torch.export.export(module, args, kwargs, dynamic_shapes=dynamic_shapes)
    except (torch._dynamo.exc.UserError, RuntimeError, ValueError) as error:
        return [type(error).__name__, str(error).split(ADVICE)[0]]
    raise AssertionError(f"{name} is exported")


def main() -> int:
    found = {"programs": {n: record(n) for n in PROGRAMS}, "refused": {n: refusal(n) for n in REFUSED}}
    text = json.dumps(found, indent=1, sort_keys=True) + "\n"
    if "--check" in sys.argv:
        return int(TARGET.read_text() != text)
    TARGET.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
