"""Every operator with samples, in every form, does the same under ``functionalize``, and nothing below it writes."""

from __future__ import annotations

from typing import Any

import pytest

import mindtorch as torch
from mindtorch.func import functionalize
from mindtorch.utils._python_dispatch import TorchDispatchMode
from mt_core.dispatch.registry import find_overload
from mt_core.testing.arguments import Arguments, tensors_in
from mt_core.testing.sample import TensorMaker, declared_operators, sample_functions

#: Operators whose elements mean nothing.
EMPTY = "empty"
#: Factorizations look at how many steps failed, where the numbers lie: by a view, whose elements alone are read.
READING = ("inverse", "linalg_", "matrix_power")

#: They write, and neither here nor in PyTorch there is an operator that gives the same and does not.
WITHOUT_FORM = ("_sobol_engine_ff_", "_sobol_engine_initialize_state_", "_sobol_engine_scramble_")

FORMS = sorted(
    o.name for o in declared_operators()
    if any(a.is_tensor for a in o.schema.arguments) and EMPTY not in o.name
    and sample_functions(find_overload(o.declaration.functional or o.name))
)  # fmt: skip


class Below(TorchDispatchMode):
    """Notes what writes, and what makes views, until the function is over."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[str] = []
        self.views: list[str] = []
        self.is_over = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if not self.is_over and func._schema.is_mutable:
            self.writes.append(str(func))
        makes_view = not func._schema.is_mutable and "-> Tensor(a" in str(func._schema)
        if not self.is_over and makes_view and func is not torch.ops.aten.lift_fresh.default:
            self.views.append(str(func))
        return func(*args, **(kwargs or {}))


def outcome(function: Any) -> Any:
    torch.manual_seed(0)
    try:
        return tensors_in(function())
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        return f"{type(error).__name__}: {error}"


def bound(name: str) -> list[Any] | None:
    """The arguments of the first sample; of an ``out=`` form, with tensors like its results, where it has any."""
    overload = find_overload(name)
    functional = find_overload(overload.declaration.functional or name)
    generate = sample_functions(functional)[0]
    given = Arguments(functional, next(iter(generate(TensorMaker("cpu", seed=0))))).bound
    if overload.declaration.form != "out":
        return list(given)
    named = dict(zip((a.name for a in functional.schema.arguments), given, strict=True))
    results = outcome(lambda: functional.call(*given))
    if isinstance(results, str):
        return None
    outs = [torch.empty(r.shape, dtype=r.dtype) for r in results]
    arguments = overload.schema.arguments
    if any(a.writes and a.is_list for a in arguments):
        return [outs if a.writes else named[a.name] for a in arguments]
    rest = iter(outs)
    return [next(rest) if a.writes else named[a.name] for a in arguments]


def check(name: str, remove: str) -> None:
    overload, args, again, mode = find_overload(name), bound(name), bound(name), Below()
    if args is None or again is None:
        return

    def run(*values: Any) -> Any:
        result = overload.call(*values)
        mode.is_over = True
        return result

    with torch.no_grad():
        wanted = outcome(lambda: overload.call(*args))
        with mode:
            found = outcome(lambda: functionalize(run, remove=remove)(*again))
    if name.startswith(WITHOUT_FORM):
        assert found == f"NotImplementedError: functionalize: aten::{name} writes, and has no form that does not"
        return
    assert isinstance(found, str) == isinstance(wanted, str), f"{name}: {found} for {wanted}"
    if isinstance(wanted, str):
        assert found == wanted, name
        return
    assert_same(found, wanted, name)
    assert_same(tensors_in(again), tensors_in(args), f"{name}, arguments")
    assert not mode.writes, name
    assert not mode.views or remove == "mutations" or name.startswith(READING), f"{name}: {mode.views}"


def assert_same(found: list[Any], wanted: list[Any], name: str) -> None:
    assert len(found) == len(wanted), name
    for a, b in zip(found, wanted, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype), name
        assert (
            torch.allclose(a, b, atol=1e-6, equal_nan=True)
            if a.is_floating_point() or a.is_complex()
            else torch.equal(a, b)
        ), name


@pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
@pytest.mark.parametrize("start", range(0, len(FORMS), 100))
def test_operators_do_the_same(start: int, remove: str) -> None:
    for name in FORMS[start : start + 100]:
        check(name, remove)
