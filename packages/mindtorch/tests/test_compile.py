"""`torch.compile` wraps programs as PyTorch wraps them; graphs are in `test_capture.py`."""

from __future__ import annotations

import copy
import pickle

import pytest

import mindtorch as torch
from mindtorch import nn
from mt_core.plugins.discovery import names_in


class Doubling(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.factor = 2

    def forward(self, x):
        return self.linear(x) * self.factor


@pytest.fixture
def module():
    return Doubling()


def test_a_compiled_module_is_a_module_around_the_module(module):
    compiled = torch.compile(module)
    assert type(compiled) is torch._dynamo.eval_frame.OptimizedModule
    assert compiled._orig_mod is module
    assert list(compiled.state_dict()) == ["_orig_mod.linear.weight", "_orig_mod.linear.bias"]
    assert [name for name, _ in compiled.named_modules()] == ["", "_orig_mod", "_orig_mod.linear"]
    inputs = torch.ones(3, 2)
    assert torch.equal(compiled(inputs), module(inputs))


def test_attributes_are_those_of_the_wrapped_module(module):
    compiled = torch.compile(module)
    compiled.factor = 5
    compiled.added = 1
    assert (module.factor, module.added) == (5, 1)
    assert compiled.linear is module.linear
    del compiled.added
    assert not hasattr(module, "added")
    with pytest.raises(AttributeError, match="'Doubling' object has no attribute 'nothing'"):
        compiled.nothing  # noqa: B018


def test_training_mode_is_that_of_the_wrapped_module(module):
    compiled = torch.compile(module)
    compiled.eval()
    assert (compiled.training, module.training, module.linear.training) == (False, False, False)
    module.train()
    assert compiled.training


def _reversed(graph, example_inputs):
    """Negates what the program gives, so that it tells whether it ran."""
    return lambda *args: tuple(-result for result in graph(*args))


@pytest.mark.parametrize("backend", ["eager", _reversed])
def test_a_compiled_module_says_how_it_was_compiled(module, backend):
    """Its `dynamo_ctx` compiles other programs in the same way, is pickled with it, and is none of the module's."""
    compiled = torch.compile(module, backend=backend)
    context = compiled.dynamo_ctx
    assert type(context) is torch._dynamo.eval_frame.OptimizeContext
    assert "dynamo_ctx" in dir(compiled)
    assert not hasattr(module, "dynamo_ctx")
    sign, inputs = (1 if backend == "eager" else -1), torch.ones(3, 2)
    other = Doubling()
    again = context(other)
    assert (type(again), again._orig_mod, again.dynamo_ctx) == (type(compiled), other, context)
    assert torch.equal(again(inputs), sign * other(inputs))
    assert torch.equal(context(torch.exp)(inputs), sign * torch.exp(inputs))
    assert context(Doubling) is Doubling
    with pytest.raises(AssertionError, match="A callable function is expected, but <class 'int'> is provided"):
        context(3)
    assert type(torch._dynamo.OptimizedModule(other, context)) is type(compiled)
    for copied in (pickle.loads(pickle.dumps(compiled)), copy.deepcopy(compiled)):
        assert torch.equal(copied.dynamo_ctx(other)(inputs), sign * other(inputs))
        assert torch.equal(copied(inputs), sign * module(inputs))
    compiled.dynamo_ctx = 5
    assert (compiled.dynamo_ctx, hasattr(module, "dynamo_ctx")) == (5, False)
    del compiled.dynamo_ctx
    assert not hasattr(compiled, "dynamo_ctx")


def test_a_compiled_module_can_be_copied(module):
    compiled = copy.deepcopy(torch.compile(module))
    assert compiled._orig_mod is not module
    assert compiled.factor == 2


def test_functions_are_wrapped():
    def function(x):
        """Add one."""
        return x + 1

    compiled = torch.compile(function)
    assert compiled(torch.ones(1)).item() == 2
    assert compiled.__doc__ == function.__doc__
    assert compiled.__wrapped__ is function


def test_as_a_decorator(module):
    @torch.compile(dynamic=False)
    def function(x):
        return -x

    assert function(3) == -3
    assert torch.compile(backend="eager")(module)._orig_mod is module


def test_disabled_it_does_nothing(module):
    assert torch.compile(module, disable=True) is module


@pytest.mark.parametrize("backend", ["inductor", "eager", "aot_eager"])
def test_backends_that_exist(module, backend):
    assert torch.compile(module, backend=backend)._orig_mod is module


def test_backends_that_do_not_exist(module):
    for compile in torch.compile, torch.compiler.compile:
        with pytest.raises(torch._dynamo.exc.InvalidBackend, match="Invalid backend: 'foo'"):
            compile(module, backend="foo")


@pytest.fixture
def of_graphs():
    """A backend that wants a graph, and its name; it is forgotten afterwards."""

    def of_graphs(graph, inputs):
        raise AssertionError("there is no graph")

    registry = torch._dynamo.backends.registry
    before = dict(registry._registered)
    yield of_graphs
    registry._registered.clear()
    registry._registered.update(before)


def test_a_function_of_graphs_can_be_registered(module, of_graphs):
    torch._dynamo.register_backend(of_graphs, name="named")
    for compiled in (
        torch.compile(module, backend=of_graphs),
        torch.compile(module, backend="named"),
        torch._dynamo.optimize("named")(module),
    ):
        with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match="there is no graph"):
            compiled(torch.ones(2))
    assert torch.compile(module, backend=of_graphs, disable=True) is module
    with pytest.raises(NotImplementedError, match="a function of guards"):
        torch._dynamo.optimize("named", guard_fail_fn=print)


def test_registered_backends_are_listed_by_their_tags(of_graphs):
    registry = torch._dynamo.backends.registry
    assert torch._dynamo.register_backend(of_graphs) is of_graphs
    assert registry.register_debug_backend(name="slow")(of_graphs) is of_graphs
    registry.register_experimental_backend(of_graphs, "young")
    for list_backends in torch._dynamo.list_backends, torch.compiler.list_backends:
        provided = names_in("mindtorch.compilers")
        assert list_backends() == sorted(["inductor", "of_graphs", *provided])
        assert list_backends(exclude_tags=("debug",)) == sorted(["inductor", "of_graphs", "young", *provided])
        every = ["aot_eager", "eager", "inductor", "of_graphs", "slow", "young", *provided]
        assert list_backends(None) == sorted(every)
    assert torch._dynamo.lookup_backend("slow") is of_graphs


@pytest.mark.parametrize("name", ["eager", "inductor", "of_graphs"])
def test_a_name_is_taken_once(of_graphs, name):
    torch._dynamo.register_backend(of_graphs)
    with pytest.raises(AssertionError, match=f"duplicate name: {name}"):
        torch._dynamo.register_backend(of_graphs, name)
    with pytest.raises(AssertionError, match="compiler_fn must be callable, got <class 'int'>"):
        torch._dynamo.register_backend(3, "three")


def test_backends_that_were_looked_up(module):
    eager = torch._dynamo.lookup_backend("eager")
    assert torch.compile(module, backend=eager)._orig_mod is module
    assert eager(module, [torch.ones(2)]) == module.forward
    with pytest.raises(NotImplementedError, match="Calling the backend 'inductor' with a graph"):
        torch._dynamo.lookup_backend("inductor")(module, [torch.ones(2)])
    with pytest.raises(torch._dynamo.exc.InvalidBackend, match="Invalid backend: 'nope', see `torch._dynamo"):
        torch._dynamo.lookup_backend("nope")


def test_the_default_backend(module, of_graphs):
    try:
        torch.compiler.set_default_backend(of_graphs)
        assert torch.compiler.get_default_backend() is of_graphs
        with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match="backend='of_graphs' raised"):
            torch.compile(module)(torch.ones(2))
    finally:
        torch.compiler.set_default_backend("inductor")
    with pytest.raises(TypeError, match="backend must be a string or callable, got <class 'int'>"):
        torch.compiler.set_default_backend(3)


def test_shapes(module):
    with pytest.raises(AssertionError, match="Expected enable to be a bool, got <class 'int'>"):
        torch.compile(module, dynamic=1)
    with pytest.raises(NotImplementedError, match="shapes_spec"):
        torch.compile(module, shapes_spec={"x": None})


@pytest.mark.parametrize("wrap", [torch.compile, torch.compiler.compile, lambda module, **k: module.compile(**k)])
def test_arguments_that_do_not_exist(module, wrap):
    with pytest.raises(TypeError, match="unexpected keyword argument 'foo'"):
        wrap(module, foo=1)
    with pytest.raises(RuntimeError, match="Unexpected optimization option nonsense, known options are .*max_autotune"):
        wrap(module, options={"nonsense": 1})
    with pytest.raises(RuntimeError, match="Unexpected type of attr max-autotune, got int should be bool"):
        wrap(module, options={"max-autotune": 3})
    wrap(module, options={"max_autotune": True, "triton.cudagraphs": False})


@pytest.mark.parametrize("argument", [{"backend": "nope"}, {"mode": "nope"}, {"options": {"nope": 1}}])
def test_disabling_hides_no_error(module, argument):
    with pytest.raises(RuntimeError, match="nope"):
        torch.compile(module, disable=True, **argument)


def test_decorators_refuse_at_once():
    for maker in torch.compile, torch._dynamo.optimize, torch.compiler.set_stance:
        with pytest.raises(TypeError, match="unexpected keyword argument 'foo'"):
            maker(foo=1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'foo'"):
        torch._dynamo.mark_dynamic(torch.ones(2), 0, foo=1)
    with pytest.raises(torch._dynamo.exc.InvalidBackend):
        torch._dynamo.optimize("nope")


def test_backends_for_debugging_say_what_they_ignore(caplog):
    assert torch.compile(abs, backend="eager", mode="nonsense")(-3) == 3
    assert "eager backend ignoring extra kwargs {'mode': 'nonsense'}" in caplog.text


COMPILER = """
    from mt_core.plugins.protocols import CONTRACT

    class Counting:
        contract = CONTRACT
        calls = []

        def compile(self, function, *, fullgraph, dynamic, mode, options, recompile_limit=8):
            if options not in (None, {}):
                raise RuntimeError(f"options {options} are not known to counting")
            if recompile_limit == 0:
                raise RuntimeError("counting compiles once at least")
            self.calls.append("compile")
            def run(*args, **kwargs):
                self.calls.append("run")
                return function(*args, **kwargs)
            return run

    compiler = Counting()
"""


def test_a_backend_of_another_distribution(make_distribution, run_python):
    points = {"counting": "toy_plugin:compiler", "broken": "toy_plugin:no_such_thing"}
    make_distribution("toy", {"mindtorch.compilers": points}, COMPILER)
    printed = run_python("""
        import copy, re, sys, warnings
        import mindtorch as torch

        print(sorted({*torch._dynamo.list_backends()} - {"xla", "openxla"}), "toy_plugin" in sys.modules)
        function = torch.compile(lambda x: x * 2, backend="counting")
        module = torch.compile(torch.nn.Linear(2, 2), backend="counting")
        from toy_plugin import compiler
        print(compiler.calls)
        function(torch.ones(1)), function(torch.ones(1)), module(torch.ones(2)).sum().backward()
        print(compiler.calls, module.weight.grad.shape)
        again = copy.deepcopy(module)
        with torch.no_grad():
            again.weight.fill_(0); again.bias.fill_(0)
        print(again(torch.ones(2)).tolist(), bool(module(torch.ones(2)).abs().sum() > 0))
        looked_up = torch._dynamo.lookup_backend("counting")
        for options in (
            {"backend": looked_up, "options": {"x": 1}}, {"backend": "counting", "recompile_limit": 0},
            {"backend": "broken"}, {"backend": "nope"},
        ):
            try:
                torch.compile(abs, **options)(1)
            except RuntimeError as error:
                print(type(error).__name__, re.split("[.]|: module", str(error))[0])
    """)
    assert printed.splitlines() == [
        "['broken', 'counting', 'inductor'] False",
        "[]",
        "['compile', 'run', 'run', 'compile', 'run'] torch.Size([2, 2])",
        "[0.0, 0.0] True",
        "RuntimeError options {'x': 1} are not known to counting",
        "RuntimeError counting compiles once at least",
        "PluginError the compiler 'broken' from toy failed to load: AttributeError",
        "InvalidBackend Invalid backend: 'nope', see `torch",
    ]


def test_modes_and_options(module):
    torch.compile(module, mode="max-autotune")
    with pytest.raises(RuntimeError, match="Unrecognized mode=fast"):
        torch.compile(module, mode="fast")
    with pytest.raises(RuntimeError, match="Either mode or options"):
        torch.compile(module, mode="default", options={})
    with pytest.raises(AssertionError, match="A callable function is expected"):
        torch.compile(3)


def test_stances():
    with torch.compiler.set_stance("force_eager"):
        pass
    with pytest.raises(RuntimeError, match="stance 'lazy'"):
        torch.compiler.set_stance("lazy")


def _branches(x):
    return x + 1 if x.sum() > 0 else x


def _loops(x):
    while x.sum() < 10:
        x = x * 2
    return x


def _decides_both(x):
    return x if x.shape[0] == 2 and x.max() < 5 else -x


def _negates(x):
    return not x.any()


def _catches(x):
    try:
        return _branches(x)
    except Exception:  # noqa: BLE001  (of a program that hides what ends its capture)
        return x * 100


def _compares(x):
    return x if torch.equal(x, x) else -x


def _prints(x):
    print("here")
    return x


def _breaks(x):
    torch._dynamo.graph_break()
    return x


@pytest.mark.parametrize("backend", ["inductor", "eager", "aot_eager"])
@pytest.mark.parametrize("program", [_branches, _loops, _decides_both, _negates, _catches, _compares, _prints, _breaks])
def test_one_graph_that_cannot_be_is_refused_at_each_call_before_it_runs(program, backend, capsys):
    compiled = torch.compile(program, backend=backend, fullgraph=True)
    for _ in range(3):
        with pytest.raises(torch._dynamo.exc.Unsupported, match="cannot be captured as one graph"):
            compiled(torch.ones(2))
    assert capsys.readouterr().out == ""
    assert torch.compile(program, backend=backend, fullgraph=True, disable=True) is program
    torch.compile(program, backend=backend)(torch.ones(2))


@pytest.mark.parametrize(
    "program",
    [
        lambda x: bool(x.sum() > 0),
        lambda x: x * x.sum().item(),
        lambda x: x[x > 0],
        lambda x: x + 1 if x.shape[0] > 1 else x,
        lambda x: torch.from_numpy(x.numpy()) + 1,
    ],
)
def test_what_is_no_branch_runs_as_one_graph_of_any_size(program):
    compiled = torch.compile(program, fullgraph=True)
    for size in range(1, 12):
        x = torch.arange(float(size))
        assert torch.equal(torch.as_tensor(compiled(x)), torch.as_tensor(program(x)))


def test_a_check_that_a_program_makes_is_no_branch():
    found = {}
    source = "def program(x):\n    assert x.sum() > 0, 'of nothing'\n    return x * 2\n"
    exec(source, found)  # noqa: S102  (pytest rewrites an assert that stands in its file)
    assert torch.compile(found["program"], fullgraph=True)(torch.ones(2)).tolist() == [2, 2]


def test_what_a_program_is_looked_at_for_has_not_happened():
    seen = []

    def program(x, y):
        seen.append(len(seen))
        x.add_(1)
        return x if y.sum() > 0 else y

    x = torch.ones(2)
    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch.compile(program, fullgraph=True)(x, torch.ones(2))
    assert seen == [] and x.tolist() == [1, 1]
