"""`torch.testing.assert_close`: what it accepts, and PyTorch's words for what it does not."""

from __future__ import annotations

import re

import numpy as np
import pytest

import mindtorch as torch
from mindtorch import tensor
from mindtorch.testing import assert_close, make_tensor


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (tensor([1.0]), tensor([1.0 + 1e-6])),
        (tensor([], dtype=torch.float32), tensor([], dtype=torch.float32)),
        (tensor([1, 2]), tensor([1, 2])),
        (1.0, 1.0 + 1e-9),
        (1 + 1j, 1 + 1j),
        (None, None),
        (True, np.bool_(True)),
        ([1, tensor([2.0])], (1, tensor([2.0]))),
        ({"a": [tensor(1.0)]}, {"a": [tensor(1.0)]}),
        (np.ones(2), np.ones(2)),
        (tensor([1.0, 2.0]).to(torch.bfloat16), tensor([1.0, 2.01]).to(torch.bfloat16)),
    ],
)
def test_close(actual, expected):
    assert_close(actual, expected)


@pytest.mark.parametrize(
    ("actual", "expected", "message"),
    [
        (
            tensor([1.0, 2.0, 3.0]),
            tensor([1.0, 2.5, 4.0]),
            (
                "Tensor-likes are not close!\n\nMismatched elements: 2 / 3 (66.7%)\n"
                "Greatest absolute difference: 1.0 at index (2,) (up to 1e-05 allowed)\n"
                "Greatest relative difference: 0.25 at index (2,) (up to 1.3e-06 allowed)"
            ),
        ),
        (
            tensor([[1, 2], [3, 4]]),
            tensor([[1, 2], [5, 4]]),
            (
                "Tensor-likes are not equal!\n\nMismatched elements: 1 / 4 (25.0%)\n"
                "Greatest absolute difference: 2 at index (1, 0)\n"
                "Greatest relative difference: 0.4000000059604645 at index (1, 0)"
            ),
        ),
        (
            tensor(1.0),
            tensor(2.0),
            (
                "Scalars are not close!\n\nExpected 2.0 but got 1.0.\nAbsolute difference: 1.0 (up to 1e-05 allowed)\n"
                "Relative difference: 0.5 (up to 1.3e-06 allowed)"
            ),
        ),
        (1, 2, "Scalars are not equal!\n\nExpected 2 but got 1.\nAbsolute difference: 1\nRelative difference: 0.5"),
        (1, 1.0, "The (d)types do not match: <class 'int'> != <class 'float'>."),
        (True, False, "Booleans mismatch: True is not False"),
        (None, 1.0, "None mismatch: None is not 1.0"),
        ([1], [1, 2], "The length of the sequences mismatch: 1 != 2"),
        (
            {"a": 1},
            {"b": 1},
            (
                "The keys of the mappings do not match:\nMissing keys in the actual mapping: ['b']\n"
                "Additional keys in the actual mapping: ['a']"
            ),
        ),
        (
            tensor([1.0]),
            tensor([1.0], dtype=torch.float64),
            "The values for attribute 'dtype' do not match: torch.float32 != torch.float64.",
        ),
        (
            tensor([1.0]),
            tensor([1.0, 2.0]),
            "The values for attribute 'shape' do not match: torch.Size([1]) != torch.Size([2]).",
        ),
        (
            tensor([1.0]),
            tensor([1.0]).to("meta"),
            "The values for attribute 'device' do not match: cpu != meta.",
        ),
    ],
)
def test_not_close(actual, expected, message):
    with pytest.raises(AssertionError) as failure:
        assert_close(actual, expected)
    assert str(failure.value) == message


def test_the_item_that_differs_is_named():
    with pytest.raises(AssertionError, match=re.escape("The failure occurred for item ['a'][1]") + "$"):
        assert_close({"a": [1, 2]}, {"a": [1, 3]})


def test_infinity_and_nan():
    nan, infinity = tensor([float("nan")]), tensor([float("inf")])
    with pytest.raises(AssertionError):
        assert_close(nan, nan)
    assert_close(nan, nan, equal_nan=True)
    assert_close(infinity, infinity)
    with pytest.raises(AssertionError, match="difference: inf"):
        assert_close(infinity, tensor([1.0]))


def test_tolerances():
    one, two = tensor([1.0]), tensor([2.0])
    assert_close(one, two, rtol=0.5, atol=0)
    assert_close(one, two, rtol=0, atol=1)
    with pytest.raises(ValueError, match="Both 'rtol' and 'atol' must be either specified or omitted, but got no atol"):
        assert_close(one, two, rtol=1)


def test_attributes_that_are_not_to_be_compared():
    assert_close(tensor([1.0]), tensor([1.0], dtype=torch.float64), check_dtype=False)
    assert_close(tensor([1.0]), tensor([1.0]).to("meta"), check_device=False)
    matrix = tensor([[1.0, 2.0], [3.0, 4.0]])
    transposed = matrix.t().contiguous().t()
    assert_close(matrix, transposed)
    with pytest.raises(AssertionError, match=re.escape("attribute 'stride()'")):
        assert_close(matrix, transposed, check_stride=True)


def test_messages_of_ones_own():
    with pytest.raises(AssertionError, match="^not the same$"):
        assert_close(1, 2, msg="not the same")
    with pytest.raises(AssertionError, match="^Look: Scalars are not equal!"):
        assert_close(1, 2, msg=lambda found: f"Look: {found}")


def test_what_cannot_be_compared_is_named():
    with pytest.raises(TypeError, match="No comparison pair was able to handle inputs of type <class 'str'>"):
        assert_close("a", "a")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64, torch.uint8, torch.bool, torch.complex64])
def test_random_tensors_keep_to_their_bounds(dtype):
    values = make_tensor(20, 5, dtype=dtype, device="cpu")
    assert values.shape == (20, 5)
    assert values.dtype is dtype
    assert values.abs().max().item() <= 13 if dtype is not torch.bool else True


def test_random_tensors_as_they_are_asked_for():
    values = make_tensor(
        (4, 6), dtype=torch.float32, device="cpu", low=2, high=3, noncontiguous=True, requires_grad=True
    )
    assert values.requires_grad
    assert not values.is_contiguous()
    assert 2 <= values.min().item() <= values.max().item() <= 3
    assert make_tensor(50, dtype=torch.int64, device="cpu", low=0, high=2, exclude_zero=True).min().item() == 1
    with pytest.raises(ValueError, match="must be less than"):
        make_tensor(2, dtype=torch.float32, device="cpu", low=4, high=3)


# Sparse and quantized tensors


def _coordinates(indices=((0, 1, 1), (1, 0, 2)), values=(1.0, 2.0, 3.0), size=(2, 4)):
    return torch.sparse_coo_tensor(tensor(indices), tensor(values), size)


def _rows(*given):
    return _coordinates(*given).to_sparse_csr()


def _columns(*given):
    return _coordinates(*given).to_sparse_csc()


def _quantized(numbers, scale=0.1, dtype=torch.qint32):
    return torch.quantize_per_tensor(tensor(numbers), scale, 2, dtype)


def _by_channel(numbers, scale=0.1):
    return torch.quantize_per_channel(tensor(numbers), tensor([scale, 0.2]), tensor([0, 1]), 0, torch.qint32)


_OTHER = ((0, 1, 1), (1, 0, 3))
_HIGHER = ((0, 1, 1), (1, 0, 2)), (1.0, 2.0, 4.0)


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor, torch.quantize_per_channel")
@pytest.mark.parametrize(
    "make",
    [
        lambda: (_coordinates(), _coordinates()),
        lambda: (_coordinates().coalesce(), _coordinates()),
        lambda: (_rows(), _rows()),
        lambda: (_columns(), _columns()),
        lambda: (_quantized([1.0, 2.0]), _quantized([1.0, 2.0], scale=0.2)),
        lambda: (_by_channel([1.0, 2.0]), _by_channel([1.0, 2.0], scale=0.2)),
    ],
)
def test_sparse_and_quantized_tensors_that_are_close(make):
    assert_close(*make())


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor, torch.quantize_per_channel")
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: (_coordinates(), _coordinates(*_HIGHER)),
            (
                "Sparse COO values are not close!\n\nMismatched elements: 1 / 3 (33.3%)\n"
                "Greatest absolute difference: 1.0 at index (2,) (up to 1e-05 allowed)"
            ),
        ),
        (
            lambda: (_coordinates(), _coordinates(_OTHER)),
            (
                "Sparse COO indices are not equal!\n\nMismatched elements: 1 / 6 (16.7%)\n"
                "Greatest absolute difference: 1 at index (1, 2)\n"
            ),
        ),
        (
            lambda: (_coordinates(), _coordinates(((0, 1), (1, 0)), (1.0, 2.0))),
            "The number of specified values in sparse COO tensors does not match: 3 != 2",
        ),
        (
            lambda: (_coordinates(), _coordinates(((0, 1),), ((1.0,) * 4, (2.0,) * 4))),
            "The number of sparse dimensions in sparse COO tensors does not match: 2 != 1",
        ),
        (lambda: (_rows(), _rows(*_HIGHER)), "Sparse CSR values are not close!"),
        (lambda: (_rows(), _rows(_OTHER)), "Sparse CSR col_indices are not equal!"),
        (lambda: (_rows(), _rows(((0, 0, 1), (1, 0, 2)))), "Sparse CSR crow_indices are not equal!"),
        (lambda: (_columns(), _columns(*_HIGHER)), "Sparse CSC values are not close!"),
        (lambda: (_columns(), _columns(_OTHER)), "Sparse CSC ccol_indices are not equal!"),
        (
            lambda: (_columns(), _rows()),
            "The values for attribute 'layout' do not match: torch.sparse_csc != torch.sparse_csr.",
        ),
        (
            lambda: (_quantized([1.0, 1.0]), _quantized([1.0, 3.0])),
            (
                "Quantized tensor-likes are not close!\n\nMismatched elements: 1 / 2 (50.0%)\n"
                "Greatest absolute difference: 2.0 at index (1,) (up to 1e-05 allowed)"
            ),
        ),
        (
            lambda: (tensor([1.0]), _quantized([1.0])),
            "The values for attribute 'is_quantized' do not match: False != True.",
        ),
        (
            lambda: (_by_channel([1.0, 2.0]), _quantized([1.0, 2.0])),
            "The values for attribute 'qscheme()' do not match: torch.per_channel_affine != torch.per_tensor_affine.",
        ),
    ],
)
def test_sparse_and_quantized_tensors_that_differ(make, message):
    with pytest.raises(AssertionError) as caught:
        assert_close(*make())
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("other", [_rows, _columns, lambda *given: _coordinates(*given).to_dense()])
def test_layouts_may_be_left_out_of_the_comparison(other):
    assert_close(_coordinates(), other(), check_layout=False)
    with pytest.raises(AssertionError, match="Tensor-likes are not close!"):
        assert_close(_coordinates(), other(*_HIGHER), check_layout=False)
