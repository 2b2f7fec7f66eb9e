"""Random programs, compiled whole and compared with eager execution: ``python random_programs.py --programs 200``.

A program is text that follows from its seed: operators, views of views, writes through them, gradients of gradients.
It is run as it is and compiled, on inputs of the same numbers; what is compared are its results, what it left in its
inputs, and which of all these share memory. ``--part 3/20`` takes a twentieth of the seeds.
"""

from __future__ import annotations

import argparse
import random
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import mindtorch as torch
from mindtorch._dynamo.utils import counters

__all__ = ["Program", "compared", "grown"]

_SHAPES = ((3, 4), (4, 3), (4,), (3,), (2, 3, 4), (4, 4), ())
_UNARY = "sin cos tanh sigmoid relu neg abs square sgn floor".split()
_REDUCTIONS = "sum mean amax amin logsumexp prod argmax".split()
_ALONG = "softmax log_softmax cumsum flip sort".split()


class Program:
    """The text of a program, and what it is called with.

    Attributes
    ----------
    text
        A function ``program`` of the inputs.
    """

    def __init__(
        self, seed: int, text: str, shapes: list[tuple[int, ...]], grads: list[bool], strided: list[bool]
    ) -> None:
        self.seed, self.text, self._shapes, self._grads, self._strided = seed, text, shapes, grads, strided

    def function(self) -> Callable[..., Any]:
        """The program, made anew."""
        space: dict[str, Any] = {"torch": torch}
        exec(compile(self.text, f"<program {self.seed}>", "exec"), space)  # noqa: S102 - grown above
        made: Callable[..., Any] = space["program"]
        return made

    def inputs(self, device: str, number: int = 0) -> list[torch.Tensor]:
        """Tensors of the seed's numbers, on a device; `number` gives others of the same form."""
        return made_inputs(self.seed + 7919 * number, self._shapes, self._grads, self._strided, device)


def made_inputs(
    seed: int, shapes: list[tuple[int, ...]], grads: list[bool], strided: list[bool], device: str
) -> list[torch.Tensor]:
    """One tensor for each shape; those that are `strided` are the transpose of one that lies row by row."""
    numbers = np.random.default_rng(seed)
    found = []
    for shape, grad, turned in zip(shapes, grads, strided, strict=True):
        values = numbers.standard_normal(shape[::-1] if turned else shape).astype(np.float32)
        tensor = torch.from_numpy(np.array(values)).to(device)
        tensor = tensor.permute(*range(len(shape))[::-1]) if turned else tensor
        found.append(tensor.requires_grad_(grad))
    return found


def _statement(chance: random.Random, names: list[str], values: dict[str, Any], new: str) -> str:
    """One statement on what there is; it may be one that is refused."""
    a, b = chance.choice(names), chance.choice(names)
    rank = values[a].ndim
    dim = chance.randrange(-rank, rank) if rank else 0
    number = round(chance.uniform(-2, 2), 2)
    kind = chance.randrange(18)
    size = values[a].shape[dim] if rank else 1
    start = chance.randrange(max(size, 1))
    if kind == 0:
        return f"{new} = {a}.{chance.choice(_UNARY)}()"
    if kind in (1, 2):
        return f"{new} = {a} {chance.choice('+-*')} {b}"
    if kind == 3:
        return f"{new} = {a} / ({b}.abs() + 1)"
    if kind == 4:
        return f"{new} = {a} * {number} + {chance.choice([1, 0.5, -2])}"
    if kind == 5:
        name = chance.choice(_REDUCTIONS)
        return f"{new} = {a}.{name}({dim}, keepdim={chance.random() < 0.5})" + (".float()" if name == "argmax" else "")
    if kind == 6:
        name = chance.choice(_ALONG)
        given = f"[{dim}]" if name == "flip" else dim
        return f"{new} = {a}.{name}({given})" + ("[0]" if name == "sort" else "")
    if kind == 7:
        return f"{new} = {a} @ {b}"
    if kind == 8:
        return f"{new} = torch.where({a} > {b}, {a}, {number})"
    if kind in (9, 10):
        choices = [
            f"{a}.transpose({dim}, 0)", f"{a}.narrow({dim}, {start}, 1)", f"{a}.unsqueeze({dim})", f"{a}.reshape(-1)",
            f"{a}.select({dim}, {start})", f"{a}[{start}::2]", f"{a}.squeeze()", f"{a}.diagonal()", f"{a}.detach()",
            f"{a}.expand(2, *{a}.shape)", f"{a}.t()", f"{a}.view(-1)",
        ]  # fmt: skip
        return f"{new} = {chance.choice(choices)}"
    if kind in (11, 12, 13):
        choices = [
            f"{a}.add_({b})", f"{a}.mul_({number})", f"{a}.copy_({b})", f"{a}.zero_()", f"{a}.tanh_()",
            f"{a}[{start}] = {number}", f"{a}.narrow({dim}, {start}, 1).fill_({number})",
            f"{a}.sub_({b}, alpha={number})", f"{a}.clamp_(-1, {number})",
            f"{a}.select({dim}, {start}).add_(1)", f"{a}.t_()",
        ]  # fmt: skip
        return chance.choice(choices)
    if kind == 14:
        index = [chance.randrange(max(size, 1)) for _ in range(3)]
        return f"{new} = {a}.index_select({dim}, torch.tensor({index}, device={a}.device))"
    if kind == 15:
        return f"{new} = torch.cat([{a}, {b}], {dim})"
    if kind == 16:
        again = "True" if chance.random() < 0.5 else "False"
        return f"{new} = torch.autograd.grad(({a} * {a}.sin()).sum(), {b}, create_graph={again}, retain_graph=True)[0]"
    return f"{new} = {a}.clone()"


def grown(seed: int, length: int = 10) -> Program:
    """The program of a seed: statements that eager execution refuses are left out."""
    chance = random.Random(seed)
    count = chance.randint(1, 3)
    shapes = [chance.choice(_SHAPES) for _ in range(count)]
    grads = [chance.random() < 0.5 for _ in shapes]
    strided = [len(shape) > 1 and chance.random() < 0.3 for shape in shapes]
    values: dict[str, Any] = dict(
        zip((f"x{i}" for i in range(count)), made_inputs(seed, shapes, grads, strided, "cpu"), strict=True)
    )
    names, lines = list(values), []
    space = {"torch": torch, **values}
    for place in range(length):
        new = f"y{place}"
        text = _statement(chance, names, space, new)
        try:
            exec(text, space)  # noqa: S102 - grown above
        except (RuntimeError, IndexError, ValueError, TypeError):
            continue
        lines.append(f"    {text}")
        if new in space:
            names.append(new)
    results = [chance.choice(names) for _ in range(chance.randint(1, 3))]
    head = f"def program({', '.join(f'x{i}' for i in range(count))}):"
    text = "\n".join([head, *lines, f"    return {', '.join(results)},"])
    return Program(seed, text, shapes, grads, strided)


def _observed(call: Callable[..., Any], inputs: list[torch.Tensor]) -> tuple[list[torch.Tensor] | str, list[int]]:
    """What a call gave and left, or its error; and for each tensor which first one it shares memory with."""
    try:
        results = list(call(*inputs))
    except (RuntimeError, IndexError, ValueError, TypeError) as error:
        return f"{type(error).__name__}: {error}", []
    everything = [*results, *inputs]
    memory = [t.untyped_storage()._cdata for t in everything]
    return everything, [memory.index(one) for one in memory]


def compared(program: Program, device: str) -> tuple[str, str]:
    """Whether a program that is compiled agrees, breaks or differs, at two calls; and the words for it."""
    torch.compiler.reset()
    counters.clear()
    compiled = torch.compile(program.function(), backend="xla", dynamic=False)
    for number in range(2):
        expected, shared = _observed(program.function(), program.inputs(device, number))
        found, sharing = _observed(compiled, program.inputs(device, number))
        where = f"call {number} on {device} of\n{program.text}\n"
        if isinstance(expected, str) or isinstance(found, str):
            if str(expected).partition(":")[0] != str(found).partition(":")[0]:
                return "differs", f"{where}{found!s:.400}, not {expected!s:.200}"
            continue
        if shared != sharing:
            return "differs", f"{where}shares memory as {sharing}, not {shared}"
        for place, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
            difference = _difference(ours, theirs)
            if difference:
                return "differs", f"{where}result {place}: {difference}"
    return ("breaks", next(iter(counters["graph_break"]))) if counters["graph_break"] else ("agrees", "")


def _difference(ours: torch.Tensor, theirs: torch.Tensor) -> str:
    facts = [(t.shape, t.dtype, t.device, t.requires_grad) for t in (ours, theirs)]
    if facts[0] != facts[1]:
        return f"{facts[0]}, not {facts[1]}"
    is_part = theirs.untyped_storage().nbytes() != theirs.nbytes  # of what may be no part of anything here
    if ours.stride() != theirs.stride() and not is_part and theirs.numel() > 1:
        return f"strides {ours.stride()}, not {theirs.stride()}"
    a, b = (t.detach().cpu().numpy() for t in (ours, theirs))
    if np.allclose(a, b, rtol=1e-4, atol=1e-4, equal_nan=True):
        return ""
    return f"{a.tolist()}, not {b.tolist()}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=0, help="the first one")
    parser.add_argument("--part", default="1/1", help="which part of how many")
    parser.add_argument("--length", type=int, default=10)
    options = parser.parse_args()
    part, parts = map(int, options.part.split("/"))
    jax.config.update("jax_enable_compilation_cache", False)
    total: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for seed in range(options.seed, options.seed + options.programs)[part - 1 :: parts]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kind, text = compared(grown(seed, options.length), "xla" if seed % 4 == 3 else "cpu")
        total[kind] += 1
        if kind == "breaks":
            reasons[text.split(":")[-1][:80]] += 1
        if kind == "differs":
            print(f"seed {seed}: {text}", flush=True)
        if total.total() % 100 == 0:
            print(dict(total), flush=True)
            jax.clear_caches()
    print(dict(total), reasons.most_common(8))
    return 1 if total["differs"] else 0


if __name__ == "__main__":
    sys.exit(main())
