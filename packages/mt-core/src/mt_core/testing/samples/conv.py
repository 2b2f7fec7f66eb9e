"""Sample inputs: convolutions."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..sample import Sample, TensorMaker, call, cases, samples

SIZES = (7, 5, 4)


def _convolution(dims: int, *, transposed: bool) -> Callable[[TensorMaker], Iterator[Sample]]:
    size, kernel = SIZES[:dims], (3, 2, 2)[:dims]

    def generate(make: TensorMaker) -> Iterator[Sample]:
        weight = (4, 6) if transposed else (6, 4)
        yield call(make(2, 4, *size), make(*weight, *kernel))
        yield call(make(2, 4, *size), make(*weight, *kernel), make(6), stride=2, padding=1)
        yield call(make(4, *size), make(*weight, *kernel), make(6), dilation=2)
        grouped = (4, 3) if transposed else (6, 2)
        yield call(make(2, 4, *size), make(*grouped, *kernel), groups=2)

    return generate


def _padded(dims: int) -> Callable[[TensorMaker], Iterator[Sample]]:
    def generate(make: TensorMaker) -> Iterator[Sample]:
        for padding in ("valid", "same"):
            yield call(make(2, 4, *SIZES[:dims]), make(6, 4, *(3, 2, 2)[:dims]), make(6), padding=padding)

    return generate


for _dims in (1, 2, 3):
    samples(f"conv{_dims}d")(_convolution(_dims, transposed=False))
    samples(f"conv_transpose{_dims}d{'.input' if _dims > 1 else ''}")(_convolution(_dims, transposed=True))
    samples(f"conv{_dims}d.padding")(_padded(_dims))

cases(
    "convolution",
    lambda t: call(t(2, 4, 7, 5), t(6, 4, 3, 3), t(6), [1, 1], [1, 1], [1, 1], False, [0, 0], 1),
    lambda t: call(t(2, 4, 7), t(4, 3, 3), None, [2], [1], [1], True, [1], 2),
)
cases(
    "convolution_backward",
    lambda t: call(
        t(2, 6, 7, 5), t(2, 4, 7, 5), t(6, 4, 3, 3), [6], [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True] * 3
    ),
    lambda t: call(t(2, 6, 14), t(2, 4, 7), t(4, 3, 3), None, [2], [1], [1], True, [1], 2, [True, True, True]),
)
cases(
    "_convolution_double_backward",
    lambda t: call(
        t(2, 4, 7, 5), t(6, 4, 3, 3), t(6), t(2, 6, 7, 5), t(6, 4, 3, 3), t(2, 4, 7, 5), [1, 1], [1, 1], [1, 1], False,
        [0, 0], 1, [True, True, True],
    ),
    lambda t: call(
        None, None, t(6), t(2, 6, 5), t(6, 4, 3), t(2, 4, 7), [1], [0], [1], False, [0], 1, [True, False, True]
    ),
    lambda t: call(
        t(2, 4, 7), t(4, 3, 3), None, t(2, 6, 14), t(4, 3, 3), t(2, 4, 7), [2], [1], [1], True, [1], 2, [True] * 3
    ),
)  # fmt: skip
cases("conv_tbc", lambda t: call(t(7, 2, 4), t(3, 4, 6), t(6)), lambda t: call(t(7, 2, 4), t(3, 4, 6), t(6), 1))
cases("im2col", lambda t: call(t(2, 3, 5, 6), [2, 3], [1, 1], [1, 0], [2, 1]))
cases("col2im", lambda t: call(t(2, 12, 20), [5, 6], [2, 2], [1, 1], [0, 0], [1, 1]))

# Arguments away from their defaults.
for _dims in (1, 2, 3):
    _size, _kernel = SIZES[:_dims], (3, 2, 2)[:_dims]
    cases(
        f"conv{_dims}d.padding",
        lambda t, s=_size, k=_kernel: call(t(2, 4, *s), t(6, 2, *k), t(6), 1, "same", 2, 2),
        lambda t, s=_size, k=_kernel: call(t(2, 4, *s), t(6, 4, *k), None, 2, "valid"),
    )
    cases(
        f"conv_transpose{_dims}d{'.input' if _dims > 1 else ''}",
        lambda t, s=_size, k=_kernel: call(t(2, 4, *s), t(4, 6, *k), t(6), 2, 1, 1),
    )
    cases(f"conv{_dims}d", lambda t, s=_size, k=_kernel: call(t(1, 4, *s), t(4, 1, *k), None, 2, 1, 2, 4))
cases(
    "convolution",
    lambda t: call(t(2, 4, 7, 5), t(6, 2, 3, 2), None, [2, 1], [1, 0], [1, 2], False, [0, 0], 2),
    lambda t: call(t(2, 4, 5, 4), t(4, 3, 3, 2), t(6), [2, 1], [1, 0], [1, 2], True, [1, 0], 2),
)
cases("im2col", lambda t: call(t(3, 5, 6), [2, 2], [2, 1], [0, 1], [1, 1]))
cases(
    "col2im",
    lambda t: call(t(12, 8), [5, 4], [2, 2], [2, 1], [1, 0], [2, 1]),
    lambda t: call(t(2, 12, 9), [5, 6], [2, 2], [1, 2], [0, 1], [2, 3]),
)
cases("col2im", lambda t: call(t(2, 18, 6), [4, 4], [3, 2], [1, 1], [0, 0], [1, 1]))
