"""The engine: long graphs, order, several threads, backward within backward."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import mt_autograd
from mt_core.plugins.discovery import register_backend
from mt_core.testing.namespace import namespace
from mt_core.testing.null_backend import NullBackend

torch = namespace(autograd=mt_autograd)

LONG = 100_000
register_backend(NullBackend("pair", devices=2))


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, g):
        return g


@pytest.mark.parametrize(
    "step",
    [
        pytest.param(lambda y: y * 1.0, id="operator"),
        pytest.param(lambda y: y.view(2), id="view"),
        pytest.param(lambda y: y.add_(1e-5), id="in place"),
        pytest.param(Scale.apply, id="custom function"),
    ],
)
def test_long_chain(step):
    x = torch.ones(2, requires_grad=True)
    y = x * 1
    for _ in range(LONG):
        y = step(y)
    start = time.perf_counter()
    y.sum().backward()
    assert time.perf_counter() - start < 30
    assert x.grad.tolist() == [1, 1]


def test_long_chain_is_freed_without_backward():
    x = torch.ones(2, requires_grad=True)
    y = x
    for _ in range(LONG):
        y = (y * y).exp() * 0.1
    del y


def test_long_chain_of_second_derivatives():
    x = torch.ones(2, requires_grad=True)
    y = x
    for _ in range(3000):
        y = y * x
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    g.sum().backward()
    assert x.grad.tolist() == [3001.0 * 3000.0] * 2


def test_wide_graph_adds_all_gradients():
    x = torch.ones(2, requires_grad=True)
    total = sum((x * i for i in range(2000)), torch.zeros(2))
    total.sum().backward()
    assert x.grad.tolist() == [1999000.0] * 2


def test_later_nodes_run_first():
    order = []
    x = torch.ones(1, requires_grad=True)
    branches = [x * i for i in range(4)]
    for i, branch in enumerate(branches):
        branch.register_hook(lambda g, i=i: order.append(i))
    (branches[2] + branches[0] + branches[3] + branches[1]).backward()
    assert order == [3, 2, 1, 0]


def test_node_waits_for_all_its_gradients():
    seen = []
    x = torch.ones(1, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: seen.append(g.item()))
    late = y * 3
    early = ((y * 5) * 1) * 1
    (late + early).backward()
    assert seen == [8]


def test_diamonds_do_not_multiply_work():
    calls = []
    y = x = torch.ones(1, requires_grad=True)
    for _ in range(60):
        y = y * 0.5 + y * 0.5
    y.grad_fn.register_hook(lambda a, b: calls.append(1))
    y.backward()
    assert x.grad.item() == 1
    assert len(calls) == 1


def test_only_nodes_on_the_way_to_inputs_run():
    ran = []
    x, w = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    left, right = x * 2, w * 3
    left.grad_fn.register_hook(lambda a, b: ran.append("left"))
    right.grad_fn.register_hook(lambda a, b: ran.append("right"))
    torch.autograd.grad((left * right).sum(), x)
    assert ran == ["left"]


def test_failing_backward_leaves_the_graph_usable():
    x = torch.ones(1, requires_grad=True)
    y = x * x
    handle = y.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        y.backward()
    assert x.grad is None
    handle.remove()
    y.backward()
    assert x.grad.item() == 2
    assert torch.is_grad_enabled()


def test_backward_within_a_hook():
    x = torch.ones(1, requires_grad=True)
    z = torch.ones(1, requires_grad=True)
    y = x * 2

    def hook(g):
        assert not torch.is_grad_enabled()
        with torch.enable_grad():
            (z * 3).backward()

    y.register_hook(hook)
    y.backward()
    assert (x.grad.item(), z.grad.item()) == (2, 3)


def test_backward_nested_deeply():
    class Nested(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, depth):
            ctx.depth = depth
            ctx.x = x.detach().requires_grad_()
            with torch.enable_grad():
                ctx.y = Nested.apply(ctx.x, depth - 1) if depth else ctx.x * 2
            return ctx.y.detach()

        @staticmethod
        def backward(ctx, g):
            ctx.y.backward(g)
            return ctx.x.grad, None

    x = torch.ones(1, requires_grad=True)
    Nested.apply(x, 30).backward()
    assert x.grad.item() == 2


def test_callbacks_run_at_the_end():
    order = []
    x = torch.ones(1, requires_grad=True)
    engine = torch.autograd.Variable._execution_engine
    y = x * 2
    y.register_hook(lambda g: engine.queue_callback(lambda: order.append("end")))
    x.register_post_accumulate_grad_hook(lambda p: order.append("leaf"))
    y.backward()
    assert order == ["leaf", "end"]
    with pytest.raises(RuntimeError, match="Final callbacks can only be installed during backward pass"):
        engine.queue_callback(lambda: None)


def test_gradient_is_not_shared_between_leaves():
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    seed = torch.ones(2)
    (a + b).backward(seed)
    a.grad.mul_(5)
    assert b.grad.tolist() == [1, 1]
    assert seed.tolist() == [1, 1]


def test_gradient_seen_by_a_hook_is_not_changed_by_accumulation():
    seen = []
    a = torch.ones(2, requires_grad=True)
    a.register_hook(seen.append)
    (a * 2).sum().backward()
    (a * 2).sum().backward()
    assert [g.tolist() for g in seen] == [[2, 2], [2, 2]]
    assert a.grad.tolist() == [4, 4]


def test_gradients_on_the_way_are_added_in_place():
    x = torch.ones(3, requires_grad=True)
    (grad,) = torch.autograd.grad((x * 2 + x * 3 + x * 4).sum(), x)
    assert grad.tolist() == [9, 9, 9] and grad._version == 2


def test_gradients_that_others_have_are_not_added_to():
    x = torch.ones(3, requires_grad=True)
    kept = []
    parts = [x * 2, x * 3, x.view(3) * 4]
    for part in parts:
        part.register_hook(kept.append)
        part.grad_fn.register_hook(lambda given, arrived: kept.extend([*given, *arrived]))
    seen = torch.ones(3)
    sum(parts).backward(seen)
    assert x.grad.tolist() == [9, 9, 9] and seen.tolist() == [1, 1, 1]
    values = [k.tolist() for k in kept if k is not None]
    assert values.count([1, 1, 1]) == 6 and all(v in values for v in ([2, 2, 2], [3, 3, 3], [4, 4, 4]))


def test_a_leaf_takes_no_memory_that_others_have():
    x, given = torch.ones(3, requires_grad=True), torch.ones(3, 1)
    x.view(3, 1).backward(given)
    x.grad.add_(5)
    assert given.flatten().tolist() == [1, 1, 1]
    x.grad, middle = None, x.view(3, 1)
    middle.retain_grad()
    (middle * middle).sum().backward()
    x.grad.add_(5)
    assert middle.grad.flatten().tolist() == [2, 2, 2]


def test_accumulation_is_in_place():
    a = torch.ones(2, requires_grad=True)
    (a * 2).sum().backward()
    first = a.grad
    (a * 2).sum().backward()
    assert a.grad is first
    assert first.tolist() == [4, 4]


def test_gradient_has_the_layout_of_its_leaf():
    a = torch.ones(3, 2).t().requires_grad_()
    b = torch.ones(2, 3)[:, ::2].requires_grad_()
    (a * torch.ones(2, 3)).sum().backward()
    (b * 2).sum().backward()
    assert a.grad.stride() == a.stride()
    assert b.grad.is_contiguous()


def test_gradient_of_expanded_sum_is_dense():
    a = torch.ones(2, 3, requires_grad=True)
    a.sum().backward()
    a.grad[0, 0] = 5
    assert a.grad.tolist() == [[5, 1, 1], [1, 1, 1]]


# Threads


def in_threads(count, target):
    errors = []

    def run(i):
        try:
            target(i)
        except BaseException as error:  # noqa: BLE001 - raised again in the main thread
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_threads_share_leaves():
    weight = torch.ones(8, requires_grad=True)

    def train(i):
        for _ in range(200):
            (weight * weight * (i + 1)).sum().backward()

    in_threads(4, train)
    assert weight.grad.tolist() == [2.0 * 200 * (1 + 2 + 3 + 4)] * 8


def test_threads_share_a_retained_graph():
    weight = torch.ones(8, requires_grad=True)
    loss = (weight * weight).exp().sum()
    expected = torch.autograd.grad(loss, weight, retain_graph=True)[0]
    in_threads(4, lambda i: [loss.backward(retain_graph=True) for _ in range(50)])
    np.testing.assert_allclose(weight.grad.numpy(), 200 * expected.numpy(), rtol=1e-4)


def test_grad_mode_belongs_to_its_thread():
    seen = []
    with torch.no_grad():
        in_threads(1, lambda i: seen.append(torch.is_grad_enabled()))
    assert seen == [True]


def test_threads_build_graphs_of_their_own():
    def work(i):
        x = torch.full((4,), float(i + 1), requires_grad=True)
        y = x
        for _ in range(100):
            y = y + x * 0.5
        y.sum().backward()
        assert x.grad.tolist() == [51.0] * 4

    in_threads(4, work)


@pytest.mark.parametrize(("source", "target"), [("pair:0", "pair:1"), ("pair:1", "pair:0")])
def test_gradients_of_copies_return_to_their_device(source, target):
    for copied in (lambda x: x.to(target), lambda x: torch.empty(2, device=target).copy_(x)):
        x = torch.empty(2, device=source).requires_grad_()
        y = copied(x * x)
        assert y.device == torch.device(target)
        (slope,) = torch.autograd.grad(y, x, torch.empty(2, device=target), create_graph=True)
        slope.sum().backward()
        assert slope.device == x.grad.device == x.device


class Reshaped(torch.autograd.Function):
    """Its gradient is the one that arrives, in another shape and not as a view."""

    @staticmethod
    def forward(ctx, x):
        return x.clone().view(2, 2)

    @staticmethod
    def backward(ctx, grad):
        return torch._unsafe_view(grad, (4,))


def test_what_a_program_gives_to_backward_is_not_written_to():
    """Neither where gradients meet, nor where a leaf takes one."""
    x, given = torch.ones(4, requires_grad=True), torch.ones(2, 2)
    y = x * 1
    other, reshaped = y * 2, Reshaped.apply(y)
    torch.autograd.backward([reshaped, other], [given, torch.ones(4)])
    assert given.eq(1).all() and x.grad.tolist() == [3.0] * 4
    x.grad = None
    for _ in range(2):
        Reshaped.apply(x).backward(given)
    assert given.eq(1).all() and x.grad.tolist() == [2.0] * 4


def test_a_gradient_whose_memory_a_hook_has_kept_by_another_shape_is_not_written_to():
    x, kept = torch.ones(4, requires_grad=True), []
    y = x * 1
    y.register_hook(lambda grad: kept.append(torch._unsafe_view(grad, (2, 2))))
    torch.autograd.backward([x * 2, y], [torch.ones(4), torch.ones(4)])
    for _ in range(2):
        (x * 1).backward(torch.ones(4))
    assert kept[0].eq(1).all() and x.grad.tolist() == [5.0] * 4
