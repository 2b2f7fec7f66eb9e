"""Shapes and dtypes that annotations ask for, checked at run time."""

import torch
from beartype import beartype
from jaxtyping import Float, Int, TypeCheckError, jaxtyped


@jaxtyped(typechecker=beartype)
def product(x: Float[torch.Tensor, "a b"], y: Float[torch.Tensor, "b c"]) -> Float[torch.Tensor, "a c"]:
    return x @ y


@jaxtyped(typechecker=beartype)
def chosen(x: Float[torch.Tensor, "n d"], at: Int[torch.Tensor, " m"]) -> Float[torch.Tensor, "m d"]:
    return x[at]


def refused(function, *arguments):
    try:
        function(*arguments)
    except TypeCheckError as error:
        return str(error).splitlines()[0]
    return "accepted"


def program():
    x = torch.arange(6.0).reshape(2, 3)
    yield "product", product(x, x.mT)
    yield "chosen", chosen(x, torch.tensor([1, 0, 1]))
    yield "shape", refused(product, x, x)
    yield "dtype", refused(chosen, x, torch.tensor([0.0]))
    yield "parameter", isinstance(torch.nn.Parameter(x), Float[torch.Tensor, "2 3"])
    yield "instances", [isinstance(x, kind) for kind in (Float[torch.Tensor, "..."], Int[torch.Tensor, "..."])]
