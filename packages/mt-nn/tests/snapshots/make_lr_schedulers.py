"""Record the rates that PyTorch's schedulers set: ``python make_lr_schedulers.py [--check]``.

`lr_schedulers.json` has random courses of training: a tree of schedulers on an optimizer of two groups, what is done in
each epoch, the rates and momenta after it, and the keys of the scheduler's state at the end.
"""

from __future__ import annotations

import copy
import json
import random
import sys
import warnings
from pathlib import Path
from typing import Any

import torch
from torch.optim import lr_scheduler, swa_utils

HERE = Path(__file__).parent
COURSES = 160
EPOCHS = 14

#: Functions that a case names.
FUNCTIONS = {"decay": lambda epoch: 0.95**epoch, "wobble": lambda epoch: 0.9 + 0.01 * epoch}


def options(rng: random.Random) -> dict[str, dict[str, Any]]:
    return {
        "LambdaLR": {"lr_lambda": "decay"},
        "MultiplicativeLR": {"lr_lambda": "wobble"},
        "StepLR": {"step_size": rng.randint(1, 4), "gamma": rng.choice([0.5, 0.9])},
        "MultiStepLR": {"milestones": sorted(rng.choices(range(12), k=4))},
        "ConstantLR": {"factor": rng.choice([0.5, 0.1]), "total_iters": rng.randint(0, 5)},
        "LinearLR": {"start_factor": 0.3, "end_factor": rng.choice([0.1, 1.0]), "total_iters": rng.randint(1, 7)},
        "ExponentialLR": {"gamma": 0.9},
        "PolynomialLR": {"total_iters": rng.randint(1, 9), "power": rng.choice([1.0, 2.0, 0.5])},
        "CosineAnnealingLR": {"T_max": rng.randint(1, 8), "eta_min": rng.choice([0.0, 0.01])},
        "CosineAnnealingWarmRestarts": {"T_0": rng.randint(1, 4), "T_mult": rng.randint(1, 3), "eta_min": 0.001},
        "CyclicLR": {
            "base_lr": 0.01,
            "max_lr": rng.choice([0.2, 1.0]),
            "step_size_up": rng.randint(1, 5),
            "step_size_down": rng.choice([None, 2, 3]),
            "mode": rng.choice(["triangular", "triangular2", "exp_range"]),
            "gamma": 0.9,
            "cycle_momentum": rng.random() < 0.7,
        },
        "OneCycleLR": {
            "max_lr": 0.5,
            "total_steps": rng.randint(18, 30),
            "anneal_strategy": rng.choice(["cos", "linear"]),
            "three_phase": rng.random() < 0.5,
            "cycle_momentum": rng.random() < 0.7,
        },
        "SWALR": {"swa_lr": 0.05, "anneal_epochs": rng.randint(0, 5), "anneal_strategy": rng.choice(["cos", "linear"])},
        "ReduceLROnPlateau": {
            "mode": rng.choice(["min", "max"]),
            "factor": 0.5,
            "patience": rng.randint(0, 2),
            "threshold": rng.choice([1e-4, 0.1]),
            "threshold_mode": rng.choice(["rel", "abs"]),
            "cooldown": rng.randint(0, 2),
            "min_lr": rng.choice([0, 0.01]),
        },
    }


NAMES = sorted(options(random.Random(0)))


def tree(rng: random.Random, resume: int, depth: int = 0) -> dict[str, Any]:
    if depth < 2 and rng.random() < 0.25:
        parts = [tree(rng, resume, depth + 1) for _ in range(rng.randint(1, 3))]
        if rng.random() < 0.5:
            milestones = sorted(rng.sample(range(1, 13), len(parts) - 1))
            return {"name": "SequentialLR", "parts": parts, "options": {"milestones": milestones}}
        return {"name": "ChainedScheduler", "parts": parts, "options": {}}
    every = options(rng)
    name = rng.choice([name for name in NAMES if depth == 0 or name != "ReduceLROnPlateau"])
    resumed = {} if name == "ReduceLROnPlateau" else {"last_epoch": resume}
    return {"name": name, "options": {**every[name], **resumed}}


def course(seed: int) -> dict[str, Any]:
    rng = random.Random(seed)
    resume = rng.randint(0, 6) if rng.random() < 0.25 else -1
    scheduler = tree(rng, resume)
    composed = "parts" in scheduler
    epochs = []
    for _ in range(EPOCHS):
        step: dict[str, Any] = {}
        if scheduler["name"] == "ReduceLROnPlateau":
            step["metric"] = round(rng.random(), 3)
        elif rng.random() < 0.06 and not composed:
            step["epoch"] = rng.randint(0, 9)
        step["reload"] = rng.random() < 0.05
        epochs.append(step)
    return {
        "optimizer": rng.choice(["SGD", "Adam"]),
        "tensor_lr": rng.random() < 0.2,
        "resume": resume,
        "scheduler": scheduler,
        "epochs": epochs,
    }


def build(spec: dict[str, Any], optimizer: torch.optim.Optimizer) -> Any:
    given = {
        key: FUNCTIONS.get(value, value) if key == "lr_lambda" else value for key, value in spec["options"].items()
    }
    cls = getattr(lr_scheduler, spec["name"], None) or getattr(swa_utils, spec["name"])
    if "parts" not in spec:
        return cls(optimizer, **given)
    parts = [build(part, optimizer) for part in spec["parts"]]
    return cls(parts) if spec["name"] == "ChainedScheduler" else cls(optimizer, parts, **given)


def run(case: dict[str, Any]) -> dict[str, Any]:
    def rate(value: float) -> Any:
        return torch.tensor(value) if case["tensor_lr"] else value

    groups = [{"params": [torch.nn.Parameter(torch.ones(2))], "lr": rate(lr)} for lr in (0.1, 0.03)]
    momentum = {"momentum": 0.9} if case["optimizer"] == "SGD" else {}
    optimizer = getattr(torch.optim, case["optimizer"])(groups, **momentum)
    if case["resume"] >= 0:
        for group in optimizer.param_groups:
            group["initial_lr"] = rate(0.2)
    seen: list[Any] = []
    try:
        scheduler = build(case["scheduler"], optimizer)
        for epoch in case["epochs"]:
            seen.append(one_epoch(optimizer, scheduler, epoch))
    except Exception as error:  # noqa: BLE001 - whatever PyTorch raises is to be raised
        return {"seen": seen, "error": type(error).__name__}
    return {"seen": seen, "state": sorted(scheduler.state_dict())}


def one_epoch(optimizer: torch.optim.Optimizer, scheduler: Any, epoch: dict[str, Any]) -> list[list[float]]:
    """The rates and the momenta of the groups, and the rates by the scheduler's own account."""
    optimizer.step()
    scheduler.step(*[epoch[key] for key in ("metric", "epoch") if key in epoch])
    if epoch["reload"]:
        scheduler.load_state_dict(copy.deepcopy(scheduler.state_dict()))
    groups = optimizer.param_groups
    momenta = [group["betas"][0] if "betas" in group else group["momentum"] for group in groups]
    rows = [group["lr"] for group in groups], momenta, scheduler.get_last_lr()
    return [[float(f"{float(value):.9g}") for value in row] for row in rows]


def record() -> list[dict[str, Any]]:
    warnings.simplefilter("ignore")
    cases = [course(seed) for seed in range(COURSES)]
    return [{**case, **run(case)} for case in cases]


if __name__ == "__main__":
    text = json.dumps(record(), indent=None, separators=(",", ":")).replace('{"optimizer"', '\n{"optimizer"') + "\n"
    path = HERE / "lr_schedulers.json"
    if "--check" not in sys.argv:
        path.write_text(text)
    elif path.read_text() != text:
        raise SystemExit(f"lr_schedulers.json differs from what PyTorch {torch.__version__} gives")
