"""Make behaviour.json: what PyTorch 2.13, which must be installed, does in behaviour_scenarios.py."""

from __future__ import annotations

import json
from pathlib import Path

import behaviour_scenarios
import torch
import torch.utils.checkpoint
from writing import write_or_check

HERE = Path(__file__).parent
outcomes = {
    name: behaviour_scenarios.outcome(scenario, torch) for name, scenario in behaviour_scenarios.SCENARIOS.items()
}
write_or_check(HERE / "behaviour.json", json.dumps(outcomes, indent=1, ensure_ascii=False) + "\n")
print(f"{len(outcomes)} scenarios of PyTorch {torch.__version__}")
