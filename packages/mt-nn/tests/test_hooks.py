"""Hooks of modules: order, replacement, errors, gradients."""

from __future__ import annotations

from collections import OrderedDict

import pytest

import mt_core as mt
import mt_nn as nn
from mt_nn.modules import module as module_file


class Twice(nn.Module):
    def forward(self, x, factor=2, other=None):
        return x * factor


@pytest.fixture
def log():
    return []


@pytest.fixture
def registered():
    """Handles of global hooks, removed afterwards."""
    handles = []
    yield handles
    for handle in handles:
        handle.remove()
    module_file._global_is_full_backward_hook = None


def noted(log, name, result=None):
    def hook(*args):
        log.append(name)
        return result

    return hook


def test_hooks_run_in_order_and_prepended_ones_first(log):
    module = Twice()
    module.register_forward_pre_hook(noted(log, "pre"))
    module.register_forward_pre_hook(noted(log, "pre, first"), prepend=True)
    module.register_forward_hook(noted(log, "post"))
    module.register_forward_hook(noted(log, "post, first"), prepend=True)
    module(mt.ones(1))
    assert log == ["pre, first", "pre", "post, first", "post"]


def test_a_removed_hook_does_not_run(log):
    module = Twice()
    with module.register_forward_hook(noted(log, "post")):
        module(mt.ones(1))
    module(mt.ones(1))
    assert log == ["post"]


def test_pre_hooks_replace_arguments():
    module = Twice()
    module.register_forward_pre_hook(lambda module, args: args[0] + 1)
    module.register_forward_pre_hook(lambda module, args, kwargs: (args, {"factor": 5}), with_kwargs=True)
    assert module(mt.ones(1)).tolist() == [10]


def test_forward_hooks_replace_the_output():
    module = Twice()
    module.register_forward_hook(lambda module, args, output: output + 1)
    module.register_forward_hook(lambda module, args, kwargs, output: (output, kwargs), with_kwargs=True)
    output, kwargs = module(mt.ones(1), factor=3)
    assert output.tolist() == [4] and kwargs == {"factor": 3}


def test_a_pre_hook_with_kwargs_must_return_both():
    module = Twice()
    module.register_forward_pre_hook(lambda module, args, kwargs: 3, with_kwargs=True)
    with pytest.raises(RuntimeError, match="forward pre-hook must return None or a tuple"):
        module(mt.ones(1))


def test_hooks_marked_always_call_run_after_an_error(log):
    module = Twice()
    module.register_forward_hook(noted(log, "marked"), always_call=True)
    module.register_forward_hook(noted(log, "not marked"))
    with pytest.raises(TypeError):
        module(mt.ones(1), wrong=1)
    assert log == ["marked"]


def test_an_error_in_an_always_called_hook_does_not_hide_the_first():
    def fail(*args):
        raise ValueError("of the hook")

    module = Twice()
    module.register_forward_hook(fail, always_call=True)
    with pytest.warns(UserWarning, match="of the hook"), pytest.raises(TypeError):
        module(mt.ones(1), wrong=1)


def test_global_hooks_run_for_every_module_before_its_own(log, registered):
    registered.append(module_file.register_module_forward_pre_hook(noted(log, "global pre")))
    registered.append(module_file.register_module_forward_hook(noted(log, "global")))
    module = Twice()
    module.register_forward_hook(noted(log, "own"))
    nn.Sequential(module)(mt.ones(1))
    assert log == ["global pre", "global pre", "global", "own", "global"]


def test_registration_hooks_see_and_replace_what_is_registered(registered):
    replacement = nn.Parameter(mt.zeros(3))
    registered.append(module_file.register_module_parameter_registration_hook(lambda module, name, param: replacement))
    module = nn.Module()
    module.x = nn.Parameter(mt.ones(1))
    assert module.x is replacement


def gradients_seen(module, x, **kwargs):
    seen = []
    module.register_full_backward_hook(lambda module, grad_input, grad_output: seen.append((grad_input, grad_output)))
    module(x, **kwargs).sum().backward()
    return seen


def test_full_backward_hooks_see_gradients_of_inputs_and_outputs():
    x = mt.ones(2, requires_grad=True)
    ((grad_input,), (grad_output,)) = gradients_seen(Twice(), x)[0]
    assert grad_input.tolist() == [2, 2] and grad_output.tolist() == [1, 1]
    assert x.grad.tolist() == [2, 2]


def test_full_backward_hooks_replace_the_gradient_of_the_input():
    x = mt.ones(2, requires_grad=True)
    module = Twice()
    module.register_full_backward_hook(lambda module, grad_input, grad_output: (grad_input[0] * 10,))
    module(x).sum().backward()
    assert x.grad.tolist() == [20, 20]


def test_full_backward_pre_hooks_replace_the_gradient_of_the_output():
    x = mt.ones(2, requires_grad=True)
    module = Twice()
    module.register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 3,))
    module(x).sum().backward()
    assert x.grad.tolist() == [6, 6]


def test_without_gradients_of_inputs_full_hooks_run_at_the_output():
    linear = nn.Linear(2, 1)
    with pytest.warns(UserWarning, match="no inputs require gradients"):
        seen = gradients_seen(linear, mt.ones(1, 2))
    assert seen[0][0] == (None,) and seen[0][1][0].tolist() == [[1]]
    assert linear.weight.grad is not None


def test_a_wrong_number_of_gradients_is_an_error():
    module = Twice()
    module.register_full_backward_hook(lambda module, grad_input, grad_output: (None, None))
    with pytest.raises(RuntimeError, match="invalid number of grad_input, got 2, but expected 1"):
        module(mt.ones(1, requires_grad=True)).sum().backward()


def test_regular_and_full_backward_hooks_do_not_mix():
    module = Twice()
    module.register_backward_hook(lambda *args: None)
    with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full backward hooks"):
        module.register_full_backward_hook(lambda *args: None)


def test_regular_backward_hooks_see_the_last_node():
    seen = []
    module = Twice()
    module.register_backward_hook(lambda module, grad_input, grad_output: seen.append(grad_output))
    module(mt.ones(2, requires_grad=True)).sum().backward()
    assert seen[0][0].tolist() == [1, 1]


def test_the_output_of_a_hooked_module_may_not_be_changed_in_place():
    module = Twice()
    module.register_full_backward_hook(lambda *args: None)
    output = module(mt.ones(1, requires_grad=True))
    with pytest.raises(RuntimeError, match="modified inplace"):
        output.add_(1)


@pytest.mark.parametrize(
    ("table", "register", "ran"),
    [
        ("_global_forward_hooks", "register_module_forward_hook", 1),
        ("_global_forward_pre_hooks", "register_module_forward_pre_hook", 1),
        ("_global_backward_hooks", "register_module_full_backward_hook", 1),
        ("_global_backward_pre_hooks", "register_module_full_backward_pre_hook", 1),
    ],
)
def test_tables_of_global_hooks_can_be_replaced(log, registered, table, register, ran):
    """``module._global_forward_hooks = OrderedDict()`` is how programs forget all hooks, and go on registering."""
    x = mt.ones(2, requires_grad=True)
    registered.append(getattr(module_file, register)(noted(log, "forgotten")))
    setattr(module_file, table, OrderedDict())
    Twice()(x).sum().backward()
    assert log == []
    registered.append(getattr(module_file, register)(noted(log, "new")))
    assert len(getattr(module_file, table)) == ran
    Twice()(x).sum().backward()
    assert log == ["new"]


def test_which_backward_hooks_are_global_can_be_forgotten(registered):
    registered.append(module_file.register_module_full_backward_hook(lambda *_: None))
    assert module_file._global_is_full_backward_hook is True
    module_file._global_is_full_backward_hook = None
    registered.append(module_file.register_module_backward_hook(lambda *_: None))
    assert module_file._global_is_full_backward_hook is False
