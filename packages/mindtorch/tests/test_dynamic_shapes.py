"""Modules exported with sizes that vary: graphs read as PyTorch's, and hold for the sizes that they take."""

from __future__ import annotations

import io
import itertools
import json
import sys
from pathlib import Path

import pytest

import mindtorch as torch
from mindtorch import nn
from mindtorch.export._guarding import guard_evaluator
from mindtorch.export.pt2_archive._expressions import Expressions
from mindtorch.export.pt2_archive._fields import Field

SNAPSHOTS = Path(__file__).with_name("snapshots")
sys.path.insert(0, str(SNAPSHOTS))

from dynamic_programs import PROGRAMS, REFUSED  # noqa: E402

RECORDED = json.loads((SNAPSHOTS / "dynamic_exports.json").read_text())
AUTO = torch.export.Dim.AUTO


def called(module, sizes):
    try:
        module(*(torch.ones(size) for size in sizes))
    except AssertionError as error:
        return str(error)
    return "fine"


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_pytorchs(name):
    module, args, kwargs, dynamic_shapes, calls = PROGRAMS[name](torch)
    program = torch.export.export(module, args, kwargs, dynamic_shapes=dynamic_shapes)
    recorded = RECORDED["programs"][name]
    assert program.graph_module.code.strip() == recorded["code"]
    assert str(program.graph_signature) == recorded["signature"]
    assert str(program.range_constraints) == recorded["ranges"]
    values = [node.meta["val"] for node in program.graph.find_nodes(op="placeholder")]
    assert [str(tuple(v.shape)) for v in values if isinstance(v, torch.Tensor)] == recorded["sizes"]
    assert [called(program.module(), sizes) for sizes in calls] == recorded["calls"]
    program.validate()


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_are_pytorchs(name):
    module, args, kwargs, dynamic_shapes = REFUSED[name](torch)
    kind, text = RECORDED["refused"][name]
    with pytest.raises((RuntimeError, ValueError, torch._dynamo.exc.UserError)) as found:
        torch.export.export(module, args, kwargs, dynamic_shapes=dynamic_shapes)
    assert (type(found.value).__name__, str(found.value)) == (kind, text)


def module_of(function):
    return type("Program", (nn.Module,), {"forward": function})()


def attended(self, x):
    rows, length, width = x.shape
    q, k, v = (part.view(rows, length, 2, -1).transpose(1, 2) for part in x.repeat(1, 1, 3).split(width, 2))
    seen = torch.tril(torch.ones(length, length)) == 0
    weights = (q @ k.transpose(-2, -1)).masked_fill(seen, float("-inf")).softmax(-1)
    return (weights @ v).transpose(1, 2).reshape(rows, length, width)


#: Functions of one matrix, or of two: at all sizes, small ones too, they give what the module gives, or are refused.
FUNCTIONS = {
    "attended": lambda self, x: attended(self, x[..., None].repeat(1, 1, 4)),
    "reduced": lambda self, x: (x.softmax(-1), x.mean(0), x.sum(1), x.cumsum(0), x / x.shape[0], x.numel()),
    "reshaped": lambda self, x: (x.view(-1), x.repeat(2, x.shape[0]), x.expand(3, *x.shape), x.unsqueeze(1)),
    "halves": lambda self, x: x[: x.shape[0] // 2] * (x.shape[1] % 3),
    "evens": lambda self, x: x.view(-1, 2),
    "asks_for_one": lambda self, x: x + 1 if x.shape[0] == 1 else x,
    "asks_for_none": lambda self, x: x + 1 if x.shape[0] == 0 else x.sum(0),
    "asks_for_more": lambda self, x: x + 1 if x.shape[0] > x.shape[1] else x,
    "at_least_one": lambda self, x: torch.zeros(torch.sym_max(x.shape[0], 1), max(x.shape[1], 1)),
    "squeezed": lambda self, x: (x.squeeze(0).dim(), x.squeeze()),
    "made": lambda self, x: x + torch.arange(x.shape[1]) + torch.full((x.size(0), 1), 2.0),
    "padded": lambda self, x: nn.functional.pad(x, (0, x.shape[0])),
    "parts": lambda self, x: x.chunk(2, 1),
    "joined": lambda self, x, y: torch.cat([x, y]) @ y.t(),
    "added": lambda self, x, y: x + y,
    "multiplied": lambda self, x, y: torch.einsum("ij,kj->ki", x, y),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("taken_apart", [False, True])
def test_programs_hold_for_the_sizes_that_they_take(name, taken_apart):
    module = module_of(FUNCTIONS[name])
    count = FUNCTIONS[name].__code__.co_argcount - 1

    def given(rows, columns):
        numbers = torch.arange(float(rows * columns)).reshape(rows, columns).sin()
        return tuple(numbers * (1 + i) for i in range(count))

    program = torch.export.export(module, given(4, 6), dynamic_shapes=({0: AUTO, 1: AUTO},) * count)
    made = (program.run_decompositions() if taken_apart else program).module()
    taken = 0
    for sizes in itertools.product([0, 1, 2, 5, 8], repeat=2):
        args = given(*sizes)
        try:
            result = made(*args)
        except AssertionError as error:
            assert str(error).startswith("Guard failed")
            continue
        except RuntimeError:
            with pytest.raises(RuntimeError):
                module(*args)
            continue
        taken += min(sizes) > 1
        leaves, expected = (torch.utils._pytree.tree_leaves(value) for value in (result, module(*args)))
        torch.testing.assert_close(leaves, expected, equal_nan=True)
    assert taken >= 3


class Doubling(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        return self.linear(x).view(x.shape[0] * 2, -1)


def test_programs_are_modules_again():
    net = nn.Sequential(Doubling(), nn.Unflatten(1, (1, 2)), nn.Flatten())
    program = torch.export.export(net, (torch.ones(3, 4),), dynamic_shapes=({0: torch.export.Dim("n", max=9)},))
    again = torch.export.unflatten(program)
    for rows in (1, 2, 9):
        x = torch.arange(4.0 * rows).reshape(rows, 4)
        assert torch.equal(again(x), net(x))
    with pytest.raises(AssertionError, match=r"Guard failed: input.size\(\)\[0\] <= 9"):
        again(torch.ones(10, 4))


def described(node):
    value = node.meta.get("val")
    return (str(value.shape), str(value.stride()), value.dtype) if isinstance(value, torch.Tensor) else ""


@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - {"means"}))
def test_programs_are_saved_and_loaded(name):
    module, args, kwargs, dynamic_shapes, calls = PROGRAMS[name](torch)
    program = torch.export.export(module, args, kwargs, dynamic_shapes=dynamic_shapes)
    file = io.BytesIO()
    torch.export.save(program, file)
    again = torch.export.load(io.BytesIO(file.getvalue()))
    assert again.graph_module.code == program.graph_module.code
    assert str(again.range_constraints) == str(program.range_constraints)
    assert [called(again.module(), sizes) for sizes in calls] == RECORDED["programs"][name]["calls"]
    for new, old in zip(again.graph.nodes, program.graph.nodes, strict=True):
        assert described(new) == described(old)


@pytest.mark.parametrize(
    "text",
    ["__import__('os').getcwd()", "Symbol('s77').free_symbols", "Pow(Integer(9), Integer(99999))", "Lambda(Integer(1))",
     "Symbol('u0', integer=True)", "Symbol()", "(" * 99, "Add(" * 60 + "Integer(1)" + ")" * 60, "FloorDiv(Integer(1))"],
)  # fmt: skip
def test_expressions_of_files_are_made_and_not_run(text):
    reader = Expressions(Field({}, "ranges"))
    with pytest.raises((RuntimeError, NotImplementedError)):
        reader.size(Field({"as_expr": {"expr_str": text, "hint": None}}, "size"))


def test_derived_sizes():
    n = torch.export.Dim("n", min=2)
    module = module_of(lambda self, x: x.reshape(-1, 2, 6))
    program = torch.export.export(module, (torch.ones(8, 6),), dynamic_shapes=({0: 2 * n},))
    assert str(next(iter(program.range_constraints))) == "2*s69"
    assert program.module()(torch.ones(6, 6)).shape == (3, 2, 6)
    with pytest.raises(AssertionError, match=r"Guard failed: x.size\(\)\[0\] % 2 == 0"):
        program.module()(torch.ones(7, 6))
    with pytest.raises(torch._dynamo.exc.UserError, match=r"of the form 2\*n"):
        torch.export.export(module, (torch.ones(9, 6),), dynamic_shapes=({0: 2 * n},))
    assert (repr(2 * n + 3), (n - 1).min, (2 * n).max) == ("2*n + 3", 1, sys.maxsize)
    for wrong in (lambda: n * 0, lambda: n * 1.5, lambda: n + 1.5, lambda: 3 - n, lambda: n * n):
        with pytest.raises(NotImplementedError, match="Only increasing linear operations"):
            wrong()


def test_parameters_and_tensors_without_declarations_keep_their_sizes():
    batch = torch.export.Dim("batch")
    module = module_of(lambda self, x, y: x @ y)
    program = torch.export.export(
        module, (torch.ones(4, 3), torch.ones(3, 2)), dynamic_shapes={"x": {0: batch}, "y": None}
    )
    with pytest.raises(AssertionError, match=r"Guard failed: y.size\(\)\[1\] == 2"):
        program.module()(torch.ones(4, 3), torch.ones(3, 5))


def test_what_depends_on_elements_is_refused():
    with pytest.raises(torch._subclasses.fake_tensor.DataDependentOutputException):
        torch.export.export(
            module_of(lambda self, x: x * x.sum().item()), (torch.ones(4),), dynamic_shapes=({0: AUTO},)
        )
    with pytest.raises(NotImplementedError, match="for an integer"):
        torch.export.export(module_of(lambda self, n: n), (3,), dynamic_shapes=(torch.export.Dim.DYNAMIC,))


@pytest.mark.parametrize(
    "text",
    ["L['x'].data_ptr() == 0", "__import__('os').system('true') == 0", "L.pop('x')", "L['x'].size(0) == 1",
     "[1] == [1]", "max.__class__ == 1",
     "L['x'].size()['a'] == 1", "(lambda: 1)() == 1", "'a' * 9 == 'b'", "1 ==", "f == 1"],
)  # fmt: skip
def test_guards_are_relations_of_sizes_alone(text):
    with pytest.raises(NotImplementedError, match="the guard"):
        guard_evaluator(text)


def test_guards_are_evaluated():
    holds = guard_evaluator(
        "((2 * L['x']['k'][0].size()[1]) % 4 == 0) and max(L['x']['k'][0].stride()[0], -1) // 2 != 1"
    )
    assert [holds({"x['k'][0]": torch.ones(3, n)}) for n in (2, 3, 4)] == [False, False, True]
    assert not guard_evaluator("1 // L['x'].size()[0] == 0")({"x": torch.ones(0)})
