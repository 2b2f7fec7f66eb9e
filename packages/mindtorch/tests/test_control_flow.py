"""``torch.cond`` and ``torch._higher_order_ops``: control flow, and operators on functions."""

from __future__ import annotations

import copy
import doctest
import json
import pickle
import re
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
from mindtorch.fx.experimental.proxy_tensor import make_fx
from mindtorch.utils._python_dispatch import TorchDispatchMode
from mindtorch.utils._pytree import tree_leaves

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


# In graphs

CODE = """
def forward(self, x_1):
    sum_1 = torch.ops.aten.sum.default(x_1)
    gt = torch.ops.aten.gt.Scalar(sum_1, 2);  sum_1 = None
    true_graph_0 = self.true_graph_0
    false_graph_0 = self.false_graph_0
    cond = torch.ops.higher_order.cond(gt, true_graph_0, false_graph_0, (x_1,));  gt = true_graph_0 = false_graph_0 = x_1 = None
    return cond
"""  # noqa: E501


@pytest.mark.parametrize("tracing_mode", ["real", "fake"])
def test_graphs_have_one_node_and_both_functions(tracing_mode: str):
    def f(x):
        return torch.cond(x.sum() > 2, lambda x: x.sin(), lambda x: x.cos(), (x,))

    module = make_fx(f, tracing_mode=tracing_mode)(torch.ones(4))
    assert module.code.strip() == CODE.strip()
    assert "sin" in module.true_graph_0.code and "cos" in module.false_graph_0.code
    for value in (1.0, 0.1):
        assert torch.equal(module(torch.full((4,), value)), f(torch.full((4,), value)))


@pytest.mark.parametrize("tracing_mode", ["real", "fake"])
@pytest.mark.parametrize(
    "f, node",
    [
        (lambda ho, x: ho.while_loop(lambda i, x: x.sum() < 50, lambda i, x: (i + 1, x * 2), (x[0], x)), "while_loop"),
        (lambda ho, x: ho.scan(lambda c, x: (c + x, {"y": c * x}), torch.zeros(()), x), "scan"),
        (lambda ho, x: ho.map(lambda x: (x + 1, x * 2), x), "map_impl"),
        (lambda ho, x: ho.associative_scan(lambda a, b: a * b, x, 0, combine_mode="generic"), "associative_scan"),
    ],
)
def test_graphs_of_loops_do_the_same(f: Any, node: str, tracing_mode: str):
    import mindtorch._higher_order_ops as operators  # beside torch, as PyTorch's have to be imported

    module = make_fx(lambda x: f(operators, x), tracing_mode=tracing_mode)(torch.arange(1.0, 5.0))
    assert [str(n.target) for n in module.graph.nodes].count(node) == 1
    for start in (2.0, -1.0):
        x = torch.arange(start, start + 4) + (10 if node == "while_loop" else 0)
        found, wanted = tree_leaves(module(x)), tree_leaves(f(operators, x))
        assert all(torch.allclose(a, b) for a, b in zip(found, wanted, strict=True))


def test_functions_that_use_other_traced_tensors_are_refused():
    def f(x: Any, y: Any) -> Any:
        return torch.cond(x.sum() > 2, lambda x: x + y, lambda x: x - y, (x,))

    with pytest.raises(NotImplementedError, match="hand them over as operands"):
        make_fx(f)(torch.ones(4), torch.ones(4))


def test_other_composites_leave_their_operators(operator: Any):
    operator.py_impl(DispatchKey.CompositeImplicitAutograd)(lambda f, x: f(f(x)))
    module = make_fx(lambda x: operator(torch.sin, x))(torch.ones(2))
    assert module.code.count("aten.sin.default") == 2


def test_functionalized_graphs_write_to_inputs_alone():
    def f(x: Any) -> Any:
        y = x.view(-1)
        y.add_(1)
        return x * 2

    code = make_fx(functionalize(f, remove="mutations_and_views"))(torch.ones(2, 2)).code
    called = re.findall(r"aten\.(\w+)\.", code)
    assert called == ["view_copy", "add", "view_copy", "view_copy", "mul", "copy_"]
