"""The page of differences: what the files of known gaps, the pages and the refusing names say."""

from __future__ import annotations

import importlib
import inspect
import re
from collections import defaultdict

from mt_core.testing.gaps import read_gaps

from .site import DOCS, ROOT

__all__ = ["differences_page"]

CPU = ROOT / "packages" / "mt-backend-cpu" / "tests"
#: The tables of the CPU's gaps that tell of results, and what each is about.
TABLES = {
    "agrees_with_reference": "Values, shapes, dtypes",
    "strides_of_reference": "Where a result lies in memory",
    "recording": "What requires a gradient",
    "has_same_dtypes": "Which dtypes are taken",
    "has_same_words": "Both refuse, in other words",
}
#: What each table of the altered calls is about.
KINDS = {
    "accepted": "taken here, refused by PyTorch",
    "refused": "refused here, taken by PyTorch",
    "shapes": "another shape or dtype of the result",
    "type": "refused by both, with another type of error",
    "words": "refused by both, in other words",
}
SECTION = re.compile(r"^## ((?:\d+\. )?(?:What differs|What is missing|.*what is different).*)$", re.MULTILINE)
#: Where names that refuse are looked for.
NAMESPACES = (
    "", "nn", "nn.utils", "optim", "utils", "utils.data", "jit", "onnx", "package", "export", "fx", "compiler",
    "distributed", "autograd", "profiler", "sparse", "nested", "masked", "cuda", "ao.quantization", "hub", "library",
    "backends", "multiprocessing", "testing",
)  # fmt: skip

HEAD = """\
# Differences in detail

Made from the files of known gaps that the tests are held to when this site is built; an entry that is no longer true
fails its test. [Coming from PyTorch](coming-from-pytorch.md) tells in short what matters.

"""


def differences_page() -> str:
    """Markdown of the page."""
    return HEAD + "\n".join([*_by_topic(), *_refusals(), *_operators(), *_altered()]) + "\n"


def _by_topic() -> list[str]:
    lines = ["## By topic", "", "Pages that end with what differs or is missing there:", ""]
    for path in sorted(DOCS.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        title = text.partition("\n")[0].removeprefix("# ")
        for heading in SECTION.findall(text):
            anchor = re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip())
            lines.append(f"- [{title}]({path.name}#{anchor})")
    return [*lines, ""]


def _refusals() -> list[str]:
    """Names that exist, so that programs import, and raise when they are called."""
    found: dict[str, list[str]] = defaultdict(list)
    for namespace in NAMESPACES:
        module = importlib.import_module(f"mindtorch.{namespace}".rstrip("."))
        for name in getattr(module, "__all__", None) or dir(module):
            item = inspect.getattr_static(module, name, None)
            doc = getattr(item, "__doc__", None)
            if callable(item) and isinstance(doc, str) and doc.startswith("Not supported: "):
                remedy = doc.partition(". ")[2] if ". " in doc else ""
                found[remedy].append(f"`torch.{namespace + '.' if namespace else ''}{name}`")
    lines = [
        "## Names that refuse",
        "",
        "They exist, so that programs can be imported, and raise `NotImplementedError` ",
    ]
    lines[-1] += "with the remedy when they are called."
    lines += ["", "| names | what to do instead |", "|---|---|"]
    lines += [f"| {', '.join(sorted(set(names)))} | {remedy or 'nothing yet'} |" for remedy, names in found.items()]
    return [*lines, ""]


def _operators() -> list[str]:
    gaps = read_gaps(CPU / "gaps.toml")
    lines = ["## Operators on the CPU", "", "Where an operator's results are known to differ from PyTorch's.", ""]
    for table, title in TABLES.items():
        if table not in gaps:
            continue
        lines += [f"### {title}", "", "| operators | because |", "|---|---|"]
        reasons: dict[str, list[str]] = defaultdict(list)
        for name, reason in gaps[table].items():
            reasons[reason].append(f"`{name}`")
        lines += [f"| {', '.join(names)} | {_cell(reason)} |" for reason, names in reasons.items()]
        lines.append("")
    return lines


def _altered() -> list[str]:
    found = read_gaps(CPU / "altered_differences.toml")
    lines = [
        "## Wrong calls", "",
        "Samples of operators, called with one argument of another rank, size, dtype or value. PyTorch differs:",
        "",
        "| what is done | calls | operators |", "|---|---:|---|",
    ]  # fmt: skip
    for kind, meaning in KINDS.items():
        operators = found.get(kind, {})
        calls = sum(len(items) for items in operators.values())
        lines.append(f"| {meaning} | {calls} | {', '.join(f'`{name}`' for name in operators)} |")
    return [*lines, ""]


def _cell(text: str) -> str:
    return text.replace("|", r"\|").replace("_", r"\_") if "`" not in text else text.replace("|", r"\|")
