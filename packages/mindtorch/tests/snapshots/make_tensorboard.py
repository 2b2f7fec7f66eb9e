"""What PyTorch writes for TensorBoard; writes ``tensorboard.json``, or compares it with ``--check``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
from tensorboard_cases import written

FILE = Path(__file__).with_name("tensorboard.json")
text = json.dumps(written(torch), indent=1) + "\n"
if "--check" in sys.argv:
    assert FILE.read_text() == text, "differs"
else:
    FILE.write_text(text)
