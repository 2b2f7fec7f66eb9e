"""TorchScript of the modules and functions of ``torch.nn``: what they do, written in operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mt_nn as nn

from .script_recurrent import RECURRENT
from .translating import Unwritable

__all__ = ["FUNCTIONS", "forward_of"]

_UNARY = {"relu": "torch.relu", "relu6": "torch.relu6", "selu": "torch.selu", "hardswish": "torch.hardswish",
          "silu": "torch.silu", "sigmoid": "torch.sigmoid", "tanh": "torch.tanh", "logsigmoid": "torch.log_sigmoid",
          "mish": "torch.mish", "hardsigmoid": "torch.hardsigmoid"}  # fmt: skip
#: The unary ones of PyTorch that can write to their input.
_INPLACE = frozenset(("relu", "relu6", "selu", "hardswish", "silu", "mish", "hardsigmoid"))
_REDUCED = """
def {name}(input: Tensor, target: Tensor, reduction: str="mean") -> Tensor:
  found = torch.{name}(input, target, 0)
  if reduction == "mean":
    found = torch.mean(found)
  else:
    if reduction == "sum":
      found = torch.sum(found)
    else:
      if reduction != "none":
        ops.prim.RaiseException(torch.format("{{}} is not a valid value for reduction", reduction))
  return found
"""


def _unary(name: str, operator: str) -> str:
    if name not in _INPLACE:
        return f"def {name}(input: Tensor) -> Tensor:\n  return {operator}(input)\n"
    return (
        f"def {name}(input: Tensor, inplace: bool=False) -> Tensor:\n  found = input\n  if inplace:\n"
        f"    found = torch.copy_(input, {operator}(input))\n  else:\n    found = {operator}(input)\n  return found\n"
    )


#: Function of ``torch.nn.functional`` -> its definition.
FUNCTIONS: dict[str, str] = {
    **{name: _unary(name, operator) for name, operator in _UNARY.items()},
    **{name: _REDUCED.format(name=name) for name in ("mse_loss", "l1_loss")},
    "gelu": """
def gelu(input: Tensor, approximate: str="none") -> Tensor:
  return torch.gelu(input, approximate=approximate)
""",
    "elu": """
def elu(input: Tensor, alpha: float=1.0) -> Tensor:
  return torch.elu(input, alpha)
""",
    "leaky_relu": """
def leaky_relu(input: Tensor, negative_slope: float=0.01) -> Tensor:
  return torch.leaky_relu(input, negative_slope)
""",
    "softplus": """
def softplus(input: Tensor, beta: float=1.0, threshold: float=20.0) -> Tensor:
  return torch.softplus(input, beta, threshold)
""",
    "softmax": """
def softmax(input: Tensor, dim: int, _stacklevel: int=3, dtype: Optional[int]=None) -> Tensor:
  return torch.softmax(input, dim, dtype)
""",
    "log_softmax": """
def log_softmax(input: Tensor, dim: int, _stacklevel: int=3, dtype: Optional[int]=None) -> Tensor:
  return torch.log_softmax(input, dim, dtype)
""",
    "dropout": """
def dropout(input: Tensor, p: float=0.5, training: bool=True) -> Tensor:
  return torch.dropout(input, p, training)
""",
    "linear": """
def linear(input: Tensor, weight: Tensor, bias: Optional[Tensor]=None) -> Tensor:
  return torch.linear(input, weight, bias)
""",
    "layer_norm": """
def layer_norm(
    input: Tensor, normalized_shape: List[int], weight: Optional[Tensor]=None, bias: Optional[Tensor]=None,
    eps: float=1e-05) -> Tensor:
  return torch.layer_norm(input, normalized_shape, weight, bias, eps)
""",
    "one_hot": """
def one_hot(tensor: Tensor, num_classes: int=-1) -> Tensor:
  return torch.one_hot(tensor, num_classes)
""",
    "pad": """
def pad(input: Tensor, pad: List[int], mode: str="constant", value: Optional[float]=None) -> Tensor:
  return torch.pad(input, pad, mode, value)
""",
    "scaled_dot_product_attention": """
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Optional[Tensor]=None, dropout_p: float=0.0,
    is_causal: bool=False, scale: Optional[float]=None) -> Tensor:
  return torch.scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale=scale)
""",
}  # fmt: skip


def forward_of(cls: type, module: Any) -> list[str] | None:
    """The definition of ``forward`` of a module of ``torch.nn``, line by line; None of a program's own.

    Raises
    ------
    NotImplementedError
        For a module of ``torch.nn`` that is not written here.
    """
    owner = next(c for c in cls.__mro__ if "forward" in vars(c))
    if not owner.__module__.startswith(("mt_nn", "torch.nn", "mindtorch.nn")):
        return None
    if issubclass(cls, (nn.ModuleList, nn.ModuleDict, nn.ParameterList)):
        return []
    whole = next((RECURRENT[c] for c in cls.__mro__ if c in RECURRENT), None)
    if whole is not None:
        return whole(module)
    make = next((_MODULES[c] for c in cls.__mro__ if c in _MODULES and issubclass(c, owner)), None)
    if make is None:
        raise Unwritable(f"torch.jit.save of the module {cls.__name__} is not supported by mindtorch.")
    found = make(module)
    lines = [found] if isinstance(found, str) else found
    return ["def forward(self, input: Tensor) -> Tensor:", *(f"  {line}" for line in lines)]


_Maker = Callable[[Any], "str | list[str]"]


def _name(module: Any, name: str) -> str:
    return "None" if getattr(module, name) is None else f"self.{name}"


def _list(value: Any, count: int) -> list[int]:
    return [value] * count if isinstance(value, int) else list(value)


def _activation(operator: str) -> _Maker:
    def make(module: Any) -> list[str]:
        if getattr(module, "inplace", False):
            return [f"return torch.copy_(input, {operator}(input))"]
        return [f"return {operator}(input)"]

    return make


def _convolution(count: int) -> _Maker:
    def make(module: Any) -> str:
        if module.padding_mode != "zeros":
            raise Unwritable(
                f"torch.jit.save of a convolution with padding_mode={module.padding_mode!r} is not supported."
            )
        padding = repr(module.padding) if isinstance(module.padding, str) else str(_list(module.padding, count))
        return (
            f"return torch.conv{count}d(input, self.weight, {_name(module, 'bias')}, {_list(module.stride, count)}, "
            f"{padding}, {_list(module.dilation, count)}, {module.groups})"
        )

    return make


def _batch_norm(module: Any) -> list[str]:
    if module.momentum is None:
        raise Unwritable("torch.jit.save of a batch norm without momentum is not supported by mindtorch.")
    tracked = module.running_mean is not None
    names = ", ".join(_name(module, name) for name in ("weight", "bias", "running_mean", "running_var"))
    training = "self.training" if tracked else "True"
    lines = ["if self.training:", "  self.num_batches_tracked = torch.add(self.num_batches_tracked, 1)"]
    return [
        *(lines if tracked and module.num_batches_tracked is not None else []),
        f"return torch.batch_norm(input, {names}, {training}, {module.momentum!r}, {module.eps!r}, False)",
    ]


def _sequential(module: Any) -> list[str]:
    return [*(f'input = getattr(self, "{name}").forward(input)' for name in module._modules), "return input"]


def _embedding(module: Any) -> str:
    if module.max_norm is not None:
        raise Unwritable("torch.jit.save of an embedding with max_norm is not supported by mindtorch.")
    padding = -1 if module.padding_idx is None else module.padding_idx
    return f"return torch.embedding(self.weight, input, {padding}, {module.scale_grad_by_freq}, {module.sparse})"


def _pool(kind: str, count: int) -> _Maker:
    def make(module: Any) -> str:
        stride = module.kernel_size if module.stride is None else module.stride
        sizes = [_list(v, count) for v in (module.kernel_size, stride, module.padding)]
        if kind == "avg":
            rest = f"{module.ceil_mode}, {module.count_include_pad}"
            if count > 1:
                rest += f", {module.divisor_override}"
        elif module.return_indices:
            raise Unwritable("torch.jit.save of max pooling with return_indices is not supported by mindtorch.")
        else:
            rest = f"{_list(module.dilation, count)}, {module.ceil_mode}"
        return f"return torch.{kind}_pool{count}d(input, {', '.join(map(str, sizes))}, {rest})"

    return make


def _adaptive_pool(kind: str, count: int) -> _Maker:
    def make(module: Any) -> str:
        sizes = _list(module.output_size, count)
        if None in sizes or getattr(module, "return_indices", False):
            raise Unwritable("torch.jit.save of adaptive pooling to sizes of the input is not supported by mindtorch.")
        pooled = f"torch.adaptive_{kind}_pool{count}d(input, {sizes})"
        return f"return {pooled}" if kind == "avg" else f"return ({pooled})[0]"

    return make


_MODULES: dict[type, _Maker] = {
    nn.Linear: lambda m: f"return torch.linear(input, self.weight, {_name(m, 'bias')})",
    nn.Identity: lambda m: "return input",
    nn.Sequential: _sequential,
    nn.ReLU: _activation("torch.relu"),
    nn.SiLU: _activation("torch.silu"),
    nn.Mish: _activation("torch.mish"),
    nn.Hardswish: _activation("torch.hardswish"),
    nn.Sigmoid: _activation("torch.sigmoid"),
    nn.Tanh: _activation("torch.tanh"),
    nn.LogSigmoid: _activation("torch.log_sigmoid"),
    nn.GELU: lambda m: f"return torch.gelu(input, approximate={m.approximate!r})",
    nn.LeakyReLU: lambda m: f"return torch.leaky_relu(input, {m.negative_slope!r})",
    nn.Softplus: lambda m: f"return torch.softplus(input, {float(m.beta)!r}, {float(m.threshold)!r})",
    nn.Dropout: lambda m: f"return torch.dropout(input, {float(m.p)!r}, self.training)",
    nn.LayerNorm: lambda m: (
        f"return torch.layer_norm(input, {list(m.normalized_shape)}, {_name(m, 'weight')}, {_name(m, 'bias')}, "
        f"{m.eps!r})"
    ),
    nn.GroupNorm: lambda m: (
        f"return torch.group_norm(input, {m.num_groups}, {_name(m, 'weight')}, {_name(m, 'bias')}, {m.eps!r})"
    ),
    nn.Embedding: _embedding,
    nn.Conv1d: _convolution(1),
    nn.Conv2d: _convolution(2),
    nn.Conv3d: _convolution(3),
    nn.modules.batchnorm._BatchNorm: _batch_norm,
    nn.MaxPool1d: _pool("max", 1),
    nn.MaxPool2d: _pool("max", 2),
    nn.AvgPool1d: _pool("avg", 1),
    nn.AvgPool2d: _pool("avg", 2),
    nn.AdaptiveAvgPool1d: _adaptive_pool("avg", 1),
    nn.AdaptiveAvgPool2d: _adaptive_pool("avg", 2),
    nn.Flatten: lambda m: f"return torch.flatten(input, {m.start_dim}, {m.end_dim})",
}


def _of_dim(operator: str) -> _Maker:
    def make(module: Any) -> str:
        if module.dim is None:
            raise Unwritable("torch.jit.save of a softmax without dim is not supported by mindtorch.")
        return f"return {operator}(input, {module.dim})"

    return make


_MODULES[nn.Softmax] = _of_dim("torch.softmax")
_MODULES[nn.LogSoftmax] = _of_dim("torch.log_softmax")
