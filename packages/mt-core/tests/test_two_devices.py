"""Two devices of a type: results stay where their arguments are, and what lies on both is refused.

That the results of every operator stay is shown by the exam of the null backend, which has two devices.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import mt_core
from mt_core.dispatch.registry import Overload, find_overload
from mt_core.keys import OTHER_INDEX
from mt_core.plugins.discovery import register_backend
from mt_core.tensor import Tensor
from mt_core.testing.arguments import REFUSALS, Arguments, samples_on, tensors_in
from mt_core.testing.null_backend import NullBackend
from mt_core.testing.sample import declared_operators

register_backend(NullBackend("duo", devices=2))
DIFFERENT = "Expected all tensors to be on the same device"
FIRST, SECOND = mt_core.device("duo:0"), mt_core.device("duo:1")


@pytest.fixture
def first() -> Tensor:
    return mt_core.empty(2, 3, device=FIRST)


@pytest.fixture
def second() -> Tensor:
    return mt_core.empty(2, 3, device=SECOND)


def assert_on_second(made: Any) -> None:
    for tensor in made if isinstance(made, (list, tuple)) else [made]:
        assert tensor.device == SECOND and tensor._keys & OTHER_INDEX


@pytest.mark.parametrize(
    "expression",
    [
        "x * 2", "x.clone()", "x.t() + x.t()", "x @ x.t()", "x.sum()", "x.sum(0)", "x.to('duo')", "x.double()",
        "x.new_zeros(2)", "x.new_tensor([1.0])", "x[0]", "x[:, 1]", "x[x.new_zeros(2, dtype=torch.int64)]",
        "x[[0, 1], 2]", "x[torch.tensor([0, 1])]",
        "x.view(3, 2)", "x.reshape(-1)", "x.t().contiguous()", "x.expand(4, 2, 3)", "x.unbind()", "x.chunk(2, 1)",
        "x.add_(x)", "x.mul_(2)", "x.zero_()", "x.resize_(5, 5)", "x.detach()", "x.data", "x.sort()", "x.softmax(1)",
        "x.std()", "torch.cat([x, x])", "torch.stack([x, x])", "torch.where(x > 0, x, x)", "torch.zeros_like(x)",
        "torch.rand_like(x)", "torch.full_like(x, 3)", "torch.einsum('ij,kj->ik', x, x)", "x.uniform_()", "y.to(x)",
        "y.to('duo:1')", "x.copy_(y)", "y.to('duo:1', torch.float64)", "x * number", "number * x", "x.add_(number)",
        "torch.where(x > 0, x, number)", "torch.add(x, x, out=x)", "x.untyped_storage()",
        "torch.empty(0, device='duo:1').set_(x.untyped_storage())",
    ],
)  # fmt: skip
def test_results_are_where_their_arguments_are(expression: str, first: Tensor, second: Tensor) -> None:
    made = eval(expression, {"torch": mt_core, "x": second, "y": first, "number": mt_core.tensor(2.0)})  # noqa: S307
    if isinstance(made, (Tensor, list, tuple)):
        assert_on_second(made)
    else:
        assert made.device == SECOND


FACTORIES = [
    "empty(2, 3{})", "zeros(2{})", "ones(2{})", "full((2,), 1.0{})", "tensor([1.0]{})", "arange(3{})", "eye(2{})",
    "linspace(0, 1, 3{})", "rand(2{})", "randn(2{})", "randint(3, (2,){})", "randperm(3{})",
    "empty_strided((2, 2), (1, 2){})",
]  # fmt: skip


@pytest.mark.parametrize("factory", FACTORIES)
def test_factories_make_tensors_where_they_are_told(factory: str) -> None:
    space = {"torch": mt_core}
    assert_on_second(eval("torch." + factory.format(", device='duo:1'"), space))  # noqa: S307
    with SECOND:
        assert_on_second(eval("torch." + factory.format(""), space))  # noqa: S307
        with FIRST:
            assert eval("torch." + factory.format(""), space).device == FIRST  # noqa: S307


@pytest.mark.parametrize(
    "expression",
    [
        "x + y", "x.t() + y.t()", "x @ y.t()", "torch.cat([x, y])", "torch.stack([y, x])", "torch.where(x > 0, x, y)",
        "torch.where(y > 0, x, x)", "x[y.new_zeros(2, dtype=torch.int64)]", "x.add_(y)", "y.mul_(x)", "x + y[0, 0]",
        "x.index_put_((y.new_zeros(1, dtype=torch.int64),), x[0])", "torch.arange(3, device='duo:1') + y[0]",
        "torch.tensor([1.0, 2, 3], device='duo:1') + y[0]", "x + torch.ones(2, 3)", "x.masked_fill(y > 0, 1.0)",
        "torch.equal(x, y)",
    ],
)  # fmt: skip
def test_two_devices_in_one_call_are_refused(expression: str, first: Tensor, second: Tensor) -> None:
    with pytest.raises(RuntimeError, match=f"{DIFFERENT}|indices should be either on cpu or on the same device"):
        eval(expression, {"torch": mt_core, "x": second, "y": first})  # noqa: S307


@pytest.mark.parametrize("call", ["torch.add(x, x, out=y)", "torch.sum(x, 0, out=y)", "torch.mm(x, x.t(), out=y)"])
def test_out_on_another_device_is_refused(call: str, first: Tensor, second: Tensor) -> None:
    with pytest.raises(RuntimeError, match="Expected out tensor to have device duo:1, but got duo:0 instead"):
        eval(call, {"torch": mt_core, "x": second, "y": first})  # noqa: S307


#: Operators that take tensors of several devices as PyTorch does, with the reason.
TAKES_SEVERAL = {
    "copy_": "copies from one device to another",
    "copy": "as copy_",
    "fill.Tensor": "copies the number",
    "fill_.Tensor": "copies the number",
    "expand_as": "reads the shape of `other` alone",
    "reshape_as": "reads the shape of `other` alone",
    "view_as": "reads the shape of `other` alone",
    "pad_sequence": "copies each sequence into its place",
    "as_strided_scatter": "copies `src` into its place",
    "diagonal_scatter": "copies `src` into its place",
    "select_scatter": "copies `src` into its place",
    "slice_scatter": "copies `src` into its place",
    "rrelu_with_noise_backward": "reads the noise in training alone, and the input out of it alone",
}
#: PyTorch's own words for a few.
OTHERWISE = (
    "Expected query, key, and value to have the same device type|Input tensors must all be on the same device|"
    "torch.gradient expected each tensor to be on the same device"
)


def of_form(form: str) -> list[str]:
    """Operators of a form that take more than one tensor."""

    def applies(overload: Overload) -> bool:
        tensors = len(overload.tensor_positions) + 2 * len(overload.list_positions)
        return tensors > 1 and overload.declaration.form == form

    return [o.name for o in declared_operators() if applies(o)]


def mixed(overload: Overload) -> Iterator[list[Any]]:
    """Arguments of samples on the second device but for one tensor, or one of a list, that is on the first."""
    samples = zip(samples_on(overload, "duo", index=1), samples_on(overload, "duo", index=0), strict=True)
    for ours, theirs in samples:
        bound, other = Arguments(overload, ours).bound, Arguments(overload, theirs).bound
        given = [i for i in overload.tensor_positions if isinstance(bound[i], Tensor)]
        several = [i for i in overload.list_positions if sum(isinstance(t, Tensor) for t in bound[i] or ()) > 1]
        for i in given if len(given) > 1 else []:
            yield [*bound[:i], other[i], *bound[i + 1 :]]
        for i in several:
            yield [*bound[:i], [*bound[i][:-1], other[i][-1]], *bound[i + 1 :]]


def reads_nothing(name: str, bound: list[Any]) -> bool:
    """Whether a call has nothing to do with its other tensors: without second derivatives, there is none to compute."""
    return name == "_convolution_double_backward" and bound[:2] == [None, None]


def is_taken_on_one(overload: Overload, bound: list[Any]) -> bool:
    """Whether the operator takes these arguments where all of their tensors are on the second device."""
    try:
        overload.call(*[on_second(value) for value in bound])
    except REFUSALS:
        return False
    return True


def on_second(value: Any) -> Any:
    if isinstance(value, list):
        return [on_second(item) for item in value]
    return value.to(SECOND) if isinstance(value, Tensor) else value


def is_one_call(name: str) -> bool:
    """Whether all tensors of the arguments meet: each item of a ``_foreach_`` operator is a call of its own."""
    return name not in TAKES_SEVERAL and find_overload(name).family != "foreach"


@pytest.mark.parametrize("name", filter(is_one_call, of_form("functional")))
def test_no_operator_takes_two_devices(name: str) -> None:
    overload = find_overload(name)
    for bound in mixed(overload):
        if is_taken_on_one(overload, bound) and not reads_nothing(name, bound):
            with pytest.raises(RuntimeError, match=f"{DIFFERENT}|{OTHERWISE}"):
                overload.call(*bound)


def test_items_of_a_list_stay_on_their_devices(first: Tensor, second: Tensor) -> None:
    made = mt_core._foreach_add([first, second], [first, second])
    assert [t.device for t in made] == [FIRST, SECOND]
    with pytest.raises(RuntimeError, match=DIFFERENT):
        mt_core._foreach_add([first, second], [second, first])


@pytest.mark.parametrize("name", sorted(TAKES_SEVERAL))
def test_operators_take_two_devices_where_pytorch_does(name: str) -> None:
    """Of all of its mixed samples at least one; the others are refused in the words for two devices."""
    overload, taken = find_overload(name), 0
    for bound in mixed(overload):
        if is_taken_on_one(overload, bound):
            try:
                assert overload.call(*bound).device == tensors_in(bound)[0].device
                taken += 1
            except RuntimeError as refusal:
                assert DIFFERENT in str(refusal)
    assert taken


@pytest.mark.parametrize("name", of_form("out"))
def test_no_out_form_writes_to_another_device(name: str) -> None:
    overload = find_overload(name)
    functional = find_overload(overload.declaration.functional or "")
    for sample in samples_on(functional, "duo", index=1):
        bound = Arguments(functional, sample).bound
        try:
            with SECOND:
                made = overload_outs(functional.call(*bound))
        except REFUSALS:
            continue
        rest = iter(bound)
        moved = [t.to(FIRST) for t in made]
        elsewhere = iter([moved] if any(a.writes and a.is_list for a in overload.schema.arguments) else moved)
        arguments = [next(elsewhere) if a.writes else next(rest) for a in overload.schema.arguments]
        with SECOND, pytest.raises(RuntimeError, match=f"{DIFFERENT}|Expected out tensor to have device duo:1"):
            overload.call(*arguments)


def overload_outs(result: Any) -> list[Tensor]:
    return list(result) if isinstance(result, (list, tuple)) else [result]
