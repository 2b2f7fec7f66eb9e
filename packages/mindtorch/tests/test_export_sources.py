"""Sizes that vary by tensors and by further arguments; tables of decompositions; exports with a report."""

from __future__ import annotations

import pytest

import mindtorch as torch
from mindtorch import nn
from mindtorch.export import AdditionalInputs, CustomDecompTable, Dim, ShapesCollection, default_decompositions, export
from mindtorch.export.dynamic_shapes import refine_dynamic_shapes_from_suggested_fixes


class Added(nn.Module):
    def forward(self, x, y, *, z=None):
        total = x[0] + y["a"].sum(0)
        return total if z is None else total + z


class Scaled(nn.Module):
    def forward(self, x, n, f, text):
        return x * n * f


class Activated(nn.Module):
    def forward(self, x):
        return nn.functional.silu(x) + torch.addcmul(x, x, x)


class Branching(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x


A, B, C = torch.ones(3, 4), torch.ones(5, 4), torch.ones(4)
ARGS = ((A,), {"a": B})


def test_shapes_by_tensors():
    size, shapes = Dim("size"), ShapesCollection()
    shapes[A] = (size, Dim.STATIC)
    shapes[B][0] = Dim.DYNAMIC
    assert len(shapes) == 2 and shapes[B] == {0: Dim.DYNAMIC}
    assert shapes.dynamic_shapes(Added(), ARGS) == {"x": ((size, Dim.STATIC),), "y": {"a": {0: Dim.DYNAMIC}}}
    with pytest.raises(AssertionError, match="Shapes assigned to input do not match: expected .* got .*None"):
        shapes[A] = (size, None)
    with pytest.raises(AssertionError, match="Cannot assign shape to non-tensor or non-_IntWrapper type <class 'int'>"):
        shapes[3] = None
    shapes[C] = None
    with pytest.raises(ValueError, match="Some tensors that were assigned shapes were not found in args"):
        shapes.dynamic_shapes(Added(), ARGS)
    assert shapes.dynamic_shapes(Added(), ARGS, {"z": C})["z"] is None


def test_a_program_by_shapes_of_tensors():
    shapes = ShapesCollection()
    shapes[B] = (Dim.DYNAMIC, None)
    module = export(Added(), ARGS, dynamic_shapes=shapes).module()
    assert torch.equal(module((A,), {"a": torch.ones(7, 4)}), torch.full((3, 4), 8.0))
    with pytest.raises(AssertionError, match="Guard failed"):
        module((torch.ones(2, 4),), {"a": B})


def test_shapes_by_further_arguments():
    more = AdditionalInputs()
    more.add(((torch.ones(3, 4),), {"a": torch.ones(6, 4)}))
    assert more.dynamic_shapes(Added(), ARGS) == {"x": ((None, None),), "y": {"a": (Dim.DYNAMIC, None)}}
    program = export(Added(), ARGS, dynamic_shapes=more)
    assert torch.equal(program.module()((A,), {"a": torch.ones(9, 4)}), torch.full((3, 4), 10.0))
    more.add(((torch.ones(3, 5),), {"a": torch.ones(6, 5)}))
    with pytest.raises(AssertionError, match="Guard failed: x"):
        more.verify(program)
    with pytest.raises(AssertionError, match="Representative args 3 must be a tuple"):
        more.add(3)
    with pytest.raises(AssertionError, match=r"Representative kwargs \[2\] must be None or a dict"):
        more.add((1,), [2])


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ((4, 2.5, "a"), Dim.DYNAMIC),
        ((3, 3.5, "a"), ValueError),
        ((3, 2.5, "b"), ValueError),
        ((3, 2.5, "a"), None),
    ],
)
def test_further_arguments_that_are_no_tensors(given, found):
    more = AdditionalInputs()
    more.add((C, *given))
    if found is ValueError:
        with pytest.raises(ValueError, match="found to have differing values, but they cannot be marked as dynamic"):
            more.dynamic_shapes(Scaled(), (C, 3, 2.5, "a"))
    else:
        shapes = more.dynamic_shapes(Scaled(), (C, 3, 2.5, "a"))
        assert shapes == {"x": (None,), "n": found, "f": None, "text": None}


def test_suggestions_are_followed():
    dx, dy = Dim("dx"), Dim("dy")
    said = {"x": {0: dx}, "y": (dy, None)}
    fixed = refine_dynamic_shapes_from_suggested_fixes("Suggested fixes:\n  dx = 4\n  dy = Dim('dy', max=6)\n", said)
    assert fixed["x"] == {0: 4} and fixed["y"][0].max == 6 and fixed["y"][0].__name__ == "dy"
    fixed = refine_dynamic_shapes_from_suggested_fixes("Suggested fixes:\n  dy = dx + 1\n", said)
    assert fixed["x"] == {0: dx} and fixed["y"][0].root is dx and fixed["y"][0].offset == 1
    with pytest.raises(AssertionError, match="shape_fixes key 'dq' not found in name_to_dim or roots"):
        refine_dynamic_shapes_from_suggested_fixes("Suggested fixes:\n  dq = 4\n", said)


def test_tables_of_decompositions():
    aten, table = torch.ops.aten, default_decompositions()
    assert type(table) is CustomDecompTable and aten.linear.default in table and aten.add.Tensor not in table
    x, program = torch.randn(3), export(Activated(), (torch.ones(3),))
    apart = program.run_decompositions()
    assert not {aten.silu.default, aten.addcmul.default} & {node.target for node in apart.graph.nodes}
    assert torch.allclose(apart.module()(x), Activated()(x))
    table.pop(aten.addcmul.default)
    table[aten.silu.default] = lambda x: x * 2
    changed = program.run_decompositions(table)
    targets = [node.target for node in changed.graph.nodes if node.op == "call_function"]
    assert targets == [aten.mul.Tensor, aten.addcmul.default, aten.add.Tensor]
    assert aten.addcmul.default in default_decompositions()


def test_an_export_with_a_report():
    program = torch.export.draft_export(Activated(), (A,))
    assert program._report.successful() and "No issues are found" in str(program._report)
    with pytest.raises(NotImplementedError, match=r"(?s)draft_export.*It says: aten._local_scalar_dense"):
        torch.export.draft_export(Branching(), (A,))


def test_signatures_can_be_renamed():
    signature = export(Activated(), (A,)).graph_signature
    assert signature.assertion_dep_token is None and signature.input_tokens == signature.output_tokens == ()
    signature.replace_all_uses(signature.user_outputs[0], "other")
    assert signature.user_outputs == ("other",) and signature.user_inputs == ("x",)
    assert repr(signature.input_specs[0]).startswith("InputSpec(kind=<InputKind.USER_INPUT: 1>, arg=TensorArgument(")


class Written(nn.Module):
    def forward(self, x):
        copied = (x * 2).clone()
        copied[0] = 0.5  # a part of fixed size, of memory of which the size varies
        return copied


@pytest.mark.parametrize("table", [{}, None])
def test_writes_to_parts_of_tensors_whose_sizes_vary(table):
    program = export(Written(), (A,), dynamic_shapes={"x": {0: Dim.AUTO}}).run_decompositions(table)
    x = torch.randn(7, 4)
    assert torch.equal(program.module()(x), Written()(x))
