"""Pages of the operators: one for each family, with what Python calls, what it does, and the schemas."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import mindtorch
from mt_core.testing.sample import declared_operators
from tools.opgen.packets import packets_of
from tools.opgen.reference import escaped

__all__ = ["operator_pages"]

#: Where a function of Python may stand, by what its operator's name begins with.
NAMESPACES = {"linalg_": "linalg", "fft_": "fft", "special_": "special"}

INDEX = """\
# Operators

Every operator that is declared, by family. Each family has its page, with the signature in Python, one sentence about
what it computes, and PyTorch's schemas of all overloads; `out=` and in-place forms stand with theirs.

| family | operators | some of them |
|---|---:|---|
"""


def operator_pages() -> dict[str, str]:
    """Markdown by the name of the file: ``operators.md`` and one page for each family."""
    families: dict[str, list[Any]] = defaultdict(list)
    declarations = {operator.name: operator.declaration for operator in declared_operators()}
    for packet in packets_of(declarations):
        families[packet.family].append(packet)
    pages, index = {}, INDEX
    for family, packets in sorted(families.items()):
        packets.sort(key=lambda packet: packet.name.lstrip("_"))
        public = [packet for packet in packets if not packet.name.startswith("_") and not _of_another(packet)]
        some = ", ".join(f"`{packet.name}`" for packet in public[:6])
        index += f"| [{family}](reference/operators/{family}.md) | {len(packets)} | {some} |\n"
        pages[f"reference/operators/{family}.md"] = _family(family, packets)
    return {"operators.md": index, **pages}


def _of_another(packet: Any) -> bool:
    return packet.name.endswith(("_backward", "_copy")) or (packet.name.endswith("_") and packet.name[-2:] != "__")


def _family(family: str, packets: list[Any]) -> str:
    lines = [f"# Operators: {family}", ""]
    public = [packet for packet in packets if not packet.name.startswith("_")]
    inner = [packet for packet in packets if packet.name.startswith("_")]
    for packet in public:
        lines += _entry(packet, "##")
    if inner:
        lines += ["## Internal", "", "Operators that others are made of; their names are PyTorch's as well.", ""]
    for packet in inner:
        lines += _entry(packet, "###")
    return "\n".join(lines)


def _entry(packet: Any, level: str) -> list[str]:
    lines = [f"{level} {_plain(packet.name)}", ""]
    called = _python(packet.name)
    if called:
        lines += ["```python", called, "```", ""]
    doc = next((declaration.doc for declaration in packet.all if declaration.doc), "")
    if doc:
        lines += [escaped(" ".join(doc.split())), ""]
    schemas = [str(declaration.schema) for declaration in packet.all]
    return [*lines, '```text title="schemas"', *schemas, "```", ""]


def _plain(name: str) -> str:
    return name.replace("_", r"\_")


def _python(name: str) -> str:
    """How Python calls an operator: the first line of the function's docstring, under the name users know."""
    own, place = name, "torch"
    for prefix, namespace in NAMESPACES.items():
        if name.startswith(prefix):
            own, place = name.removeprefix(prefix), f"torch.{namespace}"
    owners = [(getattr(mindtorch, place.partition(".")[2], None) if "." in place else mindtorch, place)]
    owners += [(mindtorch.nn.functional, "torch.nn.functional"), (mindtorch.Tensor, "Tensor")]
    for owner, where in owners:
        function = getattr(owner, own, None)
        first = (getattr(function, "__doc__", "") or "").partition("\n")[0]
        if callable(function) and first.startswith(f"{own}("):
            return f"{where}.{first}"
    return ""
