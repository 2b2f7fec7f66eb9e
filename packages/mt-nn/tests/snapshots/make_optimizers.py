"""Record what PyTorch's optimizers make of a least-squares problem: ``python make_optimizers.py [--check]``.

`optimizers.npz` holds the problem, the cases (as JSON) and, for each case and dtype, the parameters after some steps
and every tensor of the state.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import torch

HERE = Path(__file__).parent
STEPS = 6
DTYPES = {"float32": torch.float32, "float64": torch.float64, "complex64": torch.complex64}
REAL_ONLY = ("Adafactor", "Muon")
#: Its steps magnify the last digit: only float64 leaves something to compare.
DOUBLE_ONLY = ("LBFGS",)

#: Optimizer -> options. A dict {"tensor": x} stands for a tensor of no dimensions.
CASES = {
    "SGD": [
        {},
        {"lr": 0.1},
        {"lr": {"tensor": 0.1}},
        {"momentum": 0.9},
        {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
        {"momentum": 0.9, "dampening": 0.3, "maximize": True},
    ],
    "Adam": [
        {},
        {"weight_decay": 0.1},
        {"weight_decay": 0.1, "decoupled_weight_decay": True},
        {"amsgrad": True},
        {"maximize": True},
        {"lr": {"tensor": 0.01}},
        {"betas": [{"tensor": 0.9}, {"tensor": 0.99}]},
    ],
    "AdamW": [{}, {"lr": 0.1, "weight_decay": 0.1}, {"amsgrad": True}, {"eps": 0.1, "betas": [0.5, 0.6]}],
    "Adagrad": [{}, {"lr_decay": 0.1, "weight_decay": 0.1}, {"initial_accumulator_value": 0.3}],
    "Adadelta": [{}, {"rho": 0.5, "weight_decay": 0.1}, {"lr": 0.3, "maximize": True}],
    "Adamax": [{}, {"weight_decay": 0.1}, {"lr": {"tensor": 0.01}}],
    "NAdam": [
        {},
        {"weight_decay": 0.1},
        {"weight_decay": 0.1, "decoupled_weight_decay": True},
        {"momentum_decay": 0.1},
    ],
    "RAdam": [{}, {"betas": [0.9, 0.7]}, {"betas": [0.9, 0.7], "weight_decay": 0.1, "decoupled_weight_decay": True}],
    "RMSprop": [{}, {"centered": True}, {"momentum": 0.9}, {"centered": True, "momentum": 0.5, "weight_decay": 0.1}],
    "Rprop": [{}, {"etas": [0.3, 1.5]}, {"step_sizes": [0.01, 0.02]}],
    "ASGD": [{}, {"t0": 2}, {"lambd": 0.1, "alpha": 0.5, "weight_decay": 0.1}],
    "Adafactor": [{}, {"weight_decay": 0.1}, {"eps": [1e-3, 1e-2]}, {"d": 2.0, "beta2_decay": -0.5}],
    "Muon": [{}, {"nesterov": False, "ns_steps": 3}, {"adjust_lr_fn": "match_rms_adamw"}],
    "LBFGS": [
        {},
        {"lr": 0.1},
        {"line_search_fn": "strong_wolfe"},
        {"history_size": 2, "max_iter": 4},
        {"max_iter": 2, "line_search_fn": "strong_wolfe", "lr": 0.001},
    ],
}


def problem(dtype: torch.dtype) -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    shapes = {"weight": (4, 3), "bias": (3,), "x": (8, 4), "y": (8, 3)}
    return {name: torch.randn(shape, dtype=dtype) for name, shape in shapes.items()}


def option(value: object) -> object:
    if isinstance(value, dict):
        return torch.tensor(value["tensor"])
    return tuple(option(item) for item in value) if isinstance(value, list) else value


def run(name: str, options: dict[str, object], dtype: torch.dtype) -> dict[str, torch.Tensor]:
    data = problem(dtype)
    parameters = [torch.nn.Parameter(data["weight"])]
    parameters += [] if name == "Muon" else [torch.nn.Parameter(data["bias"])]
    optimizer = getattr(torch.optim, name)(parameters, **{key: option(value) for key, value in options.items()})

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        residual = data["x"] @ parameters[0] - data["y"]
        residual = residual if name == "Muon" else residual + parameters[1]
        loss = (residual * residual.conj()).real.mean() if dtype.is_complex else (residual * residual).mean()
        loss.backward()
        return loss

    for _ in range(STEPS):
        if name == "LBFGS":
            optimizer.step(closure)
        else:
            closure()
            optimizer.step()
    found = {f"parameter/{i}": parameter.detach() for i, parameter in enumerate(parameters)}
    if name != "LBFGS":
        for i, state in optimizer.state_dict()["state"].items():
            found.update({f"state/{i}/{key}": value for key, value in state.items() if isinstance(value, torch.Tensor)})
    return found


def record() -> dict[str, np.ndarray]:
    arrays = {"cases": np.array(json.dumps({"steps": STEPS, "cases": CASES}))}
    for label, dtype in DTYPES.items():
        arrays.update({f"problem/{label}/{key}": value.numpy() for key, value in problem(dtype).items()})
        for name, cases in CASES.items():
            if dtype.is_complex and name in REAL_ONLY or label != "float64" and name in DOUBLE_ONLY:
                continue
            for number, options in enumerate(cases):
                found = run(name, options, dtype)
                arrays.update({f"{name}/{number}/{label}/{key}": value.numpy() for key, value in found.items()})
    return arrays


def check(arrays: dict[str, np.ndarray]) -> None:
    """Compare with what is stored.

    Raises
    ------
    SystemExit
        Naming what PyTorch gives otherwise.
    """
    stored = np.load(HERE / "optimizers.npz")
    for name in sorted({*stored, *arrays}):
        same = name in stored and name in arrays
        if same and stored[name].dtype.kind == "U":
            same = str(stored[name]) == str(arrays[name])
        elif same:
            same = np.allclose(stored[name], arrays[name], rtol=1e-5, atol=1e-6)
        if not same:
            raise SystemExit(f"'{name}' of optimizers.npz differs from what PyTorch {torch.__version__} gives")


if __name__ == "__main__":
    arrays = record()
    if "--check" in sys.argv:
        check(arrays)
    else:
        np.savez_compressed(HERE / "optimizers.npz", **arrays)
