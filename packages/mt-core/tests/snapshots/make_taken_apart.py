"""Write the operators that PyTorch writes in others, for `mt_core.dispatch.taken_apart`.

Run with PyTorch 2.13: ``python make_taken_apart.py [--check]``.
"""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import torch
from writing import write_or_check

TARGET = Path(__file__).parents[2] / "src/mt_core/dispatch/_taken_apart.json"


def main() -> None:
    """An operator is taken apart where it has a kernel of the key CompositeImplicitAutograd, and none of the CPU's."""
    names = [name for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")]
    implicit = sorted(
        name.removeprefix("aten::")
        for name in names
        if torch._C._dispatch_has_kernel_for_dispatch_key(name, "CompositeImplicitAutograd")
        and not torch._C._dispatch_has_kernel_for_dispatch_key(name, "CPU")
    )
    others = sorted({name.removeprefix("aten::") for name in names} - set(implicit))
    groups = {"handed over": wrapped(others), "taken apart": wrapped(implicit)}
    write_or_check(TARGET, json.dumps(groups, indent=1) + "\n")


def wrapped(words: list[str]) -> list[str]:
    return textwrap.wrap(" ".join(words), 118, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    main()
