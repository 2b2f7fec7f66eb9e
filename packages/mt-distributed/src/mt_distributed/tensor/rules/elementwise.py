"""Elementwise operators: any dimension may be split; sums that are to be done go through what is linear."""

from __future__ import annotations

from collections.abc import Sequence

from ..placement_types import Partial, Placement, Shard, _StridedShard
from ..spec import split_dim
from ..strategies import Call, Strategy, rule
from ._common import R, everywhere

_PLAIN = """abs acos acosh addcdiv addcmul angle asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_not
    bitwise_or bitwise_right_shift bitwise_xor ceil celu clamp clamp_max clamp_min copysign cos cosh digamma elu
    elu_backward eq erf erfc erfinv exp exp2 expm1 fill floor floor_divide fmax fmin fmod frac ge gelu gelu_backward gt
    hardshrink hardsigmoid hardsigmoid_backward hardswish hardswish_backward hardtanh hardtanh_backward heaviside hypot
    i0 isfinite isinf isnan isneginf isposinf ldexp le leaky_relu leaky_relu_backward lerp lgamma log log10 log1p log2
    logaddexp logaddexp2 logical_and logical_not logical_or logical_xor log_sigmoid_forward lt maximum minimum mish
    mish_backward nan_to_num ne nextafter polar pow reciprocal relu relu6 remainder round rsqrt sgn sigmoid
    sigmoid_backward sign signbit silu silu_backward sin sinc sinh softplus softplus_backward softshrink sqrt square tan
    tanh tanh_backward threshold threshold_backward trunc where xlogy masked_fill special_entr special_erfcx
    special_i0e special_i1 special_log_ndtr special_ndtri special_xlog1py
    dropout native_dropout native_dropout_backward bernoulli uniform normal exponential log_normal cauchy geometric
    random ones_like full_like rand_like randn_like randint_like absolute prelu
    """.split()
#: Linear in their only tensor.
_LINEAR = "neg clone _to_copy alias detach lift_fresh positive conj real imag view_as_real view_as_complex".split()


def _aligned(call: Call, ndim: int, dim: int, factor: int | None) -> tuple[Placement, ...] | None:
    """Placements under which all arguments are split along a dimension of the result; None where none has it."""
    found: list[Placement] = []
    owns = [dim - (ndim - call.ndim(index)) for index in range(len(call.tensors))]
    # A dimension of size one is split as others are, where it is not to be as long as another's.
    size = max(call.shape(index)[own] for index, own in enumerate(owns) if own >= 0)
    for index, own in enumerate(owns):
        found.append(_split(own, factor) if own >= 0 and call.shape(index)[own] == size else R)
    return tuple(found) if any(placement is not R for placement in found) else None


def split(call: Call, results: int = 1) -> list[Strategy]:
    """All ranks have all, or a dimension is split that is so in an argument; that of the first such comes first."""
    ndim = max(call.ndim(index) for index in range(len(call.tensors)))
    found = [everywhere(call, results)]
    current = [spec.placements[call.at] for spec in call.tensors]
    factors = {one.split_factor for one in current if isinstance(one, _StridedShard)}
    for dim in range(ndim):
        for factor in (None, *sorted(factors)):
            inputs = _aligned(call, ndim, dim, factor)
            if inputs is not None and _is_there(call, inputs):
                found.append(Strategy((_split(dim, factor),) * results, inputs))
    found[1:] = sorted(found[1:], key=lambda one: _first_kept(one.inputs, current))
    return found


def _split(dim: int, factor: int | None) -> Placement:
    return Shard(dim) if factor is None else _StridedShard(dim, split_factor=factor)


def _is_there(call: Call, inputs: Sequence[Placement]) -> bool:
    current = [spec.placements[call.at] for spec in call.tensors]
    return any(new == old and split_dim(old) is not None for new, old in zip(inputs, current, strict=True))


def _first_kept(inputs: Sequence[Placement | None], current: Sequence[Placement]) -> int:
    pairs = enumerate(zip(inputs, current, strict=True))
    kept = [index for index, (new, old) in pairs if new == old and split_dim(old) is not None]
    return kept[0] if kept else len(current)


def _partials(call: Call) -> list[Partial]:
    found = {spec.placements[call.at] for spec in call.tensors}
    return [one for one in found if type(one) is Partial and one.reduce_op in ("sum", "avg")]


@rule(*_PLAIN)
def plain(call: Call) -> list[Strategy]:
    return split(call, 2 if call.name.startswith(("native_dropout.", "log_sigmoid_forward")) else 1)


@rule(*_LINEAR, "zeros_like", "empty_like")
def linear(call: Call) -> list[Strategy]:
    return split(call) + [
        Strategy((one,), (one,)) for one in {spec.placements[call.at] for spec in call.tensors} if one.is_partial()
    ]


@rule("add", "sub", "rsub")
def added(call: Call) -> list[Strategy]:
    found = split(call)
    if len(call.tensors) == 2:
        found += [Strategy((one,), (one, one)) for one in _partials(call)]
    return found


@rule("mul", "div")
def multiplied(call: Call) -> list[Strategy]:
    found = split(call)
    if call.args.get("rounding_mode") is not None:
        return found
    for one in _partials(call):
        if len(call.tensors) == 1:
            found.append(Strategy((one,), (one,)))
            continue
        found.append(Strategy((one,), (one, R)))
        if call.name.startswith("mul"):
            found.append(Strategy((one,), (R, one)))
    return found


@rule("copy")
def copied(call: Call) -> list[Strategy]:
    found = split(call)
    return found + [Strategy((one,), (one, one)) for one in _partials(call)]


@rule("zero")
def zeroed(call: Call) -> list[Strategy]:
    return list(linear(call))
