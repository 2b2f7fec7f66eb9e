"""Operators that PyTorch's graphs name and programs here call in other words give what those words give."""

from __future__ import annotations

import functools

import pytest

import mindtorch as torch
from mt_library import spelled

X = torch.arange(6.0).reshape(2, 3) / 7 + 0.1
SQUARE = torch.arange(9.0).reshape(3, 3) / 9
Z = torch.complex(SQUARE, SQUARE + 1)
BITS = torch.tensor([1, 2, 7])
Q, K = (torch.arange(24.0).reshape(1, 2, 3, 4).sin() * scale for scale in (1, 0.5))
STATISTICS = X[0] / 2, X[0] + 1
FLAGS = (False, False, False, False)

#: Name and overload -> arguments, named arguments, what is expected.
CALLS = {
    "to.dtype": ((X, torch.float64), {}, X.double()),
    "to.device": ((X, torch.device("cpu"), torch.int64), {}, X.long()),
    "to.other": ((X, BITS), {"copy": True}, X.long()),
    "to.dtype_layout": ((X,), {"dtype": torch.float16, "layout": torch.strided}, X.half()),
    "type_as.default": ((X, BITS), {}, X.long()),
    "detach_.default": ((X.clone(),), {}, X),
    "transpose_.default": ((X.clone(), 0, 1), {}, X.t()),
    "einsum.default": (("ij,kj->ik", [X, X]), {}, X @ X.t()),
    "meshgrid.default": (([BITS, BITS],), {}, torch.meshgrid(BITS, BITS, indexing="ij")),
    "meshgrid.indexing": (([BITS, BITS],), {"indexing": "xy"}, torch.meshgrid(BITS, BITS, indexing="xy")),
    "broadcast_tensors.default": (([X, X[0]],), {}, torch.broadcast_tensors(X, X[0])),
    "tensordot.default": ((X, X, [1], [1]), {}, torch.tensordot(X, X, ([1], [1]))),
    "atleast_1d.default": ((X.sum(),), {}, X.sum()[None]),
    "atleast_2d.default": ((X[0],), {}, X[:1]),
    "atleast_3d.default": ((X,), {}, X[..., None]),
    "atleast_1d.Sequence": (([X.sum(), X],), {}, (X.sum()[None], X)),
    "atleast_2d.Sequence": (([X[0], X],), {}, (X[:1], X)),
    "atleast_3d.Sequence": (([X, X],), {}, (X[..., None], X[..., None])),
    "cartesian_prod.default": (([BITS, BITS],), {}, torch.cartesian_prod(BITS, BITS)),
    "block_diag.default": (([X, SQUARE],), {}, torch.block_diag(X, SQUARE)),
    "where.Scalar": ((X > 0.5, 1, 2.5), {}, torch.where(X > 0.5, 1, 2.5)),
    "where.ScalarOther": ((X > 0.5, X, 2), {}, torch.where(X > 0.5, X, 2)),
    "where.ScalarSelf": ((X > 0.5, 2, X), {}, torch.where(X > 0.5, 2, X)),
    "norm.Scalar": ((X, 1), {}, X.abs().sum()),
    "norm.ScalarOpt_dim": ((X, None, [1], True), {}, X.norm(2, 1, True)),
    "norm.ScalarOpt_dtype": ((X, 2), {"dtype": torch.float64}, X.double().norm()),
    "norm.ScalarOpt_dim_dtype": ((X, 1, [0], False), {"dtype": torch.float64}, X.double().sum(0)),
    "div.Scalar_mode": ((X, 0.2), {"rounding_mode": "floor"}, (X / 0.2).floor()),
    "floor_divide.Scalar": ((BITS, 2), {}, BITS // 2),
    "numpy_T.default": ((X,), {}, X.t()),
    "mT.default": ((X,), {}, X.t()),
    "mH.default": ((Z,), {}, Z.t().conj()),
    "matrix_H.default": ((Z,), {}, Z.t().conj()),
    "stft.default": (
        (X.reshape(-1), 4),
        {"return_complex": True, "onesided": False},
        torch.stft(X.reshape(-1), 4, center=False, return_complex=True, onesided=False),
    ),
    "_scaled_dot_product_flash_attention_for_cpu.default": (
        (Q, K, K, 0.0, True),
        {"scale": 0.3},
        (
            torch.nn.functional.scaled_dot_product_attention(Q, K, K, is_causal=True, scale=0.3),
            torch.logsumexp((Q @ K.mT * 0.3).masked_fill(~torch.ones(3, 3).tril().bool(), float("-inf")), -1)
            .mT.contiguous()
            .mT,
        ),
    ),
    "_convolution.default": (
        (X[None], torch.ones(1, 2, 2), None, [1], [0], [1], False, [0], 1, *FLAGS),
        {},
        torch.nn.functional.conv1d(X[None], torch.ones(1, 2, 2)),
    ),
    "_unsafe_index.Tensor": ((X, [None, BITS[:2]]), {}, X[:, BITS[:2]]),
    "_native_batch_norm_legit_functional.default": (
        (X, None, None, *STATISTICS, True, 0.1, 1e-5),
        {},
        (
            *torch.native_batch_norm(X, None, None, None, None, True, 0.1, 1e-5),
            STATISTICS[0] * 0.9 + X.mean(0) * 0.1,
            STATISTICS[1] * 0.9 + X.var(0) * 0.1,
        ),
    ),
    "bitwise_and.Scalar_Tensor": ((3, BITS), {}, BITS & 3),
    "bitwise_or.Scalar_Tensor": ((3, BITS), {}, BITS | 3),
    "bitwise_xor.Scalar_Tensor": ((3, BITS), {}, BITS ^ 3),
    "__and__.Tensor": ((BITS, BITS - 1), {}, BITS & (BITS - 1)),
    "__and__.Scalar": ((BITS, 2), {}, BITS & 2),
    "__or__.Tensor": ((BITS, BITS - 1), {}, BITS | (BITS - 1)),
    "__or__.Scalar": ((BITS, 2), {}, BITS | 2),
    "__xor__.Tensor": ((BITS, BITS - 1), {}, BITS ^ (BITS - 1)),
    "__xor__.Scalar": ((BITS, 2), {}, BITS ^ 2),
    "__lshift__.Tensor": ((BITS, BITS - 1), {}, BITS << (BITS - 1)),
    "__lshift__.Scalar": ((BITS, 2), {}, BITS << 2),
    "__rshift__.Tensor": ((BITS, BITS - 1), {}, BITS >> (BITS - 1)),
    "__rshift__.Scalar": ((BITS, 2), {}, BITS >> 2),
}


def test_all_of_them_are_called_here():
    there_are = {
        f"{name}.{overload or 'default'}" for name in spelled.NAMES for overload in spelled.overloads_named(name)
    }
    assert there_are == CALLS.keys()


@pytest.mark.parametrize("name", CALLS)
def test_they_give_what_the_words_give(name):
    args, kwargs, expected = CALLS[name]
    operator = functools.reduce(getattr, name.split("."), torch.ops.aten)
    found = operator(*args, **kwargs)
    if isinstance(expected, torch.Tensor):
        found, expected = [found], [expected]
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)
        assert one.stride() == other.stride()


def test_casts_are_views_and_differentiated():
    x = torch.ones(2, requires_grad=True)
    assert torch.ops.aten.to.dtype(x, torch.float32) is x
    torch.ops.aten.to.dtype(x, torch.float64).sum().backward()
    assert x.grad.tolist() == [1, 1]


def test_other_methods_of_python_are_no_operators():
    with pytest.raises(AttributeError, match="has no attribute '__add__'"):
        torch.ops.aten.__add__  # noqa: B018
