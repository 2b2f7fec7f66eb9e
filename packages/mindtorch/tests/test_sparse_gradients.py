"""Gradients that are sparse: of `gather`, summed with dense ones, and the memory they have; `data` of other kinds."""

from __future__ import annotations

from typing import Any

import pytest

import mindtorch as torch


class Through(torch.autograd.Function):
    """The argument, whose gradient a function makes."""

    @staticmethod
    def forward(ctx: Any, x: Any, made: Any) -> Any:
        ctx.made = made
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return ctx.made(grad), None


class Both(torch.autograd.Function):
    """A sum, both of whose gradients are one tensor."""

    given: Any

    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        return a + b

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return Both.given, Both.given


def _dense(grad: Any) -> Any:
    return grad


def _sparse(grad: Any) -> Any:
    return grad.to_sparse()


@pytest.mark.parametrize("makers", [(_dense, _sparse), (_sparse, _dense), (_sparse, _dense, _sparse)])
def test_sparse_and_dense_gradients_are_summed_in_either_order(makers):
    x = torch.rand(3, 2, requires_grad=True)
    sum(Through.apply(x, make) * (i + 1) for i, make in enumerate(makers)).sum().backward()
    assert x.grad.layout is torch.strided
    assert x.grad.tolist() == [[float(sum(range(1, len(makers) + 1)))] * 2] * 3


@pytest.mark.parametrize("first, second", [(_dense, _sparse), (_sparse, _dense)])
def test_a_leaf_accumulates_sparse_and_dense_gradients(first, second):
    x = torch.rand(2, requires_grad=True)
    Through.apply(x, first).sum().backward()
    Through.apply(x, second).sum().backward()
    assert x.grad.layout is torch.strided and x.grad.tolist() == [2.0, 2.0]


@pytest.mark.parametrize("expanded", [False, True])
def test_leaves_do_not_share_the_values_of_a_sparse_gradient(expanded):
    values, indices = torch.rand(1, 3), torch.ones(1, 1, dtype=torch.int64)
    if expanded:
        values, indices = values.expand(8, 3), indices.expand(1, 8)
    a, b = (torch.rand(10, 3, requires_grad=True) for _ in range(2))
    out = Both.apply(a, b)
    Both.given = torch.sparse_coo_tensor(indices, values, (10, 3))
    given = Both.given._values().data_ptr()
    out.sum().backward()
    assert a.grad._values().data_ptr() != b.grad._values().data_ptr()
    if expanded:  # neither is taken: its elements are one
        assert given not in (a.grad._values().data_ptr(), b.grad._values().data_ptr())
        assert a.grad._values().stride() == b.grad._values().stride() == (3, 1)
    b.grad._values()[0].zero_()
    assert bool((a.grad._values() != 0).all())
    assert bool((b.grad._values()[1:] != 0).all())


@pytest.mark.parametrize(
    "shape, dim, index",
    [
        ((5, 4), 0, [[1, 0, 2, 2], [4, 3, 1, 1]]), ((5, 4), -1, [[1], [0]]), ((5,), 0, 3), ((), 0, 0), ((), -1, [0]),
        ((2, 3, 2), 1, [[[2, 0]], [[1, 1]]]), ((1,), 0, 0), ((3, 2), 0, []),
    ],
)  # fmt: skip
def test_gather_gives_a_sparse_gradient_of_the_dense_ones_values(shape, dim, index):
    where = torch.tensor(index, dtype=torch.int64)
    where = where if where.numel() else where.reshape(0, 2)
    grads = []
    for sparse in (False, True):
        x = torch.ones(shape, requires_grad=True)
        y = x.gather(dim, where, sparse_grad=sparse)
        y.backward(torch.arange(1.0, y.numel() + 1).reshape(y.shape))
        grads.append(x.grad)
    assert grads[1].layout is torch.sparse_coo and grads[1]._nnz() == where.numel()
    assert grads[0].tolist() == grads[1].to_dense().tolist()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64])
@pytest.mark.parametrize("name", ["scatter", "scatter_add"])
@pytest.mark.parametrize("size, index, source", [((5,), (), ()), ((), (1,), (1,)), ((5,), (), (2,)), ((5,), (1,), ())])
def test_scattering_takes_a_number_of_dimensions_for_one(dtype, name, size, index, source):
    made = getattr(torch.zeros(size, dtype=dtype), name)(
        0, torch.zeros(index, dtype=torch.int64), torch.full(source, 2, dtype=dtype)
    )
    assert made.reshape(-1).tolist() == [2, 0, 0, 0, 0][: made.numel()] and made.shape == size


# Kinds of tensors


def _kinds() -> dict[str, Any]:
    return {
        "dense": torch.rand(3), "coordinates": torch.eye(3).to_sparse(), "rows": torch.eye(3).to_sparse_csr(),
        "meta": torch.rand(3, device="meta"),
        "quantized": torch.quantize_per_tensor(torch.rand(3), 0.1, 0, torch.quint8),
    }  # fmt: skip


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
@pytest.mark.parametrize("kind", list("dense coordinates rows meta quantized".split()))
def test_data_is_of_the_same_kind(kind):
    for other, value in _kinds().items():
        tensor = _kinds()[kind]
        if other == kind:
            tensor.data = value
            assert tensor.layout is value.layout
            continue
        with pytest.raises(RuntimeError, match="have incompatible tensor type"):
            tensor.data = value
        assert tensor.layout is _kinds()[kind].layout


def test_a_module_takes_other_parameters_where_a_function_makes_sparse_ones():
    layer = torch.nn.Linear(2, 3)
    layer.weight.grad = torch.rand(3, 2)
    before, gradient = layer.weight, layer.weight.grad
    layer._apply(lambda tensor: tensor.detach().to_sparse())
    assert before.layout is gradient.layout is torch.strided
    assert layer.weight.layout is layer.weight.grad.layout is torch.sparse_coo


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
def test_memory_formats_are_refused(layout):
    x = torch.eye(3).to_sparse(layout=layout)
    for call in (
        lambda: x.clone(memory_format=torch.preserve_format),
        lambda: torch.empty_like(x, memory_format=torch.channels_last),
        lambda: x.to(torch.float64, memory_format=torch.contiguous_format),
        lambda: x.contiguous(),
    ):
        with pytest.raises(RuntimeError, match="memory format"):
            call()
