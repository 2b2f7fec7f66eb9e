"""``torch.testing.assert_close``: compare numbers, tensors, and containers of them, and say where they differ."""

import builtins
import numbers
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import mt_core
from mt_core import Tensor
from mt_core.formats import sparse_coo, sparse_csc, sparse_csr, strided
from mt_core.interop import from_numpy

__all__ = ["assert_close", "default_tolerances"]

Message = str | Callable[[str], str] | None

#: dtype -> (rtol, atol). Whole numbers and truth values must be equal.
_TOLERANCES = {
    mt_core.float16: (1e-3, 1e-5),
    mt_core.bfloat16: (1.6e-2, 1e-5),
    mt_core.float32: (1.3e-6, 1e-5),
    mt_core.float64: (1e-7, 1e-7),
    mt_core.complex32: (1e-3, 1e-5),
    mt_core.complex64: (1.3e-6, 1e-5),
    mt_core.complex128: (1e-7, 1e-7),
    # of the numbers that these stand for
    mt_core.quint8: (1.3e-6, 1e-5),
    mt_core.qint8: (1.3e-6, 1e-5),
    mt_core.qint32: (1.3e-6, 1e-5),
}


def default_tolerances(*inputs: Tensor) -> tuple[float, float]:
    """(rtol, atol) for tensors: the widest that one of their dtypes has."""
    rtols, atols = zip(*(_TOLERANCES.get(tensor.dtype, (0.0, 0.0)) for tensor in inputs))
    return max(rtols), max(atols)


@dataclass(frozen=True)
class _Checks:
    """What `assert_close` was asked to look at."""

    allow_subclasses: bool
    rtol: float | None
    atol: float | None
    equal_nan: bool
    device: bool
    dtype: bool
    layout: bool
    stride: bool

    def tolerances(self, *inputs: Tensor) -> tuple[float, float]:
        if self.rtol is None or self.atol is None:
            return default_tolerances(*inputs)
        return self.rtol, self.atol


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: Message = None,
) -> None:
    """Check that ``|actual - expected| <= atol + rtol * |expected|`` for all numbers and elements.

    Sequences are compared item by item, mappings key by key. Tolerances depend on the dtype unless given.

    Parameters
    ----------
    msg
        What to say in place of what is found, or a function that makes it of that.

    Raises
    ------
    AssertionError
        When they differ; the message says where, and by how much.
    TypeError
        When there is something in them that cannot be compared.
    ValueError
        When only one of `rtol` and `atol` is given.
    """
    if (rtol is None) != (atol is None):
        missing = "rtol" if rtol is None else "atol"
        raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.")
    checks = _Checks(allow_subclasses, rtol, atol, equal_nan, check_device, check_dtype, check_layout, check_stride)
    for path, left, right in _pairs(actual, expected, ()):
        try:
            _compare(left, right, checks)
        except AssertionError as error:
            raise AssertionError(_message(str(error), path, msg)) from None


def _message(found: str, path: tuple[Any, ...], msg: Message) -> str:
    if path:
        found += f"\n\nThe failure occurred for item {''.join(f'[{key!r}]' for key in path)}"
    if msg is None:
        return found
    return msg(found) if callable(msg) else msg


def _pairs(actual: Any, expected: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any, Any]]:
    """The things to compare, each after the keys that lead to it."""
    if _both(Sequence, actual, expected) and not _any(str, actual, expected):
        if len(actual) != len(expected):
            raise AssertionError(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}")
        for index, (left, right) in enumerate(zip(actual, expected)):
            yield from _pairs(left, right, (*path, index))
    elif _both(Mapping, actual, expected):
        _check_keys(actual, expected)
        for key in sorted(expected, key=str):
            yield from _pairs(actual[key], expected[key], (*path, key))
    else:
        yield path, actual, expected


def _both(kind: Any, *values: Any) -> bool:
    return all(isinstance(value, kind) for value in values)


def _any(kind: Any, *values: Any) -> bool:
    return any(isinstance(value, kind) for value in values)


def _check_keys(actual: Mapping[Any, Any], expected: Mapping[Any, Any]) -> None:
    if set(actual) != set(expected):
        raise AssertionError(
            "The keys of the mappings do not match:\n"
            f"Missing keys in the actual mapping: {sorted(set(expected) - set(actual), key=str)}\n"
            f"Additional keys in the actual mapping: {sorted(set(actual) - set(expected), key=str)}"
        )


def _compare(actual: Any, expected: Any, checks: _Checks) -> None:
    if actual is None or expected is None:
        if actual is not expected:
            raise AssertionError(f"None mismatch: {actual} is not {expected}")
    elif _both((bool, np.bool_), actual, expected):
        if bool(actual) != bool(expected):
            raise AssertionError(f"Booleans mismatch: {actual} is not {expected}")
    elif _both(numbers.Number, actual, expected):
        _compare_numbers(actual, expected, checks)
    elif _both(np.ndarray, actual, expected):
        _compare_tensors(from_numpy(actual), from_numpy(expected), checks)
    elif _comparable(actual, expected, checks):
        _compare_tensors(actual, expected, checks)
    else:
        raise TypeError(f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.")


def _comparable(actual: Any, expected: Any, checks: _Checks) -> bool:
    if not _both(Tensor, actual, expected):
        return False
    return checks.allow_subclasses or type(actual) is type(expected)


# Numbers


def _compare_numbers(actual: Any, expected: Any, checks: _Checks) -> None:
    if checks.dtype and type(actual) is not type(expected):
        raise AssertionError(f"The (d)types do not match: {type(actual)} != {type(expected)}.")
    exact = _both(numbers.Integral, actual, expected)
    rtol, atol = (0.0, 0.0) if exact else (1e-7, 1e-7)
    if checks.rtol is not None and checks.atol is not None:
        rtol, atol = checks.rtol, checks.atol
    if actual == expected or (checks.equal_nan and actual != actual and expected != expected):
        return
    difference = abs(actual - expected)
    if np.isfinite(difference) and difference <= atol + rtol * abs(expected):
        return
    relative = difference / abs(expected) if expected != 0 else float("inf")
    raise AssertionError(_scalar_text(actual, expected, difference, relative, rtol, atol))


def _scalar_text(actual: Any, expected: Any, difference: Any, relative: Any, rtol: float, atol: float) -> str:
    return (
        f"Scalars are not {_relation(rtol, atol)}!\n\n"
        f"Expected {expected} but got {actual}.\n"
        f"Absolute difference: {difference}{_allowance(atol, rtol, atol)}\n"
        f"Relative difference: {relative}{_allowance(rtol, rtol, atol)}"
    )


def _relation(rtol: float, atol: float) -> str:
    return "equal" if rtol == atol == 0 else "close"


def _allowance(tolerance: float, rtol: float, atol: float) -> str:
    return "" if rtol == atol == 0 else f" (up to {tolerance} allowed)"


# Tensors


def _compare_tensors(actual: Tensor, expected: Tensor, checks: _Checks) -> None:
    rtol, atol = checks.tolerances(actual, expected)
    _compare_attributes(actual, expected, checks)
    if "meta" in (actual.device.type, expected.device.type):
        return
    actual, expected = actual.detach(), expected.detach()
    if actual.device != expected.device:
        actual, expected = actual.cpu(), expected.cpu()
    if actual.dtype is not expected.dtype:
        common = mt_core.promote_types(actual.dtype, expected.dtype)
        actual, expected = actual.to(common), expected.to(common)
    if actual.layout is not expected.layout:
        actual, expected = (tensor if tensor.layout is strided else tensor.to_dense() for tensor in (actual, expected))
    if actual.is_quantized:
        _compare_elements(actual.dequantize(), expected.dequantize(), rtol, atol, checks, "Quantized tensor-likes")
    elif actual.layout is not strided:
        _compare_sparse(actual, expected, rtol, atol, checks)
    else:
        _compare_elements(actual, expected, rtol, atol, checks)


def _compare_elements(
    actual: Tensor, expected: Tensor, rtol: float, atol: float, checks: _Checks, what: str = ""
) -> None:
    """Of dense tensors of one dtype; `what` they are called where they differ."""
    actual, expected = (tensor.resolve_conj().resolve_neg() for tensor in (actual, expected))
    matches = mt_core.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=checks.equal_nan)
    if not bool(matches.all()):
        raise AssertionError(_tensor_text(actual, expected, matches, rtol, atol, what))


def _compare_sparse(actual: Tensor, expected: Tensor, rtol: float, atol: float, checks: _Checks) -> None:
    """Indices must be equal, values as close as elements of dense tensors."""
    if actual.layout is sparse_coo:
        kind, names = _COORDINATES
        if actual.is_coalesced() != expected.is_coalesced():
            actual, expected = actual.coalesce(), expected.coalesce()
        _check_number("sparse dimensions", kind, actual.sparse_dim(), expected.sparse_dim())
        parts = [(actual._indices(), expected._indices())]
        values = actual._values(), expected._values()
    else:
        kind, names = _COMPRESSED[actual.layout]
        parts = [(getattr(actual, name)(), getattr(expected, name)()) for name in names]
        values = actual.values(), expected.values()
    _check_number("specified values", kind, actual._nnz(), expected._nnz())
    for name, (ours, theirs) in zip(names, parts, strict=True):
        _compare_elements(ours, theirs, 0.0, 0.0, checks, f"Sparse {kind} {name}")
    _compare_elements(*values, rtol, atol, checks, f"Sparse {kind} values")


_COORDINATES: tuple[str, tuple[str, ...]] = ("COO", ("indices",))
#: Layout -> what it is called, and the names of its indices.
_COMPRESSED: dict[mt_core.layout, tuple[str, tuple[str, ...]]] = {
    sparse_csr: ("CSR", ("crow_indices", "col_indices")),
    sparse_csc: ("CSC", ("ccol_indices", "row_indices")),
}


def _check_number(what: str, kind: str, actual: int, expected: int) -> None:
    if actual != expected:
        raise AssertionError(f"The number of {what} in sparse {kind} tensors does not match: {actual} != {expected}")


def _compare_attributes(actual: Tensor, expected: Tensor, checks: _Checks) -> None:
    _check_attribute("shape", actual.shape, expected.shape)
    _check_attribute("is_quantized", actual.is_quantized, expected.is_quantized)
    if actual.is_quantized:
        _check_attribute("qscheme()", actual.qscheme(), expected.qscheme())
    if checks.layout:
        _check_attribute("layout", actual.layout, expected.layout)
    if checks.device:
        _check_attribute("device", actual.device, expected.device)
    if checks.dtype:
        _check_attribute("dtype", actual.dtype, expected.dtype)
    if checks.stride:
        _check_attribute("stride()", actual.stride(), expected.stride())


def _check_attribute(name: str, actual: Any, expected: Any) -> None:
    if actual != expected:
        raise AssertionError(f"The values for attribute '{name}' do not match: {actual} != {expected}.")


def _tensor_text(actual: Tensor, expected: Tensor, matches: Tensor, rtol: float, atol: float, what: str = "") -> str:
    if not actual.dtype.is_floating_point and not actual.dtype.is_complex:
        actual, expected = actual.to(mt_core.int64), expected.to(mt_core.int64)
    difference = abs(actual - expected)
    relative = difference / abs(expected)
    if not actual.dim():
        return _scalar_text(actual.item(), expected.item(), difference.item(), relative.item(), rtol, atol)
    mismatches = int((~matches).sum().item())
    return (
        f"{what or 'Tensor-likes'} are not {_relation(rtol, atol)}!\n\n"
        f"Mismatched elements: {mismatches} / {matches.numel()} ({mismatches / matches.numel():.1%})\n"
        f"{_greatest('absolute', difference, matches)}{_allowance(atol, rtol, atol)}\n"
        f"{_greatest('relative', relative, matches)}{_allowance(rtol, rtol, atol)}"
    )


def _greatest(kind: str, differences: Tensor, matches: Tensor) -> str:
    values = differences.masked_fill(matches, 0).flatten()
    at = int(values.argmax().item())
    index = tuple(builtins.int(i) for i in np.unravel_index(at, tuple(matches.shape)))
    return f"Greatest {kind} difference: {values[at].item()} at index {index}"


#: dtype -> relative and absolute tolerance of `assert_allclose`; none for others.
_OLD_TOLERANCES = {
    mt_core.float16: (1e-3, 1e-3),
    mt_core.float32: (1e-4, 1e-5),
    mt_core.float64: (1e-5, 1e-8),
}


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """What `assert_close` was before it: NaN equals NaN, dtypes may differ, tolerances are those of the coarser dtype.

    Raises
    ------
    AssertionError
        As `assert_close`.
    ValueError
        When one tolerance is given without the other.
    """
    warnings.warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. Please "
        "use `torch.testing.assert_close()` instead. You can find detailed upgrade instructions in "
        "https://github.com/pytorch/pytorch/issues/61844.",
        FutureWarning,
        stacklevel=2,
    )
    tensors = [value if isinstance(value, Tensor) else mt_core.tensor(value) for value in (actual, expected)]
    if rtol is None and atol is None:
        known = [_OLD_TOLERANCES.get(tensor.dtype, (0.0, 0.0)) for tensor in tensors]
        rtol, atol = (max(pair) for pair in zip(*known, strict=True))
    assert_close(
        *tensors, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=True, check_dtype=False, msg=msg or None
    )
