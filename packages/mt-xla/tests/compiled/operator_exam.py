"""Operators compiled one by one, and compared with eager execution on the samples of the exam."""

from __future__ import annotations

import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

import mindtorch as torch
from mindtorch.func import functionalize
from mindtorch.fx.experimental.proxy_tensor import make_fx
from mt_core import Tensor
from mt_core.autograd_state import no_grad
from mt_core.dispatch.registry import Overload
from mt_core.testing.arguments import REFUSALS, Arguments, samples_on
from mt_core.testing.oracle import TOLERANCES
from mt_core.testing.sample import declared_operators
from mt_xla.calls import NotLowered
from mt_xla.executable import compile_graph

__all__ = ["outcomes", "taken_operators"]


#: What they give is whatever was in memory.
_EMPTY = re.compile(r"(new_)?empty|_empty")


def taken_operators() -> list[Overload]:
    """The operators that graphs without writes hold."""
    return [o for o in declared_operators() if o.declaration.form == "functional" and not o.schema.is_mutable]


def outcomes(overload: Overload) -> Iterator[tuple[str, str]]:
    """For each sample whether it agrees, is refused, or differs, and the words for it."""
    for sample in samples_on(overload, "cpu"):
        what = f"{overload.name}{sample}"
        with no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield _outcome(overload, Arguments(overload, sample).bound, what)


def _outcome(overload: Overload, bound: Any, what: str) -> tuple[str, str]:
    packet, _, form = overload.name.partition(".")
    operator = getattr(getattr(torch.ops.aten, packet), form or "default")
    names = [argument.name for argument in overload.schema.arguments if argument.kwarg_only]
    count = len(bound) - len(names)
    tensors = [leaf for leaf in _leaves(bound) if isinstance(leaf, Tensor)]

    def call(*given: Any) -> Any:
        rest = iter(given)

        def put(value: Any) -> Any:
            if isinstance(value, (list, tuple)):
                return type(value)([put(item) for item in value])
            return next(rest) if isinstance(value, Tensor) else value

        args = [put(value) for value in bound]
        return operator(*args[:count], **dict(zip(names, args[count:], strict=True)))

    if _EMPTY.match(overload.name):
        return "undetermined", what
    torch.manual_seed(0)
    try:
        expected = call(*tensors)
    except REFUSALS as error:
        return "eager refuses", f"{what}: {error}"
    try:
        # As programs have them: what is written in writes is written without.
        graph = make_fx(functionalize(call), tracing_mode="fake")(*tensors)
    except (RuntimeError, NotImplementedError) as error:
        return "untraced", f"{what}: {type(error).__name__} {error}"
    (output,) = graph.graph.find_nodes(op="output")
    spec = output.args[0]
    output.args = (tuple(_leaves([spec])),)
    torch.manual_seed(0)
    try:
        got = compile_graph(graph, [n.meta["val"] for n in graph.graph.find_nodes(op="placeholder")])(*tensors)
    except NotLowered as error:
        return "refused", f"{what}: {error}"
    for ours, theirs in zip(got, _leaves([expected]), strict=True):
        difference = _difference(ours, theirs)
        if difference:
            return "differs", f"{what}: {difference}"
    return "agrees", what


def _is_dense(tensor: Any) -> bool:
    """Whether a tensor fills its memory: what is a part of another's is no part here."""
    return tensor.untyped_storage().nbytes() == tensor.nbytes


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]


def _difference(ours: Any, theirs: Any) -> str:
    if not isinstance(theirs, Tensor):
        return "" if ours == theirs or ours is theirs else f"{ours!r}, not {theirs!r}"
    if not isinstance(ours, Tensor):
        return f"{ours!r}, not a tensor"
    if (ours.shape, ours.dtype) != (theirs.shape, theirs.dtype):
        return f"{ours.shape} {ours.dtype}, not {theirs.shape} {theirs.dtype}"
    if ours.stride() != theirs.stride() and ours.numel() > 1 and _is_dense(theirs):
        return f"strides {ours.stride()}, not {theirs.stride()}"
    name = str(theirs.dtype).removeprefix("torch.")
    kind = np.complex128 if theirs.is_complex() else np.float64
    a, b = (t.resolve_conj().resolve_neg().detach()._array for t in (ours, theirs))
    if name not in TOLERANCES:
        return "" if np.array_equal(a, b) else f"{a}, not {b}"
    relative, absolute = TOLERANCES[name]
    same = np.isclose(a.astype(kind), b.astype(kind), rtol=10 * relative, atol=10 * absolute, equal_nan=True)
    return "" if same.all() else f"{np.asarray(a)[~same][:4]}, not {np.asarray(b)[~same][:4]}"


def main(pattern: str = "", step: int = 1) -> int:
    """Compile the operators that match, one in `step`, and tell what came of it."""
    total: Counter[str] = Counter()
    names: dict[str, dict[str, str]] = {}
    for overload in [o for o in taken_operators() if re.search(pattern, o.name)][::step]:
        for kind, text in outcomes(overload):
            total[kind] += 1
            names.setdefault(kind, {}).setdefault(overload.name, text)
    for kind in ("untraced", "differs"):
        for text in names.get(kind, {}).values():
            print(kind, text.replace("\n", " ")[:260])
    refused = sorted(names.get("refused", ()))
    print("refused:", *refused)
    print(dict(total))
    return len(names.get("differs", ()))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2], *map(int, sys.argv[2:3])))
