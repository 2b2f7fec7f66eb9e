"""Sparse tensors: against PyTorch's answers, and as properties against ordinary tensors."""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mindtorch as torch

_SNAPSHOTS = Path(__file__).parent / "snapshots"
sys.path.insert(0, str(_SNAPSHOTS))

from sparse_cases import answers  # noqa: E402

RECORDED = json.loads((_SNAPSHOTS / "sparse.json").read_text())

#: Where something else is done, and why.
DIFFERENT = {
    "torch.sparse_coo_tensor(i, torch.tensor([1, 2, 3, 4]), (2, 3)).mul_(1.5)": "refused in the words of other tensors",
}


@functools.cache
def _ours() -> dict[str, Any]:
    return json.loads(json.dumps(answers(torch)))  # type: ignore[no-any-return]


@pytest.mark.parametrize("program", RECORDED)
def test_programs_give_what_they_give_in_pytorch(program: str) -> None:
    if program in DIFFERENT:
        assert _ours()[program] != RECORDED[program], "listed as different, and is not"
    else:
        assert _ours()[program] == RECORDED[program]


@st.composite
def _sparse(draw: Any, rows: int = 4, columns: int = 3, dense: int = 0) -> Any:
    nnz = draw(st.integers(0, 8))
    places = st.lists(st.tuples(st.integers(0, rows - 1), st.integers(0, columns - 1)), min_size=nnz, max_size=nnz)
    indices = torch.tensor(draw(places), dtype=torch.int64).reshape(nnz, 2).t()
    numbers = st.lists(st.integers(-4, 4), min_size=nnz * max(dense, 1), max_size=nnz * max(dense, 1))
    values = torch.tensor(draw(numbers), dtype=torch.float64).reshape((nnz, dense) if dense else (nnz,))
    made = torch.sparse_coo_tensor(indices, values, (rows, columns, dense) if dense else (rows, columns))
    return made.coalesce() if draw(st.booleans()) else made


#: Of two sparse tensors and a dense one, in both worlds.
_BOTH = {
    "add": lambda s, t, d: s + t,
    "sub": lambda s, t, d: s - t,
    "mul": lambda s, t, d: s * t,
    "scaled": lambda s, t, d: s * 3,
    "by dense": lambda s, t, d: s * d,
    "negated": lambda s, t, d: -s,
    "transposed": lambda s, t, d: s.t(),
    "joined": lambda s, t, d: torch.cat([s, t], 1),
    "stacked": lambda s, t, d: torch.stack([s, t], 1),
    "selected": lambda s, t, d: s.index_select(0, torch.tensor([2, 0, 2])),
    "row": lambda s, t, d: s[1],
    "narrowed": lambda s, t, d: s.narrow_copy(1, 1, 2),
    "sum 0": lambda s, t, d: torch.sparse.sum(s, 0) if s.is_sparse else s.sum(0),
    "sum": lambda s, t, d: s.sum(),
    "sine": lambda s, t, d: s.sin(),
    "product": lambda s, t, d: s @ t.t(),
    "by dense matrix": lambda s, t, d: s @ d.t(),
    "dense by sparse": lambda s, t, d: d.t() @ s,
    "dense and sparse": lambda s, t, d: d + s,
}


def _dense(value: Any) -> Any:
    return value.to_dense() if value.layout is not torch.strided else value


@given(_sparse(), _sparse(), st.sampled_from(sorted(_BOTH)))
@settings(max_examples=150, deadline=None)
def test_what_is_done_to_sparse_tensors_is_done_to_their_elements(s: Any, t: Any, name: str) -> None:
    d = torch.arange(12.0, dtype=torch.float64).reshape(4, 3) - 5
    expected = _BOTH[name](s.to_dense(), t.to_dense(), d)
    torch.testing.assert_close(_dense(_BOTH[name](s, t, d)), expected)


@given(_sparse(), st.sampled_from(["to_sparse_csr", "to_sparse_csc"]))
@settings(max_examples=60, deadline=None)
def test_compressed_tensors_hold_the_same_elements(s: Any, convert: str) -> None:
    compressed = getattr(s, convert)()
    torch.sparse.check_sparse_tensor_invariants.enable()
    try:
        assert torch.equal(compressed.to_dense(), s.to_dense())
        assert torch.equal(compressed.to_sparse().to_dense(), s.to_dense())
        assert torch.equal(compressed.t().to_dense(), s.to_dense().t())
    finally:
        torch.sparse.check_sparse_tensor_invariants.disable()


@given(_sparse(dense=2), _sparse(dense=2))
@settings(max_examples=40, deadline=None)
def test_values_may_have_dimensions(s: Any, t: Any) -> None:
    for f in (
        lambda a, b: a + b,
        lambda a, b: a * b,
        lambda a, b: torch.cat([a, b], 2),
        lambda a, b: a.transpose(0, 1),
    ):
        torch.testing.assert_close(f(s, t).to_dense(), f(s.to_dense(), t.to_dense()))


@given(_sparse(), st.sampled_from(["add", "mul", "by dense", "sum 0", "product", "by dense matrix", "transposed"]))
@settings(max_examples=60, deadline=None)
def test_gradients_of_values_are_those_of_the_elements(s: Any, name: str) -> None:
    d = torch.arange(12.0, dtype=torch.float64).reshape(4, 3) - 5
    values = s._values().clone().requires_grad_()
    made = torch.sparse_coo_tensor(s._indices(), values, s.shape)
    _dense(_BOTH[name](made, made, d)).square().sum().backward()
    dense = s.to_dense().requires_grad_()
    _BOTH[name](dense, dense, d).square().sum().backward()
    torch.testing.assert_close(values.grad, dense.grad[tuple(s._indices())])


@given(_sparse(), st.sampled_from(["add", "mul", "by dense", "product", "by dense matrix", "transposed", "scaled"]))
@settings(max_examples=60, deadline=None)
def test_second_derivatives_are_those_of_the_elements(s: Any, name: str) -> None:
    """PyTorch's gradients of values have no history; these are right, or refuse."""
    d = torch.arange(12.0, dtype=torch.float64).reshape(4, 3) - 5
    s = s.coalesce()

    def twice(leaf: Any, tensor: Any) -> Any:
        out = _dense(_BOTH[name](tensor, tensor, d))
        (first,) = torch.autograd.grad((out**3).sum(), leaf, create_graph=True)
        return torch.autograd.grad((first**2).sum(), leaf)[0]

    values, dense = s.values().clone().requires_grad_(), s.to_dense().requires_grad_()
    # Elements that the sparse tensor does not have stay zero: they are no variables of the dense one either.
    mask = torch.zeros_like(dense).index_put(tuple(s.indices()), torch.ones_like(values.detach()))
    found = twice(values, torch.sparse_coo_tensor(s.indices(), values, s.shape))
    torch.testing.assert_close(found, twice(dense, dense * mask)[tuple(s.indices())])


def test_what_has_no_second_derivative_says_so() -> None:
    values = torch.arange(1.0, 5.0, requires_grad=True)
    rows = torch.sparse_csr_tensor([0, 2, 4], [0, 1, 0, 1], values, (2, 2))
    (grad,) = torch.autograd.grad(torch.sparse.mm(rows, torch.eye(2) + 1, "amax").sum(), values, create_graph=True)
    with pytest.raises(RuntimeError, match="derivative for aten::_sparse_mm_reduce_impl_backward is not implemented"):
        grad.sum().backward()


def test_sizes_alone_make_an_empty_tensor_and_indices_alone_none() -> None:
    for made in (torch.sparse_coo_tensor((2, 3)), torch.sparse_coo_tensor(size=(2, 3))):
        assert made.shape == (2, 3) and made._nnz() == 0 and made.dtype is torch.float32
    assert torch.sparse_coo_tensor(size=[2], dtype=torch.int64, requires_grad=False).dtype is torch.int64
    indices = [[0, 1], [1, 0]]
    for args, named, said in (
        ((indices,), {"size": (2, 3)}, "invalid combination of arguments - got [(]list, size=tuple[)]"),
        ((torch.tensor([2, 3]),), {}, "argument 'size' [(]position 1[)] must be tuple of ints, not Tensor"),
        (([2, 3.5],), {}, "type must be tuple of ints,but got float"),
        ((), {"values": [1.0]}, 'missing 1 required positional arguments: "size"'),
        ((indices, [1.0, 2.0], None), {}, "invalid combination of arguments"),
        ((), {"size": (2, 2), "is_coalesced": True}, "invalid combination of arguments"),
    ):
        with pytest.raises(TypeError, match=said):
            torch.sparse_coo_tensor(*args, **named)


@pytest.mark.parametrize("size", [(2, -1), (-1,), (2**40, 2**40), (2**62, 3), (2**62, 4, 0)])
def test_sizes_whose_product_is_no_count_are_refused(size: tuple[int, ...]) -> None:
    for args in ((size,), ([[0]] * len(size), [1.0], size)):
        with pytest.raises(RuntimeError, match="numel: integer multiplication overflow"):
            torch.sparse_coo_tensor(*args)
    assert torch.sparse_coo_tensor((0, *size)).shape == (0, *size)
    assert torch.sparse_coo_tensor((2**62,)).shape == (2**62,)


def test_indices_outside_are_refused_where_pytorch_reads_other_memory() -> None:
    wrong = torch.sparse_coo_tensor([[0, 7]], [1.0, 2.0], (3,))
    with pytest.raises(RuntimeError, match="size is 3 but found index 7"):
        wrong.to_dense()


def test_damaged_pickles_are_refused() -> None:
    function, (layout, data) = torch.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (3,)).__reduce_ex__(2)
    with pytest.raises(RuntimeError, match="found index 1"):
        function(layout, (data[0], data[1], (1,), False))
    with pytest.raises(TypeError, match="rebuilt from its parts"):
        function(layout, (data[0], 5, (3,), False))
    with pytest.raises(TypeError, match="size of whole numbers"):
        function(layout, (data[0], data[1], (3.5,), False))


def test_other_layouts_are_refused_by_name() -> None:
    with pytest.raises(NotImplementedError, match="sparse_bsr"):
        torch.sparse_bsr_tensor([0, 1], [0], [[[1.0]]], (1, 1))
    with pytest.raises(NotImplementedError, match="sparse_bsr"):
        torch.eye(2).to_sparse(layout=torch.sparse_bsr, blocksize=(1, 1))


def _of_layout(layout: Any) -> Any:
    whole = torch.tensor([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]], dtype=torch.float64)
    return whole.to_sparse(layout=layout).detach().requires_grad_()


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc], ids=str)
@pytest.mark.parametrize("masked", [True, False])
def test_gradients_of_sparse_tensors_are_checked(layout: Any, masked: bool) -> None:
    check = torch.sparse.as_sparse_gradcheck(torch.autograd.gradcheck)
    methods = torch.Tensor
    for function in (methods.to_dense, methods.sum, lambda x: x, methods.to_sparse, methods.values):
        x = _of_layout(layout)
        assert check(function, x.coalesce().detach().requires_grad_() if x.is_sparse else x, masked=masked)


def test_gradients_of_sparse_functions_are_refused_where_they_are_wrong() -> None:
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.to_dense() * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 3

    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        torch.autograd.gradcheck(Wrong.apply, (_of_layout(torch.sparse_coo),), masked=True)
    softmax = functools.partial(torch.sparse.softmax, dim=1)
    x = _of_layout(torch.sparse_coo)
    assert torch.autograd.gradcheck(lambda x: softmax(x).to_dense(), (x,), masked=True)
    with pytest.raises(RuntimeError, match="masked=True"):
        torch.autograd.gradcheck(lambda x: softmax(x).to_dense(), (x,))
    with pytest.raises(ValueError, match="Sparse output is not supported"):
        torch.autograd.gradcheck(lambda x: x * 2, (x,), masked=True)


def test_gradients_of_compressed_values_are_read_where_they_lie() -> None:
    values = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    rows = torch.sparse_csr_tensor([0, 2, 3], [0, 2, 1], values, (2, 3))
    rows.backward(torch.sparse_csr_tensor([0, 1, 3], [0, 0, 1], [5.0, 6.0, 7.0], (2, 3)))
    assert values.grad.tolist() == [5.0, 0.0, 7.0]


def test_products_of_sparse_tensors_broadcast_in_dense_dimensions() -> None:
    where = [[0, 0, 1], [0, 2, 1]]
    a = torch.sparse_coo_tensor(where, torch.arange(1.0, 7.0).reshape(3, 2), (2, 3, 2))
    b = torch.sparse_coo_tensor(where, torch.tensor([[2.0], [3.0], [4.0]]), (2, 3, 1))
    for one, other in ((a, b), (b, a)):
        assert torch.equal((one * other).to_dense(), one.to_dense() * other.to_dense())
    none = torch.sparse_coo_tensor(torch.zeros(2, 0, dtype=torch.int64), torch.zeros(0, 1), (2, 3, 1))
    assert (none * a).shape == (2, 3, 2)


@pytest.mark.parametrize("layout", [torch.sparse_csr, torch.sparse_csc], ids=str)
def test_compressed_tensors_without_elements(layout: Any) -> None:
    x = torch.zeros(2, 3, 0).to_sparse(layout=layout, dense_dim=1)
    assert x.to_dense().shape == (2, 3, 0)
    assert x.to_sparse_coo().to_dense().shape == (2, 3, 0)
    parts = [torch.zeros(0, 3, dtype=torch.int64), torch.zeros(0, 0, dtype=torch.int64), torch.zeros(0, 0)]
    made = torch.sparse_compressed_tensor(*parts, (0, 2, 2), layout=layout, check_invariants=True)
    assert made.to_dense().shape == (0, 2, 2)
