"""mt-core without any sibling: shapes on the meta device, and errors that say what to install."""

from __future__ import annotations

from collections.abc import Callable

import pytest


@pytest.fixture(scope="module")
def core(environment: Callable):
    return environment("mt-core")


def test_computes_shapes_dtypes_and_strides_on_the_meta_device(core) -> None:
    core.run("""
        import mt_core as torch

        left = torch.empty(5, 1, 3, device="meta")
        right = torch.empty(4, 1, dtype=torch.int64, device="meta")
        total = left + right
        assert total.shape == (5, 4, 3) and total.dtype is torch.float32 and total.device.type == "meta"
        assert total.transpose(0, 2).stride() == (1, 3, 12)
        assert (total @ torch.empty(3, 7, device="meta")).shape == (5, 4, 7)
        assert total[:, None, 1:3].sum(dim=-1).shape == (5, 1, 2)
    """)


def test_raises_on_shapes_that_do_not_fit(core) -> None:
    core.run("""
        import mt_core as torch

        try:
            torch.empty(2, 3, device="meta") + torch.empty(4, device="meta")
        except RuntimeError as error:
            assert "must match the size of tensor b" in str(error), error
        else:
            raise AssertionError("no error")
    """)


def test_default_device_of_meta_covers_factories(core) -> None:
    core.run("""
        import mt_core as torch

        with torch.device("meta"):
            assert torch.zeros(3).device.type == "meta"
    """)


def test_cpu_is_missing_and_says_what_to_install(core) -> None:
    core.run("""
        import mt_core as torch

        try:
            torch.zeros(3)
        except RuntimeError as error:
            assert "pip install packages/mt-backend-cpu" in str(error), error
        else:
            raise AssertionError("no error")
    """)


def test_requires_grad_is_missing_and_says_what_to_install(core) -> None:
    core.run("""
        import mt_core as torch

        tensor = torch.empty(3, device="meta")
        with torch.no_grad():
            assert not tensor.detach().requires_grad
        for ask in (lambda: tensor.requires_grad_(), lambda: torch.empty(3, device="meta", requires_grad=True)):
            try:
                ask()
            except RuntimeError as error:
                assert "pip install packages/mt-autograd" in str(error), error
            else:
                raise AssertionError("no error")
        assert not tensor.requires_grad
    """)


def test_import_is_light(core) -> None:
    core.run("""
        import sys

        import mt_core

        assert "ml_dtypes" not in sys.modules
    """)
