"""Record the code of the graphs that PyTorch's ``make_fx`` makes of programs.

Use: ``make_proxy_graphs.py [--check]``, with PyTorch 2.13. A program is ``arguments :: function``; after a third ``::``
stand options of ``make_fx``.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
TARGET = HERE / "proxy_graphs.json"
PROGRAMS = HERE / "proxy_graphs.txt"


def programs() -> list[str]:
    return [line for line in PROGRAMS.read_text().splitlines() if line and not line.startswith("#")]


def outcome(torch, make_fx, program: str) -> str:
    """The code of a program's graph, or the class of the error and the first words of its text."""
    args, function, options, *_ = (*program.split(" :: "), "")
    space = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "aten": torch.ops.aten}
    space |= {"x": torch.ones(3), "y": torch.ones(3, 4), "c": torch.ones(3, dtype=torch.complex64)}
    space |= {"r": torch.ones(3, requires_grad=True), "i": torch.tensor([0, 1])}
    torch.manual_seed(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = [eval(text, space) for text in (function, f"dict({options})", f"({args},)")]  # noqa: S307
            graph = make_fx(made[0], **made[1])(*made[2])
    except (RuntimeError, AssertionError) as error:
        return f"{type(error).__name__}: {str(error)[:150]}"
    return graph.code.strip()


def main() -> None:
    import torch
    from torch.fx.experimental.proxy_tensor import make_fx

    text = json.dumps({program: outcome(torch, make_fx, program) for program in programs()}, indent=1) + "\n"
    if "--check" in sys.argv:
        assert TARGET.read_text() == text, f"{TARGET.name} is not what PyTorch {torch.__version__} gives"
    else:
        TARGET.write_text(text)


if __name__ == "__main__":
    main()
