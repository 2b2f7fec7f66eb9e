"""Random nestings of ``torch.func``'s transforms over random programs, on PyTorch and mindtorch.

``python -m tools.fuzz.transforms [--seeds 0:20000] [--minutes 20]``. Every value must agree, and both must raise or
neither; the exit status says whether that is so. A value that differs is noise where PyTorch itself gives ours once it
is told to compute the same function in another way (`OTHER_WAYS`); noise is counted by its reason.

A program is a function of a vector, written out as source. Its variables have known shapes; a line applies an operator,
writes to a copy in place, or calls a transform of a function that is written in the same way, one level further in,
and that may use the variables around it.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import operator
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["OTHER_WAYS", "Program", "differing", "noise", "program"]

Shape = tuple[int, ...]

ROOT = Path(__file__).parent.parent.parent
#: Two float64 results that took different paths agree to about this, relative to the larger.
TOLERANCE = 1e-6
#: What turns variables into one of the same shape.
SAME = [
    "{a}.sin()", "{a}.tanh() * {a}", "{a} / (1 + {a} * {a})", "{a}.sigmoid()", "(-{a} * {a}).exp()",
    "{a}.detach() * {a}", "{a} * 0.5 + 1", "torch.where({a} > 0, {a}, 0.25 * {a})", "{a}.clone().mul_(2)",
    "{a}.clamp(-0.75, 0.75) + {a}", "({a} * 1).add_({a}.cos())", "torch.nn.functional.softplus({a})",
    "{a}.pow(3) * 0.1",
]  # fmt: skip
#: The same, of variables with at least one dimension.
SAME_WITH_DIMENSIONS = [
    "{a}.flip(0)", "{a}.cumsum(0)", "{a}.softmax(-1)", "{a}.sort(-1)[0] * {a}", "{a}.roll(1, 0)", "{a} - {a}.mean(0)",
    "written({a})", "{a}.index_select(0, torch.arange({n} - 1, -1, -1))",
]  # fmt: skip
TWO = ["{a} * {b}", "{a} + {b}.sin()", "torch.maximum({a}, {b})", "{a} - 0.5 * {b}", "torch.atan2({a}, 1 + {b} * {b})"]
REDUCED = [
    "{a}.sum(0)",
    "{a}.mean(0)",
    "{a}.logsumexp(0)",
    "{a}.max(0)[0]",
    "{a}.prod(0)",
    "{a}.select(0, 0)",
    "{a}[-1]",
]
TO_NUMBER = ["{a}.sum()", "({a} * {a}).mean()", "{a}.tanh().sum()", "{a}.norm()"]


@dataclass
class Program:
    """The source of a function of a vector, as it is being written."""

    source: random.Random
    lines: list[str] = field(default_factory=list)
    names: int = 0

    def fresh(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def text(self) -> str:
        return "\n".join(self.lines)

    def function(
        self, shape: Shape, outer: dict[str, Shape], depth: int, indent: str, *, scalar: bool
    ) -> tuple[str, Shape]:
        """Write a function of one tensor; its name, and the shape that it returns."""
        name, argument = self.fresh("f"), self.fresh("x")
        self.lines.append(f"{indent}def {name}({argument}):")
        known = {**outer, argument: shape}
        own = [argument]
        inside = indent + "    "
        for _ in range(self.source.randint(1, 3)):
            own.append(self._line(known, own, depth, inside))
        result = self._kept_small(known, own[-1], inside)
        if scalar and known[result]:
            result = self._assigned(known, self.source.choice(TO_NUMBER).format(a=result), (), inside)
        self.lines.append(f"{inside}return {result}")
        return name, known[result]

    def _assigned(self, known: dict[str, Shape], value: str, shape: Shape, indent: str) -> str:
        name = self.fresh("v")
        self.lines.append(f"{indent}{name} = {value}")
        known[name] = shape
        return name

    def _kept_small(self, known: dict[str, Shape], name: str, indent: str) -> str:
        return self._assigned(known, f"{name}.tanh() + 0.1 * {name}", known[name], indent)

    def _line(self, known: dict[str, Shape], own: list[str], depth: int, indent: str) -> str:
        chosen = self.source.choice(own)
        shape = known[chosen]
        if depth and self.source.random() < 0.6:
            return self._transformed(known, chosen, depth, indent)
        alike = [name for name, other in known.items() if other == shape]
        kind = self.source.random()
        if kind < 0.25:
            return self._assigned(
                known, self.source.choice(TWO).format(a=chosen, b=self.source.choice(alike)), shape, indent
            )
        if shape and kind < 0.4:
            return self._assigned(known, self.source.choice(REDUCED).format(a=chosen), shape[1:], indent)
        if kind < 0.5 and math.prod(shape) < 40:
            other = self.source.choice(alike)
            return self._assigned(known, f"torch.stack([{chosen}, {other}])", (2, *shape), indent)
        values = SAME + SAME_WITH_DIMENSIONS if shape else SAME
        return self._assigned(
            known, self.source.choice(values).format(a=chosen, n=shape[:1] and shape[0]), shape, indent
        )

    def _transformed(self, known: dict[str, Shape], name: str, depth: int, indent: str) -> str:
        shape = known[name]
        # Not linearize: PyTorch's, inside of another transform, takes its point for a constant, or reads freed memory.
        kinds = ["grad", "jvp", "vjp"] + (["vmap"] if shape else [])
        if math.prod(shape) <= 6:
            kinds += ["jacrev", "jacfwd"]
        kind = self.source.choice(kinds)
        inner = shape[1:] if kind == "vmap" else shape
        function, returned = self.function(inner, dict(known), depth - 1, indent, scalar=kind == "grad")
        along = self.source.choice([other for other, of in known.items() if of == shape])
        text, made = {
            "grad": (f"grad({function})({name})", shape),
            "vmap": (f"vmap({function})({name})", (*shape[:1], *returned)),
            "jvp": (f"jvp({function}, ({name},), ({along},))[1]", returned),
            "vjp": (f"vjp({function}, {name})[1](torch.full({returned}, 0.5, dtype=torch.float64))[0]", shape),
            "jacrev": (f"jacrev({function})({name})", (*returned, *shape)),
            "jacfwd": (f"jacfwd({function})({name})", (*returned, *shape)),
        }[kind]
        return self._assigned(known, text, made, indent)


def program(seed: int) -> str:
    """The source of one program: ``result`` is what it computes."""
    source = random.Random(seed)
    made = Program(source)
    point = [round(source.uniform(-1.5, 1.5), 3) for _ in range(3)]
    made.lines.append(f"point = torch.tensor({point}, dtype=torch.float64)")
    name, _ = made.function((3,), {}, source.randint(1, 3), "", scalar=False)
    outermost = source.choice(
        ["{f}(point)", "jacrev({f})(point)", "jacfwd({f})(point)", "vmap({f})(torch.stack([point, -point]))"]
    )
    made.lines.append(f"result = {outermost.format(f=name)}")
    return made.text()


# Running


def _written(v: Any) -> Any:
    copied = v.clone()
    copied[0].mul_(3)
    return copied


def outcome(torch: Any, text: str) -> Any:
    """The elements of a program's result, in a row; or the kind of error that it raises."""
    space: dict[str, Any] = {
        "torch": torch, "written": _written, "multiplied": _multiplied, "sorted_last_first": _sorted_last_first,
        "first_largest": _first_largest,
    }  # fmt: skip
    space.update({name: getattr(torch.func, name) for name in ("grad jvp vjp vmap jacrev jacfwd".split())})
    try:
        exec(text, space)  # noqa: S102 - our own lines
    except (RuntimeError, ValueError, IndexError, TypeError, NotImplementedError, AttributeError) as error:
        return {"error": type(error).__name__, "text": str(error)[:300]}
    result = space["result"]
    return {"shape": list(result.shape), "values": [float(v) for v in result.detach().reshape(-1).tolist()]}


#: Why PyTorch's own value of a function hangs on the way it is computed: reason -> (pattern, another way).
OTHER_WAYS = {
    "PyTorch's derivatives of prod are NaN at zeros": (r"(\w+)\.prod\(0\)", r"multiplied(\1)"),
    "values that are equal but for rounding are sorted": (r"(\w+)\.sort\(-1\)\[0\]", r"sorted_last_first(\1)"),
    "the largest of values that are equal but for rounding": (r"(\w+)\.max\(0\)\[0\]", r"first_largest(\1)"),
}


def _multiplied(v: Any) -> Any:
    """The product along the first dimension, factor by factor."""
    return functools.reduce(operator.mul, v.unbind(0))


def _sorted_last_first(v: Any) -> Any:
    """The values sorted along the last dimension; of such that are equal to nine digits, the last comes first."""
    with_ties_broken, steps = v.detach(), list(range(v.shape[-1], 0, -1))
    largest = with_ties_broken.abs().amax(-1, keepdim=True)
    offsets = 1e-9 * v.new_tensor(steps)
    return v.gather(-1, (with_ties_broken + largest * offsets).argsort(-1))


def _first_largest(v: Any) -> Any:
    """The largest along the first dimension; of such that are equal to nine digits, the first."""
    by = v.detach()
    offsets = 1e-9 * v.new_tensor(list(range(v.shape[0], 0, -1))).reshape([-1] + [1] * (v.dim() - 1))
    return v.gather(0, (by + by.abs().amax(0, keepdim=True) * offsets).argmax(0, keepdim=True)).squeeze(0)


def noise(text: str, ours: dict[str, Any], theirs: dict[str, Any], ask: Callable[[str], dict[str, Any]]) -> str:
    """Why a value that differs does not count, in a phrase; nothing if it does.

    Each element must be PyTorch's of one way or of the other. `ask` gives PyTorch's outcome of a program.
    """
    for reason, (pattern, other) in OTHER_WAYS.items():
        rewritten = re.sub(pattern, other, text)
        if rewritten == text or "error" in (otherwise := ask(rewritten)) or otherwise["shape"] != ours["shape"]:
            continue
        columns = zip(ours["values"], theirs["values"], otherwise["values"], strict=True)
        if all(_agree(own, one) or _agree(own, another) for own, one, another in columns):
            return reason
    return ""


def _work(module: str) -> None:
    """Answer programs, a JSON string a line."""
    import importlib
    import warnings

    warnings.simplefilter("ignore")
    torch = importlib.import_module(module)
    importlib.import_module(f"{module}.func")
    for line in sys.stdin:
        print(json.dumps(outcome(torch, json.loads(line))), flush=True)


def differing(ours: dict[str, Any], theirs: dict[str, Any]) -> str:
    """What differs between two outcomes, in a word; nothing if they agree. Where PyTorch raises, anything agrees."""
    if "error" in theirs:
        return ""
    if "error" in ours:
        return "raises"
    if ours["shape"] != theirs["shape"]:
        return "shape"
    pairs = zip(ours["values"], theirs["values"], strict=True)
    return "" if all(_agree(a, b) for a, b in pairs) else "value"


def _agree(a: float, b: float) -> bool:
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    return a == b or abs(a - b) <= TOLERANCE * max(1.0, abs(a), abs(b))


class _Worker:
    def __init__(self, python: str, module: str) -> None:
        command = [python, "-m", "tools.fuzz.transforms", "--work", module]
        self.process = subprocess.Popen(command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, text: str) -> None:
        assert self.process.stdin is not None
        print(json.dumps(text), file=self.process.stdin, flush=True)

    def answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        answered: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answered

    def asked(self, text: str) -> dict[str, Any]:
        """The outcome of one program."""
        self.ask(text)
        return self.answer()


def compared(pytorch: str, mindtorch: str, seeds: range, minutes: float) -> Iterator[tuple[int, str, Any, Any]]:
    """Seed, what differs, and both outcomes, program by program."""
    workers = _Worker(mindtorch, "mindtorch"), _Worker(pytorch, "torch")
    until = time.monotonic() + 60 * minutes
    for seed in seeds:
        if time.monotonic() > until:
            break
        for worker in workers:
            worker.ask(program(seed))
        ours, theirs = (worker.answer() for worker in workers)
        difference = differing(ours, theirs)
        if difference == "value":
            difference = noise(program(seed), ours, theirs, workers[1].asked) or difference
        yield seed, difference, ours, theirs
    for worker in workers:
        worker.process.kill()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0:20000", help="FIRST:LAST")
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--pytorch", default=sys.executable, help="an interpreter that has PyTorch")
    parser.add_argument("--mindtorch", default=sys.executable, help="an interpreter that has mindtorch")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        _work(options.work)
        return 0
    first, last = map(int, options.seeds.split(":"))
    run = refused = 0
    found: dict[str, list[int]] = {}
    unsettled: dict[str, list[int]] = {}
    for seed, difference, ours, theirs in compared(
        options.pytorch, options.mindtorch, range(first, last), options.minutes
    ):
        run += 1
        refused += "error" in theirs
        if difference in OTHER_WAYS:
            unsettled.setdefault(difference, []).append(seed)
        elif difference:
            found.setdefault(difference, []).append(seed)
            print(f"seed {seed}: {difference}\n{program(seed)}\nmindtorch {ours}\nPyTorch   {theirs}\n")
    print(
        f"{run} programs, {refused} refused by PyTorch; "
        + (", ".join(f"{k}: {len(v)}" for k, v in found.items()) or "no difference")
    )
    for reason, seeds in unsettled.items():
        print(f"noise, {reason}: {len(seeds)} ({', '.join(map(str, seeds[:10]))})")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
