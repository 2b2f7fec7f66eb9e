"""The page of names: a table of modules, what is refused, and what is not there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Protocol

__all__ = ["page"]

HEAD = """\
# Public names

`./dev surface` looks for every name of PyTorch 2.13's documented modules, calls each that can be called once, in a
process of its own, and compares with what PyTorch gave (`tools/surface/snapshot.json`; `make_snapshot.py` beside it
asks PyTorch). Then it writes this page.

- *there*: the name resolves to a module, to what can be called, or to a value, as in PyTorch.
- *works*: a call gives PyTorch's values, dtypes, shapes and classes, or raises the same type of error as PyTorch's.
- *refused*: it raises `NotImplementedError`, which names what is not supported.
- *differs*: anything else.
- *not called*: PyTorch refused all calls that were made up from the signature, and none is written in `calls.txt`.

| module | names | there | called | works | refused | differs | not called |
|---|---|---|---|---|---|---|---|
"""


class Finding(Protocol):
    path: str
    name: str
    kind: str
    state: str
    why: str


def page(findings: Sequence[Finding]) -> str:
    """The whole page."""
    of_module: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        of_module[finding.path].append(finding)
    rows = [_row(f"`{path}`", found) for path, found in of_module.items()]
    parts = [HEAD + "\n".join([*rows, _row("**all**", findings)]) + "\n"]
    refused: dict[str, list[str]] = defaultdict(list)
    for finding in findings:
        if finding.state == "refused":
            refused[_reason(finding.why)].append(f"{finding.path}.{finding.name}")
    parts.append("## What is refused, by reason\n")
    parts += [
        f"- {reason}\n  {_listed(names)}" for reason, names in sorted(refused.items(), key=lambda item: -len(item[1]))
    ]
    for title, state in (("What differs", "differs"), ("What is not there", "absent")):
        parts.append(f"\n## {title}\n")
        for path, found in of_module.items():
            names = [finding.name for finding in found if finding.state == state]
            if names:
                parts.append(f"- `{path}`: {_listed(names)}")
    return "\n".join(parts) + "\n"


def _row(title: str, found: Sequence[Finding]) -> str:
    called = [finding for finding in found if finding.kind in ("function", "class")]
    count = {state: sum(f.state == state for f in called) for state in ("works", "refused", "differs", "there")}
    there = sum(finding.state != "absent" for finding in found)
    states = (count["works"], count["refused"], count["differs"], count["there"])
    return (
        f"| {title} | {len(found)} | {there} | {len(called) - count['there']} | " + " | ".join(map(str, states)) + " |"
    )


def _reason(why: str) -> str:
    """The sentence about what to do instead; what is said of the name itself is not repeated."""
    _, separator, rest = why.partition(" is not supported by mindtorch.")
    text = rest.strip() if separator and rest.strip() else "not supported" if separator else why.split("\n")[0][:160]
    return text.replace("|", "/").replace("<", "&lt;")


def _listed(names: Iterable[str]) -> str:
    return " ".join(f"`{name}`" for name in names)
