"""``torch.cond`` and ``torch._higher_order_ops``: control flow, and operators on functions."""

from __future__ import annotations

import copy
import doctest
import json
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest

import mindtorch as torch
from mindtorch._C import DispatchKey
from mindtorch._higher_order_ops import cond, scan
from mindtorch._higher_order_ops.cond import cond_op
from mindtorch._ops import HigherOrderOperator
from mindtorch.func import functionalize, vmap
from mindtorch.utils._python_dispatch import TorchDispatchMode

SNAPSHOTS = Path(__file__).parent / "snapshots"
sys.path.insert(0, str(SNAPSHOTS))

from control_flow_programs import PROGRAMS, outcome  # noqa: E402

STORED = json.loads((SNAPSHOTS / "control_flow.json").read_text())


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_do_what_they_do_in_pytorch(program: str) -> None:
    import mindtorch._higher_order_ops as operators  # beside torch, as PyTorch's have to be imported

    found, wanted = outcome(torch, operators, program), STORED[program]
    if isinstance(wanted, str):
        assert found == wanted
    else:
        assert torch.allclose(torch.tensor(found), torch.tensor(wanted), rtol=1e-5)


@pytest.mark.parametrize("pred", [True, 1, 2.5, torch.tensor(True), torch.tensor([[3.0]])])
def test_true_values_choose_the_first(pred):
    operands = (torch.ones(2), torch.tensor(2.0))
    assert torch.cond(pred, lambda x, y: x + y, lambda x, y: x - y, operands).tolist() == [3, 3]


@pytest.mark.parametrize("pred", [False, 0, 0.0, torch.tensor(False), torch.zeros(1)])
def test_false_values_choose_the_second(pred):
    operands = [torch.ones(2), torch.tensor(2.0)]
    assert torch.cond(pred, lambda x, y: x + y, lambda x, y: x - y, operands).tolist() == [-1, -1]


def test_it_is_differentiable_and_calls_one_function_only():
    x = torch.ones(2, requires_grad=True)
    torch.cond(x.sum() > 1, lambda: x * 3, lambda: pytest.fail("called")).sum().backward()
    assert x.grad.tolist() == [3, 3]


@pytest.mark.parametrize("count", [0, 2])
def test_predicates_have_one_element(count):
    with pytest.raises(RuntimeError, match="Expected pred to be bool or single-element tensor, but got tensor"):
        torch.cond(torch.ones(count), lambda: 1, lambda: 2)


def test_under_vmap_lanes_choose_for_themselves():
    def f(x: Any) -> Any:
        return torch.cond(x.sum() > 2, lambda x: {"a": x * 2}, lambda x: {"a": -x}, (x,))["a"]

    assert vmap(f)(torch.tensor([[1.0, 1.0], [2.0, 2.0]])).tolist() == [[-1, -1], [4, 4]]
    with pytest.raises(RuntimeError, match="to have same metadata"):
        vmap(lambda x: torch.cond(x > 0, lambda x: x, lambda x: x.double(), (x,)))(torch.ones(2))


def test_branches_that_write_are_functionalized():
    x = torch.ones(2)
    f = functionalize(lambda x: torch.cond(x.sum() > 1, lambda x: x.mul_(3), lambda x: x + 1, (x,)).sum())
    assert f(x) == 6 and x.tolist() == [3, 3]


def test_names():
    assert torch.cond is cond and torch.ops.higher_order.cond is cond_op and str(cond_op) == "cond"


class Watching(TorchDispatchMode):
    supports_higher_order_operators = True

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Any] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(func)
        return func(*args, **(kwargs or {}))


def test_modes_see_the_whole_if_they_say_so_or_have_a_rule():
    x = torch.ones(2, requires_grad=True)
    with Watching() as mode:
        carry, _ = scan(lambda c, x: (c + x, c * x), torch.zeros(()), x)
    assert carry == 2 and mode.seen[-1] is torch.ops.higher_order.scan

    class Parts(Watching):
        supports_higher_order_operators = False

    with Parts() as parts:
        torch.cond(torch.tensor(True), torch.sin, torch.cos, (x,))
    assert torch.ops.aten.sin.default in parts.seen and cond_op not in parts.seen


@pytest.fixture
def operator() -> Any:
    from mt_library.higher_order import HIGHER_ORDER  # the test takes its operator out again

    class Twice(HigherOrderOperator):
        def __init__(self) -> None:
            super().__init__("twice_for_a_test")

        def __call__(self, f: Any, x: Any) -> Any:
            return super().__call__(f, x)

    yield Twice()
    del HIGHER_ORDER["twice_for_a_test"]


def test_operators_have_kernels_by_key(operator: Any):
    x = torch.ones(2)
    with pytest.raises(
        NotImplementedError, match="HigherOrderOperator twice_for_a_test at dispatch key DispatchKey.AutogradCPU"
    ):
        operator(torch.sin, x)
    operator.py_impl(DispatchKey.CompositeExplicitAutograd)(lambda f, x: f(f(x)))
    operator.py_autograd_impl(lambda f, x: f(x) * 10)
    assert operator(torch.exp, torch.zeros(1)) == torch.exp(torch.ones(1))
    assert operator(torch.neg, x.clone().requires_grad_()).tolist() == [-10, -10]
    assert torch.ops.higher_order.twice_for_a_test is operator
    assert copy.deepcopy(operator) is operator and pickle.loads(pickle.dumps(operator)) is operator
    assert operator.namespace == "higher_order" and operator.name() == str(operator) == "twice_for_a_test"
    with pytest.raises(NotImplementedError, match="does not implement a gen_schema"):
        operator.gen_schema()


def test_modes_without_a_rule_refuse(operator: Any):
    operator.py_impl(DispatchKey.CompositeExplicitAutograd)(lambda f, x: f(x))
    operator.fallthrough(DispatchKey.AutogradCPU)

    class Silent(TorchDispatchMode):
        pass

    x = torch.ones(2)
    with Silent(), pytest.raises(NotImplementedError, match="There was no rule registered for HigherOrderOperator"):
        operator(torch.sin, x)
    operator.py_impl(Silent)(lambda mode, f, x: (mode, f(x)))
    with Silent() as mode:
        found = operator(lambda x: 5, x)
    assert found == (mode, 5)


def test_transforms_need_a_rule(operator: Any):
    with pytest.raises(RuntimeError, match="no rule registered for HigherOrderOperator twice_for_a_test and Vmap"):
        vmap(lambda x: operator(torch.sin, x))(torch.ones(2))
    with pytest.raises(TypeError, match="abstract"):
        HigherOrderOperator("name")


def test_the_page_runs():
    from mt_library.higher_order import HIGHER_ORDER  # the page enters an operator, which is taken out again

    page = Path(__file__).parents[3] / "docs" / "control-flow.md"
    results = doctest.testfile(str(page), module_relative=False)
    HIGHER_ORDER.pop("twice", None)
    assert results.attempted > 15 and not results.failed
