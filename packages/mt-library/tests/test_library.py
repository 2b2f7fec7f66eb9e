"""Libraries: definitions and kernels by name, and `torch.ops`."""

from __future__ import annotations

import gc
import warnings

import pytest

import mt_core as mt
import mt_library as library
from mt_core.deprecation import Once
from mt_library import ops
from mt_library.library import _scoped_library


@pytest.fixture
def lib():
    with _scoped_library("lib_tests", "FRAGMENT") as made:
        yield made


@pytest.fixture
def scale(lib):
    lib.define("scale(Tensor x, float factor=2., *, bool negate=False) -> Tensor")
    return ops.lib_tests.scale


def by_factor(x, factor=2.0, *, negate=False):
    return x * (-factor if negate else factor)


def test_defines_and_calls(lib, scale):
    with pytest.raises(NotImplementedError, match="could not find kernel for op lib_tests::scale with keys CPU"):
        scale(mt.ones(1))
    lib.impl("scale", by_factor, "CPU")
    assert scale(mt.ones(1)).item() == 2
    assert scale(mt.ones(1), 3).item() == 3
    assert scale(mt.ones(1), negate=True).item() == -2


def test_a_library_takes_its_operators_and_kernels_with_it():
    made = library.Library("lib_tests_short", "DEF")
    made.define("f(Tensor x) -> Tensor")
    made.impl("f", lambda x: x + 1, "CPU")
    assert ops.lib_tests_short.f(mt.zeros(1)).item() == 1
    del made
    gc.collect()
    with pytest.raises(AttributeError, match="'_OpNamespace' 'lib_tests_short' object has no attribute 'f'"):
        ops.lib_tests_short.f  # noqa: B018
    library.Library("lib_tests_short", "DEF")._destroy()


def test_overloads(lib):
    lib.define("f(Tensor x) -> Tensor")
    lib.define("f.two(Tensor x, Tensor y) -> Tensor")
    lib.impl("f", lambda x: x + 1, "CPU")
    lib.impl("f.two", lambda x, y: x + y, "CPU")
    packet = ops.lib_tests.f
    assert packet.overloads() == ["default", "two"]
    assert packet(mt.ones(1)).item() == 2
    assert packet(mt.ones(1), mt.ones(1) * 4).item() == 5
    assert packet.two(mt.ones(1), mt.ones(1)).item() == 2
    with pytest.raises(RuntimeError, match="Overloaded torch operator invoked from Python failed to match any schema"):
        packet("a")
    with pytest.raises(AttributeError, match="The underlying op of 'lib_tests.f' has no overload name 'three'"):
        packet.three  # noqa: B018


def test_results_of_every_form(lib):
    lib.define("several(Tensor x) -> (Tensor, int)")
    lib.impl("several", lambda x: (x + 1, 3), "CPU")
    lib.define("nothing(Tensor x) -> ()")
    lib.impl("nothing", lambda x: None, "CPU")
    lib.define("same(Tensor(a!) x) -> Tensor(a!)")
    lib.impl("same", lambda x: x.add_(1), "CPU")
    x = mt.zeros(1)
    assert ops.lib_tests.several(x) == (1, 3)
    assert ops.lib_tests.nothing(x) is None
    assert ops.lib_tests.same(x) is x
    assert x.item() == 1


def test_arguments_are_converted(lib):
    seen = []
    lib.define("f(Tensor[] xs, int[2] k, float? a=None, Device? d=None, Scalar s=1, ScalarType? t=None) -> ()")
    lib.impl("f", lambda *args: seen.append(args), "CPU")
    x = mt.ones(1)
    ops.lib_tests.f((x,), 3, 1, "cpu", 2.5, mt.half)
    ops.lib_tests.f([x], (3, 4))
    assert seen[0] == ([x], [3, 3], 1.0, mt.device("cpu"), 2.5, mt.half)
    assert seen[1] == ([x], [3, 4])
    for wrong in (([x, None], 3), ([x], "a"), ([x], [1.5]), ([x], 3, None, None, mt.ones(()))):
        with pytest.raises(RuntimeError, match="Expected a value of type"):
            ops.lib_tests.f(*wrong)


#: Arguments after the tensor -> what a kernel is handed after it, as PyTorch 2.13 does.
HANDED_ON = [
    ((), {}, (), {}),
    ((2, 1.0, [1, 2]), {"b": False, "m": "q", "t": None, "a": 1}, (), {}),
    ((3,), {}, (3,), {}),
    ((2, 1), {}, (), {}),
    ((2, 2.0), {}, (2, 2.0), {}),
    ((2, 1, [1, 3]), {}, (2, 1.0, [1, 3]), {}),
    ((), {"s": (2, 2)}, (2, 1.0, [2, 2]), {}),
    ((), {"b": True, "a": 1.0, "m": "z"}, (), {"b": True, "m": "z", "a": 1.0}),
    ((), {"a": True, "d": mt.float32}, (), {"d": mt.float32, "a": True}),
]


@pytest.mark.parametrize(("args", "kwargs", "positional", "named"), HANDED_ON)
def test_arguments_at_their_defaults_are_not_handed_to_kernels(lib, args, kwargs, positional, named):
    seen = []
    lib.define(
        "f(Tensor x, int n=2, float e=1, int[2] s=[1,2], *, bool b=False, str m='q', Tensor? t=None, "
        "ScalarType? d=None, Scalar a=1) -> Tensor"
    )
    lib.impl("f", lambda x, *args, **kwargs: seen.append((args, kwargs)) or x, "CPU")
    ops.lib_tests.f(mt.ones(1), *args, **kwargs)
    assert seen == [(positional, named)]
    assert [type(v) for v in seen[0][1].values()] == [type(v) for v in named.values()]


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ({"n": True}, 1), ({"s": [True, 2]}, [1, 2]), ({"b": 1}, True), ({"b": 2.5}, True), ({"b": mt.ones(1)}, True),
        ({"c": 0.0}, False), ({"e": mt.tensor(4)}, 4.0), ({"n": mt.tensor(4)}, 4),
    ],
)  # fmt: skip
def test_arguments_are_cast(lib, given, taken):
    """As PyTorch 2.13 casts them for operators, other than for its functions."""
    seen = []
    lib.define("f(Tensor x, *, int n=2, float e=1, bool b=False, int[] s=[], bool? c=None) -> Tensor")
    lib.impl("f", lambda x, **named: seen.append(named) or x, "CPU")
    ops.lib_tests.f(mt.ones(1), **given)
    (found,) = seen[0].values()
    assert found == taken and type(found) is type(taken)


@pytest.mark.parametrize("given", [{"b": "a"}, {"b": [1]}, {"b": mt.ones(2)}, {"e": mt.ones(2)}, {"e": 3j}, {"n": 2.0}])
def test_other_arguments_are_refused(lib, given):
    lib.define("f(Tensor x, *, int n=2, float e=1, bool b=False) -> Tensor")
    lib.impl("f", lambda x, **named: x, "CPU")
    with pytest.raises(RuntimeError, match="Expected a value of type"):
        ops.lib_tests.f(mt.ones(1), **given)


def test_kernels_of_built_in_operators_need_not_know_of_defaults():
    with _scoped_library("aten", "IMPL") as overriding:
        overriding.impl("add.Tensor", lambda a, b: a * 10, "CPU")
        assert (mt.ones(2) + 3).tolist() == [10, 10]
        with pytest.raises(TypeError, match="alpha"):
            mt.add(mt.ones(2), 3, alpha=2)


# Keys


def test_an_implicit_composite_differentiates_and_has_shapes_by_its_parts(lib, scale):
    lib.impl("scale", by_factor)
    x = mt.ones(2).requires_grad_()
    scale(x, 5.0).sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]
    assert scale(mt.ones(4, device="meta")).shape == (4,)


def test_a_kernel_of_the_device_comes_before_composites(lib, scale):
    lib.impl("scale", lambda x, *_: x + 100, "CompositeExplicitAutograd")
    assert scale(mt.zeros(1)).item() == 100
    lib.impl("scale", lambda x, *_: x + 1, "CPU")
    assert scale(mt.zeros(1)).item() == 1
    assert scale(mt.zeros(1, device="meta")).shape == (1,)


def test_an_autograd_kernel_records_what_it_likes(lib, scale):
    lib.impl("scale", by_factor, "CPU")
    lib.impl("scale", lambda x, *_: x * 7, "Autograd")
    assert scale(mt.ones(1).requires_grad_()).item() == 7
    lib.impl("scale", library.fallthrough_kernel, "AutogradCPU")
    assert scale(mt.ones(1).requires_grad_()).item() == 2


def test_an_operator_with_an_autograd_kernel_only(lib, scale):
    lib.impl("scale", by_factor, "Autograd")
    assert scale(mt.ones(1)).item() == 2
    assert scale(mt.ones(1).requires_grad_()).requires_grad


def test_a_gradient_through_a_kernel_without_derivative_warns(lib, scale):
    lib.impl("scale", by_factor, "CPU")
    x = mt.ones(1).requires_grad_()
    y = scale(x)
    with pytest.warns(UserWarning, match="lib_tests::scale: an autograd kernel was not registered to the Autograd key"):
        y.backward()
    assert x.grad.item() == 2


def test_a_replaced_kernel_comes_back(lib, scale):
    lib.impl("scale", by_factor, "CPU")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with _scoped_library("lib_tests", "IMPL", "CPU") as other:
            other.impl("scale", lambda x, *_: x + 50)
            assert scale(mt.zeros(1)).item() == 50
    assert scale(mt.ones(1)).item() == 2


def test_built_in_operators_can_be_overridden():
    x = mt.ones(1).requires_grad_()
    with _scoped_library("aten", "IMPL") as made:
        made.impl("sin", lambda x: x * 100, "CPU")
        assert mt.sin(mt.ones(1)).item() == 100
        y = mt.sin(x)
        assert y.item() == 100
        y.backward()
        assert mt.equal(x.grad, mt.cos(x.detach())), "autograd sees the operator, not what its kernel calls"
    assert mt.sin(mt.zeros(1)).item() == 0


def test_errors_of_registrations(lib, scale):
    with pytest.raises(TypeError, match="Input function is required to be a callable but found type <class 'int'>"):
        lib.impl("scale", 5, "CPU")
    with pytest.raises(RuntimeError, match="could not parse dispatch key: XX"):
        lib.impl("scale", by_factor, "XX")
    with pytest.raises(NotImplementedError, match="kernels cannot be registered for the dispatch key FuncTorchBatched"):
        lib.impl("scale", by_factor, "FuncTorchBatched")
    with pytest.raises(RuntimeError, match="operator lib_tests::missing does not exist"):
        lib.impl("missing", by_factor, "CPU")
    with pytest.raises(RuntimeError, match="with the same name and overload name multiple times"):
        lib.define("scale(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="not an operator schema"):
        lib.define("f(Tensor x -> Tensor")
    with pytest.raises(RuntimeError, match="unknown type specifier"):
        lib.define("f(Nope x) -> Tensor")
    with pytest.raises(NotImplementedError, match=r"fallthrough_kernel\(\) should never be called."):
        library.fallthrough_kernel()
    lib.impl("scale", by_factor)
    with pytest.raises(RuntimeError, match="because it has a CompositeImplicitAutograd kernel in core"):
        lib.impl("scale", by_factor, "Meta")


def test_kinds_of_libraries():
    with pytest.raises(ValueError, match="Unsupported kind: X"):
        library.Library("lib_tests", "X")
    with pytest.raises(ValueError, match="prim is a reserved namespace"):
        library.Library("prim", "DEF")
    with pytest.raises(RuntimeError, match="Only a single TORCH_LIBRARY can be used to register the namespace aten"):
        library.Library("aten", "DEF")
    with pytest.raises(RuntimeError, match="Cannot define an operator inside of a TORCH_LIBRARY_IMPL block"):
        library.Library("lib_tests", "IMPL").define("f(Tensor x) -> Tensor")


# By name


def test_functions_by_name(lib):
    library.define("lib_tests::named", "(Tensor x) -> Tensor", lib=lib)
    library.impl("lib_tests::named", "default", lambda x: x + 1, lib=lib)
    assert ops.lib_tests.named(mt.zeros(1)).item() == 1

    @library.register_kernel("lib_tests::named", "cpu", lib=lib)
    def _(x):
        return x + 2

    assert ops.lib_tests.named(mt.zeros(1)).item() == 2
    library.register_fake("lib_tests::named", lambda x: x.new_empty(9), lib=lib)
    assert ops.lib_tests.named(mt.zeros(1, device="meta")).shape == (9,)
    library.register_autograd("lib_tests::named", lambda ctx, grad: grad * 5, lib=lib)
    x = mt.zeros(1).requires_grad_()
    ops.lib_tests.named(x).backward()
    assert x.grad.item() == 5
    assert library.get_kernel("lib_tests::named", "CPU").call_boxed(None, mt.zeros(1)).item() == 2
    on_other_devices = library.get_kernel("lib_tests::named", "CUDA")
    assert on_other_devices.call_boxed(None, mt.zeros(1)).item() == 1, "that of all devices"
    library.define("lib_tests::on_cpu", "(Tensor x) -> Tensor", lib=lib)
    library.impl("lib_tests::on_cpu", "cpu", lambda x: x + 1, lib=lib)
    with pytest.raises(RuntimeError, match="no kernel for CUDA for lib_tests::on_cpu"):
        library.get_kernel("lib_tests::on_cpu", "CUDA")


def test_decorators_of_a_library(lib):
    @library.define(lib, "made(Tensor x) -> Tensor")
    def made(x):
        return x + 1

    assert ops.lib_tests.made(mt.zeros(1)).item() == 1
    lib.define("later(Tensor x) -> Tensor")

    @library.impl(lib, "later", "CPU")
    def later(x):
        return x + 3

    assert ops.lib_tests.later(mt.zeros(1)).item() == 3


def test_keyword_only_arguments_have_a_place_of_their_own(lib, scale):
    lib.impl("scale", by_factor, "CPU")

    def setup_context(ctx, inputs, keyword_only_inputs, output):
        _, ctx.factor = inputs
        ctx.sign = -1 if keyword_only_inputs["negate"] else 1

    library.register_autograd(
        "lib_tests::scale", lambda ctx, g: (g * ctx.factor * ctx.sign, None), setup_context=setup_context, lib=lib
    )
    x = mt.ones(1).requires_grad_()
    scale(x, 3.0, negate=True).backward()
    assert x.grad.item() == -3
    lib.define("keyword(Tensor x, *, Tensor y) -> Tensor")
    with pytest.raises(NotImplementedError, match="register_autograd with kwarg-only Tensor args"):
        library.register_autograd("lib_tests::keyword", lambda ctx, g: g, lib=lib)


def test_names_need_a_namespace():
    with pytest.raises(ValueError, match='Expected `qualname` to be of the form "namespace::name", but got a'):
        library.define("a", "(Tensor x) -> Tensor")
    with pytest.raises(ValueError, match="expected schema to look like"):
        library.define("lib_tests::b", "b(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="operator lib_tests::nothing does not exist"):
        library.register_fake("lib_tests::nothing", lambda x: x)
    with pytest.raises(RuntimeError, match="device type at start of device string: bad"):
        library.impl("lib_tests::b", "bad", lambda x: x)


# torch.ops


def test_built_in_operators_by_name():
    assert ops.aten.add.Tensor(mt.ones(1), mt.ones(1)).item() == 2
    assert ops.aten.add(mt.ones(1), 1, alpha=3).item() == 4
    assert (
        str(ops.aten.add.Tensor._schema) == "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
    )
    alpha = ops.aten.add.Tensor._schema.arguments[2]
    assert (alpha.name, alpha.default_value, alpha.kwarg_only, str(alpha.type)) == ("alpha", 1, True, "number")
    assert ops.aten.sum.default(mt.ones(2)).item() == 2
    assert "out" in ops.aten.add.overloads()
    x = mt.ones(1)
    assert ops.aten.add_.Tensor(x, x) is x


def test_what_is_not_there():
    with pytest.raises(AttributeError, match="'_OpNamespace' 'aten' object has no attribute 'nonesuch'"):
        ops.aten.nonesuch  # noqa: B018
    assert not hasattr(ops, "__wrapped__")
    with pytest.raises(OSError, match=r"Could not load this library: /some/where.so"):
        ops.load_library("/some/where.so")
    assert repr(ops) == "<module 'torch.ops' from '_ops.py'>"


def test_operators_of_torch_ops_are_told_to_overrides_as_themselves() -> None:
    told = []

    class Told(mt.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            told.append((str(func), types, len(args), kwargs))
            return super().__torch_function__(func, types, args, kwargs or {})

    x = mt.ones(2).as_subclass(Told)
    assert type(ops.aten.add.Tensor(x, x)) is Told
    assert type(ops.aten.add(x, x, alpha=2)) is Told
    assert told == [("aten.add.Tensor", (Told,), 2, {}), ("aten.add", (Told,), 2, {"alpha": 2})]


@pytest.mark.parametrize(
    ("returns", "result", "error", "words"),
    [
        ("Tensor", 3, RuntimeError, "Unable to cast 3 to Tensor"),
        ("Tensor", [1], RuntimeError, "Unable to cast"),
        ("(Tensor, Tensor)", 3, TypeError, "'int' is not an instance of 'sequence'"),
        ("(Tensor, Tensor)", (3, 4), RuntimeError, "Unable to cast 3 to Tensor"),
        ("(int, int)", (3,), RuntimeError, "has 2 results by its schema, but its kernel returned 1"),
        ("(int, int)", (3, 4, 5), RuntimeError, "has 2 results by its schema, but its kernel returned 3"),
        ("Tensor[]", 3, RuntimeError, "Unable to cast Python instance of type <class 'int'>"),
        ("Tensor[]", (3,), RuntimeError, "Unable to cast Python instance of type <class 'tuple'>"),
        ("int", "a", RuntimeError, "Unable to cast Python instance of type <class 'str'>"),
        ("int", 2.5, RuntimeError, "Unable to cast Python instance of type <class 'float'>"),
        ("int", None, RuntimeError, "Unable to cast Python instance of type <class 'NoneType'>"),
        ("Scalar", "a", RuntimeError, "Cannot cast a to number"),
        ("Scalar", None, RuntimeError, "Cannot cast None to number"),
        ("()", 3, RuntimeError, "to return None but it returned something else instead"),
    ],
)
def test_what_a_kernel_returns_is_held_to_its_schema(lib, returns, result, error, words):
    lib.define(f"returned(Tensor x) -> {returns}")
    lib.impl("returned", lambda x: result, "CPU")
    with pytest.raises(error, match=words):
        ops.lib_tests.returned(mt.ones(1))


@pytest.mark.parametrize(
    ("returns", "result", "handed_over"),
    [
        ("int", True, 1),
        ("int", mt.tensor(2), 2),
        ("float", 2, 2.0),
        ("bool", 2.5, True),
        ("bool[]", [1, 0], [True, False]),
    ],
)
def test_what_a_kernel_returns_is_cast_to_its_schema(lib, returns, result, handed_over):
    lib.define(f"returned(Tensor x) -> {returns}")
    lib.impl("returned", lambda x: result, "CPU")
    found = ops.lib_tests.returned(mt.ones(1))
    assert found == handed_over
    assert type(found) is type(handed_over)


def test_a_kernel_may_be_kept_from_being_replaced() -> None:
    with _scoped_library("kept_kernels", "DEF") as lib:
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", lambda x: x + 1, "CPU", allow_override=False)
        with pytest.raises(
            RuntimeError, match="already a kernel registered from python overriding f's behavior for CPU"
        ):
            lib.impl("f", lambda x: x + 2, "CPU", allow_override=False)
        lib.impl("f", lambda x: x + 3, "Meta", allow_override=False)
        assert ops.kept_kernels.f(mt.zeros(1)).item() == 1


def test_a_kernel_of_the_cores_own_is_overridden_with_a_warning(monkeypatch):
    monkeypatch.setattr(Once, "always", True)
    with _scoped_library("aten", "IMPL") as made:
        for name, key in [("neg", "CPU"), ("neg_", "CPU"), ("_softmax", "CPU"), ("neg", "Autograd")]:
            with pytest.warns(UserWarning, match="other operators may also be overridden"):
                made.impl(name, lambda x, *args: x * 2, key)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            made.impl("neg", lambda x: x * 2, "Meta")
            made.impl("reshape", lambda x, shape: x, "CPU")


def test_results_come_as_their_schema_says(lib):
    lib.define("pair(Tensor x) -> (Tensor, int)")
    lib.impl("pair", lambda x: [x, 2], "CPU")
    lib.define("some(Tensor x) -> Tensor[]")
    lib.impl("some", lambda x: (x, x), "CPU")
    pair = ops.lib_tests.pair(mt.ones(1))
    assert type(pair) is tuple and pair[1] == 2
    assert type(ops.lib_tests.some(mt.ones(1))) is list
