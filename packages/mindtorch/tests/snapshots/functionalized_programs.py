"""Programs that write to memory, run here and by PyTorch under ``functionalize``; `torch` is whichever it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

PROGRAMS: dict[str, tuple[Callable[[Any], Any], Callable[..., Any]]] = {}


def _program(inputs: Callable[[Any], Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS[function.__name__] = inputs, function
        return function

    return enter


def _matrix(torch: Any) -> Any:
    return (torch.arange(6.0).reshape(2, 3),)


def _square(torch: Any) -> Any:
    return (torch.arange(9.0).reshape(3, 3),)


def _row(torch: Any) -> Any:
    return (torch.arange(4.0),)


@_program(_matrix)
def view_of_input(torch: Any, x: Any) -> Any:
    y = x.view(3, 2)
    y.add_(torch.ones(3, 2))
    return y, x * x


@_program(_matrix)
def siblings(torch: Any, x: Any) -> Any:
    a, b = x.view(-1), x.t()
    a.mul_(2)
    return b + 1, x + 1


@_program(_matrix)
def select_of_slice(torch: Any, x: Any) -> Any:
    y = x * 1
    y[:, 1:][0].fill_(7)
    return y


@_program(_square)
def diagonal(torch: Any, x: Any) -> Any:
    y = x.clone()
    y.diagonal().zero_()
    return y


@_program(_square)
def parts(torch: Any, x: Any) -> Any:
    a, b = x.split(2)
    c = a.unbind(1)[1]
    c.sub_(1)
    return b, a


@_program(_matrix)
def permuted(torch: Any, x: Any) -> Any:
    y = x.unsqueeze(0).permute(2, 0, 1).squeeze(1).transpose(0, 1)
    y.sqrt_()
    return y


@_program(_row)
def written_to_out(torch: Any, x: Any) -> Any:
    out = torch.empty(4)
    torch.add(x, 1, out=out)
    return out * 2


@_program(_row)
def out_of_another_shape(torch: Any, x: Any) -> Any:
    out = torch.empty(0)
    torch.mul(x, x, out=out)
    return out


@_program(_matrix)
def two_outs(torch: Any, x: Any) -> Any:
    values, indices = torch.empty(2), torch.empty(2, dtype=torch.int64)
    torch.max(x, 1, out=(values, indices))
    return values, indices


@_program(_matrix)
def cast_back(torch: Any, x: Any) -> Any:
    y = x.to(torch.int32)
    y.add_(torch.tensor(3))
    return y


@_program(_matrix)
def copied_into(torch: Any, x: Any) -> Any:
    y = torch.zeros(2, 3, dtype=torch.float64)
    y[0].copy_(x[1])
    return y


@_program(_row)
def elements_set(torch: Any, x: Any) -> Any:
    x[torch.tensor([0, 2])] = 5
    x[1:3] += 1
    return x


@_program(_matrix)
def metadata(torch: Any, x: Any) -> Any:
    y = x * 2
    y.t_()
    y.unsqueeze_(0)
    y.add_(1)
    return y


@_program(_square)
def window(torch: Any, x: Any) -> Any:
    y = x * 1
    y.as_strided((2, 2), (3, 1), 1).mul_(3)
    return y


@_program(_matrix)
def complex_parts(torch: Any, x: Any) -> Any:
    z = torch.complex(x, x)
    torch.view_as_real(z).add_(1)
    z.conj().mul_(2)
    return torch.view_as_real(z * 1)


@_program(_row)
def bits(torch: Any, x: Any) -> Any:
    y = x.clone()
    y.view(torch.int32).bitwise_or_(1)
    return y


@_program(_row)
def shrunk(torch: Any, x: Any) -> Any:
    y = x + 1
    y.resize_(2)
    y.add_(1)
    return y


@_program(_matrix)
def unwritten_views(torch: Any, x: Any) -> Any:
    return x.reshape(3, 2).detach()[1].expand(2, 2)


@_program(lambda torch: (torch.arange(3.0), [torch.ones(3), {"a": torch.zeros(3)}]))
def nested_inputs(torch: Any, x: Any, more: Any) -> Any:
    more[0].add_(x)
    more[1]["a"].copy_(more[0][:1])
    return more


@_program(_row)
def given_back(torch: Any, x: Any) -> Any:
    x.relu_()
    return x
