"""Factories do what their options say, or refuse: none is accepted and ignored, whichever way they are called."""

from __future__ import annotations

from typing import Any

import pytest

import mt_core as torch
from mt_core.api import _functions
from mt_core.dispatch.registry import Overload
from mt_core.factories import call_factory, pin_position
from mt_core.interop import asarray
from mt_core.testing.arguments import Arguments, samples_on
from mt_core.testing.sample import examined_operators
from mt_core.testing.simulated_backend import simulated_devices

FACTORIES = [o for o in examined_operators() if o.declaration.form == "functional" and pin_position(o.schema) >= 0]
FACTORIES.sort(key=lambda overload: overload.name)
NO_ALLOCATOR = "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory allocator is available"


def with_option(overload: Overload, name: str, value: Any) -> list[Any]:
    """The arguments of the operator's first sample, one of them changed."""
    bound = list(Arguments(overload, next(iter(samples_on(overload, "cpu")))).bound)
    bound[[a.name for a in overload.schema.arguments].index(name)] = value
    return bound


@pytest.mark.filterwarnings("ignore:torch.range is deprecated")
@pytest.mark.parametrize("overload", FACTORIES, ids=lambda overload: overload.name)
def test_no_operator_ignores_layouts_and_pinning(overload: Overload) -> None:
    assert isinstance(overload.call(*with_option(overload, "layout", torch.strided)), torch.Tensor)
    # Of zeros, and of what means nothing, there are sparse tensors: packages/mindtorch/tests/test_sparse.py.
    sparse = () if overload.name in ("zeros", "empty.memory_format") else (torch.sparse_coo, torch.sparse_csr)
    for layout in (*sparse, torch.sparse_bsr):
        refused = f"layout {layout!r} are not supported|with arguments from the 'Sparse(Csr)?CPU' backend"
        with pytest.raises(NotImplementedError, match=refused):
            overload.call(*with_option(overload, "layout", layout))
    with pytest.raises(NotImplementedError, match="pin_memory=True is for factories as Python functions"):
        overload.call(*with_option(overload, "pin_memory", True))


@pytest.mark.filterwarnings("ignore:torch.range is deprecated")
@pytest.mark.parametrize("overload", FACTORIES, ids=lambda overload: overload.name)
def test_pinned_memory_is_the_accelerators(overload: Overload) -> None:
    bound, pin_at = with_option(overload, "pin_memory", True), pin_position(overload.schema)
    with pytest.raises(RuntimeError, match=NO_ALLOCATOR):
        call_factory(overload.call, bound, pin_at)
    with simulated_devices("sim"):
        assert call_factory(overload.call, bound, pin_at).is_pinned()
        bound[pin_at] = False
        assert not call_factory(overload.call, bound, pin_at).is_pinned()


def functions() -> list[Any]:
    """(function, arguments) of the factories that have an ``out=`` form, and whose results may require grad."""
    return [
        (torch.zeros, (3,)), (torch.ones, (3,)), (torch.full, ((3,), 1.5)), (torch.arange, (3,)),
        (torch.linspace, (0, 1, 3)), (torch.logspace, (0, 1, 3)), (torch.eye, (1, 3)), (torch.rand, (3,)),
        (torch.randn, (3,)), (torch.randint, (0, 5, (3,))), (torch.randperm, (3,)), (torch.normal, (0.0, 1.0, (3,))),
    ]  # fmt: skip


DRAWN = (torch.randint, torch.randperm)


@pytest.mark.parametrize(("function", "args"), functions(), ids=lambda value: getattr(value, "__name__", ""))
def test_options_beside_out_are_those_of_out(function: Any, args: tuple[Any, ...]) -> None:
    shape = tuple(function(*args).shape)
    out = torch.empty(shape)
    same = {"dtype": torch.float32, "layout": torch.strided, "device": "cpu", "pin_memory": True}
    assert function(*args, out=out, **same) is out and not out.is_pinned()
    for option, text in (
        ({"dtype": torch.float64}, r"dtype Double does not match dtype of out parameter \(Float\)"),
        ({"dtype": torch.int64, "device": "meta"}, r"dtype Long does not match dtype of out parameter \(Float\)"),
        ({"layout": torch.sparse_coo}, r"layout Sparse does not match layout of out parameter \(Strided\)"),
        ({"device": "meta"}, r"device type meta does not match device type of out parameter \(cpu\)"),
    ):
        with pytest.raises(RuntimeError, match=text):
            function(*args, out=out, **option)
    pytest.importorskip("mt_autograd")
    assert function(*args, out=out, requires_grad=True) is out and out.requires_grad
    # PyTorch's `randn` is the one that gives `out` its size first.
    refusal = (
        "cannot resize variables" if function is torch.randn else "arguments don't support automatic differentiation"
    )
    with pytest.raises(RuntimeError, match=refusal):
        function(*args, out=out)
    if function not in (torch.rand, torch.randn, torch.normal):
        integers = torch.empty(shape, dtype=torch.int64)
        assert (
            function(*args, out=integers).tolist() == function(*args, dtype=torch.int64).tolist() or function in DRAWN
        )
        with pytest.raises(RuntimeError, match="Only Tensors of floating point and complex dtype can require grad"):
            function(*args, out=integers, requires_grad=True)


CALLS = {
    **{function.__name__: args for function, args in functions()},
    "empty": (3,), "empty_strided": ((3,), (1,)), "empty_permuted": ((3,), (0,)), "scalar_tensor": (1,),
    "tril_indices": (3, 3), "triu_indices": (3, 3), "hann_window": (5,), "hamming_window": (5,),
    "bartlett_window": (5,), "blackman_window": (5,), "range": (0, 3),
    **dict.fromkeys(["empty_like", "zeros_like", "ones_like", "rand_like", "randn_like"], (torch.ones(3),)),
    "full_like": (torch.ones(3), 2), "randint_like": (torch.ones(3), 2),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:torch.range is deprecated")
@pytest.mark.parametrize("name", sorted(CALLS))
def test_flags_are_bools(name: str) -> None:
    function = getattr(_functions, name)
    for flag in "requires_grad", "pin_memory":
        with pytest.raises(TypeError, match=rf"argument '{flag}' must be bool, not int|{flag}=int"):
            function(*CALLS[name], **{flag: 1})
    assert not function(*CALLS[name], requires_grad=None).requires_grad
    pytest.importorskip("mt_autograd")
    made = function(*CALLS[name])
    if made.dtype.is_floating_point:
        assert function(*CALLS[name], requires_grad=True).requires_grad
    else:
        with pytest.raises(RuntimeError, match="^Only Tensors of floating point and complex dtype can require grad"):
            function(*CALLS[name], requires_grad=True)


@pytest.mark.parametrize(
    "function", [torch.tensor, asarray, torch.ones(1).new_tensor], ids=["tensor", "asarray", "new_tensor"]
)
def test_flags_of_factories_written_by_hand(function: Any) -> None:
    with pytest.raises(TypeError, match="argument 'requires_grad' must be bool, not str"):
        function([1.0], requires_grad="x")
    pytest.importorskip("mt_autograd")
    with pytest.raises(RuntimeError, match="^Only Tensors of floating point and complex dtype can require gradients"):
        function([1], dtype=torch.int64, requires_grad=True)


def test_what_only_some_factories_take() -> None:
    for dtype in torch.float64, torch.int16, torch.bool:
        with pytest.raises(NotImplementedError, match='"tril_indices" not implemented for'):
            torch.tril_indices(2, 2, dtype=dtype)
    with pytest.raises(TypeError, match="unexpected keyword argument 'pin_memory'"):
        torch.ones(1).new_tensor([1], pin_memory=False)
    with pytest.warns(UserWarning, match="torch.range is deprecated"):
        torch.range(0, 3)
