"""Write `exports.json`: the code, the signature and the result of what PyTorch exports for `exported_programs`.

Run with PyTorch: ``python make_exports.py [--check]``.
"""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path
from typing import Any

import torch
from exported_programs import PROGRAMS
from torch.utils._pytree import tree_map_only

TARGET = Path(__file__).with_name("exports.json")


def record(name: str) -> dict[str, Any]:
    module, args, kwargs = PROGRAMS[name](torch)
    program = torch.export.export(copy.deepcopy(module), args, kwargs)
    result = program.module()(*args, **kwargs)
    return {
        "code": program.graph_module.code.strip(),
        "module": program.module().code.strip(),
        "signature": str(program.graph_signature),
        "result": tree_map_only(torch.Tensor, lambda tensor: tensor.tolist(), result),
    }


def main() -> int:
    text = json.dumps({name: record(name) for name in PROGRAMS}, indent=1, sort_keys=True) + "\n"
    if "--check" in sys.argv:
        return int(TARGET.read_text() != text)
    TARGET.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
