"""Operators made of functions: `custom_op` and what is registered for them."""

from __future__ import annotations

import gc
import pickle
import weakref
from collections.abc import Sequence
from typing import List, Optional, Tuple, Union  # noqa: UP035 - their spellings are tested too

import numpy as np
import pytest

import mt_core as mt
import mt_library as library
from mt_autograd.gradcheck import gradcheck, gradgradcheck
from mt_core import Tensor
from mt_core.interop import from_numpy
from mt_library import ops


def sine(name):
    """An operator that NumPy computes, with its derivative and its shape."""

    @library.custom_op(name, mutates_args=())
    def operator(x: Tensor) -> Tensor:
        return from_numpy(np.sin(x.detach().numpy()))

    @operator.register_fake
    def _(x):
        return mt.empty_like(x)

    def setup_context(ctx, inputs, output):
        (x,) = inputs
        ctx.save_for_backward(x)

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x.cos()

    operator.register_autograd(backward, setup_context=setup_context)
    return operator


@pytest.fixture
def sin():
    return sine("tests::sin")


@pytest.fixture
def x():
    return mt.rand(3, dtype=mt.float64).requires_grad_()


def test_computes(sin, x):
    assert mt.equal(sin(x.detach()), x.detach().sin())
    assert mt.equal(ops.tests.sin(x.detach()), x.detach().sin())
    assert mt.equal(ops.tests.sin.default(x=x.detach()), x.detach().sin())


def test_differentiates_once_and_twice(sin, x):
    assert gradcheck(sin, (x,))
    assert gradgradcheck(sin, (x,))
    assert type(sin(x).grad_fn).__name__ == "GeneratedBackwardFor_tests_sin_defaultBackward"


def test_without_gradients_nothing_is_recorded(sin, x):
    with mt.no_grad():
        assert not sin(x).requires_grad
    assert not sin(x.detach()).requires_grad


def test_meta_tensors_go_to_the_fake(sin):
    found = sin(mt.ones(2, 3, device="meta"))
    assert found.is_meta
    assert found.shape == (2, 3)


def test_the_names_of_an_operator(sin):
    assert repr(sin) == "<CustomOpDef(tests::sin)>"
    overload = ops.tests.sin.default
    assert repr(overload) == "<OpOverload(op='tests.sin', overload='default')>"
    assert str(overload) == "tests.sin.default"
    assert str(overload._schema) == "tests::sin(Tensor x) -> Tensor"
    assert overload.name() == "tests::sin"
    assert overload.overloadpacket is ops.tests.sin
    assert ops.tests.sin.overloads() == ["default"]
    assert library.Tag.pt2_compliant_tag in overload.tags
    assert pickle.loads(pickle.dumps(overload)) == overload


def test_the_saved_tensor_goes_with_the_result(sin):
    x = mt.rand(3).requires_grad_()
    kept = weakref.ref(x)
    y = sin(x)
    del x
    gc.collect()
    assert kept() is not None
    del y
    gc.collect()
    assert kept() is None


def test_without_a_derivative_backward_says_so():
    @library.custom_op("tests::opaque", mutates_args=())
    def opaque(x: Tensor) -> Tensor:
        return x.clone()

    y = opaque(mt.ones(2).requires_grad_())
    with pytest.raises(
        RuntimeError, match="Trying to backward through tests.opaque.default but no autograd formula was"
    ):
        y.sum().backward()


def test_without_a_fake_meta_tensors_are_refused():
    @library.custom_op("tests::no_fake", mutates_args=())
    def no_fake(x: Tensor) -> Tensor:
        return x.clone()

    with pytest.raises(RuntimeError, match="There was no fake impl registered for <CustomOpDef"):
        no_fake(mt.ones(2, device="meta"))


def test_lists_numbers_and_several_results():
    @library.custom_op("tests::mixed", mutates_args=())
    def mixed(x: Tensor, others: List[Tensor], n: int = 1) -> Tuple[Tensor, Tensor]:  # noqa: UP006
        return x * n, mt.stack([other.clone() for other in others])

    seen = []

    def setup_context(ctx, inputs, output):
        _, others, ctx.n = inputs
        seen.append((ctx.needs_input_grad, len(others), len(output)))

    def backward(ctx, first, second):
        return first * ctx.n, list(second.unbind(0)), None

    mixed.register_autograd(backward, setup_context=setup_context)
    x, y = (mt.rand(2, dtype=mt.float64).requires_grad_() for _ in range(2))
    assert gradcheck(lambda a, b: mixed(a, [b, b, mt.ones(2, dtype=mt.float64)], n=3), (x, y))
    assert seen[0] == ((True, [True, True, False], False), 3, 2)


def test_a_backward_of_the_wrong_shape():
    @library.custom_op("tests::wrong", mutates_args=())
    def wrong(x: Tensor, y: Tensor) -> Tensor:
        return x + y

    wrong.register_autograd(lambda ctx, grad: grad)
    y = wrong(mt.ones(2).requires_grad_(), mt.ones(2))
    with pytest.raises(
        RuntimeError, match="Expected the return from backward to be of the same structure as the inputs"
    ):
        y.sum().backward()


def test_results_may_not_be_inputs_or_views_of_them():
    @library.custom_op("tests::view", mutates_args=())
    def view(x: Tensor) -> Tensor:
        return x.view(-1)

    with pytest.raises(RuntimeError, match="may not alias any inputs to this custom operator"):
        view(mt.ones(2, 2))


def test_writing_to_an_argument():
    @library.custom_op("tests::double_", mutates_args={"x"})
    def double_(x: Tensor, factor: float = 2.0) -> None:
        x.numpy()[...] *= factor

    x = mt.ones(2)
    version = x._version
    assert double_(x) is None
    assert x.tolist() == [2.0, 2.0]
    assert x._version > version
    assert double_(mt.ones(2, device="meta")) is None, "nothing to write to, nothing to return"
    assert ops.tests.double_.default._schema.is_mutable
    with pytest.raises(RuntimeError, match="Cannot register autograd formula for non-functional operator"):
        double_.register_autograd(lambda ctx: None)
    with pytest.raises(RuntimeError, match="writes to argument 'x', which requires grad"):
        double_(mt.ones(2).requires_grad_())


def test_a_written_tensor_that_was_saved_is_noticed():
    @library.custom_op("tests::zero_", mutates_args={"x"})
    def zero_(x: Tensor) -> None:
        x.numpy()[...] = 0

    weight, x = mt.ones(2).requires_grad_(), mt.ones(2)
    y = weight * x
    zero_(x)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_kernels_by_device():
    @library.custom_op("tests::accelerated", mutates_args=(), device_types="cuda")
    def accelerated(x: Tensor) -> Tensor:
        return x.clone()

    with pytest.raises(NotImplementedError, match="could not find kernel for op tests::accelerated with keys CPU"):
        accelerated(mt.ones(1))

    @accelerated.register_kernel("cpu")
    def _(x):
        return x + 10

    assert accelerated(mt.ones(1)).item() == 11
    with accelerated.set_kernel_enabled("cpu", False):
        assert accelerated(mt.ones(1)).item() == 1
    assert accelerated(mt.ones(1)).item() == 11


def test_a_later_operator_of_the_same_name_replaces_the_first():
    for value in (1, 2):
        operator = library.custom_op(
            "tests::again", lambda x, v=value: x + v, mutates_args=(), schema="(Tensor x) -> Tensor"
        )
        assert operator(mt.zeros(1)).item() == value
        assert ops.tests.again(mt.zeros(1)).item() == value


def test_factories_have_no_tensor_argument():
    @library.custom_op("tests::counting", mutates_args=())
    def counting(n: int) -> Tensor:
        return mt.arange(n)

    assert counting(3).tolist() == [0, 1, 2]


def test_data_dependent_shapes_have_no_fake():
    @library.custom_op("tests::positions", mutates_args=())
    def positions(x: Tensor) -> Tensor:
        return from_numpy(np.flatnonzero(x.numpy()))

    @positions.register_fake
    def _(x):
        return x.new_empty(library.get_ctx().new_dynamic_size())

    assert library.get_ctx() is None
    with pytest.raises(
        RuntimeError, match="Meta Tensors don't support operators with outputs that have data-dependent"
    ):
        positions(mt.ones(2, device="meta"))


def test_a_schema_must_agree_with_what_is_said_to_be_written():
    with pytest.raises(ValueError, match="Attempted to create a custom op with `mutates_args="):
        library.custom_op("tests::disagree", lambda x: None, mutates_args={"x"}, schema="(Tensor x) -> Tensor")


def test_triton_is_not_supported():
    with pytest.raises(NotImplementedError, match="Triton"):
        library.triton_op("tests::triton", mutates_args=())
    with pytest.raises(NotImplementedError, match="Triton"):
        library.wrap_triton(None)


# Calls


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        (
            (3,),
            {},
            "Expected a value of type 'Tensor' for argument 'x' but instead found type 'int'.\nPosition: 0\nValue: 3",
        ),
        ((), {}, "is missing value for argument 'x'. Declaration: tests::sin"),
        ((mt.ones(1), mt.ones(1)), {}, r"expected at most 1 argument\(s\) but received 2 argument\(s\)"),
        ((), {"y": 1}, "Unknown keyword argument 'y' for operator 'tests::sin'"),
    ],
)
def test_wrong_arguments(sin, args, kwargs, message):
    with pytest.raises(RuntimeError, match=message):
        sin(*args, **kwargs)


# Schemas


def test_infer_schema_of_every_type():
    def function(
        x: Tensor,
        o: Optional[Tensor],  # noqa: UP045
        several: Sequence[Tensor],
        holes: List[Optional[Tensor]],  # noqa: UP006, UP045
        sizes: list[int],
        n: int = 3,
        f: float = 1.5,
        s: str = "hi",
        b: bool = True,
        d: mt.dtype = mt.float32,
        place: Optional[mt.device] = None,  # noqa: UP045
        number: Union[int, float, bool] = 2,  # noqa: UP007
        *,
        scale: float | None = None,
    ) -> tuple[Tensor, list[Tensor], int]: ...

    assert library.infer_schema(function, mutates_args={"o", "several"}, op_name="ns::f") == (
        "ns::f(Tensor x, Tensor(a1!)? o, Tensor(a2!)[] several, Tensor?[] holes, SymInt[] sizes, SymInt n=3, float "
        "f=1.5, "
        'str s="hi", bool b=True, ScalarType d=float32, Device? place=None, Scalar number=2, *, float? scale=None) -> '
        "(Tensor, Tensor[], SymInt)"
    )


def test_inferred_defaults_arrive():
    seen = []

    @library.custom_op("tests::defaults", mutates_args=())
    def operator(x: Tensor, d: mt.dtype = mt.float16, s: str = "a,b", n: Optional[int] = None, f: float = 2) -> Tensor:  # noqa: UP045
        seen.append((d, s, n, f))
        return x.clone()

    operator(mt.ones(1))
    operator(mt.ones(1), mt.int64, n=4, f=1)
    assert seen == [(mt.float16, "a,b", None, 2.0), (mt.int64, "a,b", 4, 1.0)]


def no_annotation(x) -> Tensor: ...
def no_result(x: Tensor): ...
def wrong_type(x: dict) -> Tensor: ...
def wrong_result(x: Tensor) -> dict: ...
def pair(x: Tuple[int, int]) -> Tensor: ...  # noqa: UP006
def many(*xs: Tensor) -> Tensor: ...
def list_default(x: Tensor, l: list[int] = [1]) -> Tensor: ...  # noqa: B006
def written_number(x: int) -> Tensor: ...
def two(x: Tensor, y: Tensor) -> None: ...


@pytest.mark.parametrize(
    ("function", "mutates_args", "message"),
    [
        (no_annotation, (), "Parameter x must have a type annotation."),
        (no_result, (), "No return type annotation was provided. Please add one."),
        (wrong_type, (), "Parameter x has unsupported type <class 'dict'>. The valid types are"),
        (wrong_result, (), "Return has unsupported type <class 'dict'>. The valid types are"),
        (pair, (), r"We do not support Tuple inputs in schema. .* For example, list\[int\]."),
        (many, (), "We do not support positional-only args, varargs, or varkwargs."),
        (list_default, (), "Parameter l has an unsupported default value type <class 'list'>"),
        (
            written_number,
            {"x"},
            "Parameter x is in mutable_args but only Tensors or collections of Tensors can be mutated",
        ),
        (two, {"z"}, "in mutates_args were not found in the custom op's signature"),
        (two, "x", "mutates_args must either be a sequence of the names"),
    ],
)
def test_what_has_no_schema(function, mutates_args, message):
    with pytest.raises(ValueError, match=message):
        library.infer_schema(function, mutates_args=mutates_args)


def test_unknown_writes_are_all_writes():
    assert library.infer_schema(two, mutates_args="unknown") == "(Tensor(a0!) x, Tensor(a1!) y) -> ()"


# opcheck


def test_opcheck_passes_a_whole_operator(sin, x):
    assert set(library.opcheck(sin, (x,)).values()) == {"SUCCESS"}
    assert library.opcheck(ops.tests.sin, (x,), test_utils="test_schema") == {"test_schema": "SUCCESS"}


def test_opcheck_finds_a_wrong_shape(sin):
    @sin.register_fake
    def _(x):
        return x.new_empty(7)

    from mt_library.opcheck import OpCheckError

    with pytest.raises(OpCheckError, match=r"Shapes torch.Size\(\[3\]\) and torch.Size\(\[7\]\) are not equal!"):
        library.opcheck(sin, (mt.rand(3),))
    found = library.opcheck(sin, (mt.rand(3),), raise_exception=False)
    assert isinstance(found["test_faketensor"], Exception)
    assert found["test_schema"] == "SUCCESS"


def test_opcheck_finds_a_hidden_write():
    @library.custom_op("tests::hidden", mutates_args=())
    def hidden(x: Tensor) -> Tensor:
        x.add_(1)
        return x.clone()

    from mt_library.opcheck import OpCheckError

    x = mt.zeros(2)
    with pytest.raises(OpCheckError, match="Argument x is not defined as mutable but was mutated"):
        library.opcheck(hidden, (x,), test_utils="test_schema")
    assert x.tolist() == [0.0, 0.0], "it works on copies"


def test_opcheck_knows_its_checks(sin):
    with pytest.raises(ValueError, match="expected test_utils to be subset of"):
        library.opcheck(sin, (mt.ones(1),), test_utils="nope")
