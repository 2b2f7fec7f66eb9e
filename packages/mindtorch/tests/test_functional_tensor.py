"""``FunctionalTensorMode``, ``torch._dispatch.python``, and programs inside of a mode that overrides functions."""

from __future__ import annotations

import weakref
from typing import Any

import pytest

import mindtorch as torch
import mindtorch.autograd.forward_ad as fwAD
from mindtorch._dispatch.python import (
    all_py_loaded_overloads,
    check_metadata_matches,
    enable_python_dispatcher,
    no_python_dispatcher,
    suspend_functionalization,
)
from mindtorch._subclasses.functional_tensor import (
    CppFunctionalizeAPI,
    FunctionalTensor,
    FunctionalTensorMode,
    PythonFunctionalizeAPI,
    disable_functional_mode,
    dispatch_functionalize,
)
from mindtorch.func import functionalize, hessian, jacfwd, jacrev, jvp, linearize, vmap
from mindtorch.fx.experimental.proxy_tensor import make_fx
from mindtorch.overrides import TorchFunctionMode, enable_reentrant_dispatch
from mindtorch.utils import _python_dispatch as modes
from mindtorch.utils._python_dispatch import TorchDispatchMode
from mindtorch.utils.weak import _WeakHashRef


class Names(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.called: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.called.append(str(func))
        return func(*args, **(kwargs or {}))


def written(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    y = x.clone()
    y[0].add_(5)
    z = y.view(-1)
    z.mul_(2)
    return y, z


def test_writes_are_operators_that_compute() -> None:
    x = torch.arange(4.0).view(2, 2)
    graph = make_fx(dispatch_functionalize(written))(x)
    assert "_(" not in graph.code.replace("select_scatter", "").replace("__init__", "")
    assert all(torch.equal(a, b) for a, b in zip(graph(x), written(x), strict=True))
    assert x.tolist() == [[0.0, 1.0], [2.0, 3.0]]


def test_modes_of_a_program_see_calls_before_the_functional_mode() -> None:
    x = torch.ones(2, 2)
    with Names() as names, FunctionalTensorMode() as mode:
        f = FunctionalTensor.to_functional(x)
        f.view(-1).add_(1)
        g = f * 2
        g.unsqueeze_(0)
        assert g.shape == (1, 2, 2)
        assert isinstance(torch.zeros(2), FunctionalTensor)
        with mode, disable_functional_mode():
            assert not isinstance(torch.zeros(2), FunctionalTensor)
        assert isinstance(torch.zeros(2), FunctionalTensor)
    assert names.called[:4] == ["aten.view.default", "aten.add_.Tensor", "aten.mul.Tensor", "aten.unsqueeze_.default"]
    assert f.from_functional().tolist() == [[2.0, 2.0], [2.0, 2.0]]
    assert g.from_functional().tolist() == [[[4.0, 4.0], [4.0, 4.0]]]
    assert x.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_outside_of_the_mode_it_refuses() -> None:
    x = torch.ones(2)
    with FunctionalTensorMode():
        f = FunctionalTensor.to_functional(x)
        with pytest.raises(AssertionError):
            FunctionalTensor.to_functional(f)
    with pytest.raises(RuntimeError, match="Attempting to use FunctionalTensor on its own"):
        f + 1
    with pytest.raises(AssertionError, match="must be active"):
        FunctionalTensor.to_functional(torch.ones(2))


def test_gradients_are_recorded_above_it() -> None:
    def loss(x: torch.Tensor) -> torch.Tensor:
        x = x.detach().requires_grad_()
        y = x * 2
        y.mul_(3)
        return torch.autograd.grad((y * y).sum(), x)[0]

    assert dispatch_functionalize(loss)(torch.ones(2)).tolist() == [72.0, 72.0]


@pytest.mark.parametrize("api", [PythonFunctionalizeAPI, CppFunctionalizeAPI])
def test_interfaces_of_operators_on_functions(api: Any) -> None:
    ctx = api()
    x = torch.ones(3)

    def body(x: torch.Tensor) -> torch.Tensor:
        x = x.clone()
        x[1:].add_(1)
        return x

    with Names() as names:
        assert ctx.functionalize(body)(x).tolist() == [1.0, 2.0, 2.0]
    if api is CppFunctionalizeAPI:  # the other's mode stands outside of ours, which sees the write
        assert not any(name.split(".")[1].endswith("_") for name in names.called)
    wrapped = ctx.wrap_tensors((x, 3))
    ctx.replace(wrapped[0], torch.zeros(3))
    ctx.commit_update(wrapped[0])
    ctx.sync(wrapped[0])
    assert ctx.unwrap_tensors(wrapped)[0].tolist() == [0.0, 0.0, 0.0]
    assert wrapped[1] == 3


def test_python_dispatcher() -> None:
    lib = torch.library.Library("functional_tests", "FRAGMENT")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x * 2, "CPU")
    op = torch.ops.functional_tests.f.default
    op.py_impl(torch._C.DispatchKey.CPU)(lambda x: x * 100)
    key = "PythonDispatcher"
    assert op(torch.ones(1)).item() == 2 and not torch._C._dispatch_tls_is_dispatch_key_included(key)
    with enable_python_dispatcher():
        assert op(torch.ones(1)).item() == 100 and torch._C._dispatch_tls_is_dispatch_key_included(key)
        with no_python_dispatcher():
            assert op(torch.ones(1)).item() == 2
        assert op(torch.ones(1)).item() == 100
    assert op(torch.ones(1)).item() == 2
    assert op in set(all_py_loaded_overloads())


def test_functionalization_is_suspended() -> None:
    torch._enable_functionalization(reapply_views=True)
    try:
        with suspend_functionalization():
            assert not torch._is_functional_tensor(torch.zeros(2))
        assert torch._is_functional_tensor(torch.zeros(2))
    finally:
        torch._disable_functionalization()
    check_metadata_matches([torch.ones(2)], [torch.zeros(2)], lambda: "f")
    with pytest.raises(AssertionError, match="f output 0: dtype"):
        check_metadata_matches([torch.ones(2)], [torch.zeros(2).double()], lambda: "f")


def test_stack_of_modes_and_alias_info() -> None:
    assert not modes.any_torch_dispatch_mode_on_stack() and modes._len_torch_dispatch_stack() == 0
    with Names() as names:
        assert modes._get_dispatch_stack_at(0) is names and modes.any_torch_dispatch_mode_on_stack()
    with FunctionalTensorMode() as mode:
        kind = modes._TorchDispatchModeKey.FUNCTIONAL
        assert modes._detect_infra_mode(kind) is mode
        with modes._disable_infra_mode(kind):
            assert modes._detect_infra_mode(kind) is None and modes._unset_infra_mode(kind) is None
        assert modes._detect_infra_mode(kind) is mode
    info = modes.get_alias_info(torch.ops.aten.add_.Tensor)
    assert info.outs_write_aliases == ["a"] and info.args[0].is_write and not info.args[1].alias_set
    info = modes.get_alias_info(torch.ops.aten.view.default)
    assert info.read_only_alias_match_indexes == [(0, 0)] and info.outs_write_aliases is None


class Passing(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def along(x: torch.Tensor) -> torch.Tensor:
    with fwAD.dual_level():
        dual = fwAD.make_dual(x, x)
        return fwAD.unpack_dual(dual * dual[0]).tangent


X = torch.tensor([0.25, 0.5])
TRANSFORMED = {
    "jvp": lambda: jvp(torch.sin, (X,), (X,))[1],
    "jacfwd": lambda: jacfwd(torch.sin)(X),
    "jacrev": lambda: jacrev(torch.sin)(X),
    "jacrev in chunks": lambda: jacrev(torch.sin, chunk_size=1)(X),
    "hessian": lambda: hessian(lambda x: x.sin().sum())(X),
    "linearize": lambda: linearize(torch.sin, X)[1](X),
    "functionalize": lambda: functionalize(lambda x: x.clone().add_(1).view(-1))(X),
    "functionalize of an argument": lambda: functionalize(lambda x: x.view(2, 1).mul_(2))(X.clone()),
    "vmap of jvp": lambda: vmap(lambda x: jvp(torch.sin, (x,), (x,))[1])(X),
    "dual tensors": lambda: along(X),
    "jacobian": lambda: torch.autograd.functional.jacobian(torch.sin, X, vectorize=True),
    "jacobian forward": lambda: torch.autograd.functional.jacobian(
        torch.sin, X, vectorize=True, strategy="forward-mode"
    ),
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_transforms_inside_of_a_function_mode(name: str) -> None:
    expected = TRANSFORMED[name]()
    with Passing():
        found = TRANSFORMED[name]()
    assert torch.equal(found, expected)


def test_references_by_hash() -> None:
    class Key:
        def __init__(self, value: int) -> None:
            self.value = value

        def __hash__(self) -> int:
            return self.value

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Key) and self.value == other.value

    one, other = Key(1), Key(1)
    reference = _WeakHashRef(one)
    assert reference == _WeakHashRef(other) and {reference: 5}[_WeakHashRef(other)] == 5
    assert isinstance(reference, weakref.ref)
    del one
    assert reference() is None and hash(reference) == 1 and reference != _WeakHashRef(other)


class Reentrant(torch.Tensor):
    """Handlers that are recorded and transformed, as what they were handed would be."""

    @staticmethod
    def __new__(cls, stored: torch.Tensor) -> Any:
        made = torch.Tensor._make_wrapper_subclass(cls, stored.size(), dtype=stored.dtype)
        made.stored = stored
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        read = [arg.stored if isinstance(arg, Reentrant) else arg for arg in args]
        with enable_reentrant_dispatch():
            return Reentrant(func(*read, **(kwargs or {})))


def test_handlers_may_be_recorded() -> None:
    x = torch.ones(2, requires_grad=True)
    out = Reentrant(x) * 3
    assert not out.requires_grad and out.stored.requires_grad
    out.stored.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    with torch.no_grad():
        assert not (Reentrant(x) * 3).stored.requires_grad
    with enable_reentrant_dispatch():  # outside of a handler there is nothing to let in
        assert (x * 2).requires_grad


def test_constructors_of_fake_tensors() -> None:
    from mindtorch._subclasses import fake_tensor

    constructors = fake_tensor._like_tensor_constructors
    assert torch.ops.aten.zeros_like.default in constructors and torch.ops.aten.rand_like.default in constructors
    assert torch.ops.aten.zeros.default not in constructors
    assert fake_tensor._is_tensor_constructor(torch.ops.aten.zeros.default)
    assert not fake_tensor._is_tensor_constructor(torch.ops.aten.zeros_like.default)


def test_bags_of_rows_without_elements() -> None:
    bags = torch.nn.EmbeddingBag(10, 3, mode="sum", device="meta")
    out = bags(torch.tensor([1, 2, 4, 5]), torch.tensor([0, 2]))
    assert out.shape == (2, 3) and out.device.type == "meta"


def test_symbols_are_results_of_libraries() -> None:
    from mindtorch._subclasses import FakeTensorMode
    from mindtorch.fx.experimental.symbolic_shapes import ShapeEnv

    env = ShapeEnv()
    s0, s1 = FakeTensorMode(shape_env=env).from_tensor(torch.rand(2, 3)).shape
    with torch.library._scoped_library("functional_tests", "FRAGMENT") as lib:
        lib.define("square_sum(SymInt a, SymInt b) -> SymInt")
        lib.impl("square_sum", lambda a, b: a * a + b * b, "CompositeExplicitAutograd")
        assert env.evaluate_expr(torch.ops.functional_tests.square_sum(s0, s1).node.expr) == 13


def test_guards_put_back_what_a_thread_leaves_out() -> None:
    c, x = torch._C, torch.ones(2, 2, requires_grad=True)

    def sets() -> tuple[Any, Any]:
        return c._dispatch_tls_local_include_set(), c._dispatch_tls_local_exclude_set()

    outside = sets()
    with c._ForceDispatchKeyGuard(*outside):
        assert sets() == outside and (x * 2).requires_grad
    with c._AutoDispatchBelowAutograd():
        assert not (x * 2).requires_grad
        with c._ForceDispatchKeyGuard(*outside):
            assert (x * 2).requires_grad
        assert not (x * 2).requires_grad
    with torch.autocast("cpu"):
        with c._ForceDispatchKeyGuard(*outside):
            assert (x @ x).dtype is torch.float32
        with c._ForceDispatchKeyGuard(*sets()), Names() as names:
            assert (x @ x).dtype is torch.bfloat16 and "aten.mm.default" in names.called
        assert (x @ x).dtype is torch.bfloat16


@pytest.mark.parametrize("key", "BatchedNestedTensor DeferredInit FPGA Metal MkldnnCPU Vulkan".split())
def test_keys_that_no_tensor_has_are_taken(key: str) -> None:
    with torch.library._scoped_library("functional_tests", "FRAGMENT") as lib:
        lib.define("keyed(Tensor x) -> Tensor")
        lib.impl("keyed", lambda x: x * 2, "CPU")
        lib.impl("keyed", lambda x: x * 100, key)
        assert torch.ops.functional_tests.keyed(torch.ones(1)).item() == 2
