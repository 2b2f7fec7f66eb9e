"""A backend from outside of the repository, and plugins that fail, beside a whole installation."""

from __future__ import annotations

from collections.abc import Callable

import pytest

MINDTORCH = ("mt-core", "mt-autograd", "mt-backend-cpu", "mt-nn", "mt-library", "mindtorch")


@pytest.fixture(scope="module")
def with_plugins(environment: Callable, build_wheel: Callable):
    return environment(*MINDTORCH, build_wheel("toy_backend"), build_wheel("broken_plugins"))


def test_backend_is_loaded_on_first_use(with_plugins) -> None:
    with_plugins.run("""
        import sys

        import mindtorch as torch

        torch.ones(3).sum()
        assert torch.device("toy").type == "toy"
        assert "toy_backend" not in sys.modules
        torch.empty(2, device="toy")
        assert "toy_backend" in sys.modules
    """)


def test_backend_computes_with_its_own_kernels(with_plugins) -> None:
    with_plugins.run("""
        import mindtorch as torch

        host = torch.arange(6.0).reshape(2, 3)
        x = host.to("toy")
        assert x.device == torch.device("toy") and x.cpu().tolist() == host.tolist()
        result = (x.t() + x.t() * 2)[1:].cpu()

        from toy_backend.kernels import calls

        assert calls["add.Tensor"] == 1 and calls["mul.Tensor"] == 1, calls
        assert result.tolist() == [[3.0, 12.0], [6.0, 15.0]]
    """)


def test_backend_differentiates_with_the_shared_formulas(with_plugins) -> None:
    with_plugins.run("""
        import mindtorch as torch

        x = torch.arange(3.0).to("toy").requires_grad_()
        (x * x).backward(torch.ones(3).to("toy"))
        assert x.grad.device.type == "toy" and x.grad.cpu().tolist() == [0.0, 2.0, 4.0]
    """)


def test_backend_takes_the_exam(with_plugins) -> None:
    """Nothing fails but for want of a kernel; what is made of its four kernels and the contract is a quarter."""
    with_plugins.run("""
        import warnings

        from mt_core.dispatch.registry import find_overload
        from mt_core.testing import BackendExam
        from mt_core.testing.exam import APPLIES

        on_host = "the lengths of sequences are on the CPU, as in PyTorch"

        class Exam(BackendExam):
            device_type = "toy"
            partial = True
            gaps = {"stays_on_its_device": {"_pack_padded_sequence": on_host}}

        exam, failed = Exam(), []
        warnings.simplefilter("ignore")
        taken = [name for name in exam.operators("test_agrees_with_meta") if not exam.lacks(find_overload(name))]
        assert len(taken) > 200, len(taken)
        for check in APPLIES:
            for name in exam.operators(check):
                if (find_overload(name).declaration.functional or name) in taken:
                    try:
                        getattr(exam, check)(name)
                    except Exception as error:
                        failed.append((check, name, repr(error)))
        assert not failed, failed
    """)


def test_missing_kernel_names_the_operator_and_the_device(with_plugins) -> None:
    with_plugins.run("""
        import mindtorch as torch

        try:
            torch.ones(3).to("toy").exp()
        except NotImplementedError as error:
            assert "exp" in str(error) and "could not find kernel" in str(error), error
        else:
            raise AssertionError("no error")
    """)


def test_devices_do_not_mix(with_plugins) -> None:
    with_plugins.run("""
        import mindtorch as torch

        host, toy = torch.ones(3), torch.ones(3).to("toy")
        for mix in (
            lambda: toy + host,
            lambda: toy.add_(host),
            lambda: host.mul_(toy),
            lambda: toy[None] @ host[:, None],
            lambda: torch.tensor(2.0).add_(toy[0]),
        ):
            try:
                mix()
            except RuntimeError as error:
                assert "Expected all tensors to be on the same device" in str(error), error
            else:
                raise AssertionError("no error")
        assert host.tolist() == toy.cpu().tolist() == [1.0, 1.0, 1.0]
    """)


def test_scalars_of_the_cpu_join_any_device(with_plugins) -> None:
    with_plugins.run("""
        import mindtorch as torch

        toy, two = torch.ones(3).to("toy"), torch.tensor(2.0)
        for result in (toy * two, two * toy, toy.clone().mul_(two)):
            assert result.device.type == "toy" and result.cpu().tolist() == [2.0, 2.0, 2.0]
    """)


def test_broken_backends_break_nothing_else(with_plugins) -> None:
    with_plugins.run("""
        import warnings

        import mindtorch as torch

        warnings.simplefilter("error")
        assert torch.ones(2).to("toy").cpu().tolist() == [1.0, 1.0]
    """)


@pytest.mark.parametrize(
    ("device", "cause"),
    [
        ("raises", "libbroken.so.7: cannot open shared object file"),
        ("missing", "No module named 'broken_plugins.no_such_module'"),
        ("future", "contract 999"),
    ],
)
def test_broken_backend_is_an_error_when_its_device_is_asked_for(with_plugins, device: str, cause: str) -> None:
    with_plugins.run(f"""
        import mindtorch as torch

        for _ in range(2):
            try:
                torch.empty(2, device={device!r})
            except RuntimeError as error:
                assert {cause!r} in str(error) and "broken-plugins" in str(error), error
            else:
                raise AssertionError("no error")
        assert torch.ones(2).tolist() == [1.0, 1.0]
    """)


def test_broken_extension_warns_at_import_and_the_rest_works(with_plugins) -> None:
    with_plugins.run("""
        import warnings

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            import mindtorch as torch
        assert len(caught) == 1, caught
        assert "broken-plugins" in str(caught[0].message) and "no table of operators" in str(caught[0].message)
        assert torch.ones(2).sum().item() == 2.0
    """)


def test_doctor_reports_every_plugin(with_plugins) -> None:
    report = with_plugins.command("mindtorch", "doctor", status=1).stdout
    assert "one device in perfect working order" in report
    assert "broken-plugins" in report
    assert "libbroken.so.7: cannot open shared object file" in report
    assert "contract 999" in report


def test_doctor_is_content_with_a_whole_installation(environment: Callable) -> None:
    report = environment(*MINDTORCH).command("mindtorch", "doctor").stdout
    assert "mt-backend-cpu" in report and "pip install packages/mt-mindspore packages/mt-backend-ascend" in report


def test_two_backends_of_one_device_type_are_named(environment: Callable, build_wheel: Callable, tmp_path) -> None:
    """The toy backend's wheel and a second distribution that claims the same device type."""
    made = environment("mt-core", build_wheel("toy_backend"))
    made.run("""
        import sysconfig
        from pathlib import Path

        rival = Path(sysconfig.get_path("purelib")) / "rival-1.0.dist-info"
        rival.mkdir()
        (rival / "METADATA").write_text("Metadata-Version: 2.1\\nName: rival\\nVersion: 1.0\\n")
        (rival / "entry_points.txt").write_text("[mindtorch.backends]\\ntoy = rival.plugin:backend\\n")
    """)
    made.run("""
        import mt_core as torch

        try:
            torch.empty(2, device="toy")
        except RuntimeError as error:
            assert "toy-backend" in str(error) and "rival" in str(error) and "uninstall" in str(error), error
        else:
            raise AssertionError("no error")
    """)
