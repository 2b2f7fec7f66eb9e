"""Record in `expressions.json` what PyTorch makes of each expression: ``python make_expressions.py [--check]``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
import torch.nn.utils.prune

sys.path.insert(0, str(Path(__file__).parent))

from evaluation import HERE, expressions, names, outcome


def main() -> None:
    torch.manual_seed(0)
    scope = names(torch.nn, torch)
    made = {text: outcome(lambda text=text: eval(text, dict(scope))) for text in expressions()}  # noqa: S307
    written = json.dumps(made, indent=1) + "\n"
    path = HERE / "expressions.json"
    if "--check" not in sys.argv:
        path.write_text(written)
    elif path.read_text() != written:
        sys.exit(f"{path} is not what PyTorch {torch.__version__} gives")


if __name__ == "__main__":
    main()
