"""Activation functions: elementwise unless a `dim` says otherwise; results have the shape of the input."""

import warnings

import mt_core as mt
from mt_core import Tensor

__all__ = [
    "celu",
    "elu",
    "glu",
    "gumbel_softmax",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "leaky_relu",
    "log_softmax",
    "mish",
    "relu",
    "relu6",
    "rrelu",
    "selu",
    "sigmoid",
    "silu",
    "softmax",
    "softmin",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
]


def _threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """x where it exceeds `threshold`, `value` elsewhere."""
    if inplace:
        return mt.threshold_(input, threshold, value)
    return mt.threshold(input, threshold, value)


threshold = _threshold


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(x, 0)."""
    return mt.relu_(input) if inplace else mt.relu(input)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """a * sigmoid(b), where a and b are the two halves of the input along `dim`."""
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    return mt.glu(input, dim)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """x limited to the range from `min_val` to `max_val`."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if inplace:
        return mt.hardtanh_(input, min_val, max_val)
    return mt.hardtanh(input, min_val, max_val)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """min(max(x, 0), 6)."""
    return mt.relu6_(input) if inplace else mt.relu6(input)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where positive, alpha * (exp(x) - 1) elsewhere."""
    return mt.elu_(input, alpha) if inplace else mt.elu(input, alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """The self-normalizing scaled `elu` of Klambauer et al. 2017."""
    return mt.selu_(input) if inplace else mt.selu(input)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1))."""
    return mt.celu_(input, alpha) if inplace else mt.celu(input, alpha)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x where positive, negative_slope * x elsewhere."""
    return mt.leaky_relu_(input, negative_slope) if inplace else mt.leaky_relu(input, negative_slope)


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """`leaky_relu` with slopes drawn uniformly from `lower` to `upper`, or in evaluation with their mean."""
    if inplace:
        return mt.rrelu_(input, lower, upper, training)
    return mt.rrelu(input, lower, upper, training)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """min(max(x + 3, 0), 6) / 6."""
    return mt.hardsigmoid_(input) if inplace else mt.hardsigmoid(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * hardsigmoid(x)."""
    return mt.hardswish_(input) if inplace else mt.hardswish(input)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x * sigmoid(x)."""
    return mt.silu_(input) if inplace else mt.silu(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * tanh(mt.softplus(x))."""
    return mt.mish_(input) if inplace else mt.mish(input)


def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x)."""
    return input - input.tanh()


def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|)."""
    return input / (input.abs() + 1)


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent."""
    return input.tanh()


def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-x))."""
    return input.sigmoid()


def _get_softmax_dim(name: str, ndim: int, stacklevel: int) -> int:
    """The dimension that softmax used to choose when given none."""
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=stacklevel + 1,  # that of the decorator
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: mt.dtype | None = None) -> Tensor:
    """exp(x) divided by its sum along `dim`.

    Parameters
    ----------
    input
        Any shape.
    dim
        The dimension along which the result sums to 1.
    dtype
        What the input is cast to first, which can prevent overflow.
    """
    if dim is None:
        dim = _get_softmax_dim("softmax", input.dim(), _stacklevel)
    return input.softmax(dim) if dtype is None else input.softmax(dim, dtype=dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: mt.dtype | None = None) -> Tensor:
    """`softmax` of -x, with the same arguments."""
    if dim is None:
        dim = _get_softmax_dim("softmin", input.dim(), _stacklevel)
    return (-input).softmax(dim) if dtype is None else (-input).softmax(dim, dtype=dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: mt.dtype | None = None) -> Tensor:
    """The logarithm of `softmax`, computed without losing precision; the same arguments."""
    if dim is None:
        dim = _get_softmax_dim("log_softmax", input.dim(), _stacklevel)
    return input.log_softmax(dim) if dtype is None else input.log_softmax(dim, dtype=dtype)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A sample of the Gumbel-softmax distribution (Jang et al. 2017; Maddison et al. 2017).

    Parameters
    ----------
    logits
        Unnormalized log probabilities.
    tau
        Temperature.
    hard
        Whether to return one-hot samples, differentiated as if they were the soft ones.
    eps
        Has no effect.
    dim
        The dimension along which the result sums to 1.
    """
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=3)
    exponential = mt.empty_like(logits, memory_format=mt.contiguous_format).exponential_()
    soft = ((logits - exponential.log()) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one_hot = mt.zeros_like(logits, memory_format=mt.contiguous_format).scatter_(dim, index, 1.0)
    return one_hot - soft.detach() + soft
