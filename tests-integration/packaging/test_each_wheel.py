"""Each wheel in an environment of its own, with what it depends on and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest

#: Distribution -> the distributions of this repository that it needs.
NEEDS = {
    "mt-core": (),
    "mt-autograd": ("mt-core",),
    "mt-backend-cpu": ("mt-core",),
    "mt-backend-gpu": ("mt-core", "mt-backend-cpu"),
    "mt-nn": ("mt-core", "mt-autograd"),
    "mt-library": ("mt-core", "mt-autograd"),
    "mt-distributed": ("mt-core", "mt-autograd", "mt-nn"),
    "mindtorch": ("mt-core", "mt-autograd", "mt-backend-cpu", "mt-nn", "mt-library"),
}


@pytest.mark.parametrize("name", sorted(NEEDS))
def test_imports_with_its_dependencies_alone(environment: Callable, name: str) -> None:
    made = environment(name, *NEEDS[name])
    made.run(f"""
        import pkgutil
        from importlib import import_module

        package = import_module({name.replace("-", "_")!r})
        for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
            if not module.name.endswith("__main__"):
                import_module(module.name)
    """)


@pytest.mark.parametrize(
    ("name", "device", "words"),
    [("mt-backend-gpu", "cuda", "CuPy is not installed"), ("mt-backend-ascend", "npu", "Use device='cpu'")],
)
def test_backend_refuses_its_device_with_the_reason(environment: Callable, name: str, device: str, words: str) -> None:
    needs = ("mt-core", "mt-mindspore" if name == "mt-backend-ascend" else "mt-backend-cpu")
    made = environment(name, *needs, check=name != "mt-backend-ascend")
    made.run(f"""
        import mt_core as torch

        try:
            torch.empty(2, device={device!r})
        except RuntimeError as error:
            assert {name!r} in str(error) and {words!r} in str(error), error
        else:
            raise AssertionError("no error")
        assert torch.empty(2, device="meta").shape == (2,)
    """)


def test_mindspore_bridge_lacks_mindspore_alone_and_says_so(environment: Callable) -> None:
    made = environment("mt-mindspore", "mt-core", check=False)
    lacking = made.broken_requirements()
    assert "mt-mindspore 0.1.0 requires mindspore, which is not installed." in lacking
    # The environment has the newest NumPy, which MindSpore refuses.
    assert all("numpy" in line for line in lacking if "requires mindspore" not in line), lacking
    made.run("""
        from mt_mindspore import require_mindspore

        try:
            require_mindspore()
        except RuntimeError as error:
            assert "pip install mindspore" in str(error), error
        else:
            raise AssertionError("no error")
    """)
