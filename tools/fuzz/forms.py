"""Call every public operator in every form, on PyTorch and mindtorch, and compare: ``python -m tools.fuzz.forms``.

A form is the function, the method, ``out=``, one argument that requires grad (with its gradient), or the first
tensor made of integers. Nothing is drawn: the same samples give the same programs. The report goes to forms.md.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from .catalogue import Call, catalogue
from .choices import COMPLEX, FLOATS
from .processes import Process
from .report import Report

__all__ = ["forms_of", "programs"]

#: Programs that one interpreter is ahead of the other.
_BATCH = 200


def programs(each: int, only: str = "") -> Iterator[dict[str, Any]]:
    """The programs of the first `each` samples of every operator whose name holds the pattern `only`."""
    for name, calls in catalogue().items():
        for call in calls[:each] if re.search(only, name) else ():
            for form, lines in forms_of(call):
                yield {"seed": 0, "lines": lines, "kinds": [f"sample: {name}, {form}"] * len(lines)}


def forms_of(call: Call) -> Iterator[tuple[str, list[str]]]:
    """(form, lines) of one call."""
    arguments = _Arguments(call)
    if call["form"] == "out":
        yield "out", arguments.lines({}, "out")
        return
    if call["form"] != "method":
        yield "function", arguments.lines({})
    if (call["form"] == "method" or call["method"]) and arguments.tensors[:1] == ["v0"]:
        yield "method", arguments.lines({}, "method")
    how = "method" if call["form"] == "method" else "function"
    for number, name in enumerate(arguments.tensors):
        if arguments.dtypes[number] in FLOATS or arguments.dtypes[number] in COMPLEX:
            yield f"argument {number} requires grad", arguments.lines({name: ".requires_grad_()"}, how, gradient=True)
    if arguments.tensors and arguments.dtypes[0] in FLOATS:
        yield "integers", arguments.lines({arguments.tensors[0]: ".to(torch.int64)"}, how)


class _Arguments:
    """A call's arguments: each tensor a variable, ``v0`` where the first argument is one."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.tensors: list[str] = []
        self.texts: list[str] = []
        self.dtypes: list[str] = []
        self.positional = [self._text(value) for value in call["positional"]]
        self.named = [f"{key}={self._text(value)}" for key, value in call["named"].items()]

    def _text(self, value: dict[str, Any]) -> str:
        if "items" in value:
            return f"[{', '.join(self._text(item) for item in value['items'])}]"
        if "tensor" not in value:
            return value["text"]
        self.tensors.append(f"v{len(self.tensors)}")
        self.texts.append(value["tensor"])
        self.dtypes.append(value["dtype"].removeprefix("torch."))
        return self.tensors[-1]

    def lines(self, dressed: dict[str, str], how: str = "function", *, gradient: bool = False) -> list[str]:
        """The arguments, and the call; what `dressed` holds follows the argument of that name."""
        made = [f"{n} = {t}{dressed.get(n, '')}" for n, t in zip(self.tensors, self.texts, strict=True)]
        rest = self.positional if how != "method" else self.positional[1:]
        text = ", ".join(rest + self.named)
        place = self.call["name"] if how != "method" else f"v0.{self.call['name'].rpartition('.')[2]}"
        result = ("v" if self.call["elements"] else "w") + str(len(self.tensors))
        if how == "out":
            outs = [f"torch.zeros_like({result}{'' if self.call['outs'] == 1 else f'[{k}]'})" for k in self._outs()]
            target = "v9" if self.call["elements"] else "w9"
            into = f"{target} = {outs[0] if len(outs) == 1 else '(' + ', '.join(outs) + ')'}"
            call = f"{place}({text}{', ' if text else ''}out={target})"
            return [*made, f"{result} = {place}({text})", into, call]
        backward = [f"{result}.sum().backward()"] if gradient and result[0] == "v" else []
        return [*made, f"{result} = {place}({text})", *backward]

    def _outs(self) -> range:
        return range(self.call["outs"])


def _asked(process: Process, requests: list[dict[str, Any]]) -> list[dict[str, Any] | None]:
    return [process.ask(request) for request in requests]


def run(asked: Iterator[dict[str, Any]], writer: Process, other: Process, report: Report) -> None:
    """Run on both at the same time, batch by batch."""
    with ThreadPoolExecutor(2) as pool:
        for batch in iter(lambda: [program for _, program in zip(range(_BATCH), asked, strict=False)], []):
            lines = [{"seed": program["seed"], "lines": program["lines"]} for program in batch]
            both = [pool.submit(_asked, process, lines) for process in (writer, other)]
            for program, wanted, got in zip(batch, *(side.result() for side in both), strict=True):
                if wanted is not None:
                    report.enter({**program, "notes": wanted["notes"]}, None if got is None else got["notes"])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz.forms", description=__doc__)
    parser.add_argument("--each", type=int, default=2, help="samples of each operator")
    parser.add_argument("--only", default="", help="a pattern of operators' names")
    parser.add_argument("--pytorch", default=sys.executable, help="an interpreter that has PyTorch")
    parser.add_argument("--mindtorch", default=sys.executable, help="an interpreter that has mindtorch")
    parser.add_argument("--report", type=Path, default=Path("forms.md"))
    options = parser.parse_args()
    writer, other = Process(options.pytorch, "torch"), Process(options.mindtorch, "mindtorch")
    report = Report([])
    run(programs(options.each, options.only), writer, other, report)
    report.ended = {"PyTorch": len(writer.ended), "mindtorch": len(other.ended)}
    options.report.write_text(report.text(), encoding="utf-8")
    print(report.text()[:3000])
    for process in (writer, other):
        process.close()
    return 1 if report.differing else 0


if __name__ == "__main__":
    raise SystemExit(main())
