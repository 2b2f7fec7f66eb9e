"""Record what PyTorch does with nested tensors: with PyTorch 2.13, ``python make_nested.py``."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from nested_cases import answers

lines = [f"{json.dumps(name)}: {json.dumps(said)}" for name, said in answers(torch).items()]
Path(__file__).with_name("nested.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
