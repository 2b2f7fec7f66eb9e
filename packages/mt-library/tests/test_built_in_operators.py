"""Kernels of libraries for the core's own operators: they are used wherever the operator is, also as a part."""

from __future__ import annotations

import warnings
from contextlib import nullcontext

import pytest

import mt_core as mt
from mt_core.autograd_state import inference_mode, no_grad
from mt_library import ops
from mt_library.library import _scoped_library

#: Operator made of others -> how it is called, the part that a library replaces, and what the part returns.
_PARTS = {
    "softmax": (lambda x: mt.softmax(x, 1), "_softmax", 1),
    "log_softmax": (lambda x: mt.log_softmax(x, 1), "_log_softmax", 1),
    "cross_entropy": (lambda x: ops.aten.cross_entropy_loss(x, mt.tensor([0, 1])), "_log_softmax", 1),
    "layer_norm": (lambda x: mt.layer_norm(x, (3,)), "native_layer_norm", 3),
    "max_pool1d": (lambda x: mt.max_pool1d(x[None], 2), "max_pool2d_with_indices", 2),
    "max_pool2d": (lambda x: mt.max_pool2d(x[None], 2), "max_pool2d_with_indices", 2),
    "batch_norm": (
        lambda x: mt.batch_norm(x, None, None, None, None, True, 0.1, 1e-5, False), "native_batch_norm", 3,
    ),
    "matmul": (lambda x: mt.matmul(x, x.t()), "mm", 1),
}  # fmt: skip


def _counted(calls, count, key="kernel"):
    def run(x, *args, **kwargs):
        calls.append(key)
        made = [x.new_ones(x.shape) for _ in range(count)]
        return made[0] if count == 1 else tuple(made)

    return run


@pytest.fixture
def aten():
    with _scoped_library("aten", "IMPL") as made:
        yield made


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("key", ["CPU", "Autograd", "AutogradCPU"])
@pytest.mark.parametrize("name", _PARTS)
def test_a_part_is_used_wherever_its_whole_is_called(name, key, requires_grad):
    call, part, count = _PARTS[name]
    x = mt.ones(2, 3, requires_grad=requires_grad)
    if name.startswith("max_pool"):
        count = 2
    calls, before = [], call(x)
    with _scoped_library("aten", "IMPL") as made:
        made.impl(part, _counted(calls, count), key)
        call(x)
        assert calls == ["kernel"]
    again = call(x)
    assert calls == ["kernel"] and mt.equal(again, before)


@pytest.mark.parametrize("keys", [("CPU", "Autograd"), ("CompositeExplicitAutograd", "Autograd"), ("CPU",)])
@pytest.mark.parametrize(
    ("mode", "sees_autograd"), [(nullcontext, True), (no_grad, True), (inference_mode, False)], ids=lambda v: str(v)
)
@pytest.mark.parametrize("requires_grad", [False, True])
def test_an_autograd_kernel_goes_first_unless_in_inference_mode(keys, mode, sees_autograd, requires_grad):
    calls = []
    with _scoped_library("of_keys", "FRAGMENT") as made:
        made.define("f(Tensor x) -> Tensor")
        for key in keys:
            made.impl("f", _counted(calls, 1, key), key)
        with mode():
            ops.of_keys.f(mt.ones(2, requires_grad=requires_grad))
    assert calls == [keys[-1] if sees_autograd else keys[0]]


@pytest.mark.parametrize("key", ["CompositeExplicitAutograd", "CompositeImplicitAutograd"])
def test_a_kernel_for_all_devices_does_not_replace_one_of_the_device(aten, key):
    calls = []
    aten.impl("neg", _counted(calls, 1), key)
    x = mt.ones(2, requires_grad=True)
    assert (-x).tolist() == [-1, -1] and (-x.detach()).tolist() == [-1, -1] and calls == []


def test_what_a_device_kernel_of_a_composite_calls_is_recorded_with_a_warning(aten):
    """As in PyTorch: nothing says what its derivative is, so it is that of its parts."""
    aten.impl("softmax.int", lambda x, dim, dtype=None: x * 2, "CPU")
    x = mt.ones(2, 3, requires_grad=True)
    y = mt.softmax(x, 1)
    assert y.grad_fn.name() == "MulBackward0"
    with pytest.warns(UserWarning, match="an autograd kernel was not registered to the Autograd key"):
        y.sum().backward()
    assert x.grad.eq(2).all()


def test_a_kernel_that_passes_autograd_by_passes_it_on_plain_calls_too(aten):
    from mt_library.library import fallthrough_kernel

    calls = []
    aten.impl("neg", _counted(calls, 1, "all"), "Autograd")
    aten.impl("neg", fallthrough_kernel, "AutogradCPU")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (-mt.ones(1)).item() == -1 and (-mt.ones(1, requires_grad=True)).item() == -1
    assert calls == []
