"""Programs whose operators a dispatch mode writes down: PyTorch for the snapshot, mindtorch in the test."""

from __future__ import annotations

from typing import Any

PROGRAMS = """
x * 2
2 - x
x + x * 3.5
x / 2
x > 0
x == 1.5
x ** 2
2 ** x
x.add_(1)
x.mul_(x)
x.sum()
x.sum(0)
x.mean(1, keepdim=True)
x.max(1)
x.max()
x.argmax(1)
x.var(0)
x.exp().log()
x.t() @ x
torch.nn.functional.linear(x, x, torch.ones(3))
torch.nn.functional.relu(x)
torch.nn.functional.gelu(x)
torch.nn.functional.softmax(x, 1)
torch.nn.functional.log_softmax(x, 1)
torch.nn.functional.layer_norm(x, (4,))
torch.nn.functional.cross_entropy(x, torch.zeros(3, dtype=torch.long))
torch.nn.functional.mse_loss(x, x)
torch.nn.functional.dropout(x, 0.5, False)
torch.nn.functional.embedding(torch.zeros(2, dtype=torch.long), x)
torch.nn.functional.conv2d(torch.ones(1, 2, 5, 5), torch.ones(3, 2, 3, 3))
torch.nn.functional.max_pool2d(torch.ones(1, 2, 4, 4), 2)
torch.nn.functional.avg_pool2d(torch.ones(1, 2, 4, 4), 2)
torch.nn.functional.batch_norm(torch.ones(2, 3, 4), torch.zeros(3), torch.ones(3), training=True)
torch.matmul(torch.ones(2, 3, 4), torch.ones(4, 5))
torch.matmul(torch.ones(3), torch.ones(3))
torch.bmm(torch.ones(2, 3, 4), torch.ones(2, 4, 5))
torch.einsum("ij,kj->ik", x, x)
x[0]
x[1:, 2]
x[:, None]
x[torch.tensor([0, 2])]
x[x > 0]
x[0] = 3.0
x[0, 1] = x[1, 1]
x.view(12)
x.reshape(2, 6)
x.t().reshape(12)
x.t().contiguous()
x.transpose(0, 1)
x.permute(1, 0)
x.unsqueeze(0).squeeze(0)
x.expand(2, 3, 4)
x.flatten()
x.split(2)
x.chunk(2, 1)
x.unbind()
x.narrow(0, 0, 2)
torch.cat([x, x])
torch.stack([x, x])
torch.where(x > 0, x, x)
x.clone()
x.detach()
x.double()
x.to(torch.int32)
x.float()
x.item() if x.numel() == 1 else None
x.sum().item()
bool(x.sum() > 0)
float(x.sum())
x.clamp(0, 1)
x.masked_fill(x > 0, 0.0)
x.gather(1, torch.zeros(3, 1, dtype=torch.long))
x.sort(1)
x.topk(2)
x.cumsum(0)
x.norm()
x.tril()
x.zero_()
x.fill_(2)
x.copy_(x * 2)
x.new_zeros(2)
torch.zeros_like(x)
torch.ones_like(x)
torch.zeros(2, 3)
torch.ones(2)
torch.empty(2)
torch.full((2,), 1.5)
torch.arange(4)
torch.eye(2)
torch.linspace(0, 1, 3)
torch.rand(2)
torch.randn(2)
torch.add(x, x, out=torch.empty(3, 4))
torch.mm(x, x.t(), out=torch.empty(3, 3))
(x * x).sum().backward()
torch.nn.functional.linear(x, x).sum().backward()
torch.softmax(x, 1).sum().backward()
x[0].sum().backward()
x.relu().mean().backward()
(x.exp() / x).sum().backward()
torch.nn.functional.cross_entropy(x, torch.zeros(3, dtype=torch.long)).backward()
torch.nn.Linear(4, 2)(x).sum().backward()
torch.linalg.inv(torch.eye(2))
torch.equal(x, x)
torch.allclose(x, x)
""".strip().splitlines()


def described(value: Any, torch: Any) -> str:
    """An argument as the list writes it: tensors by dtype and shape, all else as it reads."""
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    if isinstance(value, (list, tuple)):
        items = ", ".join(described(item, torch) for item in value)
        return f"[{items}]" if isinstance(value, list) else f"({items})"
    return repr(value)


def operators_of(program: str, torch: Any, mode: type) -> list[str]:
    """The operators that a program reaches, in order, with their arguments.

    `mode` is ``TorchDispatchMode``; the program's `x` is a matrix of three rows and four columns.
    """
    written: list[str] = []

    class Writing(mode):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            named = [f"{name}={described(value, torch)}" for name, value in (kwargs or {}).items()]
            written.append(f"{func}({', '.join([described(arg, torch) for arg in args] + named)})")
            return func(*args, **(kwargs or {}))

    x = torch.arange(12.0).reshape(3, 4) - 5
    x.requires_grad_("backward" in program)
    with Writing():
        exec(program, {"x": x, "torch": torch})  # noqa: S102
    return written
