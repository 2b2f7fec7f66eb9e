"""Forward mode by levels: equal to reverse mode, over it and under it, and inside of vmap."""

import pytest

import mt_core
from mt_autograd import Function
from mt_autograd.func import grad, hessian, jacfwd, jacrev, jvp, linearize
from mt_core import allclose, tensor
from mt_core.transforms.vmapping import vmap

X = tensor([0.5, -1.25, 2.0])
V = tensor([1.0, 2.0, -0.5])


def written(x):
    y = x * 1
    y[0:2].mul_(2)
    z = y.clone()
    z.add_(x)
    return z * y


FUNCTIONS = {
    "elementwise": lambda x: x.sin() * x + 1 / (1 + x * x),
    "written": written,
    "views": lambda x: mt_core.cat([x, x * x])[1:5].view(2, 2).t().expand(2, 2, 2),
    "copied": lambda x: mt_core.zeros(3).copy_(x) * x,
    "placed": lambda x: mt_core.zeros(3).index_put_((tensor([0, 2]),), x[:2] ** 2),
    "detached": lambda x: x.detach() * x,
    "sorted": lambda x: x.sort()[0] * x.max(),
    "products": lambda x: mt_core.outer(x, x) @ x,
    "sums": lambda x: x.cumsum(0) / x.norm(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_both_modes_give_one_jacobian(name):
    function = FUNCTIONS[name]
    expected = jacrev(function)(X)
    assert allclose(jacfwd(function)(X), expected, atol=1e-6)
    value, tangent = jvp(function, (X,), (V,))
    assert allclose(value, function(X)) and allclose(tangent, expected @ V, atol=1e-5)
    assert allclose(linearize(function, X)[1](V), expected @ V, atol=1e-5)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_second_derivatives_agree_in_every_order(name):
    function = FUNCTIONS[name]
    orders = [jacfwd(jacrev(function)), jacrev(jacfwd(function)), jacfwd(jacfwd(function)), jacrev(jacrev(function))]
    first, *others = [order(X) for order in orders]
    assert all(allclose(first, other, atol=1e-4) for other in others)


def test_hessian_by_several_arguments_and_of_a_batch():
    found = hessian(lambda x, y: (x**2).sum() * y, argnums=(0, 1))(X, tensor(2.0))
    assert allclose(found[0][0], 4 * mt_core.eye(3)) and allclose(found[0][1], 2 * X)
    assert allclose(found[1][0], 2 * X) and allclose(found[1][1], tensor(0.0))
    batch = vmap(hessian(lambda x: (x**3).sum()))(mt_core.stack([X, V]))
    assert allclose(batch, mt_core.stack([(6 * X).diag(), (6 * V).diag()]))


def test_levels_of_forward_mode_are_told_apart():
    def inner(x):
        return jvp(lambda y: x * y, (tensor(3.0),), (tensor(1.0),))[1]

    assert allclose(jvp(inner, (tensor(2.0),), (tensor(1.0),))[1], tensor(1.0))


def test_gradient_of_a_derivative_along_a_direction():
    found = grad(lambda x: jvp(lambda y: y**3, (x,), (V,))[1].sum())(X)
    assert allclose(found, 6 * X * V)


class Tripled(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.save_for_forward(inputs[0])

    @staticmethod
    def backward(ctx, gradient):
        return 3 * ctx.saved_tensors[0] * gradient

    @staticmethod
    def jvp(ctx, tangent):
        return 5 * ctx.saved_tensors[0] * tangent


def test_custom_functions_say_their_own_tangents():
    assert allclose(jvp(Tripled.apply, (X,), (V,))[1], 5 * X * V)
    assert allclose(grad(lambda x: jvp(Tripled.apply, (x,), (V,))[1].sum())(X), 5 * V)


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: jvp(lambda x: x, X, X), "Expected primals to be a tuple"),
        (lambda: jvp(lambda x: x, (X,), (X, X)), "to have the same python structure"),
        (lambda: jvp(lambda x: x, (), ()), "Expected primals to contain at least one Tensor"),
        (lambda: jvp(lambda x: x, (X,), (1,)), "Expected tangents to only contain Tensors, got <class 'int'>"),
        (lambda: jvp(lambda x: x, (X,), (X[:2],)), "a forward gradient that has a different size"),
        (lambda: jvp(lambda x: 1, (X,), (X,)), "to return only tensors, got unsupported type <class 'int'>"),
        (lambda: jvp(lambda x: V, (X,), (X,), strict=True), "is independent of the inputs"),
        (lambda: linearize(lambda x: x, X)[1](X, X), "to have the same argspec as the primals"),
        (lambda: linearize(lambda x: x, X)[1](X[:2]), "doesn't match the shape"),
    ],
)
def test_refusals(call, text):
    with pytest.raises(RuntimeError, match=text):
        call()


def test_integers_have_no_tangents():
    with pytest.raises(ValueError, match="Expected primal to be floating point or complex, but got: torch.int64"):
        jvp(lambda x: x * 2.0, (X.long(),), (X.long(),))
