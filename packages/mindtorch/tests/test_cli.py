"""The commands run, doctor and info."""

from __future__ import annotations

import json
import textwrap

import pytest


@pytest.fixture
def program(tmp_path):
    """Write a program file."""

    def write(text: str, name: str = "program.py") -> str:
        (tmp_path / name).write_text(textwrap.dedent(text))
        return name

    return write


def test_run_passes_arguments_on(run_mindtorch, program):
    name = program("""
        import sys, torch
        print(__name__, sys.argv, torch.__version__)
    """)
    result = run_mindtorch("run", name, "--quick", "-m", "run", "a b")
    assert result.stdout.strip() == "__main__ ['program.py', '--quick', '-m', 'run', 'a b'] 2.13.0+mindtorch"


def test_run_finds_modules_beside_the_program(run_mindtorch, program, tmp_path):
    (tmp_path / "folder").mkdir()
    program("value = 3", "folder/neighbour.py")
    name = program("import neighbour; print(neighbour.value)", "folder/program.py")
    assert run_mindtorch("run", name).stdout.strip() == "3"


def test_run_a_module(run_mindtorch, program):
    program("import sys, torch; print(torch.__name__, sys.argv[1:])", "some_module.py")
    assert run_mindtorch("run", "-m", "some_module", "--flag").stdout.strip() == "torch ['--flag']"


def test_exit_status_and_traceback_are_the_programs_own(run_mindtorch, program):
    assert run_mindtorch("run", program("raise SystemExit(3)")).returncode == 3
    result = run_mindtorch("run", program("1 / 0"))
    assert result.returncode == 1
    assert "ZeroDivisionError" in result.stderr


def test_a_missing_program_is_named(run_mindtorch):
    result = run_mindtorch("run", "missing.py")
    assert result.returncode == 2
    assert "missing.py" in result.stderr


def test_no_command_shows_the_commands(run_mindtorch):
    result = run_mindtorch()
    assert result.returncode == 2
    assert "usage: mindtorch" in result.stderr


def test_info_tells_versions(run_mindtorch):
    printed = run_mindtorch("info").stdout
    for name in "mindtorch", "mt-core", "mt-backend-cpu", "numpy", "python":
        assert f"\n{name} " in printed
    assert "2.13.0+mindtorch" in printed


def test_info_tells_operators_by_device(run_mindtorch):
    lines = run_mindtorch("info", "--operators").stdout.splitlines()
    assert lines[0].split() == ["operator", "cpu", "meta"]
    assert "add.Tensor native (mt-backend-cpu) contract (mt-core)" in [" ".join(line.split()) for line in lines]
    assert lines[-2].startswith("cpu: ") and " native, " in lines[-2] and lines[-1].startswith("meta: ")


def test_info_tells_operators_to_programs(run_mindtorch, make_distribution):
    extension = """
        def register():
            import mindtorch as torch

            @torch.library.custom_op("toy::twice", mutates_args=(), device_types="cpu")
            def twice(x: torch.Tensor) -> torch.Tensor:
                return x * 2
    """
    make_distribution("toy", {"mindtorch.extensions": {"toy": "toy_plugin:register"}}, extension)
    found = json.loads(run_mindtorch("info", "--operators", "cpu", "--json").stdout)["devices"]
    assert list(found) == ["cpu"]
    assert found["cpu"]["mm"] == {"state": "native", "distribution": "mt-backend-cpu"}
    assert found["cpu"]["toy::twice"]["state"] == "native"
    assert json.loads(run_mindtorch("info", "--json").stdout)["mt-core"]
    result = run_mindtorch("info", "--operators", "nowhere")
    assert result.returncode == 2 and "no backend for device type 'nowhere'" in result.stderr


def test_doctor_finds_the_cpu_and_the_layers(run_mindtorch):
    result = run_mindtorch("doctor")
    assert result.returncode == 0, result.stdout
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["cpu", "mt-backend-cpu"] in [line[:2] for line in lines]
    assert ["autograd", "loaded"] in lines


def test_doctor_tells_what_is_missing_and_the_remedy(run_mindtorch):
    printed = run_mindtorch("doctor").stdout
    for device in "cuda", "npu":
        paragraph = printed.split(f"\n  {device} ")[1].split("\n  cuda ")[0].split("\n  npu ")[0]
        assert "no distribution has kernels" in paragraph or "remedy:" in paragraph
