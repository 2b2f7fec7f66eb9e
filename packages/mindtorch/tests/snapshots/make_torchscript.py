# ruff: noqa: E501
"""Writes ``torchscript_files``, under PyTorch: archives of the programs, and ``results.json``, what they compute.

python make_torchscript.py
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import torch
import torchscript_programs as programs
from torch import nn
from torchscript_values import described

FOLDER = Path(__file__).with_name("torchscript_files")


def _random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape)


def _cases() -> list[tuple[str, Any, list[tuple[Any, ...]], str]]:
    """Name of the archive, what is written, arguments of each call, and the method that is called."""
    x = _random(3, 4)
    convolutional, layer = programs.Convolutional(), nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0)
    everything, script = programs.Everything(), torch.jit.script
    lengths = torch.tensor([3, 1, 5])
    floats = [0.1, 1.0, 1e20, 1e-7, 123456789.123, float("inf"), float("nan"), 1e17, 1e18, -0.0, 1 / 3, 2.5, 1e22]
    return [
        ("everything", script(everything), [(x,), (x, x), (x, None, 2), (x, None, 2.5), (_random(4),)], "forward"),
        ("everything", script(everything), [(x,), (x, 2), (x, 5, "q", (2, 3.0)), (x, 2.5)], "other"),
        ("integers", script(programs.integers), [(7, 2), (-7, 3), (2**40, 3), (3, -2), (3, 0), (2**62, 4)], "forward"),
        ("floats", script(programs.floats), [(7.5, 2.0), (-7.5, 2.0), (2.5, 1e300), (0.0, 3.0), (1e20, 3.0)], "forward"),
        ("texts", script(programs.texts), [("abc",), ("  ab c,d a\nb",), ("",), ("ABC9",)], "forward"),
        ("bits", script(programs.bits), [(7, 2), (-7, 2), (-7, 0), (1, 60)], "forward"),
        ("lists", script(programs.lists), [([3, 1, 2],), ([1],), ([],), ([5, 5, 5, 1, 2, -3],)], "forward"),
        ("dicts", script(programs.dicts), [({"a": 1, "b": 2}, "a"), ({}, "q"), ({"x": 3, "y": 3}, "w")], "forward"),
        ("raising", script(programs.raising), [([1], {"a": 1}, i) for i in range(9)], "forward"),
        ("optionals", script(programs.optionals), [(x, None, [1, None]), (x, 2, []), (None, 2, [])], "forward"),
        ("tensors", script(programs.tensors), [(_random(4, 4), 1), (_random(4, 4), -2)], "forward"),
        ("loops", script(programs.loops), [(x, 1), (x, 5), (x, 0)], "forward"),
        ("written", script(programs.written), [(torch.arange(6.0).view(2, 3), None, {"a": [1.0, 0.1]}, floats)], "forward"),
        ("unions", script(programs.unions), [(1, 2), ([1], 2), ({"a": 1}, x), ({"a": 1}, ["q"]), ((1, "a"), 3)], "forward"),
        ("training", script(convolutional), [(_random(2, 3, 8, 8),)], "forward"),
        ("recurrent", script(programs.Recurrent()), [(torch.randint(0, 10, (2, 5)),)], "forward"),
        ("encoder", script(layer.eval()), [(_random(2, 3, 8),)], "forward"),
        ("losses", script(programs.Losses()), [(_random(5, 5), torch.tensor([0, 2, 4, 1, 3]))], "forward"),
        ("drawn", script(programs.drawn), [(torch.ones(5),)], "forward"),
        ("complexes", script(programs.complexes), [(_random(4), 1 + 2j)], "forward"),
        ("odd_names", script(programs.OddNames()), [(_random(2, 1),), (_random(1, 1), 4)], "forward"),
        ("traced", torch.jit.trace(convolutional.eval(), _random(2, 3, 8, 8)), [(_random(3, 3, 8, 8),)], "forward"),
        ("sizes", torch.jit.trace(programs.sizes, (_random(2, 3, 4), _random(2))), [(_random(3, 2, 5), _random(4))], "forward"),
        ("packed", script(programs.Packed()), [(_random(3, 5, 4), lengths), (_random(3, 5, 4), lengths, (_random(2, 3, 3), _random(2, 3, 3)), _random(2, 3, 2))], "forward"),
    ]  # fmt: skip


def _called(module: Any, method: str, args: tuple[Any, ...]) -> dict[str, Any]:
    torch.manual_seed(1)
    told = io.StringIO()
    try:
        with contextlib.redirect_stdout(told):
            result = getattr(module, method)(*args)
    except (RuntimeError, torch.jit.Error) as error:
        return {"error": [type(error).__name__, str(error).strip().splitlines()[-1]]}
    return {"result": described(torch, result)}


def main() -> None:
    """Write the files."""
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    FOLDER.mkdir(exist_ok=True)
    results = []
    for name, scripted, calls, method in _cases():
        path = FOLDER / f"{name}.pt"
        if method == "forward":
            torch.jit.save(scripted, str(path))
        module = torch.jit.load(path)
        for args in calls:
            given = described(torch, args)
            results.append({"archive": name, "method": method, "args": given, **_called(module, method, args)})
    lines = ",\n".join(json.dumps(result) for result in results)
    (FOLDER / "results.json").write_text(f"[\n{lines}\n]\n")
    print(len(results), "calls", file=sys.stderr)


if __name__ == "__main__":
    main()
