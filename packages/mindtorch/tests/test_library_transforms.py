"""Operators of libraries under transforms, modes and layers: vmap rules, kernels at layers' keys, decompositions."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import mindtorch as torch
from mindtorch._decomp import (
    core_aten_decompositions,
    get_decompositions,
    register_decomposition,
    remove_decompositions,
)

X = torch.arange(6.0).reshape(2, 3)


@pytest.fixture
def lib() -> Any:
    with torch.library._scoped_library("library_transforms", "FRAGMENT") as made:
        yield made


@pytest.fixture
def cube() -> Any:
    @torch.library.custom_op("library_transforms::cube", mutates_args=())
    def cube(x: torch.Tensor) -> torch.Tensor:
        return x**3

    cube.register_autograd(
        lambda ctx, grad: grad * 3 * ctx.saved_tensors[0] ** 2,
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    yield cube
    cube._lib._destroy()


def test_without_a_rule_vmap_calls_an_operator_for_each_lane(cube: Any) -> None:
    with pytest.warns(UserWarning, match="batching rule for library_transforms::cube"):
        assert torch.equal(torch.vmap(cube)(X), X**3)


@pytest.mark.parametrize("dim", [0, 1])
def test_a_rule_sees_all_lanes_and_says_where_they_are(cube: Any, dim: int) -> None:
    told = []

    @cube.register_vmap
    def rule(info: Any, in_dims: Any, x: Any) -> Any:
        told.append((info.batch_size, info.randomness, in_dims, tuple(x.shape)))
        return cube(x), in_dims[0]

    assert torch.equal(torch.vmap(cube, in_dims=dim, out_dims=dim)(X), X**3)
    assert told == [(X.shape[dim], "error", (dim,), (2, 3))]
    assert torch.equal(torch.vmap(torch.vmap(cube))(X), X**3)


def test_a_rule_of_lists_and_several_results(lib: Any) -> None:
    lib.define("two(Tensor x, Tensor[] ys, int n=2) -> (Tensor, Tensor)")
    lib.impl("two", lambda x, ys, n=2: (x * n, ys[0] + x), "CPU")
    seen = []

    def rule(info: Any, in_dims: Any, x: Any, ys: Any, n: int = 2) -> Any:
        seen.append(in_dims)
        return (x * n, ys[0] + x), (0, 0)

    torch.library.register_vmap("library_transforms::two", rule, lib=lib)
    two = torch.ops.library_transforms.two
    first, second = torch.vmap(lambda x: two(x, [torch.ones(3), x], 4))(X)
    assert torch.equal(first, X * 4) and torch.equal(second, X + 1)
    assert seen == [(0, [None, 0], None)]


def test_a_rule_comes_and_goes_with_its_library() -> None:
    with torch.library._scoped_library("library_transforms", "FRAGMENT") as made:
        made.define("gone(Tensor x) -> Tensor")
        made.impl("gone", lambda x: x * 2, "CPU")
        with pytest.warns(UserWarning, match="batching rule"):
            assert torch.equal(torch.vmap(torch.ops.library_transforms.gone)(X), X * 2)
        with torch.library._scoped_library("library_transforms", "FRAGMENT") as other:
            torch.library.register_vmap("library_transforms::gone", lambda info, dims, x: (x * 7, dims[0]), lib=other)
            assert torch.equal(torch.vmap(torch.ops.library_transforms.gone)(X), X * 7)
        with pytest.warns(UserWarning, match="batching rule"):
            assert torch.equal(torch.vmap(torch.ops.library_transforms.gone)(X), X * 2)


def test_an_operator_of_parts_is_taken_apart_by_transforms(lib: Any) -> None:
    lib.define("parts(Tensor x) -> Tensor")
    lib.impl("parts", lambda x: x.sin().cos(), "CompositeImplicitAutograd")
    parts = torch.ops.library_transforms.parts
    expected = X.sin().cos()
    slope = -X.sin().sin() * X.cos()
    assert torch.equal(torch.vmap(parts)(X), expected)
    assert torch.allclose(torch.func.grad(lambda x: parts(x).sum())(X), slope)
    result, tangent = torch.func.jvp(parts, (X,), (torch.ones_like(X),))
    assert torch.equal(result, expected) and torch.allclose(tangent, slope)


def test_transforms_refuse_what_a_custom_operator_does_not_tell(cube: Any) -> None:
    with pytest.raises(RuntimeError, match="it must override the setup_context staticmethod"):
        torch.func.grad(lambda x: cube(x).sum())(X)
    with pytest.raises(NotImplementedError, match="Trying to use forward AD with library_transforms::cube"):
        torch.func.jvp(cube, (X,), (torch.ones_like(X),))


def test_autocast_falls_through_where_a_library_says_so() -> None:
    with torch.library._scoped_library("aten", "IMPL") as made:
        made.impl("mm", torch.library.fallthrough_kernel, "AutocastCPU")
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert torch.mm(X, X.t()).dtype == torch.float32
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.mm(X, X.t()).dtype == torch.bfloat16


def test_kernels_at_keys_of_layers(lib: Any) -> None:
    lib.define("keyed(Tensor x) -> Tensor")
    called = []

    def above(x: Any) -> Any:
        called.append("ADInplaceOrView")
        with torch._C._AutoDispatchBelowADInplaceOrView():
            return torch.ops.library_transforms.keyed(x)

    lib.impl("keyed", above, "ADInplaceOrView")
    lib.impl("keyed", lambda x: called.append("CPU") or x * 2, "CPU")
    lib.impl("keyed", lambda x: called.append("Conjugate") or x.resolve_conj() * 10, "Conjugate")
    lib.impl("keyed", lambda x: called.append("QuantizedCPU"), "QuantizedCPU")
    with pytest.raises(NotImplementedError, match="SparseCPU"):
        lib.impl("keyed", lambda x: called.append("SparseCPU"), "SparseCPU")
    keyed = torch.ops.library_transforms.keyed
    assert torch.equal(keyed(X), X * 2) and called == ["ADInplaceOrView", "CPU"]
    called.clear()
    z = torch.tensor([1 + 2j]).conj()
    assert torch.equal(keyed(z), z.resolve_conj() * 10) and called == ["Conjugate"]


def test_python_kernels_count_while_the_dispatcher_is_on() -> None:
    cos = torch.ops.aten.cos.default
    cos.py_impl(torch._C.DispatchKey.CPU)(lambda x: x * 0 + 7)
    try:
        one = torch.ones(1)
        assert torch.equal(cos(one), one.cos())
        guard = torch._C._EnablePythonDispatcher()
        assert cos(one).item() == 7
        elsewhere: list[Any] = []
        thread = threading.Thread(target=lambda: elsewhere.append(cos(one)))
        thread.start()
        thread.join()
        assert torch.equal(elsewhere[0], one.cos())
        del guard
        assert torch.equal(cos(one), one.cos())
        with pytest.raises(RuntimeError, match="Trying to override a python impl"):
            cos.py_impl(torch._C.DispatchKey.CPU)(len)
    finally:
        cos.py_kernels.clear()


def test_redispatch_goes_on_below_what_a_set_lacks() -> None:
    x = torch.ones(2, requires_grad=True)
    below = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
    sin = torch.ops.aten.sin.default
    assert sin.redispatch(below, x).grad_fn is None
    assert sin.redispatch(below | torch._C.DispatchKeySet(torch._C.DispatchKey.AutogradCPU), x).grad_fn is not None


@pytest.mark.parametrize("name", ["addmm", "silu_backward", "native_layer_norm", "leaky_relu_backward"])
def test_decompositions_give_what_operators_give(name: str) -> None:
    packet = getattr(torch.ops.aten, name)
    y = X.sin()
    args: dict[str, tuple[Any, ...]] = {
        "addmm": (torch.ones(2), X, y.t()), "silu_backward": (X, y), "leaky_relu_backward": (X, y, 0.1, False),
        "native_layer_norm": (X, [3], None, None, 1e-5),
    }  # fmt: skip
    table = get_decompositions([packet])
    assert packet.default in table
    found, expected = table[packet.default](*args[name]), packet(*args[name])
    pairs = zip(found, expected) if isinstance(expected, tuple) else [(found, expected)]
    assert all(torch.allclose(one, other) for one, other in pairs)


def test_tables_of_decompositions() -> None:
    mine: dict[Any, Any] = {}
    register_decomposition(torch.ops.aten.sin, mine)(lambda x: x)
    assert torch.ops.aten.sin.default in mine and torch.ops.aten.sin.out in mine
    with pytest.raises(RuntimeError, match="duplicate registrations for aten.sin.default"):
        register_decomposition(torch.ops.aten.sin.default, mine)(lambda x: x)
    remove_decompositions(mine, [torch.ops.aten.sin])
    assert not mine
    assert get_decompositions([torch.ops.aten.sin]) == {}
    table = core_aten_decompositions()
    assert torch.ops.aten.addmm.default not in table, "it is of the core set"
    assert len(table) > 100 and all(torch.Tag.core not in op.tags for op in table)


@pytest.mark.parametrize(
    "call",
    [
        lambda aten, x: (aten.linalg_vector_norm.default, (x,)),
        lambda aten, x: (aten.linalg_vector_norm.default, (x, 2, [-1], True)),
        lambda aten, x: (aten.all.dim, (x > 0, -1)),
        lambda aten, x: (aten.all.dims, (x > 0,)),
        lambda aten, x: (aten.std.correction, (x,)),
        lambda aten, x: (aten.std.correction, (x, [-1])),
        lambda aten, x: (aten.var_mean.correction, (x, [0])),
        lambda aten, x: (aten.silu.default, (x,)),
        lambda aten, x: (aten.softplus.default, (x,)),
        lambda aten, x: (aten.tanh_backward.default, (x, x)),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_decomposition_does_what_the_operator_does(call: Any, dtype: Any) -> None:
    op, args = call(torch.ops.aten, torch.linspace(-2, 3, 12).reshape(3, 4).to(dtype))
    expected, found = op(*args), torch._decomp.decomposition_table[op](*args)
    leaves = torch.utils._pytree.tree_leaves
    for one, other in zip(leaves(expected), leaves(found), strict=True):
        assert one.dtype == other.dtype and torch.allclose(one, other, rtol=1e-5, atol=1e-6)


def test_a_kernel_is_handed_the_keys_that_are_left(lib: Any) -> None:
    key = torch._C.DispatchKey
    lib.define("told(Tensor x) -> Tensor")
    told = []

    def above(keys: Any, x: Any) -> Any:
        told.append([keys.has(key.CPU), keys.has(key.AutogradCPU)])
        return torch.ops.library_transforms.told.default.redispatch(keys & torch._C._after_autograd_keyset, x) + 1

    def below(keys: Any, x: Any) -> Any:
        told.append([keys.has(key.CPU), keys.has(key.AutogradCPU)])
        return x * 3

    lib.impl("told", above, "AutogradCPU", with_keyset=True)
    lib.impl("told", below, "CPU", with_keyset=True)
    assert torch.equal(torch.ops.library_transforms.told(X), X * 3 + 1)
    assert told == [[True, True], [True, False]]


def test_one_kernel_for_all_operators_that_a_device_lacks(lib: Any) -> None:
    lib.define("lacking(Tensor x, int n=3) -> Tensor")
    lib.define("having(Tensor x) -> Tensor")
    lib.impl("having", lambda x: x + 1, "CPU")
    seen = []
    with torch.library._scoped_library("_", "IMPL") as everywhere:
        everywhere.fallback(lambda op, *args: seen.append((str(op), len(args))) or args[0] * 2, "CPU")
        assert torch.equal(torch.ops.library_transforms.lacking(X), X * 2)
        assert torch.equal(torch.ops.library_transforms.having(X), X + 1)
        assert seen == [("library_transforms.lacking.default", 1)]
        assert torch._C._dispatch_has_backend_fallback(torch._C.DispatchKey.CPU)
        with pytest.raises(RuntimeError, match="multiple backend fallbacks for the same dispatch key CPU"):
            everywhere.fallback(len, "CPU")
    with pytest.raises(NotImplementedError, match="could not find kernel for op library_transforms::lacking"):
        torch.ops.library_transforms.lacking(X)
    with pytest.raises(RuntimeError, match='on the global namespace "_" but it is library_transforms'):
        lib.fallback(len, "CPU")
    with torch.library._scoped_library("_", "IMPL") as everywhere:
        with pytest.raises(AssertionError, match="dispatch_key must not be empty for fallback"):
            everywhere.fallback(len)
        with pytest.raises(NotImplementedError, match="cannot stand at the key Conjugate"):
            everywhere.fallback(len, "Conjugate")
