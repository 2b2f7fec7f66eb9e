"""``python make_datapipes.py [--check]``, with PyTorch: what pipes of ``torch.utils.data`` do, to datapipes.json."""

from __future__ import annotations

import json
from pathlib import Path

import torch
import torch.utils.data.datapipes
import torch.utils.data.graph
import torch.utils.data.graph_settings
from datapipe_cases import CALLS, answer
from writing import write_or_check

if __name__ == "__main__":
    text = json.dumps({call: answer(torch, call) for call in CALLS}, indent=0)
    write_or_check(Path(__file__).with_name("datapipes.json"), text + "\n")
