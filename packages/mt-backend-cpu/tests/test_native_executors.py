"""The native library's executors and recorders do what the core's do that they stand before."""

from __future__ import annotations

import gc
import importlib
import math
import subprocess
import sys
import threading
import warnings
import weakref
from typing import Any

import numpy as np
import pytest

import mt_core
from mt_backend_cpu.native import library as in_use
from mt_core.dispatch.registry import find_overload
from mt_core.dtypes import bfloat16, bool, float32, float64, int64
from mt_core.keys import CPU, STRIDED
from mt_core.state import tls

pytestmark = pytest.mark.skipif(in_use is None, reason="kernels run on NumPy alone, as MINDTORCH_NATIVE=0 asks")

NAN, INF = math.nan, math.inf


@pytest.fixture(scope="module")
def library() -> Any:
    return importlib.import_module("mt_backend_cpu._native")


def made(*shape: int, dtype: Any = float32, seed: int = 0) -> Any:
    """Numbers with special ones among them."""
    generator = np.random.default_rng(seed)
    numbers = generator.normal(size=shape) * 3
    if numbers.size > 8:
        numbers.reshape(-1)[:6] = (NAN, INF, -INF, 0.0, -0.0, 1e-42)
        generator.shuffle(numbers.reshape(-1))
    return mt_core.tensor(numbers.tolist(), dtype=float64).reshape(shape).to(dtype)


def described(value: Any) -> Any:
    """All that two results must agree in."""
    if isinstance(value, (tuple, list)):
        return type(value), [described(item) for item in value]
    if not isinstance(value, mt_core.Tensor):
        return value
    array = value._array
    return (
        value._dtype, tuple(array.shape), value.stride(), value._keys, value._version, value._base is None,
        value.storage_offset(), np.ascontiguousarray(array).tobytes(),
    )  # fmt: skip


def executor_of(name: str, *tensors: Any) -> Any:
    keys = tls.mode
    for tensor in tensors:
        keys |= tensor._keys
    return find_overload(name).cache[keys]


def outcome(function: Any, args: tuple[Any, ...]) -> Any:
    try:
        return described(function(*args))
    except Exception as error:  # noqa: BLE001 - whatever it is, both must raise it
        return type(error), str(error)


SHAPES = [(), (0,), (5,), (3, 4), (1, 4), (2, 0, 3)]
NUMBERS = [2.5, -0.0, NAN, 1e300, 3, -1, 127, 128, 2**40, True, 1j]
FLOATS = [float32, float64, bfloat16, int64, bool]


def elementwise_calls() -> Any:
    for shape in SHAPES:
        for dtype in FLOATS:
            a, b = made(*shape, dtype=dtype), made(*shape, dtype=dtype, seed=1)
            yield from (("relu", (a,)), ("abs", (a,)), ("exp", (a,)), ("neg", (a,)))
            for name in ("add.Tensor", "sub.Tensor"):
                yield from ((name, (a, b, alpha)) for alpha in (1, 1.0, True, 2, 0.5))
                yield from ((name, (a, number, 1)) for number in NUMBERS)
            for name in ("mul.Tensor", "div.Tensor", "lt.Tensor", "maximum", "atan2"):
                yield name, (a, b)
            yield "mul.Tensor", (a, 2.0)
            yield "mul.Tensor", (a, made(4))
            yield from (("gelu", (a, form)) for form in ("none", "tanh", "no such"))
            yield from (("gelu_backward", (a, b, form)) for form in ("none", "tanh"))
            yield "leaky_relu", (a, 0.2)
            yield "leaky_relu_backward", (a, b, 0.2, False)
            condition = a > 0
            yield "where.self", (condition, a, b)
            yield "where.self", (condition, a, made(dtype=dtype))
            yield "where.self", (a, a, b)
            yield "lerp.Scalar", (a, b, 0.25)
            yield "addcmul", (a, b, a, 1)


def test_elementwise_calls(library: Any) -> None:
    """Whatever is called, the executor returns or refuses what the one behind it does; many calls end in it."""
    native = 0
    for name, args in elementwise_calls():
        executor = executor_of(name, *(a for a in args if isinstance(a, mt_core.Tensor)))
        if type(executor) is not library.Elementwise:
            continue
        native += 1
        assert outcome(executor, args) == outcome(executor.otherwise, args), (name, args)
    assert native > 1000


def planned_calls() -> Any:
    for shape in SHAPES:
        for dtype in (float32, bfloat16, int64):
            a, b = made(*shape, dtype=dtype), made(*shape, dtype=dtype, seed=1)
            for dim in (0, -1, 1, 5):
                yield from (("cat", ([a, b], dim)), ("stack", ([a, b], dim)), ("stack", ((a,), dim)))
                yield "cat", ([a, b.to(float64)], dim)
                for name in ("sum.dim_IntList", "mean.dim"):
                    yield from ((name, (a, [dim], keep, None)) for keep in (False, True))
                yield from ((name, (a, (dim,), False)) for name in ("amax", "amin"))
                yield from (("max.dim", (a, dim, False)), ("_softmax", (a, dim, False)))
            yield from (("sum", (a, None)), ("mean", (a, None)), ("sum", (a, float64)), ("clone", (a, None)))
            yield from (("sum.dim_IntList", (a, dims, False, None)) for dims in (None, (), (0, 1), (0, 2), (0, 0)))
            yield from (("masked_fill.Scalar", (a, a > 0, n)) for n in NUMBERS)
            yield "native_layer_norm", (a, tuple(a.shape[-1:]), None, None, 1e-5)
            yield from (("mm", (a, b)), ("mm", (a, b.reshape(tuple(reversed(shape))))))
            yield "index_select", (a, 0, mt_core.tensor([0, 0]))


def test_planned_calls(library: Any) -> None:
    """The same of calls that are planned by their description, the first time and again."""
    native = 0
    for name, args in planned_calls():
        flat = [t for a in args for t in (a if isinstance(a, (list, tuple)) else (a,)) if isinstance(t, mt_core.Tensor)]
        executor = executor_of(name, *flat)
        if type(executor) is not library.Planned:
            continue
        native += 1
        expected = outcome(executor.otherwise, args)
        assert outcome(executor, args) == expected, (name, args)
        assert outcome(executor, args) == expected, (name, args)
    assert native > 500


def test_descriptions_tell_classes_apart() -> None:
    """True, 1 and 1.0 are equal, and so are 0.0 and -0.0; what is planned for one is not used for another."""
    x = made(4)
    executor = executor_of("full_like", x)
    for number in (1, 1.0, True, -0.0, 0.0, 0, False):
        filled = executor(x, number, None, None, None, None, None)
        assert math.copysign(1, filled[0].item()) == math.copysign(1, number) and filled[0] == number
    sums = executor_of("sum.dim_IntList", x)
    assert sums(x, [0], True, None).shape == (1,) and sums(x, [0], False, None).shape == ()
    with pytest.raises(TypeError):
        x.sum(0, keepdim=1.0)


def test_each_description_is_planned_once(library: Any) -> None:
    """Calls are told apart by all that a plan may depend on, and by nothing else."""
    asked: list[Any] = []
    handed_over: list[Any] = []

    class Call:
        otherwise = staticmethod(lambda *args: "planned")

    def plan(args: tuple[Any, ...]) -> type[Call]:
        asked.append(args)
        return Call

    def other(*args: Any) -> str:
        handed_over.append(args)
        return "handed over"

    kinds = ("strided", "number", "plain", "optional tensors")
    executor = library.Planned(other, plan, CPU, np.asarray, kinds, 4, True, False)
    x = made(4, 4)
    wide = made(4, 8)
    tensors = [x, x.t(), wide[:, ::2], wide[:, :4], x.to(float64), x[:2], x.reshape(2, 8), x.reshape(16), x.sum()]
    different = [(t, 1, None, None) for t in tensors]
    different += [(x, number, None, None) for number in (0, 1.0, True, False, 0.0, -0.0, -1, 2.5, NAN, INF)]
    different += [
        (x, 1, plain, None)
        for plain in (0, 1, True, False, 1.0, (), (1,), (1, 0), (0, 1), (0, 1, 0), "mean", "sum", float32, float64)
    ]
    different += [
        (x, 1, None, several) for several in ([], [x], [None], [x, x], [x, None], [None, x], [x.t()], (x,) * 3)
    ]
    for _ in range(2):
        for args in different:
            assert executor(*args) == "planned"
        assert len(asked) == len(different) and not handed_over
    alike = [(made(4, 4, seed=5), 1, None, None), (x, 1, [0, 1], None), (x, 1, None, (x,))]
    for args in alike:
        assert executor(*args) == "planned"
    assert len(asked) == len(different)
    for args in (
        (x, 1j, None, None),
        (x, 2**64, None, None),
        (x, 1, {}, None),
        (x, 1, (1.5,), None),
        (None, 1, None, None),
    ):
        assert executor(*args) == "handed over"
    assert executor(x, 1, None) == "handed over" and len(asked) == len(different)


def test_layouts_are_told_apart(library: Any) -> None:
    """Tensors of one shape and other strides, in turn."""
    x, wide = made(4, 4), made(4, 8)
    layouts = [x.t(), wide[:, ::2], wide[:, :4], wide[:, 1::2].t()]
    for name, rest in (("clone", (None,)), ("_softmax", (1, False)), ("sum.dim_IntList", ([0], False, None))):
        executor = executor_of(name, layouts[0])
        assert type(executor) is library.Planned, name
        for tensor in layouts * 2:
            assert outcome(executor, (tensor, *rest)) == outcome(executor.otherwise, (tensor, *rest)), name


def test_more_descriptions_than_are_kept() -> None:
    """Shapes that change with each call are planned each time, and what is kept stays bounded."""
    for _ in range(2):
        for n in range(1, 600):
            assert mt_core.ones(n).sum() == n


VIEWS = [
    ("select.int", 0, 1), ("select.int", -1, -1), ("select.int", 0, 9), ("slice.Tensor", 0, 1, 3, 1),
    ("slice.Tensor", 1, None, None, 2), ("slice.Tensor", 0, 5, 9, 1), ("transpose.int", 0, 1), ("view", (-1,)),
    ("view", (2, -1)), ("unsqueeze", 0), ("unsqueeze", -1), ("t",), ("expand", (3, 4), False), ("squeeze.dim", 0),
    ("permute", (1, 0)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args"), [(name, tuple(args)) for name, *args in VIEWS])
def test_views(library: Any, name: str, args: tuple[Any, ...]) -> None:
    """Views, and views of views, share memory, version and base with what they are views of."""
    for shape in ((3, 4), (1, 4), (0, 4), (4,), ()):
        for base in (made(*shape), made(*shape, dtype=int64), made(*shape, 2)[..., 1]):
            executor = executor_of(name, base)
            if type(executor) is not library.View:
                continue
            found, expected = outcome(executor, (base, *args)), outcome(executor.otherwise, (base, *args))
            assert found == expected, (name, base)
            if isinstance(found[0], type):
                continue
            view = executor(base, *args)
            assert view._cell is base._cell and view._base is (base._base if base._base is not None else base)
            assert any(member() is view for member in base._cell.members)
            before = view._version
            base.add_(1)
            assert view._version == before + 1


def test_members_of_a_cell_are_swept() -> None:
    base = made(3, 4)
    for _ in range(1000):
        base[0]
    assert len(base._cell.members) < 100


def test_writes_to_a_view_reach_its_base() -> None:
    base = mt_core.zeros(3, 4)
    base[1].view(2, 2)[0].fill_(5)
    assert base.sum() == 10 and base._version == 1


def test_floating_point_warnings_are_off() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = mt_core.tensor([1e300, 0.0], dtype=float64)
        assert (x * x)[0] == INF and mt_core.log(x)[1] == -INF and x.exp()[0] == INF
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        np.exp(np.float64(1000))


def test_kernels_may_call_operators_and_fail() -> None:
    """A kernel of a library that calls operators, and one that fails, through both kinds of executor."""
    script = (
        "import mt_core, numpy as np\n"
        "from mt_core.dispatch.registry import register_kernel\n"
        "from mt_core.keys import CPU\n"
        "from mt_core.tensor import from_array\n"
        "def nested(x, *rest):\n"
        "    inner = mt_core.exp(from_array(x)) + mt_core.ones(3).sum()\n"
        "    return (inner - 3)._array\n"
        "def failing(x, *rest):\n"
        "    mt_core.exp(from_array(x))\n"
        "    raise RuntimeError('cannot enter context, says the kernel')\n"
        "register_kernel(CPU, ('sin', 'cumsum'), nested)\n"
        "register_kernel(CPU, ('cos', 'logcumsumexp'), failing)\n"
        "x = mt_core.tensor([0.0, 1.0])\n"
        "for f in (mt_core.sin, lambda t: mt_core.cumsum(t, 0)):\n"
        "    assert np.allclose(f(x).numpy(), np.exp([0, 1])), f(x)\n"
        "for f in (mt_core.cos, lambda t: mt_core.logcumsumexp(t, 0)):\n"
        "    try:\n        f(x)\n"
        "    except RuntimeError as error:\n        assert 'says the kernel' in str(error)\n"
        "    else:\n        raise AssertionError\n"
        "assert mt_core.exp(x)[0] == 1\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr


def test_threads() -> None:
    """Every thread has a context of its own."""
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            x = made(4, 4, seed=seed).nan_to_num(0.0, 1.0, -1.0).requires_grad_()
            for _ in range(300):
                (x.exp() @ x.t())[1:].sum(1).amax().backward()
            assert x.grad is not None
        except BaseException as error:  # noqa: BLE001 - shown by the test
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_nothing_leaks() -> None:
    """Objects are counted as they should be: as many live after many calls as after few."""
    x, w = mt_core.ones(4, 4).requires_grad_(), mt_core.ones(4).requires_grad_()

    def program() -> None:
        y = mt_core.cat([x[1:] * 2, x.exp()]) + w
        z = mt_core.where(y > 1, y, 0.5).max(1)[0].sum() + mt_core.softmax(x, -1).sum() + x.mean(0).amax()
        z.backward()
        mt_core.layer_norm(x, (4,), w, w).clone().sum().backward()
        for wrong in (lambda: x[9], lambda: mt_core.cat([x, w]), lambda: x + mt_core.ones(3)):
            with pytest.raises((IndexError, RuntimeError)):
                wrong()

    for _ in range(20):
        program()
    gc.collect()
    before = len(gc.get_objects())
    counts = [sys.getrefcount(o) for o in (float32, float32.numpy_dtype, x._array, None, mt_core.Tensor)]
    for _ in range(200):
        program()
    gc.collect()
    assert len(gc.get_objects()) - before < 50
    after = [sys.getrefcount(o) for o in (float32, float32.numpy_dtype, x._array, None, mt_core.Tensor)]
    assert max(abs(a - b) for a, b in zip(after, counts, strict=True)) < 100


def test_executors_are_collected() -> None:
    """Executors that a registration makes stale go away with what they hold."""

    class Held:
        def __call__(self, x: Any) -> Any:
            return np.negative(x)

    held = Held()
    gone = weakref.ref(held)
    executor = in_use.Elementwise(  # type: ignore[union-attr]
        held, held, CPU, 1, (), None, False, [(float32, held, (), float32, float32.numpy_dtype, False, False, False)]
    )
    held.cycle = executor  # type: ignore[attr-defined]
    del held, executor
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("arguments", [(), (1, 2), (None,) * 8, (None, None, 1, 9, (), None, False, [])])
def test_executors_refuse_what_they_cannot_be_made_of(library: Any, arguments: tuple[Any, ...]) -> None:
    for kind in (library.Elementwise, library.Planned, library.View, library.Recorder):
        with pytest.raises((TypeError, ValueError)):
            kind(*arguments)


# Recording


def graph(node: Any, depth: int = 4) -> Any:
    """A node and what is behind it, as far as two recorders must agree."""
    if node is None or not depth:
        return None
    kept = []
    for name in ("wanted", "values", "specs", "list_sizes"):
        kept.append(getattr(node, name, None))
    saved = (
        [
            described(s) if isinstance(s, mt_core.Tensor) else s if not hasattr(s, "array") else (s.output_nr, s.keys)
            for s in node.saved or ()
        ]
        if hasattr(node, "saved")
        else None
    )
    own = (type(node), node._shape, node._dtype, node._keys, node._more_outputs, node._hooks, repr(kept), saved)
    return own, [(graph(n, depth - 1), nr) for n, nr in node.next_functions]


def recorded_calls() -> Any:
    x, w, p = made(3, 4).requires_grad_(), made(4, seed=1).requires_grad_(), made(3, 4, seed=2)
    y = x * 2
    view = y[1:]
    yield from (("exp", (x,)), ("exp", (y,)), ("relu", (view,)), ("clone", (x, None)), ("_softmax", (x, 1, False)))
    for a, b in ((x, p), (p, x), (x, x), (y, x), (view, p[1:])):
        yield from (("add.Tensor", (a, b, 1)), ("mul.Tensor", (a, b)), ("div.Tensor", (a, b)), ("cat", ([a, b, p], 0)))
        yield from (
            ("stack", ([a, b], 0)),
            ("where.self", (p > 0, a, b) if a._array.shape == (3, 4) else (a > 0, a, b)),
        )
    yield from (("mul.Tensor", (x, 2.0)), ("add.Tensor", (x, 3, 2)), ("max.dim", (x, 1, False)), ("sum", (x, None)))
    yield from (("view", (x, (4, 3))), ("select.int", (y, 0, 1)), ("slice.Tensor", (view, 1, 0, 2, 1)), ("t", (x,)))
    yield from (("native_layer_norm", (x, (4,), w, None, 1e-5)), ("mm", (x, p.t())), ("amax", (x, (1,), True)))
    yield from (
        ("gt.Tensor", (x, p)),
        ("index_select", (x, 0, mt_core.tensor([2, 0]))),
        ("_to_copy", (x, int64, *[None] * 3, False, None)),
    )
    yield from (
        ("aminmax", (x, 1, False)),
        ("topk", (x, 2, -1, True, True)),
        ("unbind.int", (x, 0)),
        ("nan_to_num", (x, None, None, None)),
    )
    yield "where.self", (p > 0, x, mt_core.tensor(1.0, requires_grad=True))
    yield "mm", (x, p)
    yield "gather", (x, 1, mt_core.zeros(3, 1, dtype=int64), False)


def test_recorders(library: Any) -> None:
    """What is recorded is what the closure behind records: nodes, edges, what is saved, states of results."""
    native = 0
    for name, args in recorded_calls():
        flat = [t for a in args for t in (a if isinstance(a, (list, tuple)) else (a,)) if isinstance(t, mt_core.Tensor)]
        executor = executor_of(name, *flat)
        if type(executor) is not library.Recorder:
            continue
        native += 1
        assert outcome(executor, args) == outcome(executor.otherwise, args), name
        try:
            found, expected = executor(*args), executor.otherwise(*args)
        except RuntimeError:
            continue
        for one, other in zip(*((r if isinstance(r, tuple) else (r,)) for r in (found, expected)), strict=True):
            assert graph(one.grad_fn) == graph(other.grad_fn), name
            assert one.requires_grad == other.requires_grad and one.is_leaf == other.is_leaf
            if one._autograd is not None:
                for slot in type(one._autograd).__slots__:
                    if slot not in ("grad_fn", "tangents", "__weakref__"):
                        assert getattr(one._autograd, slot) == getattr(other._autograd, slot), (name, slot)
            assert one.grad_fn is None or one.grad_fn._sequence_nr() < other.grad_fn._sequence_nr()
    assert native > 30


def test_recorded_keys_follow_the_result() -> None:
    """Row-major and other results of one recorder in turn."""
    x = made(3, 4).requires_grad_()
    for _ in range(3):
        assert not x.exp()._keys & STRIDED and x.t().exp()._keys & STRIDED
        assert not x[0]._keys & STRIDED and x[:, 1:]._keys & STRIDED


def test_a_saved_tensor_that_is_written_to() -> None:
    """Versions are counted from where they were: of tensors with a cell, without one, and of results."""
    x = made(4).nan_to_num(1.0, 1.0, 1.0).requires_grad_()
    for write_first in (False, True):
        y = x * 1
        if write_first:
            y.add_(1)
        squares = (y * y).sum()
        y.add_(1)
        with pytest.raises(RuntimeError, match=f"is at version {1 + write_first}; expected version {int(write_first)}"):
            squares.backward()
    z = x.exp()
    z.add_(1)
    with pytest.raises(RuntimeError, match=r"is at version 1; expected version 0 instead"):
        z.sum().backward()
    x.exp().sum().backward()
    assert (x.grad == x.detach().exp()).all()


def test_no_grad_and_inference_mode() -> None:
    x = made(3, 4).requires_grad_()
    with mt_core.no_grad():
        assert not x.exp().requires_grad
        view = x[0]
    assert view.requires_grad and view.grad_fn is None and view.is_leaf
    with mt_core.inference_mode():
        assert x.exp().is_inference() and not x[0].is_inference()
        made_here = mt_core.ones(3)[1:]
        assert made_here.is_inference() and made_here._base is None
