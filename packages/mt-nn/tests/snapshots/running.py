"""How a line of `modules.txt` is run, on PyTorch and on mindtorch alike."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent


def lines() -> list[str]:
    text = (HERE / "modules.txt").read_text().splitlines()
    return [line for line in text if line and not line.startswith("#")]


def run(line: str, scope: dict[str, Any], manual_seed: Callable[[int], Any]) -> dict[str, np.ndarray]:
    """Initial parameters, outputs, final buffers, and gradients of inputs and parameters, by name."""
    build, arguments = line.split(" | ")
    manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = eval(build, dict(scope))  # noqa: S307
    inputs = eval(f"({arguments},)", dict(scope))  # noqa: S307
    found = {f"initial {name}": _array(param) for name, param in module.named_parameters()}
    # Losses need no gradient of their targets.
    inputs, leaves = _with_leaves(inputs, limit=1 if type(module).__name__.endswith("Loss") else len(inputs))
    outputs = list(_floating(module(*inputs)))
    found.update({f"output {i}": _array(output) for i, output in enumerate(outputs)})
    found.update({f"buffer {name}": _array(buffer) for name, buffer in module.named_buffers()})
    differentiable = [output for output in outputs if output.requires_grad]
    if differentiable:
        sum((output * (i + 1)).cos().sum() for i, output in enumerate(differentiable)).backward()
        leaves = {f"input {i}": leaf for i, leaf in enumerate(leaves)} | dict(module.named_parameters())
        found.update({f"gradient {n}": _array(leaf.grad) for n, leaf in leaves.items() if leaf.grad is not None})
    return found


def _array(tensor: Any) -> np.ndarray:
    return tensor.detach().numpy().copy()


def _with_leaves(inputs: tuple, limit: int) -> tuple[list[Any], list[Any]]:
    """The inputs, of which the first `limit` require grad where they are floating-point tensors, and these."""
    replaced, leaves = [], []
    for position, value in enumerate(inputs):
        if position < limit and hasattr(value, "is_floating_point") and value.is_floating_point():
            value = value.detach().requires_grad_(True)
            leaves.append(value)
        replaced.append(value)
    return replaced, leaves


def _floating(nested: Any) -> Iterator[Any]:
    """The floating-point tensors of a result."""
    if isinstance(nested, (tuple, list)):
        for value in nested:
            yield from _floating(value)
    elif nested is not None and nested.is_floating_point():
        yield nested
