"""Whether what operators say of symbolic sizes holds for other sizes: samples on fake tensors and on the meta device.

A sample is run on fake tensors all of whose sizes are symbols. Then other sizes are tried: where the guards hold for
them, the operator on tensors of these sizes has to give the shapes and strides that the expressions say.

    python packages/mindtorch/tests/symbolic_soundness.py [REGEX]      # all samples of the operators of that name
"""

import collections
import itertools
import random
import re
import sys
import traceback
import warnings

import mindtorch as torch
from mindtorch._dynamo.source import LocalSource
from mindtorch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorMode,
    UnsupportedOperatorException,
)
from mindtorch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode, ShapeEnv
from mt_core import pytree
from mt_core.errors import NoElements
from mt_core.symbolic import SymInt
from mt_core.testing.arguments import REFUSALS, Arguments, samples_on, tensors_in
from mt_core.testing.sample import declared_operators, sample_functions

#: What says that a shape depends on elements.
DATA = (
    DataDependentOutputException, DynamicOutputShapeException, GuardOnDataDependentSymNode, NoElements,
    UnsupportedOperatorException,
)  # fmt: skip
#: What a place raises that takes a symbolic number for something else.
FAULTS = (*REFUSALS, AttributeError, AssertionError, KeyError, ZeroDivisionError)
#: From the size in the example to other ones.
CHANGES = (
    lambda n, i: n + 1, lambda n, i: n * 2, lambda n, i: n * 3, lambda n, i: n + 5, lambda n, i: n + 1 + i,
    lambda n, i: n * (2 + i), lambda n, i: max(n - 1, 2), lambda n, i: n + 2 * i, lambda n, i: n if i else n + 3,
    lambda n, i: n + 3 if i else n,
)  # fmt: skip


class Unsound(AssertionError):
    """An expression is wrong for other sizes that its guards let through."""


def value_of(number, values):
    """A number of a layout, with the values of its symbols."""
    if not isinstance(number, SymInt):
        return number
    found = number.node._expr.xreplace(values)
    if found.free_symbols:
        found = number.node.expr.xreplace(values)
    return int(found)


def layout(tensor, values):
    at = [value_of(n, values) for n in (*tensor.shape, *tensor.stride(), tensor.storage_offset())]
    rank = tensor.dim()
    return tuple(at[:rank]), tuple(at[rank:-1]), at[-1], tensor.dtype


def lets_through(env, values):
    """Whether the guards, and the ranges that symbols were made with, hold."""
    if any(values[symbol] < (2 if symbol.is_positive else 0) for symbol in values):
        return False
    return all(guard.expr.xreplace(values) == True for guard in env.guards)  # noqa: E712 - of sympy


def check(overload, sample, strided):
    """How many other sizes were tried; None where the shape depends on elements, or the operator refuses the sample.

    Raises
    ------
    Unsound
        Where an expression is wrong.
    """
    bound = Arguments(overload, sample).bound
    env = ShapeEnv(duck_shape=True)
    mode = FakeTensorMode(shape_env=env)
    count = itertools.count()

    def fake(t):
        real = torch.empty_strided(t.size(), t.stride(), dtype=t.dtype)
        kept.append(real)
        return mode.from_tensor(real, source=LocalSource(f"a{next(count)}"))

    kept = []
    given = pytree.tree_map_only(torch.Tensor, fake, bound)
    before = {id(t): layout_as_made(t) for t in tensors_in(given)}
    try:
        with mode:
            found = overload.call(*given)
    except DATA:
        return None
    except REFUSALS:
        _expect_refusal(overload, bound)
        return None
    tried = 0
    for change in CHANGES:
        values = {s: type(v)(change(int(v), i)) for i, (s, v) in enumerate(env.backed_var_to_val.items())}
        if not env.backed_var_to_val or not lets_through(env, values):
            continue
        tried += 1
        concrete = pytree.tree_map_only(torch.Tensor, lambda t, v=values: real_of(before[id(t)], v), given)
        what = f"{overload.name}{sample} strided={strided} guards={[g.expr for g in env.guards]} at {values}"
        try:
            expected = overload.call(*on_meta(overload, concrete))
        except DATA:
            return None
        except REFUSALS as error:
            raise Unsound(f"{what}: {error!r}") from error
        said = [layout(t, values) for t in tensors_in(found)]
        real = [(tuple(t.shape), t.stride(), t.storage_offset(), t.dtype) for t in tensors_in(expected)]
        if said != real:
            raise Unsound(f"{what}: said {said}, is {real}")
        if tried == 3:
            break
    return tried


def on_meta(overload, args):
    return [
        torch.device("meta") if a.type == "Device" else v for a, v in zip(overload.schema.arguments, args, strict=True)
    ]


def layout_as_made(t):
    return tuple(t.shape), tuple(t.stride()), t.storage_offset(), t.dtype


def real_of(made, values):
    shape, strides, _, dtype = made
    shape, strides = ([value_of(n, values) for n in part] for part in (shape, strides))
    return torch.empty_strided(shape, strides, dtype=dtype, device="meta")


def _expect_refusal(overload, bound):
    """Whether the operator refuses the sample on the meta device with numbers as well."""
    plain = pytree.tree_map_only(
        torch.Tensor, lambda t: torch.empty_strided(t.size(), t.stride(), dtype=t.dtype, device="meta"), bound
    )
    try:
        overload.call(*on_meta(overload, plain))
    except REFUSALS:
        return
    raise


def operators(pattern=""):
    """The overloads with samples."""
    with_samples = [o for o in declared_operators() if sample_functions(o) and o.declaration.form != "out"]
    return [overload for overload in with_samples if re.search(pattern, overload.name)]


def main(pattern=""):
    counts = collections.Counter()
    for overload in operators(pattern):
        most = None
        for strided in (False, True):
            for sample in samples_on(overload, "cpu", strided=strided):
                try:
                    tried = check(overload, sample, strided)
                except (Unsound, *FAULTS) as error:
                    kind = "unsound" if isinstance(error, Unsound) else "broken"
                    counts[kind] += 1
                    frame = traceback.extract_tb(error.__traceback__)[-1]
                    place = f"{frame.filename.split('/')[-1]}:{frame.lineno}"
                    print(f"{kind} {overload.name}: {type(error).__name__} {str(error)[:600]} {place}", flush=True)
                    continue
                counts["samples"] += 1
                if tried is not None:
                    most = max(most or 0, tried)
        counts["operators, " + ("from elements" if most is None else "at other sizes" if most else "fixed")] += 1
    print(dict(counts))
    return counts["unsound"] + counts["broken"]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    random.seed(0)
    sys.exit(bool(main(*sys.argv[1:])))
