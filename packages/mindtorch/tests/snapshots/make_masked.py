"""Record what PyTorch does with masked tensors: with PyTorch 2.13, ``python make_masked.py``."""

from __future__ import annotations

import json
from pathlib import Path

import torch
import torch.masked
from masked_cases import answers

lines = [f"{json.dumps(name)}: {json.dumps(said)}" for name, said in answers(torch).items()]
Path(__file__).with_name("masked.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
