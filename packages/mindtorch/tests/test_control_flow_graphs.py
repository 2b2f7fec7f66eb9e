"""Control flow in graphs of ``torch.export`` and ``torch.compile`` with a function: one step, its functions modules."""

import pytest

import mindtorch as torch
from mindtorch._dynamo.testing import CompileCounter
from mindtorch._higher_order_ops.map import map as control_map
from mindtorch._higher_order_ops.scan import scan
from mindtorch._higher_order_ops.while_loop import while_loop

_weight = torch.full((3,), 2.0)


def _chosen(x):
    return torch.cond(x.sum() > 0, lambda x: {"a": x + _weight, "b": [x]}, lambda x: {"a": x - 1, "b": [x * 2]}, (x,))


def _nested(x):
    def deep(x, y):
        return torch.cond(y.sum() > 2, lambda y: x * y + _weight, lambda y: x - y, (y,))

    return torch.cond(x.sum() > 0, deep, lambda x, y: x * 3, (x, x.cos()))


def _while(x):
    return while_loop(lambda i, x: i < 4, lambda i, x: (i + 1, x * _weight), (torch.tensor(0), x))


def _scanned(x):
    return scan(lambda c, a: (c * a + _weight, c - a), torch.zeros(3), x.expand(4, 3) * 1.5)


def _mapped(x):
    return control_map(lambda row, y: row * y + _weight, x.expand(4, 3), x)


_PROGRAMS = {"cond": _chosen, "nested": _nested, "while_loop": _while, "scan": _scanned, "map": _mapped}
_INPUTS = (torch.tensor([1.0, 2, 3]), torch.tensor([-1.0, -2, 0]), torch.tensor([5.0, -0.5, 0.25]))


class _Program(torch.nn.Module):
    def __init__(self, program):
        super().__init__()
        self.program = program
        self.weight = torch.nn.Parameter(torch.ones(3))

    def forward(self, x):
        return self.program(x * self.weight)


def _leaves(value):
    return torch.utils._pytree.tree_leaves(value)


def _answers(run, module):
    """Results and gradients."""
    found = []
    for x in _INPUTS:
        module.weight.grad = None
        results = _leaves(run(x))
        sum(t.sum() for t in results if t.requires_grad).backward()
        found.append([*(t.detach() for t in results), module.weight.grad.clone()])
    return found


def _same(found, expected):
    return all(len(a) == len(b) and all(map(torch.equal, a, b)) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("name", _PROGRAMS)
def test_programs_give_what_they_give(name):
    module = _Program(_PROGRAMS[name])
    expected = _answers(module, module)
    exported = torch.export.export(module, (_INPUTS[0],)).module()
    assert _same(_answers(exported, exported), expected)
    counter = CompileCounter()
    assert _same(_answers(torch.compile(module, backend=counter, fullgraph=True), module), expected)
    assert counter.frame_count == 1


class _Held(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)
        self.register_buffer("more", torch.ones(3))

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: self.linear(x) + self.more, lambda x: x.cos(), (x,))


def test_an_exported_program_reads_as_pytorchs():
    program = torch.export.export(_Held(), (torch.ones(2, 3),))
    lines = program.graph_module.code.strip().splitlines()
    assert lines[0] == "def forward(self, p_linear_weight, p_linear_bias, b_more, x):"
    step = "    cond = torch.ops.higher_order.cond(gt, true_graph_0, false_graph_0, (x, b_more, p_linear_bias, "
    assert lines[5].startswith(step + "p_linear_weight));")
    assert lines[6:] == ["    getitem = cond[0];  cond = None", "    return (getitem,)"]
    assert program.graph_module.false_graph_0.code.strip().splitlines() == [
        "def forward(self, x, b_more, p_linear_bias, p_linear_weight):",
        "    cos = torch.ops.aten.cos.default(x);  x = None",
        "    return (cos,)",
    ]
    program.validate()
    with pytest.raises(NotImplementedError, match="control flow"):
        program.run_decompositions()


def test_sizes_vary_around_control_flow():
    rows = torch.export.Dim("rows", min=2)
    module = torch.export.export(_Held(), (torch.ones(4, 3),), dynamic_shapes={"x": {0: rows}}).module()
    counter = CompileCounter()
    held = _Held()
    compiled = torch.compile(held, backend=counter, dynamic=True, fullgraph=True)
    for count in (2, 5, 7):
        for x in (torch.ones(count, 3), -torch.ones(count, 3)):
            assert module(x).shape == (count, 3)
            assert torch.equal(compiled(x), held(x))
    assert counter.frame_count == 1


def test_a_size_that_varies_inside_of_a_function_is_refused():
    class Sized(torch.nn.Module):
        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda x: x * x.shape[0], lambda x: x.cos(), (x,))

    with pytest.raises(torch._dynamo.exc.UserError, match="a size that varies"):
        torch.export.export(Sized(), (torch.ones(4, 3),), dynamic_shapes={"x": {0: torch.export.Dim("rows")}})
    compiled = torch.compile(Sized(), backend=CompileCounter())
    for rows in (2, 3, 4):
        assert torch.equal(compiled(torch.ones(rows, 3)), torch.ones(rows, 3) * rows)


def test_functions_that_do_not_go_together_are_refused():
    class Unlike(torch.nn.Module):
        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda x: x, lambda x: x[:1], (x,))

    with pytest.raises(RuntimeError, match="true_fn_output and false_fn_output to have same metadata"):
        torch.export.export(Unlike(), (torch.ones(3),))


def test_a_training_step_with_control_flow_is_one_graph():
    def trained(compile_step):
        torch.manual_seed(0)
        model = _Held()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def step(x):
            loss = model(x).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss.detach()

        run = compile_step(step)
        return [run(x).item() for x in (torch.ones(2, 3), torch.full((2, 3), 0.5), torch.ones(2, 3))]

    counter = CompileCounter()
    assert trained(lambda step: torch.compile(step, backend=counter, fullgraph=True)) == trained(lambda step: step)


def test_what_a_function_reads_is_guarded():
    scale = [2.0]
    compiled = torch.compile(
        lambda x: torch.cond(x.sum() > 0, lambda x: x * scale[0], lambda x: x * 1, (x,)), backend=CompileCounter()
    )
    x = torch.ones(2)
    assert compiled(x).tolist() == [2, 2]
    scale[0] = 5.0
    assert compiled(x).tolist() == [5, 5]
