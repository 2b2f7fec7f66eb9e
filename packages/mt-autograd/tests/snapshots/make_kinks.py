"""Make kinks.json: what PyTorch 2.13, which must be installed, has for derivatives in kinks.py."""

from __future__ import annotations

import json
from pathlib import Path

import kinks
import torch
from writing import write_or_check

found = kinks.outcomes(torch)
lines = ",\n".join(f"{json.dumps(words)}: {json.dumps(slopes)}" for words, slopes in found.items())
write_or_check(Path(__file__).with_name("kinks.json"), f"{{\n{lines}\n}}\n")
print(f"{len(found)} functions of PyTorch {torch.__version__}")
