"""Kernel records: which of several runs, what it is given, and what is planned once."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import mt_core
from mt_core import dtypes
from mt_core.dispatch import call_plans
from mt_core.dispatch.dispatcher import backend_for
from mt_core.dispatch.elementwise import Elementwise
from mt_core.dispatch.executors import build, rule_of, wrapper
from mt_core.dispatch.kernel import Accepts, Kernel
from mt_core.dispatch.registry import (
    SHAPE_RULES,
    WARNS,
    find_overload,
    forget_all,
    register_kernel,
    unregister_kernel,
)
from mt_core.keys import CPU, STRIDED, TRACING
from mt_core.spec import Spec
from mt_core.state import including
from mt_core.testing.slots import declared_operators

Register = Callable[..., Kernel]


@pytest.fixture
def registered() -> Iterator[Register]:
    """`register_kernel` for the CPU, taken back after the test."""
    entered: list[tuple[str, Kernel]] = []

    def register(name: str, function: Callable[..., Any], **options: Any) -> Kernel:
        mt_core.ones(1)
        kernel = register_kernel(CPU, (name,), function, **options)
        entered.append((name, kernel))
        return kernel

    yield register
    for name, kernel in entered:
        unregister_kernel(CPU, name, kernel)


def sevens(self: Any, *rest: Any) -> Any:
    return np.full_like(self, 7)


# Which kernel runs


#: Everyday calls of tensors of one dtype and shape, and of a tensor and numbers that its dtype holds.
OF_TENSORS = [
    lambda x, y, m: mt_core.exp(x),
    lambda x, y, m: x + y,
    lambda x, y, m: x == y,
    lambda x, y, m: mt_core.add(x, y, alpha=2),
    lambda x, y, m: mt_core.atan2(x, y),
    lambda x, y, m: mt_core.where(m, x, y),
    lambda x, y, m: mt_core.lerp(x, y, y),
    lambda x, y, m: mt_core.addcmul(x, y, y),
    lambda x, y, m: mt_core.addcmul(x, y, y, value=2),
    lambda x, y, m: x.add_(y),
]
OF_NUMBERS = [
    lambda x, y, m: x * 2.0,
    lambda x, y, m: 1 - x,
    lambda x, y, m: x < 0.5,
    lambda x, y, m: x.clamp(0.0, 1.0),
    lambda x, y, m: mt_core.where(m, x, 1.0),
    lambda x, y, m: x.mul_(2.0),
]
#: NumPy 1.26 has a say in what an array and a number compute in: there, they go the long way.
NUMPY_IS_WEAK = np.lib.NumpyVersion(np.__version__) >= "2.0.0"


@pytest.mark.parametrize("call", [*OF_TENSORS, *(OF_NUMBERS if NUMPY_IS_WEAK else [])])
def test_everyday_calls_take_a_short_path(call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """They need nothing general where operands are contiguous, of a floating-point dtype."""

    def general(self: Elementwise, *args: Any) -> Any:
        raise AssertionError(f"{self.overload.name} went the long way")

    monkeypatch.setattr(Elementwise, "general", general)
    monkeypatch.setattr(Elementwise, "general_inplace", general)
    forget_all()
    try:
        call(mt_core.ones(3), mt_core.ones(3), mt_core.ones(3, dtype=dtypes.bool))
    finally:
        forget_all()


@pytest.mark.parametrize(
    ("accepts", "accepted", "refused"),
    [
        (Accepts(dtypes={dtypes.float64}), lambda: mt_core.ones(2, dtype=dtypes.float64), lambda: mt_core.ones(2)),
        (Accepts(layout="row_major"), lambda: mt_core.ones(2, 3), lambda: mt_core.ones(3, 2).t()),
        (Accepts(ranks={"self": {2}}), lambda: mt_core.ones(2, 3), lambda: mt_core.ones(2)),
        (Accepts(also=lambda self, *rest: self.numel() > 3), lambda: mt_core.ones(2, 3), lambda: mt_core.ones(2)),
    ],
    ids=["dtypes", "layout", "ranks", "also"],
)
@pytest.mark.parametrize("name", ["neg", "cumsum", "flip"])
def test_the_first_that_accepts_runs(
    registered: Register, name: str, accepts: Accepts, accepted: Any, refused: Any
) -> None:
    arguments = {"neg": (), "cumsum": (0,), "flip": ([0],)}[name]
    before = getattr(mt_core, name)(refused(), *arguments).tolist()
    registered(name, sevens, accepts=accepts)
    assert set(getattr(mt_core, name)(accepted(), *arguments).reshape(-1).tolist()) == {7}
    assert getattr(mt_core, name)(refused(), *arguments).tolist() == before


def test_arguments_accepted_at_their_default_only_are_not_handed_over(registered: Register) -> None:
    seen = []

    def total(*args: Any) -> Any:
        seen.append(len(args))
        return np.float32(7)

    registered("sum", total, accepts=Accepts(defaults=("dtype",)))
    assert mt_core.ones(2).sum().item() == 7
    assert mt_core.ones(2).sum(dtype=dtypes.float64).item() == 2
    assert seen == [1]


def test_later_registrations_come_first_and_go_again(registered: Register) -> None:
    x = mt_core.ones(2)
    first = registered("neg", sevens)
    second = registered("neg", lambda self: self * 0)
    assert mt_core.neg(x).tolist() == [0, 0]
    unregister_kernel(CPU, "neg", second)
    assert mt_core.neg(x).tolist() == [7, 7]
    unregister_kernel(CPU, "neg", first)
    assert mt_core.neg(x).tolist() == [-1, -1]


def test_forms_follow_their_functional_kernel(registered: Register) -> None:
    x, out = mt_core.ones(2), mt_core.zeros(2)
    mt_core.sub(x, 1, out=out)
    x.sub_(1)
    registered("sub.Tensor", lambda self, other, alpha: np.full_like(self, 42))
    assert mt_core.sub(x, 1).tolist() == x.sub_(1).tolist() == mt_core.sub(x, 1, out=out).tolist() == [42, 42]


def test_unknown_arguments_and_options_are_refused(registered: Register) -> None:
    mt_core.neg(mt_core.ones(1))
    with pytest.raises(ValueError, match="neg has no argument dim"):
        registered("neg", sevens, accepts=Accepts(defaults=("dim",)))
    with pytest.raises(ValueError, match="layout"):
        Accepts(layout="column_major")
    with pytest.raises(ValueError, match="'fresh'"):
        Kernel(sevens, out="elsewhere")
    with pytest.raises(ValueError, match="half"):
        Kernel(sevens, half="float16")


def test_where_none_accepts_the_operator_is_taken_apart_or_says_so(registered: Register) -> None:
    x = mt_core.ones(2, 3)
    registered("softmax.int", sevens, accepts=Accepts(dtypes={dtypes.float64}))
    assert mt_core.softmax(x, -1)[0, 0].item() == pytest.approx(1 / 3)
    assert mt_core.softmax(x.double(), -1)[0, 0].item() == 7


# What it is given, and where its result goes


def test_a_kernel_that_fills_gets_the_memory_of_out(registered: Register) -> None:
    given = []

    def product(a: Any, b: Any, out: Any = None) -> Any:
        given.append(out)
        return np.dot(a, b, out=out)

    registered("mm", product, out="fills", half="native")
    a, out = mt_core.ones(2, 2), mt_core.zeros(2, 2)
    array = out._array
    assert mt_core.mm(a, a, out=out) is out
    assert given[0] is array and out.tolist() == [[2, 2], [2, 2]] and out._version == 1


@pytest.mark.parametrize(
    "out",
    [
        lambda a: a,
        lambda a: mt_core.zeros(2, 2).t(),
        lambda a: mt_core.zeros(0),
    ],
)
def test_an_out_that_is_not_what_it_would_allocate_is_written_afterwards(registered: Register, out: Any) -> None:
    given = []

    def product(a: Any, b: Any, out: Any = None) -> Any:
        given.append(out)
        return np.dot(a, b)

    registered("mm", product, out="fills", half="native")
    a = mt_core.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert mt_core.mm(a, a, out=out(a)).tolist() == [[7, 10], [15, 22]]
    assert given == [None]


@pytest.mark.parametrize("d", [dtypes.bfloat16, dtypes.float16])
def test_what_a_kernel_writes_to_widened_memory_arrives(registered: Register, d: dtypes.dtype) -> None:
    def write(self: Any, *rest: Any) -> None:
        assert self.dtype == np.float32
        self[...] = 3

    registered("relu_", write)
    x = mt_core.ones(2, dtype=d)
    assert x.relu_() is x
    assert x.tolist() == [3, 3] and x._version == 1


def test_an_in_place_kernel_reads_no_part_of_what_it_writes(registered: Register) -> None:
    calls = []
    registered("mul_.Tensor", lambda self, other: calls.append(np.multiply(self, other, out=self)))
    x = mt_core.tensor([1.0, 2.0, 3.0])
    for _ in range(2):
        with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor"):
            x[1:].mul_(x[:-1])
    assert not calls and x.mul_(x).tolist() == [1, 4, 9] and len(calls) == 1


def test_kernels_get_dimensions_counted_from_the_front(registered: Register) -> None:
    seen = []

    def largest(self: Any, dim: Any, keepdim: bool) -> Any:
        seen.append(dim)
        return np.max(self, axis=dim, keepdims=keepdim)

    registered("amax", largest)
    for dim in (-1, [0, -1], ()):
        mt_core.ones(2, 3).amax(dim)
    assert seen == [(1,), (0, 1), (0, 1)]


# Plans


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The calls for which the shape rule of ``cumsum`` was asked."""
    mt_core.ones(1).cumsum(0)
    rule, calls = SHAPE_RULES["cumsum"], []

    def note(*args: Any) -> Any:
        calls.append(args)
        return rule(*args)

    monkeypatch.setitem(SHAPE_RULES, "cumsum", note)
    forget_all()
    yield calls
    forget_all()


def test_a_rule_is_asked_once_for_calls_that_agree(asked: list[Any]) -> None:
    for _ in range(3):
        mt_core.ones(2, 3).cumsum(0)
    assert len(asked) == 1
    for x, dim in ((mt_core.ones(3, 2), 0), (mt_core.ones(2, 3), 1), (mt_core.ones(2, 3, dtype=dtypes.int32), 0)):
        mt_core.cumsum(x, dim)
    assert len(asked) == 4


def test_strides_belong_to_the_description(asked: list[Any]) -> None:
    x = mt_core.arange(24.0).reshape(2, 3, 4)
    for view in (x.permute(0, 2, 1), x.permute(2, 0, 1).permute(1, 0, 2), x.transpose(1, 2)):
        assert view.cumsum(0).tolist() == view.contiguous().cumsum(0).tolist()


def test_refusals_are_never_kept(asked: list[Any]) -> None:
    for _ in range(2):
        with pytest.raises(IndexError):
            mt_core.ones(2).cumsum(5)
    assert len(asked) == 2


def test_plans_do_not_grow_without_end(asked: list[Any]) -> None:
    for n in range(call_plans.MOST + 3):
        mt_core.ones(n + 2).cumsum(0)
    assert len(asked) == call_plans.MOST + 3
    mt_core.ones(call_plans.MOST + 4).cumsum(0)
    assert len(asked) == call_plans.MOST + 3


def test_one_plan_too_many_makes_all_be_forgotten(asked: list[Any]) -> None:
    for n in [*range(call_plans.MOST + 1), 0]:
        mt_core.ones(n + 2).cumsum(0)  # of size 1, what its strides are is asked too
    assert len(asked) == call_plans.MOST + 2


def test_one_check_too_many_makes_all_be_forgotten() -> None:
    checked: list[int] = []
    x = mt_core.ones(2)
    check = call_plans.checked_once(find_overload("cumsum_"), lambda self, dim, dtype: checked.append(dim))
    for dim in [*range(call_plans.MOST), 0, call_plans.MOST, 0]:
        check(x, dim, None)
    assert checked == [*range(call_plans.MOST + 1), 0]


def test_numbers_of_other_classes_are_other_calls() -> None:
    assert [mt_core.full((1,), n).dtype for n in (1, 1.0, True)] == [dtypes.int64, dtypes.float32, dtypes.bool]
    x = mt_core.ones(2, dtype=dtypes.int64)
    index = mt_core.tensor([0])
    assert x.index_fill(0, index, 2).tolist() == [2, 1]
    assert mt_core.arange(0, 3, 1).dtype is dtypes.int64 and mt_core.arange(0, 3, 1.0).dtype is dtypes.float32


def test_plans_follow_the_default_dtype() -> None:
    x = mt_core.ones(3, dtype=dtypes.int64)
    assert x.logsumexp(0).dtype is dtypes.float32
    dtypes.set_default_dtype(dtypes.float64)
    try:
        assert x.logsumexp(0).dtype is dtypes.float64
    finally:
        dtypes.set_default_dtype(dtypes.float32)
    assert x.logsumexp(0).dtype is dtypes.float32


def test_masks_are_counted_at_every_call() -> None:
    x = mt_core.arange(3)
    for mask in ([True, False, False], [True, True, True], [False, False, False]):
        assert x[mt_core.tensor(mask)].numel() == sum(mask) == mt_core.tensor(mask).nonzero().shape[0]


# Keys


# Warnings, and what else a rule does beside answering


def warned(call: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(warning.message) for warning in caught]


def test_each_call_is_warned_of() -> None:
    x, condition = mt_core.ones(3), mt_core.ones(3, dtype=dtypes.uint8)
    for call, text in (
        (lambda: x.random_(0, 2**24 + 3), "to - 1 is out of bounds"),
        (lambda: x.random_(2**25), "to - 1 is out of bounds"),
        (lambda: x.random_(-(2**24) - 2, 5), "from is out of bounds"),
        (lambda: mt_core.where(condition, x, x), "uint8 condition tensor"),
        (lambda: mt_core.add(x, x, out=mt_core.ones(2)), "was resized since it had shape"),
        (lambda: mt_core.cumsum(x, 0, out=mt_core.ones(2)), "was resized since it had shape"),
        (lambda: mt_core.range(0, 2), "torch.range is deprecated"),
    ):
        for _ in range(3):
            assert [text in message for message in warned(call)] == [True], text


def test_rules_that_warn_say_so() -> None:
    """What a rule calls in its own package is looked through, too."""

    def warns(function: Any, seen: set[Any]) -> bool:
        if not isinstance(function, FunctionType) or function in seen:
            return False
        seen.add(function)
        code, names = function.__code__, function.__globals__
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        called = [names.get(name) for name in code.co_names] + cells
        if warnings in called:
            return True
        homes = ("mt_core.shape_rules", "mt_core.determinism")
        return any(warns(f, seen) for f in called if getattr(f, "__module__", "").startswith(homes))

    for overload in declared_operators():
        rule_of(overload)
    found = {name for name, rule in SHAPE_RULES.items() if warns(rule, set())}
    assert WARNS == {"random_.from", "random_.to", "range", "put"}
    # Calls with masks, of bytes too, are planned anew each time.
    assert found - WARNS == {"index.Tensor", "index_put", "index_put_"}


def test_masks_of_bytes_are_warned_of_at_every_call() -> None:
    x, mask = mt_core.ones(2), mt_core.tensor([1, 0], dtype=dtypes.uint8)
    for _ in range(2):
        with pytest.warns(UserWarning, match="indexing with dtype torch.uint8"):
            assert x[mask].tolist() == [1]


def test_an_out_kernel_gets_outputs_of_the_right_shape_every_time(registered: Register) -> None:
    shapes = []
    registered("mul.out", lambda self, other, out: shapes.append(np.multiply(self, other, out=out).shape))
    for _ in range(3):
        assert mt_core.mul(mt_core.ones(2, 3), 2, out=mt_core.empty(0)).tolist() == [[2.0] * 3] * 2
        message = "was resized since it had shape [4]"
        assert message in warned(lambda: mt_core.mul(mt_core.ones(2), mt_core.ones(2), out=mt_core.ones(4)))[0]
    assert shapes == [(2, 3), (2,)] * 3


def test_an_out_kernel_is_not_asked_to_write_what_an_output_cannot_take(registered: Register) -> None:
    registered("mul.out", lambda self, other, out: pytest.fail("entered"))
    out = mt_core.full((2,), 7)
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        mt_core.mul(mt_core.ones(2), 2, out=out)
    assert out.tolist() == [7, 7]


def test_a_kernel_does_not_write_where_elements_share_memory(registered: Register) -> None:
    registered("cumsum_", lambda self, dim, dtype: pytest.fail("entered"))
    base = mt_core.ones(1)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory"):
        base.expand(3).cumsum_(0)
    assert base._version == 0


@pytest.mark.parametrize("d", [dtypes.float32, dtypes.bfloat16])
def test_a_kernel_writes_into_a_list_of_outputs(d: dtypes.dtype, registered: Register) -> None:
    def unbind(self: Any, dim: int, out: list[Any]) -> None:
        for part, target in zip(self, out, strict=True):
            np.copyto(target, part)

    registered("unbind_copy.int_out", unbind)
    x = mt_core.arange(6.0).view(2, 3).to(d)
    outs = [mt_core.zeros(3, dtype=d), mt_core.empty(0, dtype=d)]
    mt_core.unbind_copy(x, out=outs)
    assert [out.tolist() for out in outs] == x.tolist() and outs[0]._version == 1
    with pytest.raises(RuntimeError, match="unbind_copy_int_out expected an out= argument of size 2, got size 1"):
        mt_core.unbind_copy(x, out=outs[:1])


def test_a_kernel_of_views_that_takes_no_such_tensors_is_not_entered(registered: Register) -> None:
    composite = mt_core.ones(4).narrow(0, 1, 2)
    registered("narrow", lambda self, *rest: self[:1], accepts=Accepts(dtypes={dtypes.float64}))
    assert mt_core.ones(4).narrow(0, 1, 2).shape == composite.shape
    assert mt_core.ones(4, dtype=dtypes.float64).narrow(0, 1, 2).shape == (1,)


def test_a_kernel_of_views_without_another_way_says_what_it_was_given(registered: Register) -> None:
    kernel = registered("narrow", lambda self, *rest: self[:1], accepts=Accepts(dtypes={dtypes.float64}))
    run = build(find_overload("narrow"), [kernel], None, backend_for(CPU), CPU, CPU)
    with pytest.raises(NotImplementedError, match=r"aten::narrow on cpu takes tensors of torch.float32 \[4\]"):
        run(mt_core.ones(4), 0, 1, 2)


def test_a_key_without_a_layer_is_an_error() -> None:
    x = mt_core.ones(2)
    with including(TRACING), pytest.raises(NotImplementedError, match=r"aten::neg.*dispatch key TRACING"):
        mt_core.neg(x)
    x._keys |= TRACING
    with pytest.raises(NotImplementedError, match="TRACING"):
        x + 1


def test_an_operator_that_nothing_handles_can_still_be_handled_above(registered: Register) -> None:
    """`below` is asked for when it is wanted only; here it never is."""
    from mt_core.dispatch.dispatcher import _LAYERS, register_layer
    from mt_core.dispatch.registry import KERNELS
    from mt_core.plugins.protocols import CONTRACT

    class Constant:
        contract = CONTRACT
        dispatch_key = "TRACING"

        def build(self, overload: Any, call_keys: int, below: Any) -> Any:
            return lambda *args: overload.name

        def fallback(self, overload: Any, call_keys: int, below: Any, composite: Any) -> Any:
            raise AssertionError

    mt_core.erf(mt_core.ones(1))
    saved = KERNELS[CPU].pop("erf")
    register_layer(TRACING, Constant())
    try:
        with including(TRACING):
            assert find_overload("erf").call(mt_core.ones(1)) == "erf"
    finally:
        KERNELS[CPU]["erf"] = saved
        del _LAYERS[TRACING]
        forget_all()


@pytest.mark.parametrize("shape", [s for n in (1, 2, 3) for s in itertools.product((1, 2, 3), repeat=n)])
def test_results_are_laid_out_as_the_rule_says(shape: tuple[int, ...]) -> None:
    elements = np.arange(float(np.prod(shape)), dtype=np.float32).reshape(shape)
    for order in itertools.permutations(range(len(shape))):
        strides = [0] * len(shape)
        for i in reversed(order):
            strides[i] = int(np.prod([shape[j] for j in order[order.index(i) + 1 :]]))
        made = wrapper(backend_for(CPU), CPU)(Spec(shape, dtypes.float32, tuple(strides)), None)(elements)
        told = [(n, s) for n, s in zip(shape, made.stride(), strict=True) if n != 1]
        assert told == [(n, s) for n, s in zip(shape, strides, strict=True) if n != 1]
        assert made.tolist() == elements.tolist()
        assert bool(made._keys & STRIDED) is not made.is_contiguous()
