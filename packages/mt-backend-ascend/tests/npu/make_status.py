"""Write ``docs/ascend-operators.md``: which primitive or function of MindSpore's carries out each operator.

``python make_status.py [--check]``; it needs MindSpore. What fails on the CPU target is read from `gaps.toml`.
"""

from __future__ import annotations

import ast
import functools
import inspect
import os
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

os.environ["MT_ASCEND_TARGET"] = "CPU"
os.environ.setdefault("GLOG_v", "4")

from mt_core.plugins.coverage import coverage
from mt_core.testing import read_gaps
from mt_core.testing.exam import APPLIES, examined_operators
from mt_mindspore.kernels.ascend_calls import CALLS
from mt_mindspore.registry import Entry, tables_of

HERE = Path(__file__).parent
PAGE = HERE.parents[3] / "docs" / "ascend-operators.md"
#: The checks that say whether an operator calculates rightly.
DECISIVE = ("agrees_with_meta", "agrees_with_reference", "strided_inputs")
HEAD = """\
# Operators on Ascend

<!-- Written by packages/mt-backend-ascend/tests/npu/make_status.py; do not edit. -->

Which primitive or function of MindSpore's carries out an operator on device `npu`, on both of its targets.
**CPU target** is `MT_ASCEND_TARGET=CPU`, on which the whole exam is taken; what is wrong or missing there stands in the
last column and in `packages/mt-backend-ascend/tests/gaps.toml`. **Ascend** has been compared with the signatures of
MindSpore 2.10 and has not run. A list in parentheses is of the functions that a kernel is written in; `as CPU` is a
kernel that both targets share.
"""


class Functions(ast.NodeVisitor):
    """Names of MindSpore's functions in a kernel's source."""

    def __init__(self) -> None:
        self.found: dict[str, None] = {}

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.value, ast.Name) and node.value.id in ("mint", "ops", "_generated"):
            self.found[node.attr] = None
        self.generic_visit(node)


@functools.cache
def used_by(function: Callable[..., Any], depth: int = 2) -> tuple[str, ...]:
    """MindSpore's functions that a kernel calls, itself or by helpers of its module."""
    visitor = Functions()
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    visitor.visit(tree)
    found = dict(visitor.found)
    if depth:
        for name in (node.id for node in ast.walk(tree) if isinstance(node, ast.Name)):
            helper = function.__globals__.get(name)
            if inspect.isfunction(helper) and helper.__module__.startswith("mt_mindspore") and helper is not function:
                found.update(dict.fromkeys(used_by(helper, depth - 1)))
    return tuple(found)


def told(entry: Entry) -> str:
    """A kernel in words: the function of MindSpore's, or those that it is written in."""
    function = entry.function
    if getattr(function, "__module__", "").startswith("mt_mindspore"):
        names = used_by(function)
        return f"({', '.join(f'`{name}`' for name in names)})" if names else "(views and copies)"
    return f"`{getattr(function, '__name__', type(function).__name__)}`"


def tables(target: str) -> dict[str, Entry]:
    merged: dict[str, Entry] = {}
    for table in tables_of(target):
        merged.update(table)
    return merged


def rows(names: Iterable[str], wrong: dict[str, str]) -> Iterator[str]:
    """A line for each operator that has a kernel on one of the targets."""
    on_cpu = tables("CPU")
    # Ascend's own table cannot be entered here: its lines are `CALLS`, before the tables of all targets.
    shared = {name: entry for table in tables_of("CPU")[:3] for name, entry in table.items()}
    for name in names:
        if name in on_cpu or name in CALLS:
            here = told(on_cpu[name]) if name in on_cpu else "composite"
            if name in CALLS:
                there = f"`{CALLS[name].primitive}`"
            else:
                there = "as CPU" if name in shared and shared[name] is on_cpu.get(name) else "composite"
            if name in CALLS and name not in on_cpu and name in wrong:
                here = "none"
            yield f"| `{name}` | {here} | {there} | {wrong.get(name, '')} |"


def paragraph(names: Iterable[str]) -> str:
    return textwrap.fill(" ".join(f"`{name}`" for name in names), 120, break_long_words=False)


def page() -> str:
    operators = sorted(o.name for o in examined_operators() if APPLIES["test_agrees_with_reference"](o))
    ours, reference = coverage("npu"), coverage("cpu")
    gaps = read_gaps(HERE.parent / "gaps.toml")
    wrong = {name: reason for check in reversed(DECISIVE) for name, reason in gaps.get(check, {}).items()}
    kernels = [name for name in operators if reference[name].state == "native"]
    listed = list(rows(operators, wrong))
    with_kernel = {row.split("`")[1] for row in listed}
    composite = [n for n in operators if n not in with_kernel and ours[n].state != "missing"]
    shared = {name for table in tables_of("CPU")[:3] for name in table}
    summary = (
        f"On the CPU target {share(operators, wrong, 70)} functional operators agree with the CPU, and "
        f"{share(kernels, wrong, 60)} of those for which mt-backend-cpu has a kernel of its own. "
        f"{sum(name in CALLS for name in operators)} have a primitive of Ascend's; of those with a kernel of their own "
        f"{sum(name in CALLS or name in shared for name in kernels)} have one on Ascend, a primitive or functions."
    )
    lines = [
        HEAD,
        summary,
        "",
        "## With a kernel",
        "",
        "| operator | CPU target | Ascend | what is wrong or missing on the CPU target |",
        "|---|---|---|---|",
        *listed,
        "",
        "## Written in other operators, on both targets",
        "",
        paragraph(n for n in composite if n not in wrong),
        "",
        "Of these, not on the CPU target, where a part is wrong or missing:",
        "",
        paragraph(n for n in composite if n in wrong) or "none",
        "",
        "## Missing on both targets",
        "",
        paragraph(n for n in operators if n not in with_kernel and ours[n].state == "missing") or "none",
        "",
    ]
    return "\n".join(lines)


def share(names: list[str], wrong: dict[str, str], least: int) -> str:
    """How many operators calculate rightly, and that this is no smaller part than it has to be, in percent."""
    right = sum(name not in wrong for name in names)
    assert 100 * right >= least * len(names), f"{right} of {len(names)} are less than {least} %"
    return f"{right} of {len(names)} ({100 * right / len(names):.0f} %)"


def main() -> int:
    text = page()
    if "--check" in sys.argv[1:]:
        if PAGE.read_text(encoding="utf-8") != text:
            print(f"{PAGE.name} is not what {Path(__file__).name} writes: run it again")
            return 1
        return 0
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
