"""What a graph keeps alive, and that reference counting alone frees it: the garbage collector is off in these tests."""

from __future__ import annotations

import gc
import weakref

import pytest

import mt_autograd
from mt_core.testing.namespace import namespace

torch = namespace(autograd=mt_autograd)


@pytest.fixture(autouse=True)
def without_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def is_freed(reference):
    return reference() is None


def recorded(x):
    """Results of operators that save inputs, outputs, both and nothing, and of views."""
    y = x * 2
    return [
        x + 1,
        x * x,
        x.exp(),
        x.view(-1),
        y[0],
        y.t(),
        torch.cat([x, y]),
        y.unbind(0)[0],
        (y @ x).sum(),
        x.sum(0),
        (x * 2).exp_(),
    ]


@pytest.mark.parametrize("index", range(11))
def test_dropping_a_result_frees_its_graph(index):
    x = torch.ones(2, 2, requires_grad=True)
    result = recorded(x)[index]
    node = weakref.ref(result.grad_fn)
    tensor = weakref.ref(result)
    del result
    assert is_freed(tensor)
    assert is_freed(node)


def test_saved_output_is_not_the_tensor():
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    node = y.grad_fn
    tensor = weakref.ref(y)
    del y
    assert is_freed(tensor)
    assert node._saved_result.shape == (3,)


def test_saved_input_lives_until_backward():
    x = torch.ones(3, requires_grad=True)
    middle = x * 2
    y = (middle * middle).sum()
    kept = weakref.ref(middle)
    del middle
    assert not is_freed(kept)
    y.backward()
    assert is_freed(kept)


def test_retained_graph_keeps_what_it_saved():
    x = torch.ones(3, requires_grad=True)
    middle = x * 2
    y = (middle * middle).sum()
    kept = weakref.ref(middle)
    del middle
    y.backward(retain_graph=True)
    assert not is_freed(kept)
    del y
    assert is_freed(kept)


def test_graph_holds_its_leaf():
    x = torch.ones(3, requires_grad=True)
    y = (x + 1).sum()
    leaf = weakref.ref(x)
    del x
    assert not is_freed(leaf)
    assert y.grad_fn.next_functions[0][0].next_functions[0][0].variable is leaf()
    y.backward()
    assert leaf().grad is not None
    del y
    assert is_freed(leaf)


def test_leaf_and_accumulator_are_no_cycle():
    x = torch.ones(3, requires_grad=True)
    node = (x * 2).grad_fn.next_functions[0][0]
    accumulator, leaf = weakref.ref(node), weakref.ref(x)
    (x * node.variable).sum().backward()
    del node
    assert is_freed(accumulator)
    del x
    assert is_freed(leaf)


def test_hook_on_a_leaf_outlives_the_name_of_the_leaf():
    seen = []
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda g: seen.append(g.tolist()))
    y = (x * 3).sum()
    del x
    y.backward()
    assert seen == [[3.0, 3.0]]


def test_in_place_on_view_is_freed():
    x = torch.ones(2, 2, requires_grad=True)
    base = x * 1
    view = base[0]
    view.mul_(2)
    view.exp_()
    nodes = [weakref.ref(view.grad_fn), weakref.ref(base.grad_fn)]
    tensors = [weakref.ref(view), weakref.ref(base)]
    base.sum().backward()
    del view, base
    assert all(map(is_freed, tensors + nodes))


def test_second_derivative_is_freed():
    x = torch.ones(2, requires_grad=True)
    (g,) = torch.autograd.grad(x.exp().sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x, create_graph=True)
    references = [weakref.ref(g.grad_fn), weakref.ref(h.grad_fn)]
    del g, h
    assert all(map(is_freed, references))


def test_custom_function_is_freed():
    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[1]

    x = torch.ones(2, requires_grad=True)
    y = Exp.apply(x)
    node, tensor = weakref.ref(y.grad_fn), weakref.ref(y)
    del y
    assert is_freed(node)
    assert is_freed(tensor)


def test_checkpoint_is_freed():
    from mt_autograd.checkpoint import checkpoint

    held = []

    def f(x):
        held.append(weakref.ref(x))
        return x.exp() * x

    x = torch.ones(2, requires_grad=True)
    y = checkpoint(f, x * 1, use_reentrant=False)
    y.sum().backward()
    node = weakref.ref(y.grad_fn)
    del y
    assert is_freed(node)
    assert all(map(is_freed, held))


def test_multi_grad_hook_is_no_cycle():
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    torch.autograd.graph.register_multi_grad_hook([x, y], lambda grads: None)
    y.sum().backward()
    references = [weakref.ref(y), weakref.ref(y.grad_fn), weakref.ref(x)]
    del x, y
    assert all(map(is_freed, references))


def test_saved_tensors_are_freed_as_the_engine_goes():
    alive = []
    x = torch.ones(2, requires_grad=True)
    values = [x * 1]
    for _ in range(5):
        values.append(values[-1] * values[-1])
    references = [weakref.ref(v) for v in values]
    values[0].register_hook(lambda g: alive.append(sum(not is_freed(r) for r in references)))
    loss = values[-1].sum()
    del values
    loss.backward()
    # When the gradient reaches the first value, only that one is still saved (by the second, which has just run).
    assert alive[0] <= 1


def test_nothing_is_left_after_a_training_loop():
    weight = torch.ones(4, 4, requires_grad=True)
    for _ in range(3):
        loss = ((weight @ weight).exp() * 1e-4).sum()
        loss.backward()
        with torch.no_grad():
            weight -= 0.01 * weight.grad
        weight.grad = None
    del loss
    collected = gc.collect()
    assert not [o for o in gc.garbage if isinstance(o, torch.Tensor)]
    assert collected < 50


def test_a_node_lists_what_it_saved_and_nothing_else():
    a = torch.ones(2, requires_grad=True)
    for node, names in ((a.exp().grad_fn, ["_saved_result"]), ((a * a).grad_fn, ["_saved_other", "_saved_self"])):
        assert [name for name in dir(node) if name.startswith("_saved")] == names
