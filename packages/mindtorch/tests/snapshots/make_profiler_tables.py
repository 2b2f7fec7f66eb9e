"""What PyTorch's profiler writes of given events; writes ``profiler_tables.json``, or compares it with ``--check``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch.autograd.profiler_util as util
from profiler_events import described
from torch.profiler import schedule

FILE = Path(__file__).with_name("profiler_tables.json")
made = {"stacks": described(util, schedule, flops=False), "flops": described(util, schedule, flops=True)}
text = json.dumps(made, indent=1) + "\n"
if "--check" in sys.argv:
    assert FILE.read_text() == text, "differs"
else:
    FILE.write_text(text)
