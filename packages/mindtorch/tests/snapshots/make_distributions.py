"""Record what PyTorch's distributions give: with PyTorch 2.13, ``python make_distributions.py``."""

from __future__ import annotations

import json
from pathlib import Path

import torch
import torch.distributions
from distribution_cases import answers

lines = [f"{json.dumps(name)}: {json.dumps(part)}" for name, part in answers(torch, torch.distributions).items()]
Path(__file__).with_name("distributions.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
