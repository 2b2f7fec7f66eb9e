"""mt-core and mt-backend-cpu without mt-autograd: values, but no gradients."""

from __future__ import annotations

from collections.abc import Callable

import pytest


@pytest.fixture(scope="module")
def core_and_cpu(environment: Callable):
    return environment("mt-core", "mt-backend-cpu")


def test_computes(core_and_cpu) -> None:
    core_and_cpu.run("""
        import mt_core as torch

        matrix = torch.arange(6, dtype=torch.float32).reshape(2, 3)
        assert (matrix @ matrix.t()).tolist() == [[5.0, 14.0], [14.0, 50.0]]
        assert torch.softmax(matrix, dim=1).sum(dim=1).tolist() == [1.0, 1.0]
        matrix[0].mul_(10)
        assert matrix.tolist() == [[0.0, 10.0, 20.0], [3.0, 4.0, 5.0]]
        assert torch.ones(3, dtype=torch.bfloat16).sum().item() == 3.0
    """)


def test_draws_the_same_numbers_for_the_same_seed(core_and_cpu) -> None:
    core_and_cpu.run("""
        import mt_core as torch

        torch.manual_seed(0)
        first = torch.randn(20)
        torch.manual_seed(0)
        assert torch.equal(first, torch.randn(20))
    """)


def test_requires_grad_is_missing_and_says_what_to_install(core_and_cpu) -> None:
    core_and_cpu.run("""
        import mt_core as torch

        tensor = torch.ones(3)
        for ask in (lambda: tensor.requires_grad_(), lambda: torch.ones(3, requires_grad=True)):
            try:
                ask()
            except RuntimeError as error:
                assert "pip install packages/mt-autograd" in str(error), error
            else:
                raise AssertionError("no error")
        assert not tensor.requires_grad
    """)


def test_autograd_comes_with_its_wheel(environment: Callable) -> None:
    environment("mt-core", "mt-backend-cpu", "mt-autograd").run("""
        import mt_core as torch

        tensor = torch.arange(3.0).requires_grad_()
        (tensor * tensor).sum().backward()
        assert tensor.grad.tolist() == [0.0, 2.0, 4.0]
    """)
