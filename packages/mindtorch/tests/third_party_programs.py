"""What third parties do with `torch.library` for a device; ``third_party_programs.py NAME`` renames the private one.

Each program takes the device type, and asserts what comes out. The device is `mt_core.testing.boxed_backend`'s.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import mindtorch as torch
from mt_core.plugins.discovery import register_backend
from mt_core.testing.boxed_backend import BoxedBackend

PROGRAMS: list[Callable[[str], None]] = []


def program(function: Callable[[str], None]) -> Callable[[str], None]:
    PROGRAMS.append(function)
    return function


def numbers(device: str) -> torch.Tensor:
    return torch.arange(4.0).to(device)


def refusal(call: Callable[[], Any]) -> str:
    try:
        call()
    except NotImplementedError as error:
        return str(error)
    raise AssertionError("not refused")


@program
def a_kernel_for_a_built_in_operator(device: str) -> None:
    """Entered with and without gradients, gone with its library; as in PyTorch, ``add.out`` is another operator."""
    x, seen = numbers(device), []

    def kernel(a: Any, b: Any, *, alpha: float = 1) -> Any:
        seen.append(a.device.type)
        return (a.cpu() + alpha * b.cpu() + 100).to(device)

    with torch.library._scoped_library("aten", "IMPL") as library:
        library.impl("add.Tensor", kernel, "PrivateUse1")
        leaf = x.clone().requires_grad_()
        (leaf + x).sum().backward()
        assert torch.add(x, x, out=torch.empty(4, device=device)).tolist() == [0, 2, 4, 6]
        for mode in (torch.no_grad, torch.inference_mode):
            with mode():
                assert (x + x).tolist() == [100, 102, 104, 106]
        assert leaf.grad.tolist() == [1, 1, 1, 1]
        assert seen == [device] * 3
        assert (torch.ones(2) + torch.ones(2)).tolist() == [2, 2]
    assert (x + x).tolist() == [0, 2, 4, 6]


@program
def a_kernel_by_the_devices_name(device: str) -> None:
    x = numbers(device)
    with torch.library._scoped_library("aten", "IMPL") as library:
        torch.library.impl("aten::mul.Tensor", device, lambda a, b: a + 100, lib=library)
        assert (x * x).tolist() == [100, 101, 102, 103]
        assert (x.cpu() * x.cpu()).tolist() == [0, 1, 4, 9]
    assert (x * x).tolist() == [0, 1, 4, 9]


@program
def a_kernel_for_a_composite(device: str) -> None:
    """Entered through the module, and differentiated through the operators it stands for."""
    seen = []

    def kernel(x: Any, weight: Any, bias: Any = None) -> Any:
        seen.append(x.device.type)
        return x @ weight.t() + bias

    with torch.library._scoped_library("aten", "IMPL") as library:
        library.impl("linear", kernel, "PrivateUse1")
        module = torch.nn.Linear(4, 2).to(device)
        module(numbers(device)[None]).sum().backward()
    assert seen == [device]
    assert module.weight.grad.tolist() == [[0, 1, 2, 3], [0, 1, 2, 3]]


@program
def a_kernel_at_the_autograd_key(device: str) -> None:
    class Fivefold(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.exp()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 5

    with torch.library._scoped_library("aten", "IMPL") as library:
        library.impl("sin", lambda x: Fivefold.apply(x), "AutogradPrivateUse1")
        ours, theirs = numbers(device).requires_grad_(), torch.zeros(1, requires_grad=True)
        ours.sin().sum().backward()
        theirs.sin().sum().backward()
    assert ours.grad.tolist() == [5, 5, 5, 5] and theirs.grad.tolist() == [1]


@program
def a_custom_operator_of_the_device(device: str) -> None:
    """It refuses other devices until they have a kernel; meta tensors and gradients work as for any other."""

    @torch.library.custom_op(f"party_{device}::power", mutates_args=(), device_types=device)
    def power(x: torch.Tensor, n: int = 2) -> torch.Tensor:
        return x**n

    @power.register_fake
    def _(x: Any, n: int = 2) -> Any:
        return torch.empty_like(x)

    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 2 * ctx.saved_tensors[0], None

    power.register_autograd(backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]))
    leaf = numbers(device).requires_grad_()
    assert "keys CPU" in refusal(lambda: power(torch.ones(2)))
    power(leaf).sum().backward()
    assert leaf.grad.tolist() == [0, 2, 4, 6] and leaf.grad.device.type == device
    assert power(torch.ones(2, device="meta")).shape == (2,)
    power.register_kernel("cpu")(lambda x, n=2: x * 0)
    assert power(torch.ones(2)).tolist() == [0, 0] and power(numbers(device), 3).tolist() == [0, 1, 8, 27]
    assert set(torch.library.opcheck(power, (numbers(device),)).values()) == {"SUCCESS"}


@program
def a_kernel_for_anothers_custom_operator(device: str) -> None:
    @torch.library.custom_op(f"party_{device}::twice", mutates_args=(), device_types=["cpu"])
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    x = numbers(device)
    assert f"({device})" in refusal(lambda: twice(x))
    twice.register_kernel(device)(lambda x: x * 3)
    for call in (twice, getattr(torch.ops, f"party_{device}").twice):
        assert call(x).tolist() == [0, 3, 6, 9] and call(x.cpu()).tolist() == [0, 2, 4, 6]


@program
def a_custom_operator_that_writes(device: str) -> None:
    @torch.library.custom_op(f"party_{device}::double_", mutates_args={"x"}, device_types=["cpu", device])
    def double_(x: torch.Tensor) -> None:
        x.mul_(2)

    for x in (numbers(device), torch.arange(4.0)):
        before = x._version
        double_(x)
        assert x.tolist() == [0, 2, 4, 6] and x._version > before


@program
def kernels_of_a_library(device: str) -> None:
    """For all devices, for all third parties, for this one: the nearest is entered."""
    library = torch.library.Library(f"party_{device}_kernels", "DEF")
    library.define("f(Tensor x) -> Tensor")
    library.define("g(Tensor x) -> Tensor")
    names = getattr(torch.ops, f"party_{device}_kernels")
    x = numbers(device)
    library.impl("f", lambda x: x + 1, "CompositeExplicitAutograd")
    assert names.f(x).tolist() == [1, 2, 3, 4]
    library.impl("f", lambda x: x + 2, "PrivateUse1")
    assert names.f(x).tolist() == [2, 3, 4, 5] and names.f(x.cpu()).tolist() == [1, 2, 3, 4]
    torch.library.register_kernel(f"{library.ns}::g", device, lambda x: x + 3, lib=library)
    torch.library.register_fake(f"{library.ns}::g", torch.empty_like, lib=library)
    torch.library.register_autograd(f"{library.ns}::g", lambda ctx, grad: grad * 4, lib=library)
    leaf = x.clone().requires_grad_()
    names.g(leaf).sum().backward()
    assert names.g(x).tolist() == [3, 4, 5, 6] and leaf.grad.tolist() == [4, 4, 4, 4]
    assert names.g(x.to("meta")).shape == (4,)


if __name__ == "__main__":
    torch.utils.rename_privateuse1_backend(sys.argv[1])
    register_backend(BoxedBackend(sys.argv[1]))
    for each in PROGRAMS:
        each(sys.argv[1])
        print(each.__name__)
