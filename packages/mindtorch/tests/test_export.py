"""Exported modules: the graph reads as PyTorch's, does what the module does, and refuses what it does not hold of."""

from __future__ import annotations

import copy
import dataclasses
import doctest
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import mindtorch as torch
from mindtorch import nn
from mindtorch.export.graph_signature import InputKind, OutputKind

SNAPSHOTS = Path(__file__).with_name("snapshots")
sys.path.insert(0, str(SNAPSHOTS))

from exported_programs import PROGRAMS  # noqa: E402

RECORDED = json.loads((SNAPSHOTS / "exports.json").read_text())


def exported(name):
    module, args, kwargs = PROGRAMS[name](torch)
    return torch.export.export(copy.deepcopy(module), args, kwargs), module, args, kwargs


def numbers(result):
    return torch.utils._pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.tolist(), result)


@pytest.mark.parametrize("name", PROGRAMS)
def test_graphs_read_as_pytorchs(name):
    program, _, _, _ = exported(name)
    recorded = RECORDED[name]
    assert program.graph_module.code.strip() == recorded["code"]
    assert str(program.graph_signature) == recorded["signature"]
    assert program.module().code.strip() == recorded["module"]


def check_equal(found, expected, tolerance=0):
    leaves, others = (torch.utils._pytree.tree_flatten(value) for value in (found, expected))
    assert leaves[1] == others[1]
    for a, b in zip(leaves[0], others[0], strict=True):
        if isinstance(a, torch.Tensor):
            torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)
            assert tolerance or a.stride() == b.stride()
        else:
            assert a == b


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("taken_apart", [False, True])
def test_the_graph_does_what_the_module_does(name, taken_apart):
    program, module, args, kwargs = exported(name)
    made = (program.run_decompositions() if taken_apart else program).module()
    for _ in range(2):
        given = copy.deepcopy((args, kwargs))
        result, expected = made(*given[0], **given[1]), module(*args, **kwargs)
        check_equal(result, expected, 1e-6 if taken_apart else 0)
    torch.testing.assert_close(made.state_dict(), module.state_dict())


@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers_are_pytorchs(name):
    program, _, args, kwargs = exported(name)
    found = torch.utils._pytree.tree_leaves(numbers(program.module()(*args, **kwargs)))
    expected = torch.utils._pytree.tree_leaves(RECORDED[name]["result"])
    assert [f for f in found if not isinstance(f, float)] == [e for e in expected if not isinstance(e, float)]
    floats = [[v for v in values if isinstance(v, float)] for values in (found, expected)]
    assert floats[0] == pytest.approx(floats[1], rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("name", [n for n in PROGRAMS if n != "nested_arguments"])
def test_gradients(name):
    program, module, args, kwargs = exported(name)
    grads = []
    for run in (program.module(), module):
        leaves = torch.utils._pytree.tree_leaves(run(*args, **kwargs))
        total = [t.sum() for t in leaves if isinstance(t, torch.Tensor) and t.requires_grad]
        if total:
            sum(total).backward()
        grads.append({name: p.grad for name, p in run.named_parameters()})
    check_equal(*grads)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x, scale=2, *, flag=None):
        return self.linear(x) * scale


def test_what_a_program_holds():
    module = Net()
    program = torch.export.export(module, (torch.ones(2, 3),), {"flag": None})
    assert dict(program.named_parameters()) == dict(module.named_parameters())
    assert list(program.parameters()) == list(module.parameters())
    assert not list(program.buffers())
    assert program.state_dict.keys() == module.state_dict().keys()
    assert program.example_inputs[1] == {"flag": None}
    assert [entry.fqn for entry in program.module_call_graph] == ["", "linear"]
    assert [spec.kind for spec in program.graph_signature.input_specs] == [
        InputKind.PARAMETER, InputKind.PARAMETER, InputKind.USER_INPUT, InputKind.USER_INPUT,
    ]  # fmt: skip
    assert program.graph_signature.user_inputs == ("x", None)
    assert program.dialect == "TRAINING"
    assert program.module().linear.weight is module.linear.weight
    assert "p_linear_weight: PARAMETER target='linear.weight'" in str(program)
    val = next(node for node in program.graph.nodes if node.op == "call_function").meta["val"]
    assert type(val).__name__ == "FakeTensor"
    assert val.shape == (2, 3)


@pytest.mark.parametrize(
    ("args", "kwargs", "kind", "text"),
    [
        ((torch.ones(3, 3),), {"flag": None}, AssertionError, r"Guard failed: x.size\(\)\[0\] == 2"),
        ((torch.ones(2, 3).double(),), {"flag": None}, AssertionError, "Guard failed: x.dtype == torch.float32"),
        ((torch.ones(2),), {"flag": None}, AssertionError, r"Guard failed: x.dim\(\) == 2"),
        (
            (torch.ones(2, 3),),
            {},
            ValueError,
            r"Ran into a kwarg keyword mismatch: Got the following keywords \[\] but",
        ),
        (
            ([torch.ones(2, 3)],),
            {"flag": None},
            ValueError,
            "Trying to flatten user inputs with exported input tree spec",
        ),
    ],
)
def test_calls_that_the_graph_is_not_for(args, kwargs, kind, text):
    made = torch.export.export(Net(), (torch.ones(2, 3),), {"flag": None}).module()
    with pytest.raises(kind, match=text):
        made(*args, **kwargs)


def test_constants_are_guarded():
    module = Net()
    x = torch.ones(2, 3)
    made = torch.export.export(module, (x, 3)).module()
    check_equal(made(x, 3), module(x, 3))
    with pytest.raises(AssertionError, match="Guard failed: scale == 3"):
        made(x, 4)
    unchecked = torch.export.export(module, (x, 3)).module(check_guards=False)
    check_equal(unchecked(x, 4), module(x, 3))


def test_a_program_is_not_called():
    program = torch.export.export(Net(), (torch.ones(2, 3),))
    with pytest.raises(RuntimeError, match="Unable to call ExportedProgram directly"):
        program(torch.ones(2, 3))
    with pytest.raises(NotImplementedError, match="Calling train"):
        program.module().train()


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: torch.export.export(abs, (1,)), ValueError, "Expected `mod` to be an instance of `torch.nn.Module`"),
        (lambda: torch.export.export(Net(), torch.ones(3)), torch._dynamo.exc.UserError, "Expecting `args` to be a"),
        (lambda: torch.export.export(Net(), (torch.ones(3),), strict=True), NotImplementedError, "strict=True"),
        (lambda: torch.export.export(Net(), (torch.ones(3, 4),)), RuntimeError, "mat1 and mat2|same reduction dim"),
    ],
)  # fmt: skip
def test_what_is_refused(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_sizes_that_stay_may_be_named():
    shapes = {"x": {0: None, 1: torch.export.Dim.STATIC}, "scale": None}
    assert torch.export.export(Net(), (torch.ones(2, 3), 2), dynamic_shapes=shapes).graph


def test_elements_are_not_read():
    class Reads(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    from mindtorch._subclasses.fake_tensor import DataDependentOutputException

    with pytest.raises(DataDependentOutputException):
        torch.export.export(Reads(), (torch.ones(2),))


def test_the_module_is_as_it_was():
    module, args, kwargs = PROGRAMS["buffers_and_constants"](torch)
    before = copy.deepcopy(module.state_dict())
    constant, versions = module.constant, [t._version for t in module.state_dict().values()]
    torch.manual_seed(0)
    state = torch.get_rng_state()
    torch.export.export(module, args, kwargs)
    torch.testing.assert_close(module.state_dict(), before, rtol=0, atol=0)
    assert module.constant is constant
    assert [t._version for t in module.state_dict().values()] == versions
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.ones(2).add(1).tolist() == [2, 2]


def test_written_buffers_are_outputs_when_taken_apart():
    module, args, kwargs = PROGRAMS["buffers_and_constants"](torch)
    program = torch.export.export(module, args, kwargs).run_decompositions()
    written = [spec.target for spec in program.graph_signature.output_specs if spec.kind is OutputKind.BUFFER_MUTATION]
    assert written == ["count", "norm.running_mean", "norm.running_var", "norm.num_batches_tracked"]
    called = {node.target for node in program.graph.nodes if node.op == "call_function"}
    assert torch.ops.aten._native_batch_norm_legit_functional.default in called
    made, expected = program.module(), copy.deepcopy(module)
    for run in (made, expected):
        (run(*args, **kwargs)["a"] * torch.arange(8.0).reshape(2, 4)).sum().backward()
    check_equal(made.linear.weight.grad, expected.linear.weight.grad, 1e-5)
    torch.testing.assert_close(dict(made.named_buffers()), dict(expected.named_buffers()))
    assert program.dialect == "ATEN"
    called = {node.target for node in program.graph.nodes if node.op == "call_function"}
    assert torch.ops.aten.linear.default not in called
    assert torch.ops.aten.add_.Tensor not in called


def test_bounds_of_slices_are_numbers():
    class Net(nn.Module):
        def forward(self, x):
            return x[:2], x[1:], x[:, :-1], x[::2], x[:]

    graph = torch.export.export(Net(), (torch.ones(4, 3),)).graph
    end = 2**63 - 1
    assert [node.args[1:] for node in graph.find_nodes(op="call_function", target=torch.ops.aten.slice.Tensor)] == [
        (0, 0, 2), (0, 1, end), (1, 0, -1), (0, 0, end, 2), (0, 0, end),
    ]  # fmt: skip


def test_a_table_says_how_operators_are_taken_apart():
    class Tanh(nn.Module):
        def forward(self, x):
            return torch.tanh(x)

    def by_exp(x):
        return 1 - 2 / (torch.exp(2 * x) + 1)

    x = torch.linspace(-1, 1, 5)
    program = torch.export.export(Tanh(), (x,)).run_decompositions({torch.ops.aten.tanh.default: by_exp})
    assert torch.ops.aten.exp.default in {node.target for node in program.graph.nodes}
    check_equal(program.module()(x), torch.tanh(x), 1e-6)


def test_a_program_knows_that_it_is_exported():
    class Asks(nn.Module):
        def forward(self, x):
            return x + (1 if torch.compiler.is_exporting() else 0)

    assert torch.export.export(Asks(), (torch.zeros(1),)).module()(torch.zeros(1)).item() == 1
    assert not torch.compiler.is_exporting()


class SwitchesGradients(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x):
        y = self.linear(x)
        with torch.no_grad():
            z = y * 2
            with torch.enable_grad():
                w = z * y
        with torch.autocast("cpu", dtype=torch.bfloat16):
            v = self.linear(x)
        return y + z + w, v


@pytest.mark.parametrize("taken_apart", [False, True])
def test_switched_gradients_stay_switched(taken_apart):
    module = SwitchesGradients()
    given = torch.randn(1, 2)
    program = torch.export.export(module, (given.clone().requires_grad_(),))
    results = []
    for run in (module, program.module()):
        x = given.clone().requires_grad_()
        outputs = run(x)
        sum(t.float().sum() for t in outputs).backward()
        results.append([*outputs, x.grad])
        assert torch.is_grad_enabled()
    check_equal(*results)
    if taken_apart:
        check_equal(program.run_decompositions().module()(given), module(given), 1e-2)


class Changes(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(2))
        self.calls, self.kept = 0, []

    def forward(self, x):
        self.calls += 1
        self.kept.append(x * 2)
        self.total = self.total + x
        self.last = x
        constant = torch.tensor([1.0, 2.0])
        constant.add_(1)
        array = torch.from_numpy(np.ones(2, np.float32))
        array.mul_(3)
        return self.total + constant + array


@pytest.mark.parametrize("taken_apart", [False, True])
def test_what_a_module_changes(taken_apart):
    module = Changes()
    x = torch.ones(2)
    program = torch.export.export(module, (x,))
    assert (module.calls, module.kept, module.total.tolist(), hasattr(module, "last")) == (0, [], [0, 0], False)
    made = (program.run_decompositions() if taken_apart else program).module()
    module = copy.deepcopy(module)  # the program writes to the tensors of the exported one
    for _ in range(3):
        check_equal(made(x), module(x))
        check_equal(made.total, module.total)


def test_a_backward_of_its_own_is_not_lost():
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 7

    class Applies(nn.Module):
        def forward(self, x):
            return Doubled.apply(x) + 1

    with pytest.raises(torch._dynamo.exc.UserError, match="autograd.Function Doubled would be lost"):
        torch.export.export(Applies(), (torch.ones(2),))
    with torch.no_grad():
        made = torch.export.export(Applies(), (torch.ones(2),)).module()
    assert made(torch.ones(2)).tolist() == [3, 3]
    x = torch.ones(2, requires_grad=True)
    Applies()(x).sum().backward()
    assert x.grad.tolist() == [7, 7]


def test_a_buffer_that_is_taken_away():
    class Drops(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("held", torch.ones(2))

        def forward(self, x):
            y = x + self.held
            self.held = None
            return y

    module = Drops()
    with pytest.raises(torch._dynamo.exc.UserError, match="the buffer held is taken away"):
        torch.export.export(module, (torch.ones(2),))
    assert module.held.tolist() == [1, 1]


def test_dataclasses_as_arguments():
    @dataclasses.dataclass
    class Batch:
        x: torch.Tensor
        y: torch.Tensor | None = None
        scale: int = 1

    class Takes(nn.Module):
        def forward(self, batch):
            return Batch(batch.x * batch.scale)

    torch.export.register_dataclass(Batch)
    program = torch.export.export(Takes(), (Batch(torch.ones(2), scale=3),))
    assert [node.name for node in program.graph.find_nodes(op="placeholder")] == ["batch_x", "batch_scale"]
    made = program.module()
    result = made(Batch(torch.ones(2) * 2, scale=3))
    assert type(result) is Batch
    assert result.x.tolist() == [6, 6]
    assert result.y is None
    with pytest.raises(AssertionError, match="Only dataclasses"):
        torch.export.register_dataclass(int)


def test_the_page_runs():
    page = Path(__file__).parents[3] / "docs" / "export.md"
    run = doctest.testfile(str(page), module_relative=False, optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    assert run.attempted > 5
    assert not run.failed
