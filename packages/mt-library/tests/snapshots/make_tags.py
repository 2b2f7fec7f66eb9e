"""Write the tags of PyTorch's operators where mindtorch reads them: tags, separated by spaces -> operators.

Run with PyTorch 2.13: ``python make_tags.py [--check]``.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
from writing import write_or_check

TARGET = Path(__file__).parents[2] / "src/mt_library/_aten_tags.json"


def overloads() -> list[torch._ops.OpOverload]:
    found = []
    for name in torch._C._dispatch_get_all_op_names():
        namespace, _, rest = name.partition("::")
        packet, _, overload = rest.partition(".")
        if namespace == "aten" and not packet.startswith("__"):
            found.append(getattr(getattr(torch.ops.aten, packet), overload or "default"))
    return found


def main() -> None:
    groups: dict[str, list[str]] = {}
    for op in overloads():
        tags = " ".join(sorted(tag.name for tag in op.tags))
        groups.setdefault(tags, []).append(op.name().removeprefix("aten::"))
    text = json.dumps({tags: " ".join(sorted(names)) for tags, names in sorted(groups.items()) if tags}, indent=0)
    write_or_check(TARGET, text + "\n")


if __name__ == "__main__":
    main()
