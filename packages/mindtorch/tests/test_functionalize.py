"""``torch.func.functionalize``: no operator writes below it, and all is as if they had."""

from __future__ import annotations

import doctest
import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mindtorch as torch
from mindtorch.func import functionalize, grad, jvp, vmap
from mindtorch.utils._python_dispatch import TorchDispatchMode
from mindtorch.utils._pytree import tree_map_only

SNAPSHOTS = Path(__file__).parent / "snapshots"
sys.path.insert(0, str(SNAPSHOTS))

from functionalized_programs import PROGRAMS  # noqa: E402

STORED = json.loads((SNAPSHOTS / "functionalized.json").read_text())
REMOVED = ("mutations", "mutations_and_views")
#: Calls that PyTorch makes on the way to the same values: tensors of Python data are detached, memory that shrinks is
#: asked for first.
NOT_MADE = {"aten.lift_fresh.default", "aten.detach.default", "aten.detach_copy.default", "aten.resize.default"}
#: Programs in which it copies conjugates before it reads them.
OTHER_CALLS = {"complex_parts"}


class Names(TorchDispatchMode):
    """The names of all operators, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.called: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.called.append(str(func))
        return func(*args, **(kwargs or {}))


class Pure(TorchDispatchMode):
    """Refuses operators that write, other than the last copies to inputs, and, if asked, views."""

    def __init__(self, views: bool) -> None:
        super().__init__()
        self.refuses_views, self.is_over = views, False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        schema = func._schema
        if schema.is_mutable and not self.is_over:
            raise AssertionError(f"{func} writes")
        if self.refuses_views and not schema.is_mutable and "-> Tensor(a" in str(schema):
            raise AssertionError(f"{func} makes a view")
        return func(*args, **(kwargs or {}))


def numbers(tree: Any) -> Any:
    return json.loads(json.dumps(tree_map_only(torch.Tensor, lambda tensor: tensor.tolist(), tree)))


@pytest.mark.parametrize("remove", REMOVED)
@pytest.mark.parametrize("name", PROGRAMS)
def test_calls_and_values_are_pytorchs(name: str, remove: str) -> None:
    make_inputs, program = PROGRAMS[name]
    inputs = make_inputs(torch)
    with Names() as names:
        result = functionalize(lambda *args: program(torch, *args), remove=remove)(*inputs)
    wanted = STORED[name][remove]
    assert numbers(result) == wanted["result"]
    assert numbers(inputs) == wanted["inputs"]
    if name not in OTHER_CALLS:
        made = [call for call in names.called if call not in NOT_MADE]
        assert made == [call for call in wanted["calls"] if call not in NOT_MADE]


# Random programs

Step = tuple[int, int, int, int]


def _viewed(kind: int, t: Any, c: int) -> Any:
    """One of the views, or None where it does not apply."""
    d = t.dim()
    flat: list[tuple[bool, Callable[[], Any]]] = [
        (d > 0 and t.shape[c % max(d, 1)] > 0, lambda: t.select(c % d, c % t.shape[c % d])),
        (d > 0, lambda: t[c % t.shape[0] :] if t.shape[0] else t),
        (d > 0, lambda: t[::2]),
        (d > 1, lambda: t.transpose(0, -1)),
        (d > 1, lambda: t.permute(*range(d - 1, -1, -1))),
        (True, lambda: t.unsqueeze(c % (d + 1))),
        (True, t.squeeze),
        (True, lambda: t.reshape(-1)),
        (d > 1, t.diagonal),
        (d > 0 and t.shape[-1] > 1, lambda: t.unbind(-1)[c % t.shape[-1]]),
        (d > 0 and t.shape[0] > 1, lambda: t.split(1)[c % t.shape[0]]),
        (True, lambda: t.expand(2, *t.shape)),
        (d > 0 and t.shape[0] > 1, lambda: t.unfold(0, 2, 2)),
        (True, lambda: t.view_as(t)),
        (True, t.detach),
    ]
    applies, make = flat[kind % len(flat)]
    return make() if applies else None


def _write(kind: int, t: Any, u: Any, c: int) -> None:
    [
        lambda: t.mul_(2),
        lambda: t.add_(1),
        lambda: t.copy_(u.sum()),
        lambda: t.zero_(),
        lambda: t.fill_(c % 7),
        lambda: t.sin_(),
        lambda: torch.cos(u.mean(), out=t) if not t.dim() else t.sub_(u.mean()),
    ][kind % 7]()


def program(seed: int, *, differentiable: bool = False) -> Callable[..., Any]:
    """A random function of two tensors that makes views and writes to them; no ``detach`` if `differentiable`."""
    draw = random.Random(seed)
    steps = [tuple(draw.randrange(1000) for _ in range(4)) for _ in range(draw.randrange(3, 14))]

    def run(x: Any, w: Any) -> Any:
        pool = [x, w, x * 2]
        for kind, a, b, c in steps:
            t, u = pool[a % len(pool)], pool[b % len(pool)]
            overlaps = any(step == 0 and size > 1 for size, step in zip(t.shape, t.stride(), strict=True))
            if kind % 3 == 0 and not overlaps:
                _write(kind // 3 % 6 if differentiable else kind // 3, t, u, c)
            elif kind % 11 == 1 and t.dim() == 2 and a % len(pool) > 1:
                t.t_()
            elif (view := _viewed(kind % 14 if differentiable else kind, t, c)) is not None:
                pool.append(view)
        return pool[2:]

    return run


def inputs_of(seed: int) -> tuple[Any, Any]:
    torch.manual_seed(seed)
    x, w = torch.randn([(2, 3), (3, 3), (2, 2, 3), (4,)][seed % 4]), torch.randn(3, 2)
    if seed % 5 == 0 and x.dim() > 1:
        x = x.transpose(0, -1)
    return x, torch.randn(5, 3, 2)[1:4, 1] if seed % 7 == 0 else w


def _outcome(function: Callable[..., Any], *args: Any) -> Any:
    try:
        return function(*args)
    except RuntimeError as error:
        return str(error)


def agree(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, str) or isinstance(found, str):
        return bool(found == wanted)
    # Other strides may go to another kernel, which rounds otherwise.
    pairs = zip(found, wanted, strict=True)
    return all(a.shape == b.shape and torch.allclose(a, b, rtol=1e-6, atol=1e-6, equal_nan=True) for a, b in pairs)


@pytest.mark.parametrize("remove", REMOVED)
@pytest.mark.parametrize("start", range(0, 200, 20))
def test_random_programs_are_pure_and_do_the_same(start: int, remove: str) -> None:
    for seed in range(start, start + 20):
        run, inputs, again = program(seed), inputs_of(seed), inputs_of(seed)
        wanted = _outcome(run, *inputs)
        mode = Pure(remove == "mutations_and_views")

        def watched(*args: Any, run: Any = run, mode: Any = mode) -> Any:
            result = run(*args)
            mode.is_over = True
            return result

        with mode:
            found = _outcome(functionalize(watched, remove=remove), *again)
        assert agree(found, wanted), seed
        if not isinstance(wanted, str):
            assert agree(again, inputs) and [t.stride() for t in again] == [t.stride() for t in inputs], seed


def _summed(run: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, w: sum((p * p).sum() for p in run(x * 1.0, w * 1.0))


NESTED: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "grad outside": (lambda f: grad(f, (0, 1)), lambda f, z: grad(z(f), (0, 1))),
    "grad inside": (lambda f: grad(f, (0, 1)), lambda f, z: z(grad(f, (0, 1)))),
    "vmap outside": (lambda f: vmap(f), lambda f, z: vmap(z(f))),
    "vmap inside": (lambda f: vmap(f), lambda f, z: z(vmap(f))),
    "jvp outside": (
        lambda f: lambda *xs: jvp(f, xs, xs),
        lambda f, z: lambda *xs: jvp(z(f), xs, xs),
    ),
    "twice": (lambda f: f, lambda f, z: functionalize(z(f))),
}


@pytest.mark.parametrize("remove", REMOVED)
@pytest.mark.parametrize("order", NESTED)
def test_it_nests_with_other_transforms(order: str, remove: str) -> None:
    plainly, functionally = NESTED[order]
    compared = 0
    for seed in range(40):
        f = _summed(program(seed, differentiable=True))
        x, w = inputs_of(seed)
        if "vmap" in order:
            x, w = torch.stack([x, x + 1]), torch.stack([w, w * 2])
        wanted = _outcome(plainly(f), x, w)
        if isinstance(wanted, str):
            continue  # a write that the transform refuses is none below functionalize
        found = functionally(f, lambda g: functionalize(g, remove=remove))(x, w)
        pairs = zip(found if isinstance(found, tuple) else (found,), wanted if isinstance(wanted, tuple) else (wanted,))
        assert all(torch.allclose(a, b, equal_nan=True, rtol=1e-4) for a, b in pairs), seed
        compared += 1
    assert compared > 15


# Refusals and what happens to inputs


def test_another_word_is_refused() -> None:
    with pytest.raises(RuntimeError, match="received invalid argument for remove=views"):
        functionalize(lambda x: x, remove="views")


def test_a_captured_tensor_is_written_to_only_by_itself() -> None:
    captured = torch.ones(3)
    functionalize(lambda x: captured.add_(1))(torch.ones(3))
    assert captured.tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="mutating a non-functional tensor with a functional tensor"):
        functionalize(lambda x: captured.add_(x))(torch.ones(3))


def test_an_input_gets_the_layout_that_the_function_gave_it() -> None:
    def f(x: Any) -> Any:
        x.t_()
        x.add_(1)
        return x.sum()

    x = torch.arange(6.0).reshape(2, 3)
    assert functionalize(f)(x) == 21
    assert (x.shape, x.stride(), x.tolist()) == ((3, 2), (1, 3), [[1, 4], [2, 5], [3, 6]])


def test_memory_of_views_does_not_grow() -> None:
    def f(x: Any) -> Any:
        return x[1:].resize_(9)

    with pytest.raises(RuntimeError, match="Attempted to resize a view tensor to a larger size"):
        functionalize(f)(torch.ones(3))
    assert functionalize(lambda x: (x + 1).resize_(9)[:3])(torch.ones(3)).tolist() == [2, 2, 2]


def test_windows_beyond_what_is_known_are_refused() -> None:
    def f(x: Any) -> Any:
        return x.as_strided((4,), (1,), 0)

    with pytest.raises(RuntimeError, match="as_strided"):
        functionalize(f)(torch.arange(4.0)[2:])


@pytest.mark.parametrize("size, step, refused", [(2, 1, True), (2, 3, False)])
def test_windows_that_overlap_are_not_written_to(size: int, step: int, refused: bool) -> None:
    x = torch.ones(5)
    f = functionalize(lambda x: x.unfold(0, size, step).mul_(2))
    if refused:
        with pytest.raises(RuntimeError, match="While executing unfold, functionalization encountered a tensor"):
            f(x)
    else:
        f(x)
        assert x.tolist() == [2, 2, 1, 2, 2]


def test_leaves_that_require_grad_are_not_written_to() -> None:
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        functionalize(lambda x: x.mul_(2))(torch.ones(2, requires_grad=True))


def test_gradients_go_through() -> None:
    x = torch.ones(2, 2, requires_grad=True)

    def f(x: Any) -> Any:
        y = x * 2
        y[0].mul_(3)
        return y.sum()

    functionalize(f)(x).backward()
    assert x.grad.tolist() == [[6, 6], [2, 2]]


def test_random_numbers_are_the_same() -> None:
    def f(x: Any) -> Any:
        y = torch.empty(4)
        return y.normal_(), x[0].uniform_(), torch.zeros(3).bernoulli_(0.5), torch.empty(2).exponential_(2)

    def drawn(function: Any) -> Any:
        torch.manual_seed(3)
        return function(torch.zeros(2, 2))

    assert agree(drawn(functionalize(f)), drawn(f))


def test_elements_are_read() -> None:
    def f(x: Any) -> Any:
        x[0] = 5
        return x * 2 if x[0] > 4 else x, x[0].item()

    assert functionalize(f)(torch.ones(2))[1] == 5


def test_running_statistics_are_written_back() -> None:
    def f(x: Any, mean: Any, var: Any) -> Any:
        return torch.nn.functional.batch_norm(x, mean, var, training=True)

    x = torch.arange(12.0).reshape(4, 3)
    one, other = (torch.zeros(3), torch.ones(3)), (torch.zeros(3), torch.ones(3))
    with Pure(views=False) as mode:

        def watched(*args: Any) -> Any:
            result = f(*args)
            mode.is_over = True
            return result

        found = functionalize(watched)(x, *one)
    assert torch.allclose(found, f(x, *other)) and agree(one, other)


def test_custom_functions_and_libraries_are_refused() -> None:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x * 2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

    with pytest.raises(RuntimeError, match="NYI: Functionalize rule for custom_function_call"):
        functionalize(Double.apply)(torch.ones(3))


# By hand


def test_tensors_are_made_functional_by_hand() -> None:
    x = torch.ones(3)
    f = torch._to_functional_tensor(x)
    assert torch._is_functional_tensor(f) and not torch._is_functional_tensor(x)
    assert repr(f) == "_to_functional_tensor(tensor([1., 1., 1.]))"
    view = f[1:]
    view.add_(1)
    assert torch._is_functional_tensor_base(f) and not torch._is_functional_tensor_base(view)
    torch._sync(f)
    assert torch._from_functional_tensor(f).tolist() == [1, 2, 2] and x.tolist() == [1, 1, 1]
    torch._freeze_functional_tensor(f)
    with pytest.raises(RuntimeError, match="cannot mutate tensors with frozen storage"):
        view.add_(1)
    with pytest.raises(RuntimeError, match="expected a functional tensor"):
        torch._sync(x)


def test_new_tensors_are_functional_while_it_is_on() -> None:
    torch._enable_functionalization(reapply_views=True)
    try:
        with pytest.raises(RuntimeError, match="multiple layers of mode-style functionalization"):
            torch._enable_functionalization()
        made, lifted = torch.zeros(2), torch.tensor([1.0])
    finally:
        torch._disable_functionalization()
    assert torch._is_functional_tensor(made) and torch._is_functional_tensor(lifted)
    assert not torch._is_functional_tensor(torch.zeros(2))


def test_functional_tensors_have_histories() -> None:
    f = torch._to_functional_tensor(torch.arange(3.0)).requires_grad_()
    y = f * 2
    y[1:].mul_(3)
    y.sum().backward()
    torch._sync(f.grad)
    assert torch._from_functional_tensor(f.grad).tolist() == [2, 6, 6]


def test_a_value_is_replaced_and_committed() -> None:
    f = torch._to_functional_tensor(torch.zeros(3))
    view = f[:2]
    torch._functionalize_replace(view, torch.ones(2))
    torch._functionalize_commit_update(view)
    torch._functionalize_sync(f)
    assert torch._from_functional_tensor(f).tolist() == [1, 1, 0]
    assert not torch._functionalize_has_metadata_mutation(f)
    f.unsqueeze_(0)
    assert torch._functionalize_has_metadata_mutation(f)


def test_the_page_runs() -> None:
    page = Path(__file__).parents[3] / "docs" / "functionalize.md"
    results = doctest.testfile(str(page), module_relative=False)
    assert results.attempted > 10 and not results.failed
