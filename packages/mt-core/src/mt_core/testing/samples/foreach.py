"""Sample inputs: operators over lists of tensors, made from their schemas."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ... import dtypes
from ...declarations.foreach import ITEMS
from ...dispatch.registry import find_overload
from ...formats import channels_last
from ...schema import Argument
from ...tensor import Tensor
from ..sample import Sample, TensorMaker, call, cases, depends_on_strides, samples

#: Defined on a part of the numbers: what is taken of them.
_WITHIN = dict.fromkeys("acos asin log log10 log1p log2 lgamma rsqrt sqrt pow".split(), (0.1, 0.9))
_ANYWHERE = (-2.9, 2.9)
_FLOATS = (dtypes.float32, dtypes.float64, dtypes.bfloat16)
_INTEGERS = (dtypes.int64, dtypes.uint8, dtypes.bool)
#: Two values for each argument that is no tensor; the first sample takes the first of them.
_VALUES: dict[str, tuple[Any, Any]] = {
    "Scalar": (0.5, 2), "ScalarType": (None, dtypes.float64), "bool": (False, True)
}  # fmt: skip


def _tensors(make: TensorMaker, within: tuple[float, float], kinds: tuple[dtypes.dtype, ...]) -> list[Tensor]:
    low, high = within
    shapes = ((2, 3), (4,), (2, 1, 2, 2))
    return [make(*shape, dtype=d, low=low, high=high) for shape, d in zip(shapes, kinds, strict=True)]


def _value(
    make: TensorMaker, argument: Argument, turn: int, within: tuple[float, float], kinds: tuple[dtypes.dtype, ...]
) -> Any:
    if argument.is_tensor and argument.is_list:
        return _tensors(make, within, kinds)
    if argument.is_tensor:
        return make.of([0.5, 2, 3]) if argument.name == "scalars" else make()
    if argument.is_list:
        return [0.5, 2, 3] if turn == 0 else [1, 0.25, 2]
    return _VALUES[argument.type][turn]


def _from_schema(name: str) -> Callable[[TensorMaker], Iterator[Sample]]:
    within = _WITHIN.get(name.removeprefix("_foreach_").partition(".")[0].rstrip("_"), _ANYWHERE)

    def generate(make: TensorMaker) -> Iterator[Sample]:
        schema = find_overload(name).schema
        packed = any(a.name == "scalars" and a.is_tensor for a in schema.arguments)
        kinds = [_FLOATS, _FLOATS] if schema.is_mutable or packed else [_FLOATS, _FLOATS, _INTEGERS]
        for turn, chosen in enumerate(kinds):
            values = {a.name: _value(make, a, turn % 2, within, chosen) for a in schema.arguments}
            options = {a.name: values.pop(a.name) for a in schema.arguments if a.kwarg_only}
            yield call(*values.values(), **options)

    return generate


def _is_copied_by_format(name: str) -> bool:
    return any(a.type == "MemoryFormat" for a in find_overload(name).schema.arguments)


# Numbers in one tensor are taken from contiguous memory only.
depends_on_strides("_foreach_addcdiv.Tensor _foreach_addcdiv_.Tensor _foreach_addcmul.Tensor _foreach_addcmul_.Tensor")
for _name in ITEMS:
    if not (_is_copied_by_format(_name) or _name == "_foreach_mm"):
        samples(_name)(_from_schema(_name))
cases(
    "_foreach_clone",
    lambda t: call([t(2, 3), t(4, dtype=dtypes.int64)]),
    lambda t: call([t(2, 3, 2, 2)], memory_format=channels_last),
)
cases("_foreach_mm", lambda t: call([t(2, 3), t(1, 2)], [t(3, 4), t(2, 2)]))
cases(
    "_foreach_powsum.Scalar",
    lambda t: call([t(2, 3), t(4, dtype=dtypes.bfloat16)]),
    lambda t: call([t(2, 3), t(4, dtype=dtypes.float16)], 3, dtypes.float64),
)
cases(
    "_amp_foreach_non_finite_check_and_unscale_",
    lambda t: call([t(2, 3), t(4)], t.of([0.0]), t.of([0.5])),
    lambda t: call([t(2, 3), t.of([1.0, float("inf")])], t.of([0.0]), t.of([2.0])),
)


def _fused(t: TensorMaker, lists: int) -> list[list[Tensor]]:
    return [[t(2, 3, low=0.1, high=0.9), t(4, low=0.1, high=0.9)] for _ in range(lists)]


def _steps(t: TensorMaker) -> list[Tensor]:
    return [t.of(2.0), t.of(3.0)]


def _fused_samples(name: str, several: int, one: dict[str, Any], other: dict[str, Any], steps: bool) -> None:
    """Without and with the last list, at other numbers each; the rate as a number, or as a tensor."""

    def sample(t: TensorMaker, lists: int, rate: float, options: dict[str, Any], scaling: bool, packed: bool) -> Sample:
        given: list[Any] = [*_fused(t, lists), *([[]] if lists < several else []), *([_steps(t)] if steps else [])]
        scale = {"grad_scale": t.of(2.0), "found_inf": t.of(0.0)} if scaling else {}
        return call(*given, lr=t.of(rate) if packed else rate, **options, **scale)

    for form in ("", ".tensor_lr"):
        cases(
            f"{name}_{form}",
            lambda t, packed=bool(form): sample(t, several - 1, 0.1, one, False, packed),
            lambda t, packed=bool(form): sample(t, several, 0.2, other, True, packed),
        )


for _name in ("_fused_adam", "_fused_adamw"):
    _fused_samples(
        _name, 5,
        {"beta1": 0.8, "beta2": 0.95, "eps": 1e-6, "weight_decay": 0.1, "amsgrad": False, "maximize": False},
        {"beta1": 0.7, "beta2": 0.9, "eps": 1e-3, "weight_decay": 0.0, "amsgrad": True, "maximize": True},
        steps=True,
    )  # fmt: skip
_fused_samples(
    "_fused_sgd", 3,
    {"momentum": 0.0, "dampening": 0.0, "weight_decay": 0.1, "nesterov": False, "maximize": True,
     "is_first_step": True},
    {"momentum": 0.9, "dampening": 0.1, "weight_decay": 0.0, "nesterov": True, "maximize": False,
     "is_first_step": False},
    steps=False,
)  # fmt: skip
for _form in ("", ".tensor_lr"):
    cases(
        f"_fused_adagrad_{_form}",
        lambda t, packed=bool(_form): call(
            *_fused(t, 3), _steps(t), lr=t.of(0.1) if packed else 0.1, lr_decay=0.1, weight_decay=0.1, eps=1e-6,
            maximize=False,
        ),
        lambda t, packed=bool(_form): call(
            *_fused(t, 3), _steps(t), lr=t.of(0.2) if packed else 0.2, lr_decay=0.2, weight_decay=0.0, eps=1e-3,
            maximize=True, grad_scale=t.of(2.0), found_inf=t.of(0.0),
        ),
    )  # fmt: skip
