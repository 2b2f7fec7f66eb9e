"""Two devices of a type: results stay where their arguments are, and what lies on both is refused.

That the results of every operator stay is shown by the exam of the null backend, which has two devices.
"""

from __future__ import annotations

from typing import Any

import pytest

import mt_core
from mt_core.keys import OTHER_INDEX
from mt_core.plugins.discovery import register_backend
from mt_core.tensor import Tensor
from mt_core.testing.null_backend import NullBackend

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
