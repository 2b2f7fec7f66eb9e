"""`torch.compile` runs programs as they are, wrapped as PyTorch wraps them."""

from __future__ import annotations

import copy

import pytest

import mindtorch as torch
from mindtorch import nn


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


def test_functions_as_backends_are_not_supported(module):
    with pytest.raises(NotImplementedError, match="without a graph"):
        torch.compile(module, backend=lambda graph, inputs: graph)


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

        def compile(self, function, *, fullgraph, dynamic, mode, options):
            if options not in (None, {}):
                raise RuntimeError(f"options {options} are not known to counting")
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

        print(torch._dynamo.list_backends(), "toy_plugin" in sys.modules)
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
        for options in {"backend": "counting", "options": {"x": 1}}, {"backend": "broken"}, {"backend": "nope"}:
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
