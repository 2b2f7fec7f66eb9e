"""Small programs about gradients, to be run by PyTorch and by mindtorch: both must do the same.

Every function takes the `torch` module and returns what is to be compared: values, graph nodes (by name), or an error,
which counts by type and message. `outcome` turns any of these into text.
"""

from __future__ import annotations

import re
import warnings


def text(value):
    """A value as text that is equal in both libraries when the values are."""
    if hasattr(value, "next_functions"):
        return f"<{value.name()}>"
    if type(value).__name__ == "Tensor":
        history = (
            f", grad_fn=<{value.grad_fn.name()}>"
            if value.grad_fn is not None
            else f", requires_grad={value.requires_grad}"
        )
        numbers = [float(f"{v:.5g}") + 0.0 if isinstance(v, float) else v for v in value.detach().reshape(-1).tolist()]
        return f"tensor({list(value.shape)}, {numbers}, {value.dtype}{history})"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(text(v) for v in value) + "]"
    return repr(value)


def outcome(scenario, torch):
    """What a scenario does, as text: its result and warnings, or its error."""
    torch.manual_seed(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = text(scenario(torch))
        except Exception as error:  # noqa: BLE001 - which error it is, is what is recorded
            result = f"{type(error).__name__}: {error}"
    # What follows in a warning of anomaly mode is the caller's own traceback.
    notes = [f"{w.category.__name__}: {w.message}".partition("caused the error:\n")[0] for w in caught]
    # This warning comes once in a process.
    notes = [note for note in notes if "with create_graph=True will create a reference cycle" not in note]
    cleaned = [re.sub(r" at 0x[0-9a-f]+| ?\(Triggered internally at .*\)", "", t) for t in [result, *notes]]
    return "\n".join(cleaned)


def leaf(torch):
    return torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)


# Calling backward


def not_scalar(torch):
    (leaf(torch) * 2).backward()


def no_history(torch):
    torch.zeros(1).backward()


def gradient_of_wrong_shape(torch):
    (leaf(torch) * 2).backward(torch.ones(2))


def complex_gradient_of_real_output(torch):
    (leaf(torch) * 2).backward(torch.ones(2, 2, dtype=torch.complex64))


def gradient_of_other_dtype(torch):
    a = leaf(torch)
    (a * 2).backward(torch.ones(2, 2, dtype=torch.float64))
    (a * 2).backward(torch.ones(2, 2, dtype=torch.int64))
    return a.grad


def complex_output(torch):
    c = torch.ones(2, dtype=torch.complex64, requires_grad=True)
    (c * 2).sum().backward()


def unused_input(torch):
    a, b = leaf(torch), leaf(torch)
    torch.autograd.grad((a * 2).sum(), [a, b])


def unused_input_allowed(torch):
    a, b = leaf(torch), leaf(torch)
    return torch.autograd.grad((a * 2).sum(), [a, b], allow_unused=True)


def unused_input_materialized(torch):
    a, b = leaf(torch), leaf(torch)
    return torch.autograd.grad((a * 2).sum(), [a, b], materialize_grads=True)


def contradictory_unused(torch):
    a = leaf(torch)
    torch.autograd.grad((a * 2).sum(), [a], materialize_grads=True, allow_unused=False)


def input_without_grad(torch):
    torch.autograd.grad((leaf(torch) * 2).sum(), [torch.zeros(1)])


def no_inputs(torch):
    torch.autograd.grad((leaf(torch) * 2).sum(), [])


def backward_to_no_inputs(torch):
    torch.autograd.backward((leaf(torch) * 2).sum(), inputs=[])


def backward_to_intermediate(torch):
    a = leaf(torch)
    b = a * 2
    (b * b).sum().backward(inputs=[b])
    return b.grad, a.grad, b.retains_grad


def numbers_of_gradients_differ(torch):
    a = leaf(torch)
    torch.autograd.backward([(a * 2).sum(), (a * 3).sum()], [None])


def several_roots(torch):
    a = leaf(torch)
    b = a * 2
    torch.autograd.backward([b.sum(), (b * b).sum(), b], [None, None, torch.ones(2, 2)])
    return a.grad


def batched_gradients(torch):
    a = leaf(torch)
    return torch.autograd.grad(a * a, a, torch.tensor([[[1.0, 0], [0, 0]], [[0, 1], [1, 1]]]), is_grads_batched=True)


def second_backward(torch):
    y = (leaf(torch) * leaf(torch)).sum()
    y.backward()
    y.backward()


def second_backward_of_what_saves_nothing(torch):
    a = leaf(torch)
    y = (a + a).sum()
    y.backward()
    y.backward()
    return a.grad


def second_backward_retained(torch):
    a = leaf(torch)
    y = (a * a).sum()
    y.backward(retain_graph=True)
    y.backward()
    return a.grad


def create_graph(torch):
    a = leaf(torch)
    (a * a * a).sum().backward(create_graph=True)
    g = a.grad
    a.grad = None
    g.sum().backward()
    return g, a.grad


def third_derivative(torch):
    a = leaf(torch)
    g = (a * a * a * a).sum()
    for _ in range(3):
        (g,) = torch.autograd.grad(g.sum(), a, create_graph=True)
    return g.detach()


def gradient_of_itself(torch):
    a = leaf(torch).sum()
    return torch.autograd.grad(a, a)


def leaf_as_root(torch):
    a = torch.ones((), requires_grad=True)
    a.backward()
    return a.grad


def next_functions(torch):
    a = leaf(torch)
    b = a * 2
    c = b + a
    return c.grad_fn, [(n, i) for n, i in c.grad_fn.next_functions], [(n, i) for n, i in b.grad_fn.next_functions]


def accumulator(torch):
    a = leaf(torch)
    node = (a * 2).grad_fn.next_functions[0][0]
    return node.variable is a, node is (a * 3).grad_fn.next_functions[0][0], node.next_functions


def saved_tensors_by_name(torch):
    a = leaf(torch)
    node = (a * a).grad_fn
    before = node._saved_self, a.exp().grad_fn._saved_result
    node(torch.ones(2, 2))
    return before


def saved_tensor_after_backward(torch):
    a = leaf(torch)
    b = a * a
    b.sum().backward()
    return b.grad_fn._saved_self


def broadcast_gradients(torch):
    a, b = torch.ones(3, 1, requires_grad=True), torch.ones(2, requires_grad=True)
    ((a + 1) * (b * 2)).sum().backward()
    return a.grad, b.grad


def mixed_dtypes(torch):
    a = torch.ones(2, dtype=torch.float64, requires_grad=True)
    b = torch.ones(2, requires_grad=True)
    (a * b).sum().backward()
    return a.grad, b.grad


# Attributes of a tensor


def grad_of_intermediate(torch):
    return (leaf(torch) * 2).grad


def requires_grad_of_what_is_computed(torch):
    (leaf(torch) * 2).requires_grad = False


def requires_grad_of_integers(torch):
    torch.ones(2, dtype=torch.int64).requires_grad_()


def requires_grad_no_bool(torch):
    torch.ones(2).requires_grad = 1


def requires_grad_method_no_bool(torch):
    torch.ones(2).requires_grad_(1)


def grad_of_wrong_shape(torch):
    leaf(torch).grad = torch.ones(3)


def grad_no_tensor(torch):
    leaf(torch).grad = 3


def grad_of_wrong_dtype(torch):
    leaf(torch).grad = torch.ones(2, 2, dtype=torch.float64)


def grad_is_itself(torch):
    a = leaf(torch)
    a.grad = a


def detach_in_place(torch):
    b = leaf(torch) * 2
    b.detach_()
    return b, b.is_leaf


def detach_view_in_place(torch):
    (leaf(torch) * 2).view(4).detach_()


def detached(torch):
    b = leaf(torch) * 2
    d = b.detach()
    d.add_(1)
    return d, b._version, d._base is None, b.view(4).detach()._is_view()


def hook_without_grad(torch):
    torch.zeros(1).register_hook(lambda g: g)


def retain_without_grad(torch):
    torch.zeros(1).retain_grad()


def post_accumulate_on_intermediate(torch):
    (leaf(torch) * 2).register_post_accumulate_grad_hook(lambda p: None)


def out_with_grad(torch):
    a = leaf(torch)
    torch.add(a, a, out=torch.zeros(2, 2))


def out_requires_grad(torch):
    torch.add(torch.zeros(2, 2), 1, out=leaf(torch))


# Hooks


def hook_order(torch):
    seen = []
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: seen.append("tensor 1"))
    y.retain_grad()
    y.register_hook(lambda g: seen.append(("tensor 2", y.grad)) or g * 2)
    y.grad_fn.register_prehook(lambda g: seen.append(("pre", g, y.grad)))
    y.grad_fn.register_hook(lambda a, b: seen.append(("post", a, b)))
    x.register_hook(lambda g: seen.append(("leaf", g, x.grad)))
    x.register_post_accumulate_grad_hook(lambda p: seen.append(("accumulated", p.grad)))
    node = y.grad_fn.next_functions[0][0]
    node.register_prehook(lambda g: seen.append(("accumulator pre", g, x.grad)))
    node.register_hook(lambda a, b: seen.append(("accumulator post", a, b)))
    y.sum().backward()
    return seen


def hooks_and_captured_gradients(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: g * 3)
    alone = torch.autograd.grad(y.sum(), [y], retain_graph=True)
    y.grad_fn.register_prehook(lambda g: (g[0] * 5,))
    return alone, torch.autograd.grad(y.sum(), [y, x])


def hooks_without_gradient(torch):
    seen = []
    x = leaf(torch)
    u = (x * 1).unbind(0)
    u[0].register_hook(lambda g: seen.append(("first", g)))
    u[0].grad_fn.register_prehook(lambda g: seen.append(g))
    u[0].grad_fn.register_hook(lambda a, b: seen.append((a, b)))
    u[1].sum().backward()
    return seen


def removed_hook(torch):
    x = torch.ones(2, requires_grad=True)
    handle = x.register_hook(lambda g: g * 2)
    kept = x.register_hook(lambda g: g + 1)
    (x * 1).sum().backward()
    handle.remove()
    first, x.grad = x.grad, None
    (x * 1).sum().backward()
    with kept:
        pass
    second, x.grad = x.grad, None
    (x * 1).sum().backward()
    return first, second, x.grad


def hook_changes_size(torch):
    def shorten(g):
        return g[:1]

    q = leaf(torch) * 2
    q.register_hook(shorten)
    q.sum().backward()


def hook_returns_number(torch):
    q = leaf(torch) * 2
    q.register_hook(lambda g: 3)
    q.sum().backward()


def hook_changes_dtype(torch):
    def widen(g):
        return g.double()

    q = leaf(torch) * 2
    q.register_hook(widen)
    q.sum().backward()


def hook_before_and_after_in_place(torch):
    seen = []
    a = leaf(torch)
    b = a * 1
    b.register_hook(lambda g: seen.append(("before", g)))
    b.mul_(3)
    b.register_hook(lambda g: seen.append(("after", g)))
    b.sum().backward()
    return seen


def retained_across_in_place(torch):
    a = leaf(torch)
    b = a * 1
    b.retain_grad()
    b.mul_(3)
    (b * 2).sum().backward()
    return b.grad, a.grad


def multi_grad_hook_all(torch):
    seen = []
    a = leaf(torch)
    b, c, d = a * 1, a * 2, a * 3
    torch.autograd.graph.register_multi_grad_hook([b, c, d], seen.append)
    (b + c).sum().backward(retain_graph=True)
    (b + c + d).sum().backward()
    return seen


def multi_grad_hook_any(torch):
    seen = []
    a = leaf(torch)
    b, c = a * 1, a * 2
    handle = torch.autograd.graph.register_multi_grad_hook((b, c), seen.append, mode="any")
    (b + c).sum().backward(retain_graph=True)
    handle.remove()
    (b + c).sum().backward()
    return seen


def multi_grad_hook_mode(torch):
    torch.autograd.graph.register_multi_grad_hook((leaf(torch),), lambda g: 0, mode="some")


# Versions and in-place operators


def saved_input_changed(torch):
    a, b = leaf(torch), torch.ones(2, 2)
    c = a * b
    b.add_(1)
    c.sum().backward()


def saved_input_with_history_changed(torch):
    b = leaf(torch) * 1
    c = b * b
    b.add_(1)
    c.sum().backward()


def saved_view_changed_through_base(torch):
    b = leaf(torch) * 1
    v = b[0]
    c = v * v
    b.mul_(2)
    c.sum().backward()


def saved_base_changed_through_view(torch):
    b = leaf(torch) * 1
    c = b * b
    b[0].mul_(2)
    c.sum().backward()


def saved_output_changed(torch):
    b = leaf(torch).exp()
    b.add_(1)
    b.sum().backward()


def changed_without_recording(torch):
    y = leaf(torch) * 1
    z = y * y
    with torch.no_grad():
        y.zero_()
    z.sum().backward()


def changed_through_data(torch):
    a = leaf(torch)
    b = a * 1
    c = b * b
    b.data.mul_(2)
    c.sum().backward()
    return a.grad, b._version


def changed_through_detach(torch):
    a = leaf(torch)
    b = a * 1
    c = b * b
    b.detach().mul_(2)
    c.sum().backward()


def leaf_in_place(torch):
    leaf(torch).add_(1)


def view_of_leaf_in_place(torch):
    leaf(torch)[0].add_(1)


def leaf_without_recording(torch):
    a = leaf(torch)
    with torch.no_grad():
        a.mul_(2)
    return a, a._version


def leaf_that_is_a_view(torch):
    v = torch.ones(4).view(2, 2)
    v.requires_grad_()
    v.add_(1)


def leaf_view_whose_base_gains_history(torch):
    b = torch.ones(4)
    v = b.view(2, 2)
    v.requires_grad_()
    b.mul_(leaf(torch).view(4) * 1)
    return v, v.is_leaf


def view_after_base_changed(torch):
    b = leaf(torch) * 1
    v = b[0]
    b.mul_(2)
    return v.grad_fn, v.grad_fn.next_functions, b.grad_fn.next_functions


def view_changed(torch):
    a = leaf(torch)
    b = a * 1
    v = b[0]
    v.mul_(2)
    (b * torch.tensor([[1.0, 10], [100, 1000]])).sum().backward()
    return v, b, v.grad_fn.next_functions, b.grad_fn.next_functions, a.grad


def view_gives_base_history(torch):
    a = leaf(torch)
    b = torch.zeros(2, 2)
    v, w = b[0], b[1]
    v.add_(a[0])
    assert w.grad_fn is not None  # else PyTorch still takes it for a leaf
    w.add_(a[1] * 2)
    (b * b).sum().backward()
    return v, w, b, b[1].requires_grad, a.grad


def chain_of_views_changed(torch):
    a = leaf(torch)
    b = a * 1
    v = b.t()
    w = v[1]
    w.mul_(10)
    v.add_(1)
    u = b.view(4)
    u[1:3].mul_(a[0])
    (b * b).sum().backward()
    return b, w, u.grad_fn, a.grad


def setitem(torch):
    a = leaf(torch)
    b = a * 1
    b[0] = 5
    b[:, 1] = a[0] * 2
    (b * b).sum().backward()
    return b, a.grad


def copy_in_place(torch):
    a = leaf(torch)
    b = torch.zeros(2, 2)
    b.copy_(a)
    c = torch.zeros(2, 2, dtype=torch.float64)
    c.copy_(a * 2)
    (b * 3 + c).sum().backward()
    return b.grad_fn.next_functions, c, a.grad


def zeroed(torch):
    a = leaf(torch)
    b = a * 1
    b.zero_()
    (b * 3).sum().backward()
    return b, a.grad


def result_type_of_in_place(torch):
    torch.ones(2, dtype=torch.int64).add_(leaf(torch)[0])


def broadcast_in_place(torch):
    (leaf(torch) * 1).add_(torch.ones(2, 2, 2))


def expanded_in_place(torch):
    (leaf(torch)[0] * 1).expand(2, 2).add_(1)


def old_value_in_formula(torch):
    a = leaf(torch)
    b = a * 1
    b.mul_(a)
    b.div_(a + 1)
    b.sum().backward()
    return a.grad


def exp_in_place_on_view_twice(torch):
    a = leaf(torch)
    b = a * 1
    b[0].exp_()
    (g,) = torch.autograd.grad(b.sum(), a, create_graph=True)
    return g, torch.autograd.grad(g.sum(), a)


def transpose_in_place(torch):
    a = leaf(torch)
    b = a * 1
    v = b[0]
    b.t_()
    b.mul_(torch.tensor([[1.0, 2], [3, 4]]))
    (b * b).sum().backward()
    return b, v, a.grad, b._version


def unsqueeze_view_in_place(torch):
    a = leaf(torch)
    b = a * 1
    v = b[0]
    v.unsqueeze_(0)
    return v, [n for n, _ in v.grad_fn.next_functions], b.grad_fn


# Views made elsewhere


def no_grad_view_in_place(torch):
    b = leaf(torch) * 1
    with torch.no_grad():
        v = b[0]
    v.mul_(2)


def no_grad_view_in_place_without_history(torch):
    b = torch.ones(2, 2)
    with torch.no_grad():
        v = b[0]
    v.mul_(2)
    v.mul_(leaf(torch)[0])


def no_grad_view_of_changed_base(torch):
    b = leaf(torch) * 1
    with torch.no_grad():
        v = b[0]
    b.mul_(2)
    return v.grad_fn


def no_grad_view_requires_grad(torch):
    a = leaf(torch)
    with torch.no_grad():
        v, u, d, e = a[0], a.unbind(0), a.detach(), a.expand(2, 2, 2)
    w = v * 2
    return (
        v.requires_grad,
        v.grad_fn,
        v.is_leaf,
        u[0].requires_grad,
        d.requires_grad,
        e.requires_grad,
        w.grad_fn.next_functions,
    )


def no_grad_view_as_leaf(torch):
    a = leaf(torch)
    with torch.no_grad():
        v = a[0]
    v.requires_grad_()
    (v * 2).sum().backward()
    return v.grad, a.grad


def view_of_no_grad_view(torch):
    b = leaf(torch) * 1
    with torch.no_grad():
        v = b[0]
    v[0:1].mul_(2)


def view_older_than_requires_grad(torch):
    b = torch.ones(2, 2)
    v = b[0]
    b.requires_grad_()
    before = v.requires_grad, v.is_leaf, v.grad_fn
    with torch.no_grad():
        b.add_(1)
    (v * 2).sum().backward()
    return before, v.grad_fn, b.grad


def unbound_in_place(torch):
    (leaf(torch) * 1).unbind(0)[0].mul_(2)


def split_in_place(torch):
    (leaf(torch) * 1).split(1)[0].mul_(2)


def view_of_unbound_in_place(torch):
    (leaf(torch) * 1).unbind(0)[0].view(2).mul_(2)


def unbound_of_changed_base(torch):
    b = leaf(torch) * 1
    u = b.unbind(0)
    b.mul_(2)
    return u[0] * 2


def unbound_without_history(torch):
    u = torch.ones(2, 2).unbind(0)
    u[0].mul_(2)
    u[0].mul_(leaf(torch)[0])


def inference_tensor_in_place(torch):
    with torch.inference_mode():
        x = torch.ones(2, 2)
    x.add_(1)


def inference_tensor_saved(torch):
    with torch.inference_mode():
        x = torch.ones(2, 2)
    x * leaf(torch)


def inference_tensor_not_saved(torch):
    with torch.inference_mode():
        x = torch.ones(2, 2)
    return x + leaf(torch), torch.ones(2, 2).add_(x)


def inference_tensor_as_leaf(torch):
    with torch.inference_mode():
        x = torch.ones(2, 2)
    x.requires_grad_()


def inference_tensor_version(torch):
    with torch.inference_mode():
        x = torch.ones(2, 2)
    return x._version


def inference_view_in_place(torch):
    b = leaf(torch) * 1
    with torch.inference_mode():
        v = b[0]
    assert v.requires_grad and not v.is_inference()
    v.mul_(2)


def view_of_inference_view(torch):
    b = leaf(torch) * 1
    with torch.inference_mode():
        v = b[0]
    v[0:1].mul_(2)


# Saved-tensor hooks


def pack_and_unpack(torch):
    seen = []

    def pack(x):
        seen.append(("pack", tuple(x.shape), torch.is_grad_enabled()))
        return x.detach() * 2

    def unpack(x):
        seen.append("unpack")
        return x / 2

    a = leaf(torch)
    b = a * 1
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        c = (b * b).exp()
    d = c * c
    d.sum().backward()
    return seen, a.grad


def packed_tensor_changed(torch):
    a = leaf(torch)
    b = a * 1
    with torch.autograd.graph.saved_tensors_hooks(lambda x: x.clone(), lambda x: x):
        c = b * b
    b.add_(1)
    c.sum().backward()
    return a.grad


def pack_in_place(torch):
    a = leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(lambda x: x.add_(1), lambda x: x):
        a * a


def unpack_no_tensor(torch):
    a = leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(lambda x: 3, lambda x: x):
        c = a * a
    c.sum().backward()


def unpacked_twice_differentiable(torch):
    a = leaf(torch)
    b = a * 1
    with torch.autograd.graph.saved_tensors_hooks(lambda x: x.detach().clone(), lambda x: x):
        c = (b * b).exp() * a
    (g,) = torch.autograd.grad((c * 0.001).sum(), a, create_graph=True)
    return torch.autograd.grad(g.sum(), a)


def raw_saved_hooks(torch):
    a = leaf(torch)
    c = (a * 1) * a
    c.grad_fn._raw_saved_self.register_hooks(lambda x: x, lambda x: x * 2)
    c.sum().backward()
    return a.grad


def raw_saved_hooks_twice(torch):
    a = leaf(torch)
    saved = (a * a).grad_fn._raw_saved_self
    saved.register_hooks(lambda x: x, lambda x: x * 2)
    saved.register_hooks(lambda x: x, lambda x: x * 2)


def raw_saved_hooks_when_freed(torch):
    a = leaf(torch)
    c = a * a
    c.sum().backward()
    c.grad_fn._raw_saved_self.register_hooks(lambda x: x, lambda x: x)


def hooks_disabled(torch):
    with (
        torch.autograd.graph.disable_saved_tensors_hooks("not here"),
        torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x),
    ):
        pass


def save_on_cpu(torch):
    a = leaf(torch)
    with torch.autograd.graph.save_on_cpu():
        c = (a * a).exp()
    (c * 0.001).sum().backward()
    return a.grad


def edges(torch):
    a = leaf(torch)
    b = a * 2
    edge = torch.autograd.graph.get_gradient_edge(b)
    root = torch.autograd.graph.get_gradient_edge((b * b).sum())
    return edge, torch.autograd.grad(root, [edge, torch.autograd.graph.get_gradient_edge(a)])


def edge_without_grad(torch):
    torch.autograd.graph.get_gradient_edge(torch.ones(1))


def versions(torch):
    x = torch.ones(2)
    torch.autograd.graph.increment_version(x)
    torch.autograd.graph.increment_version([x, x])
    return x._version


def version_of_number(torch):
    torch.autograd.graph.increment_version(3)


# Custom functions


def function(torch, forward, backward, setup=None):
    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    if setup is not None:
        members["setup_context"] = staticmethod(setup)
    return type("Custom", (torch.autograd.Function,), members)


def gradient_for_number(torch):
    function(torch, lambda ctx, x, k: x * k, lambda ctx, g: (g, g)).apply(leaf(torch), 2).sum().backward()


def too_few_gradients(torch):
    function(torch, lambda ctx, x, k: x * k, lambda ctx, g: (g,)).apply(leaf(torch), 2).sum().backward()


def too_many_gradients(torch):
    function(torch, lambda ctx, x: x * 2, lambda ctx, g: (g, g)).apply(leaf(torch)).sum().backward()


def surplus_none(torch):
    a = leaf(torch)
    function(torch, lambda ctx, x: x * 2, lambda ctx, g: (g * 2, None, None)).apply(a).sum().backward()
    return a.grad


def gradient_is_number(torch):
    function(torch, lambda ctx, x: x * 2, lambda ctx, g: 3).apply(leaf(torch)).sum().backward()


def gradient_too_small(torch):
    function(torch, lambda ctx, x: x * 2, lambda ctx, g: g[0]).apply(leaf(torch)).sum().backward()


def gradient_unrelated_shape(torch):
    function(torch, lambda ctx, x: x * 2, lambda ctx, g: torch.ones(3)).apply(leaf(torch)).sum().backward()


def gradient_broadcast(torch):
    a = leaf(torch)
    function(torch, lambda ctx, x: x * 2, lambda ctx, g: g.expand(3, 2, 2)).apply(a).sum().backward()
    return a.grad


def gradient_dtype(torch):
    a = leaf(torch)
    function(torch, lambda ctx, x: x * 2, lambda ctx, g: g.double()).apply(a).sum().backward()
    return a.grad


def outputs_that_are_no_tensors(torch):
    seen = []
    a = leaf(torch)
    outputs = function(torch, lambda ctx, x: (x * 2, 5, "s", None), lambda ctx, *g: seen.append(g) or g[0]).apply(a)
    outputs[0].sum().backward()
    return outputs, seen


def output_is_number(torch):
    return function(torch, lambda ctx, x: 5, lambda ctx, g: g).apply(leaf(torch))


def saving_inputs_and_outputs(torch):
    seen = []

    def forward(ctx, x):
        y = x * 2
        positive = x > 0
        ctx.save_for_backward(x, y, None)
        ctx.mark_non_differentiable(positive)
        return y, positive

    def backward(ctx, g, h):
        x, y, nothing = ctx.saved_tensors
        seen.append((x, y, nothing, g, h, ctx.needs_input_grad))
        return g

    y, positive = function(torch, forward, backward).apply(leaf(torch))
    y.sum().backward()
    return y, positive, seen


def saved_tensors_freed(torch):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    y = function(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(leaf(torch))
    y.sum().backward()
    return y.grad_fn.saved_tensors


def saving_numbers(torch):
    def forward(ctx, x):
        ctx.save_for_backward(3)
        return x * 2

    function(torch, forward, lambda ctx, g: g).apply(leaf(torch))


def saved_input_of_function_changed(torch):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    b = leaf(torch) * 1
    y = function(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(b)
    b.mul_(2)
    y.sum().backward()


def dirty(torch, forward=None):
    def in_place(ctx, x):
        ctx.mark_dirty(x)
        x.mul_(2)
        return x

    return function(torch, forward or in_place, lambda ctx, g: g * 2)


def dirty_leaf(torch):
    dirty(torch).apply(leaf(torch))


def dirty_input(torch):
    a = leaf(torch)
    b = a * 1
    c = dirty(torch).apply(b)
    c.sum().backward()
    return c is b, c, b._version, a.grad


def dirty_view(torch):
    a = leaf(torch)
    b = a * 1
    c = dirty(torch).apply(b[0])
    b.sum().backward()
    return c, b, a.grad


def dirty_not_returned(torch):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x * 2

    dirty(torch, forward).apply(leaf(torch) * 1)


def input_returned(torch):
    a = leaf(torch)
    identity = function(torch, lambda ctx, x: x, lambda ctx, g: g * 3)
    y = identity.apply(a)
    y.sum().backward()
    plain = torch.ones(2)
    return y, y is a, y._base is a, a.grad, identity.apply(plain) is plain


def view_returned(torch):
    flat = function(torch, lambda ctx, x: x.view(-1), lambda ctx, g: g.view(2, 2) * 2)
    a = leaf(torch)
    y = flat.apply(a * 1)
    (y * 1).sum().backward()
    return y, a.grad


def view_returned_in_place(torch):
    function(torch, lambda ctx, x: x.view(-1), lambda ctx, g: g.view(2, 2)).apply(leaf(torch) * 1).mul_(2)


def views_returned_in_place(torch):
    def backward(ctx, g, h):
        return torch.stack([g, h])

    function(torch, lambda ctx, x: (x[0], x[1]), backward).apply(leaf(torch) * 1)[0].mul_(2)


def view_returned_and_base_changed(torch):
    b = leaf(torch) * 1
    v = function(torch, lambda ctx, x: x.view(-1), lambda ctx, g: g.view(2, 2)).apply(b)
    b.mul_(2)
    return v.grad_fn


def separate_setup(torch):
    seen = []

    def setup(ctx, inputs, output):
        seen.append((inputs, output, torch.is_grad_enabled()))
        ctx.k = inputs[1]

    a = leaf(torch)
    y = function(torch, lambda x, k=3: x * k, lambda ctx, g: (g * ctx.k, None), setup).apply(a)
    y.sum().backward()
    return y, seen, a.grad


def nothing_materialized(torch):
    seen = []

    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 1, x * 2

    def backward(ctx, g, h):
        seen.append((g, h))
        return h

    function(torch, forward, backward).apply(leaf(torch))[1].sum().backward()
    return seen


def function_without_recording(torch):
    with torch.no_grad():
        return function(torch, lambda ctx, x: x * 2, lambda ctx, g: g).apply(leaf(torch))


def integer_output(torch):
    return function(torch, lambda ctx, x: x.long(), lambda ctx, g: g).apply(leaf(torch))


def without_backward(torch):
    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    Half.apply(leaf(torch)).sum().backward()


def without_forward(torch):
    class Empty(torch.autograd.Function):
        pass

    Empty.apply(leaf(torch))


def backward_and_vjp(torch):
    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g

        @staticmethod
        def vjp(ctx, g):
            return g

    Both.apply(leaf(torch)).sum().backward()


def function_called(torch):
    function(torch, lambda ctx, x: x, lambda ctx, g: g)()(leaf(torch))


def differentiable_twice(torch):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    cube = function(torch, forward, lambda ctx, g: g * 2 * ctx.saved_tensors[0])
    a = leaf(torch)
    (g,) = torch.autograd.grad(cube.apply(a).sum(), a, create_graph=True)
    return g, torch.autograd.grad(g.sum(), a)


def differentiable_once(torch):
    once = torch.autograd.function.once_differentiable
    twice = function(torch, lambda ctx, x: x * 2, once(lambda ctx, g: g * 2))
    a = leaf(torch)
    y = twice.apply(a)
    (g,) = torch.autograd.grad((y * y).sum(), a, create_graph=True)
    assert g.grad_fn is not None
    g.sum().backward()


def saved_output_differentiated(torch):
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    exp = function(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0])
    a = torch.tensor([0.5, 1.0], requires_grad=True)
    (g,) = torch.autograd.grad(exp.apply(a).sum(), a, create_graph=True)
    return torch.autograd.grad(g.sum(), a)


def backward_inside_backward(torch):
    def forward(ctx, x):
        ctx.x = x.detach().requires_grad_()
        with torch.enable_grad():
            ctx.y = ctx.x * ctx.x
        return ctx.y.detach()

    def backward(ctx, g):
        ctx.y.backward(g)
        return ctx.x.grad

    a = leaf(torch)
    function(torch, forward, backward).apply(a).sum().backward()
    return a.grad


# Anomaly mode


def nan_found(torch):
    a = torch.zeros(2, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        y = a / a
        y.sum().backward()


# Jacobians and Hessians


def pair(torch):
    return torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0, 5.0])


def two_results(a, b):
    return a.sum() * b, a * 2


def jacobian(torch):
    f = torch.autograd.functional
    x, y = pair(torch)
    return f.jacobian(two_results, (x, y)), f.jacobian(lambda a: a * 2, x), f.jacobian(lambda a: a.sum(), x)


def jacobian_with_graph(torch):
    x = pair(torch)[0].requires_grad_()
    j = torch.autograd.functional.jacobian(lambda a: a * a, x, create_graph=True)
    return j.detach(), torch.autograd.grad(j.sum(), x)


def jacobian_of_number(torch):
    torch.autograd.functional.jacobian(lambda a: 3, pair(torch)[0])


def jacobian_at_number(torch):
    torch.autograd.functional.jacobian(lambda a: 3, 3)


def jacobian_at_mixture(torch):
    torch.autograd.functional.jacobian(lambda a: 3, (pair(torch)[0], 3))


def jacobian_of_constant(torch):
    return torch.autograd.functional.jacobian(lambda a: torch.ones(1), pair(torch)[0])


def jacobian_of_constant_strict(torch):
    torch.autograd.functional.jacobian(lambda a: torch.ones(1), pair(torch)[0], strict=True)


def jacobian_independent_strict(torch):
    torch.autograd.functional.jacobian(lambda a, b: a * 1, pair(torch), strict=True)


def jacobian_strict_and_vectorized(torch):
    torch.autograd.functional.jacobian(lambda a: a, pair(torch)[0], strict=True, vectorize=True)


def jacobian_strategy(torch):
    torch.autograd.functional.jacobian(lambda a: a, pair(torch)[0], strategy="sideways")


def hessian(torch):
    f = torch.autograd.functional
    x, y = pair(torch)
    return f.hessian(lambda a, b: (a * a).sum() * b.sum(), (x, y)), f.hessian(lambda a: (a * a * a).sum(), x)


def hessian_of_vector(torch):
    torch.autograd.functional.hessian(lambda a: a * a, pair(torch)[0])


def hessian_of_tuple(torch):
    torch.autograd.functional.hessian(lambda a: (a.sum(), a.sum()), pair(torch)[0])


def hessian_of_linear_strict(torch):
    torch.autograd.functional.hessian(lambda a: a.sum(), pair(torch)[0], strict=True)


def vjp(torch):
    f = torch.autograd.functional
    x, y = pair(torch)
    return f.vjp(two_results, (x, y), (torch.ones(3), torch.ones(2))), f.vjp(lambda a: a.sum(), x)


def vjp_without_vector(torch):
    torch.autograd.functional.vjp(lambda a: a * 2, pair(torch)[0])


def vjp_with_wrong_vector(torch):
    torch.autograd.functional.vjp(lambda a: a * 2, pair(torch)[0], torch.ones(3))


def vjp_with_many_vectors(torch):
    torch.autograd.functional.vjp(lambda a: a * 2, pair(torch)[0], (torch.ones(2), torch.ones(2)))


def jvp(torch):
    f = torch.autograd.functional
    x, y = pair(torch)
    return f.jvp(two_results, (x, y), (torch.ones(2), torch.ones(3))), f.jvp(lambda a: a * a, x, torch.ones(2))


def jvp_without_vector(torch):
    torch.autograd.functional.jvp(lambda a: a * 2, pair(torch)[0])


def hessian_products(torch):
    f = torch.autograd.functional
    x, y = pair(torch)
    return (
        f.hvp(lambda a: (a * a * a).sum(), x, torch.ones(2)),
        f.vhp(lambda a, b: (a * a * a).sum() * b.sum(), (x, y), (torch.ones(2), torch.ones(3))),
    )


def hvp_of_vector(torch):
    torch.autograd.functional.hvp(lambda a: a * a, pair(torch)[0], torch.ones(2))


# Checkpoints


def checkpointing(torch):
    return torch.utils.checkpoint


def checkpoint_unspecified(torch):
    return checkpointing(torch).checkpoint(lambda x: x.exp(), leaf(torch))


def checkpoint_reentrant(torch):
    a = leaf(torch)
    checkpointing(torch).checkpoint(lambda x, k: x.exp() * k, a, 2, use_reentrant=True).sum().backward()
    return a.grad


def checkpoint_reentrant_without_grad(torch):
    return checkpointing(torch).checkpoint(lambda x: x.exp(), torch.ones(1), use_reentrant=True)


def checkpoint_reentrant_keywords(torch):
    checkpointing(torch).checkpoint(lambda x, k=1: x.exp(), leaf(torch), k=2, use_reentrant=True)


def checkpoint_reentrant_grad(torch):
    a = leaf(torch)
    torch.autograd.grad(checkpointing(torch).checkpoint(lambda x: x.exp(), a, use_reentrant=True).sum(), a)


def checkpoint_reentrant_detached(torch):
    checkpointing(torch).checkpoint(lambda x: x.detach(), leaf(torch), use_reentrant=True).sum().backward()


def checkpoint_reentrant_context(torch):
    checkpointing(torch).checkpoint(lambda x: x, leaf(torch), use_reentrant=True, context_fn=lambda: 1)


def checkpoint_plain(torch):
    calls = []

    def f(x, *, k):
        calls.append(torch.is_grad_enabled())
        return x.exp() * x * k

    a = leaf(torch)
    y = checkpointing(torch).checkpoint(f, a, k=2, use_reentrant=False)
    y.sum().backward()
    return y, a.grad, calls


def checkpoint_nested(torch):
    c = checkpointing(torch).checkpoint
    calls = []

    def inner(x):
        calls.append("inner")
        return (x * x).exp()

    def outer(x):
        calls.append("outer")
        return c(inner, x * 0.1, use_reentrant=False) * x

    a = leaf(torch)
    c(outer, a * 1, use_reentrant=False).sum().backward()
    return a.grad, calls


def checkpoint_random(torch):
    a = leaf(torch)
    y = checkpointing(torch).checkpoint(lambda x: x * torch.rand(2, 2), a, use_reentrant=False)
    y.sum().backward()
    return (y.detach() - a.detach() * a.grad).abs().max() < 1e-6


def checkpoint_double_backward(torch):
    a = leaf(torch)
    y = checkpointing(torch).checkpoint(lambda x: x.exp() * x, a, use_reentrant=False)
    (g,) = torch.autograd.grad(y.sum(), a, create_graph=True)
    return torch.autograd.grad(g.sum(), a)


def checkpoint_retained(torch):
    a = leaf(torch)
    y = checkpointing(torch).checkpoint(lambda x: x.exp(), a, use_reentrant=False)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    return a.grad


def checkpoint_freed(torch):
    y = checkpointing(torch).checkpoint(lambda x: x.exp(), leaf(torch), use_reentrant=False)
    y.sum().backward()
    y.sum().backward()


def checkpoint_input_changed(torch):
    b = leaf(torch) * 1
    y = checkpointing(torch).checkpoint(lambda x: x.exp() * x, b, use_reentrant=False)
    b.add_(1)
    y.sum().backward()


def checkpoint_determinism(torch):
    checkpointing(torch).checkpoint(lambda x: x, leaf(torch), use_reentrant=False, determinism_check="maybe")


def checkpoint_sequence(torch):
    a = leaf(torch)
    steps = [lambda x: x * 0.1, lambda x: x.exp(), lambda x: x * x]
    y = checkpointing(torch).checkpoint_sequential(steps, 2, a, use_reentrant=False)
    y.sum().backward()
    return y.detach(), a.grad


# Grad modes


def grad_modes(torch):
    seen = [torch.is_grad_enabled()]
    with torch.no_grad():
        seen.append(torch.is_grad_enabled())
        with torch.enable_grad():
            seen.append((leaf(torch) * 2).requires_grad)
        seen.append((leaf(torch) * 2).requires_grad)
    with torch.set_grad_enabled(False):
        seen.append(torch.is_grad_enabled())
    with torch.inference_mode():
        seen.append((torch.is_grad_enabled(), torch.ones(1).is_inference(), (leaf(torch) * 2).requires_grad))
    return seen, torch.is_grad_enabled()


# More of the same, further from the beaten track


def leaf_detached_before_backward(torch):
    x = leaf(torch)
    y = (x * 2).sum()
    x.detach_()
    y.backward()
    return x.grad, x.requires_grad


def leaf_frozen_before_backward(torch):
    x, w = leaf(torch), leaf(torch)
    y = (x * w).sum()
    x.requires_grad_(False)
    y.backward()
    return x.grad, w.grad


def leaf_replaced_before_backward(torch):
    x = leaf(torch)
    y = (x + 2).sum()
    x.data = torch.zeros(2, 2)
    y.backward()
    return x, x.grad


def leaf_of_other_shape_before_backward(torch):
    x = leaf(torch)
    y = (x + 2).sum()
    x.data = torch.zeros(3)
    y.backward()


def history_of_replaced_data(torch):
    b = leaf(torch) * 2
    b.data = torch.zeros(3)
    return b, b.grad_fn


def gradient_given_by_the_user(torch):
    x = leaf(torch)
    given = torch.ones(2, 2)
    x.grad = given
    (x * 2).sum().backward()
    return x.grad is given, given


def gradient_with_graph_is_replaced(torch):
    x = leaf(torch)
    x.grad = torch.ones(2, 2)
    first = x.grad
    (x * x).sum().backward(create_graph=True)
    return first, x.grad.detach(), x.grad is first


def gradient_of_gradient_accumulates(torch):
    x = leaf(torch)
    (g,) = torch.autograd.grad((x * x * x).sum(), x, create_graph=True)
    (g * 1).sum().backward()
    (x * 1).sum().backward()
    return x.grad


def hook_added_during_backward(torch):
    seen = []
    x = leaf(torch)
    y = x * 2

    def first(g):
        seen.append("first")
        y.register_hook(lambda h: seen.append("late"))

    y.register_hook(first)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    return seen


def hook_removes_itself(torch):
    seen = []
    x = leaf(torch)

    def once(g):
        seen.append(g)
        handle.remove()

    handle = x.register_hook(once)
    (x * 1).sum().backward()
    (x * 2).sum().backward()
    return seen, x.grad


def hook_on_both_uses(torch):
    seen = []
    x = leaf(torch)
    y = x * 2
    y.register_hook(seen.append)
    (y.sum() + (y * y).sum()).backward()
    return seen


def node_hook_changes_gradients(torch):
    x = leaf(torch)
    y = x * 2
    y.grad_fn.register_hook(lambda a, b: (a[0] * 10, None))
    y.sum().backward()
    return x.grad


def node_hook_returns_too_few(torch):
    x, w = leaf(torch), leaf(torch)
    y = x * w
    y.grad_fn.register_hook(lambda a, b: (a[0],))
    y.sum().backward()


def node_prehook_returns_too_many(torch):
    y = leaf(torch) * 2
    y.grad_fn.register_prehook(lambda g: (g[0], g[0]))
    y.sum().backward()


def post_accumulate_steps(torch):
    x = leaf(torch)

    def step(p):
        with torch.no_grad():
            p -= 0.1 * p.grad
        p.grad = None

    x.register_post_accumulate_grad_hook(step)
    (x * x).sum().backward()
    return x, x.grad


def retain_twice(torch):
    x = leaf(torch)
    y = x * 2
    y.retain_grad()
    y.retain_grad()
    (y * 3).sum().backward(retain_graph=True)
    (y * 3).sum().backward()
    return y.grad, x.grad


def retain_on_leaf(torch):
    x = leaf(torch)
    x.retain_grad()
    (x * 2).sum().backward()
    return x.grad, x.retains_grad


def retain_view_across_change_of_base(torch):
    x = leaf(torch)
    b = x * 1
    v = b[0]
    v.retain_grad()
    b.mul_(2)
    (v * 3).sum().backward()
    return v.grad, x.grad


def same_leaf_many_times(torch):
    x = leaf(torch)
    (x * x + x / x - x).sum().backward()
    return x.grad


def inputs_repeated(torch):
    x = leaf(torch)
    return torch.autograd.grad((x * x).sum(), [x, x])


def intermediate_and_leaf_inputs(torch):
    x = leaf(torch)
    y = x * 2
    z = y * y
    return torch.autograd.grad(z.sum(), [z, y, x])


def root_is_ancestor_of_root(torch):
    x = leaf(torch)
    y = x * 2
    z = y * 3
    torch.autograd.backward([y, z], [torch.ones(2, 2), torch.ones(2, 2)])
    return x.grad


def gradient_for_output_without_grad(torch):
    torch.autograd.backward([leaf(torch).sum(), torch.ones(1)], [None, None])


def empty_tensors(torch):
    x = torch.ones(0, 3, requires_grad=True)
    (x * 2).sum().backward()
    y = torch.ones(2, 3, requires_grad=True)
    y[:0].sum().backward()
    return x.grad, y.grad


def scalars(torch):
    x = torch.tensor(2.0, requires_grad=True)
    (x * 3 * x).backward()
    return x.grad


def one_element_is_scalar_enough(torch):
    x = torch.ones(1, 1, requires_grad=True)
    (x * 3).backward()
    return x.grad


def integers_do_not_record(torch):
    x = leaf(torch)
    n = torch.tensor([1, 2])
    return (n + 1).requires_grad, x.argmax().requires_grad, (x > 1).requires_grad, x.long().requires_grad


def real_and_complex(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    w = x * z + x
    (w.real * w.real + w.imag).sum().backward()
    return x.grad, z.grad


def detached_view_written(torch):
    x = leaf(torch)
    b = x * 1
    c = b * 1
    b.detach()[0].mul_(5)
    c.sum().backward()
    return b, b._version, x.grad


def slices_filled_one_by_one(torch):
    x = leaf(torch)
    out = torch.zeros(3, 2)
    for i in range(3):
        out[i] = x[i % 2] * (i + 1)
    (out * out).sum().backward()
    return out, x.grad


def column_overwritten(torch):
    x = leaf(torch)
    y = x * 2
    y[:, 0] = x[:, 1]
    y[:, 1] += y[:, 0]
    (y * y).sum().backward()
    return y.detach(), x.grad


def masked_in_place(torch):
    x = leaf(torch)
    y = x * 1
    y.masked_fill_(x > 2, 0.5)
    (y * y).sum().backward()
    return y.detach(), x.grad


def index_put_in_place(torch):
    x = leaf(torch)
    y = x * 1
    y[torch.tensor([0, 1]), torch.tensor([1, 0])] = x[0] * 3
    (y * y).sum().backward()
    return y.detach(), x.grad


def strided_windows_overlap(torch):
    x = torch.arange(4.0, requires_grad=True)
    x.as_strided((3, 2), (1, 1)).sum().backward()
    first, x.grad = x.grad, None
    x.unfold(0, 2, 1).pow(2).sum().backward()
    return first, x.grad


def expanded_leaf(torch):
    x = torch.ones(1, 2, requires_grad=True)
    (x.expand(3, 2) * torch.arange(6.0).view(3, 2)).sum().backward()
    return x.grad


def complex_view_in_place(torch):
    x = leaf(torch)
    b = x * 1
    z = torch.view_as_complex(b)
    z.mul_(2j)
    (b * b).sum().backward()
    return b.detach(), x.grad


def real_view_in_place(torch):
    z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    b = z * 1
    torch.view_as_real(b)[:, 0].mul_(3)
    b.imag.add_(b.real.detach())
    (b.real * b.real + b.imag * b.imag).sum().backward()
    return b.detach(), z.grad


def output_returned_twice(torch):
    def forward(ctx, x):
        y = x * 2
        return y, y

    double = function(torch, forward, lambda ctx, g, h: g + 10 * h)
    x = leaf(torch)
    a, _ = double.apply(x)
    a.sum().backward()
    return x.grad


def dirty_output_not_an_input(torch):
    def forward(ctx, x):
        y = x * 2
        ctx.mark_dirty(y)
        return y

    x = leaf(torch)
    function(torch, forward, lambda ctx, g: g * 2).apply(x).sum().backward()
    return x.grad


def non_differentiable_output_used(torch):
    def forward(ctx, x):
        y, z = x * 2, x * 3
        ctx.mark_non_differentiable(z)
        return y, z

    seen = []
    x = leaf(torch)
    y, z = function(torch, forward, lambda ctx, g, h: seen.append(h) or g * 2).apply(x)
    (y + z).sum().backward()
    return z, x.grad, seen


def context_kept_for_later(torch):
    def forward(ctx, x, power):
        ctx.power = power
        ctx.save_for_backward(x)
        return x**power

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * ctx.power * x ** (ctx.power - 1), None

    x = leaf(torch)
    y = function(torch, forward, backward).apply(x, 3)
    y.sum().backward()
    return y.grad_fn.power, x.grad


def saved_tensors_within_forward(torch):
    seen = []

    def forward(ctx, x):
        ctx.save_for_backward(x)
        seen.append(ctx.saved_tensors)
        return x * 1

    function(torch, forward, lambda ctx, g: g).apply(leaf(torch))
    return seen


def decorators(torch):
    x = leaf(torch)

    @torch.no_grad()
    def without(y):
        return y * 2

    @torch.enable_grad()
    def with_it(y):
        return y * 2

    with torch.no_grad():
        return without(x).requires_grad, with_it(x).requires_grad, (x * 2).requires_grad


def generator_in_no_grad(torch):
    x = leaf(torch)

    @torch.no_grad()
    def steps():
        for i in range(2):
            yield (x * i).requires_grad, torch.is_grad_enabled()

    return [(inner, torch.is_grad_enabled()) for inner in steps()]


def view_of_parameter_reused(torch):
    w = leaf(torch)
    t = w.t()
    seen = []
    for _ in range(2):
        (t * torch.tensor([[1.0, 2], [3, 4]])).sum().backward()
        with torch.no_grad():
            w -= 0.5
        seen.append(w.grad.clone())
    return seen, t.grad_fn


def checkpoint_without_early_stop(torch):
    calls = []

    def f(x):
        y = x.exp()
        calls.append("after")
        return y * x

    x = leaf(torch)
    checkpointing(torch).checkpoint(f, x, use_reentrant=False, early_stop=False).sum().backward()
    with checkpointing(torch).set_checkpoint_early_stop(True):
        y = checkpointing(torch).checkpoint(f, x, use_reentrant=False)
    y.sum().backward()
    return x.grad, calls


def checkpoint_of_several_outputs(torch):
    x = leaf(torch)
    a, n, b = checkpointing(torch).checkpoint(lambda x: (x * x, 5, x.exp()), x, use_reentrant=True)
    (a + b).sum().backward()
    return n, x.grad


def checkpoint_with_leaf_inside(torch):
    x, w = leaf(torch), leaf(torch)
    checkpointing(torch).checkpoint(lambda x: x * w * w, x, use_reentrant=False).sum().backward()
    first, w.grad = w.grad, None
    checkpointing(torch).checkpoint(lambda x: x * w * w, x, use_reentrant=True).sum().backward()
    return first, w.grad, x.grad


SCENARIOS = {
    name: value
    for name, value in list(globals().items())
    if callable(value)
    and getattr(value, "__module__", None) == __name__
    and name not in ("text", "outcome", "leaf", "function", "dirty", "pair", "two_results", "checkpointing")
}
