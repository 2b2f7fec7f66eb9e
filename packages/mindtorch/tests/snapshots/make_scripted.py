"""Have PyTorch load what mindtorch saves of scripted functions and modules, and record what was saved and the answers.

With PyTorch 2.13 and mindtorch in one process: ``PYTHONPATH=... python make_scripted.py``.
"""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import torch
from scripted_programs import scripted, told

import mindtorch


def _as_theirs(value: object) -> object:
    if isinstance(value, tuple):
        return tuple(map(_as_theirs, value))
    return torch.tensor(value.tolist(), dtype=getattr(torch, value.dtype.name)) if hasattr(value, "dtype") else value


found = {}
for name, (made, calls) in scripted(mindtorch).items():
    file = io.BytesIO()
    mindtorch.jit.save(made, file)
    records = zipfile.ZipFile(file)
    code = {n.partition("/")[2]: records.read(n).decode() for n in records.namelist() if n.endswith(".py")}
    file.seek(0)
    loaded = torch.jit.load(file)
    found[name] = {"code": code, "answers": [told(loaded(*map(_as_theirs, args))) for args in calls]}
Path(__file__).with_name("scripted.json").write_text(json.dumps(found, indent=1) + "\n")
