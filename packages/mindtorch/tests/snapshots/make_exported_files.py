"""Write `exported_files/NAME.pt2` for `saved_programs`, and `results.json`: what PyTorch saves and computes.

Run with PyTorch: ``python make_exported_files.py [--check]``.
"""

from __future__ import annotations

import io
import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import torch
from saved_programs import PROGRAMS
from torch.utils._pytree import tree_leaves

FOLDER = Path(__file__).with_name("exported_files")
_CHANGING = (".data/serialization_id", "sample_inputs/model.pt")


def shown(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    numbers = torch.view_as_real(value.resolve_conj()) if value.is_complex() else value
    return [str(value.dtype), list(value.shape), list(value.stride()), str(numbers.tolist())]


def record(name: str) -> tuple[bytes, Any]:
    module, args, kwargs = PROGRAMS[name](torch)
    program = torch.export.export(module, args, kwargs)
    for node in program.graph.nodes:
        node.meta.pop("stack_trace", None)  # it names files of whoever runs this
    buffer = io.BytesIO()
    torch.export.save(program, buffer, extra_files={"note": name})
    return buffer.getvalue(), [shown(leaf) for leaf in tree_leaves(program.module()(*args, **kwargs))]


def contents(data: bytes) -> dict[str, bytes]:
    archive = zipfile.ZipFile(io.BytesIO(data))
    return {name: archive.read(name) for name in archive.namelist() if not name.endswith(_CHANGING)}


def main() -> int:
    made = {name: record(name) for name in PROGRAMS}
    text = json.dumps({name: result for name, (_, result) in made.items()}, indent=0, sort_keys=True) + "\n"
    if "--check" in sys.argv:
        same = all(
            contents((FOLDER / f"{name}.pt2").read_bytes()) == contents(data) for name, (data, _) in made.items()
        )
        return int(not same or (FOLDER / "results.json").read_text() != text)
    FOLDER.mkdir(exist_ok=True)
    for name, (data, _) in made.items():
        (FOLDER / f"{name}.pt2").write_bytes(data)
    (FOLDER / "results.json").write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
