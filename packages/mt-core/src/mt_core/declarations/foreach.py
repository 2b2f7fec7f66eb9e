"""Operators over lists of tensors: each does to every item what another operator does to one tensor.

Those that PyTorch's optimizers call; ``torch._foreach_add(tensors, 1)`` is ``[tensor.add(1) for tensor in tensors]``.
"""

from __future__ import annotations

from ._declare import Family

family = Family("foreach")

#: Overload over lists -> the operator of one item. Arguments are handed on by name, else by place: of a list its item,
#: anything else as it is.
ITEMS: dict[str, str] = {}

UNARY = """
    abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round rsqrt
    sigmoid sign sin sinh sqrt tan tanh trunc
""".split()


def _declare(name: str, arguments: str, returns: str, item: str) -> None:
    written = "" if returns else " In place: the items are written, and the list returned."
    family.composite(
        f"_foreach_{name}({arguments}) -> {returns or '()'}", variants="function",
        doc=f"`{item.partition('.')[0]}` of each item of a list.{written}",
    )  # fmt: skip
    ITEMS[f"_foreach_{name}"] = item


def _both(name: str, arguments: str, item: str, item_in_place: str = "") -> None:
    """The functional form, and the one that writes to the items."""
    _declare(name, f"Tensor[] self{arguments}", "Tensor[]", item)
    packet, dot, overload = name.partition(".")
    own, own_dot, own_overload = item.partition(".")
    in_place = item_in_place or f"{own}_{own_dot}{own_overload}"
    _declare(f"{packet}_{dot}{overload}", f"Tensor(a!)[] self{arguments}", "", in_place)


def _binary(name: str, forms: str, number: str, tensor: str, *, alpha: str = "") -> None:
    """The forms of a second operand, in the order in which Python tries them."""
    arguments = {
        "Scalar": (", Scalar scalar", number),
        "ScalarList": (", Scalar[] scalars", number),
        "Tensor": (f", Tensor other{alpha}", tensor),
        "List": (f", Tensor[] other{alpha}", tensor),
    }
    for form in forms.split():
        _both(f"{name}.{form}", *arguments[form])


for _name in UNARY:
    _both(_name, "", _name)
_binary("add", "Scalar ScalarList Tensor List", "add.Tensor", "add.Tensor", alpha=", *, Scalar alpha=1")
_binary("sub", "Scalar ScalarList List", "sub.Tensor", "sub.Tensor", alpha=", *, Scalar alpha=1")
_binary("mul", "ScalarList Tensor List Scalar", "mul.Tensor", "mul.Tensor")
_binary("div", "ScalarList Tensor List Scalar", "div.Tensor", "div.Tensor")
_binary("clamp_max", "Scalar ScalarList List", "clamp_max", "clamp_max.Tensor")
_binary("clamp_min", "Scalar ScalarList List", "clamp_min", "clamp_min.Tensor")
# A maximum in place is a bound; `mt_core.decomp.foreach` tells how the others differ.
_binary("maximum", "Scalar ScalarList List", "clamp_min", "clamp_min.Tensor")
_binary("minimum", "Scalar ScalarList List", "clamp_max", "clamp_max.Tensor")
_declare("pow.ScalarAndTensor", "Scalar self, Tensor[] exponent", "Tensor[]", "pow.Scalar")
_both("pow.Scalar", ", Scalar exponent", "pow.Tensor_Scalar", "pow_.Scalar")
_both("pow.ScalarList", ", Scalar[] exponent", "pow.Tensor_Scalar", "pow_.Scalar")
_both("pow.List", ", Tensor[] exponent", "pow.Tensor_Tensor", "pow_.Tensor")
for _name in ("addcdiv", "addcmul"):
    _tensors = ", Tensor[] tensor1, Tensor[] tensor2"
    _both(f"{_name}.ScalarList", f"{_tensors}, Scalar[] scalars", _name)
    _both(f"{_name}.Tensor", f"{_tensors}, Tensor scalars", _name)
    _both(f"{_name}.Scalar", f"{_tensors}, Scalar value=1", _name)
_both("lerp.Scalar", ", Tensor[] tensors1, Scalar weight", "lerp.Scalar")
_both("lerp.ScalarList", ", Tensor[] tensors1, Scalar[] weight", "lerp.Scalar")
_both("lerp.List", ", Tensor[] tensors1, Tensor[] weights", "lerp.Tensor")
_declare("norm.Scalar", "Tensor[] self, Scalar ord=2, ScalarType? dtype=None", "Tensor[]", "linalg_vector_norm")
_declare("max", "Tensor[] self", "Tensor[]", "max")
_declare("mm", "Tensor[] self, Tensor[] mat2", "Tensor[]", "mm")
_declare("clone", "Tensor[] self, *, MemoryFormat? memory_format=None", "Tensor[]", "clone")
_declare("zero_", "Tensor(a!)[] self", "", "zero_")
_declare("copy_", "Tensor(a!)[] self, Tensor[] src, bool non_blocking=False", "", "copy_")
family.composite(
    "_foreach_powsum.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]", variants="function",
    doc="Sum of abs(element)**ord of each item of a list.",
)  # fmt: skip
family.composite(
    "_amp_foreach_non_finite_check_and_unscale_(Tensor(a!)[] self, Tensor(b!) found_inf, Tensor inv_scale) -> ()",
    variants="function",
    doc="Multiply gradients by `inv_scale`, and set `found_inf` to 1 where one of them holds inf or NaN.",
)

# Whole updates of optimizers. `state_steps` are counted up already; gradients are divided by `grad_scale`, in place,
# and nothing is written at all where `found_inf` is 1.

_ADAM = (
    "Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, Tensor(d!)[] exp_avg_sqs, "
    "Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, {} lr, float beta1, float beta2, float weight_decay, "
    "float eps, bool amsgrad, bool maximize"
)
_SGD = (
    "Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] momentum_buffer_list, *, float weight_decay, float momentum, "
    "{} lr, float dampening, bool nesterov, bool maximize, bool is_first_step"
)
_ADAGRAD = (
    "Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] state_sums, Tensor{}[] state_steps, *, {} lr, float lr_decay, "
    "float weight_decay, float eps, bool maximize"
)
for _name, _arguments in (("adam", _ADAM), ("adamw", _ADAM), ("sgd", _SGD), ("adagrad", _ADAGRAD)):
    for _form, _rate in (("", "float"), (".tensor_lr", "Tensor")):
        _filled = _arguments.format("" if _form else "(d!)", _rate) if _name == "adagrad" else _arguments.format(_rate)
        family.composite(
            f"_fused_{_name}_{_form}({_filled}, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()",
            variants="function",
            doc=f"A step of `torch.optim`'s {_name} for lists of tensors of one dtype and device.",
        )
