"""Make behaviour.json: what PyTorch 2.13 does in the scenarios of behaviour_scenarios.py. Run with PyTorch installed."""

from __future__ import annotations

import json
from pathlib import Path

import behaviour_scenarios
import torch

HERE = Path(__file__).parent
outcomes = {
    name: behaviour_scenarios.outcome(scenario, torch) for name, scenario in behaviour_scenarios.SCENARIOS.items()
}
(HERE / "behaviour.json").write_text(json.dumps(outcomes, indent=1, ensure_ascii=False) + "\n")
print(f"{len(outcomes)} scenarios of PyTorch {torch.__version__}")
