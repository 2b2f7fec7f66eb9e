"""Modules for what mindtorch does not have: questions are answered, work is refused by name, nothing pretends."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import operator
import pkgutil
import subprocess
import sys
import textwrap

import pytest

import mindtorch as torch

MODULES = [
    found.name
    for found in pkgutil.walk_packages(torch.__path__, "mindtorch.")
    if "_stand_in" not in found.name and not found.name.endswith("__main__")
]


#: Module -> the package that it needs, beside what mindtorch needs.
NEEDS = {"mindtorch.utils.tensorboard": "tensorboard"}


@pytest.mark.parametrize("name", MODULES)
def test_every_module_can_be_imported(name):
    if name in NEEDS and importlib.util.find_spec(NEEDS[name]) is None:
        with pytest.raises(ModuleNotFoundError, match=f"pip install {NEEDS[name]}"):
            importlib.import_module(name)
    else:
        importlib.import_module(name)


@pytest.mark.parametrize("name", sorted(torch._SUBMODULES))
def test_every_submodule_is_an_attribute(name):
    assert inspect.ismodule(getattr(torch, name))


@pytest.mark.parametrize("name", sorted(torch._MODULE_OF))
def test_every_lazy_name_resolves(name):
    assert getattr(torch, name) is not None
    assert name in dir(torch)


def test_a_name_that_does_not_exist():
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        torch.nonsense  # noqa: B018
    assert not hasattr(torch.utils, "nonsense")


@pytest.mark.parametrize("device", ["cuda", "xpu", "mps", "mtia"])
def test_no_accelerator_is_available(device):
    module = getattr(torch, device)
    assert module.is_available() is False
    assert module.device_count() == 0
    with pytest.raises((AssertionError, RuntimeError), match="CUDA|XPU|MPS|MTIA"):
        module.synchronize()


def test_the_accelerator_is_none():
    assert torch.accelerator.current_accelerator() is None
    assert not torch.accelerator.is_available()
    assert torch.get_device_module() is torch.cpu
    with pytest.raises(RuntimeError, match="Cannot access accelerator device when none is available"):
        torch.accelerator.synchronize()


def test_cuda_in_the_way_that_programs_use_it_without_asking():
    torch.cuda.manual_seed_all(3)
    torch.cuda.empty_cache()
    assert torch.cuda.memory_allocated() == torch.cuda.max_memory_allocated() == 0
    with torch.cuda.stream(None), torch.cuda.device(None):
        pass
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.benchmark = False
    assert torch.version.cuda is None


@pytest.mark.parametrize(
    "use",
    [lambda: torch.cuda.current_device(), lambda: torch.cuda.set_device(0), lambda: torch.cuda.get_device_name(0)],
)
def test_cuda_raises_as_pytorch_does_without_it(use):
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        use()


def test_cudnn_flags_are_restored():
    with torch.backends.cudnn.flags(enabled=False, deterministic=True):
        assert torch.backends.cudnn.deterministic
        assert not torch.backends.cudnn.enabled
    assert not torch.backends.cudnn.deterministic
    assert torch.backends.cudnn.enabled


def test_distributed_is_not_available_without_its_distribution():
    program = """
        import importlib.util, sys
        from mt_core.plugins import entry_points

        entry_points.all_entry_points()["mindtorch.collectives"].clear()
        import mindtorch as torch

        assert not torch.distributed.is_available()
        assert not torch.distributed.is_initialized()
        assert not hasattr(torch.distributed, "all_reduce")
        assert "mt_distributed" not in sys.modules
        try:
            torch.distributed.init_process_group("gloo")
        except NotImplementedError as error:
            assert "packages/mt-distributed" in str(error)
        else:
            raise AssertionError("no error")
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("jit", "jit_module_from_flatbuffer"),
        ("fx.passes.graph_drawer", "FxGraphDrawer"),
        ("profiler", "ExecutionTraceObserver"),
        ("hub", "list"),
        ("compiler", "wrap_numpy"),
    ],
)
def test_what_is_not_supported_says_so_by_name(module, name):
    with pytest.raises(NotImplementedError, match=rf"torch\.{module}\.{name} is not supported by mindtorch\. \w"):
        operator.attrgetter(f"{module}.{name}")(torch)(None)


def test_nothing_is_an_instance_of_an_unsupported_class():
    assert not isinstance(3, torch.SymInt)


def test_script_returns_its_argument_when_torchscript_is_switched_off(monkeypatch):
    monkeypatch.setenv("PYTORCH_JIT", "0")
    with pytest.warns(DeprecationWarning):
        assert torch.jit.script(len) is len


def test_nothing_is_compiled_traced_or_exported():
    assert not torch.compiler.is_compiling()
    assert not torch.compiler.is_exporting()
    assert not torch.jit.is_tracing()
    assert not torch.jit.is_scripting()


def test_marks_for_compilers_leave_functions_as_they_are():
    def function():
        return 3

    for mark in (
        torch.compiler.disable,
        torch.compiler.disable(recursive=False),
        torch.compiler.allow_in_graph,
        torch._dynamo.assume_constant_result,
        torch.jit.ignore,
        torch.jit.ignore(drop=False),
        torch.jit.unused,
        torch.jit.export,
        torch.jit.script_if_tracing,
    ):
        assert mark(function) is function


def test_marks_of_torchscript_can_be_read():
    def marked(mark):
        return mark(lambda: 3)._torchscript_modifier.split()[0]

    assert [marked(mark) for mark in (torch.jit.ignore, torch.jit.unused, torch.jit.export)] == [
        "ignore", "unused", "export",
    ]  # fmt: skip
    for options, named in ({"drop": True}, "True"), ({"drop_on_export": True}, "drop_on_export=True"):
        with pytest.warns(FutureWarning, match=rf"ignore\({named}\) has been deprecated"):
            assert marked(torch.jit.ignore(**options)) == "unused"
    with pytest.raises(RuntimeError, match="must be a bool or a function but got 3"):
        torch.jit.ignore(3)


def test_unused_properties_stay_properties():
    class Counted:
        value = torch.jit.unused(property(lambda self: 3))

    assert Counted().value == 3
    assert issubclass(torch.jit.TracerWarning, Warning)


def test_out_of_memory_errors_are_of_one_class():
    assert torch.OutOfMemoryError is torch.cuda.OutOfMemoryError
    assert issubclass(torch.OutOfMemoryError, RuntimeError)
