"""Operators on distributed tensors of two ranks; run by mindtorch and by PyTorch."""

import json

import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.nn import functional as F

X = torch.arange(20.0).reshape(5, 4) / 7
PROGRAMS = {
    "x": lambda x, r, p, c: x,
    "add": lambda x, r, p, c: x + 1,
    "add whole": lambda x, r, p, c: x + r,
    "partial": lambda x, r, p, c: p + p,
    "partial and one": lambda x, r, p, c: p + 1,
    "partial scaled": lambda x, r, p, c: p * 2,
    "partial and split": lambda x, r, p, c: p + x,
    "relu of partial": lambda x, r, p, c: p.relu(),
    "turned": lambda x, r, p, c: x.t(),
    "product of rows": lambda x, r, p, c: x @ r.t(),
    "product over parts": lambda x, r, p, c: c @ c.t(),
    "linear": lambda x, r, p, c: F.linear(x, r),
    "sum": lambda x, r, p, c: x.sum(),
    "sum of rows": lambda x, r, p, c: x.sum(1),
    "sum of columns": lambda x, r, p, c: x.sum(0, keepdim=True),
    "mean": lambda x, r, p, c: x.mean(),
    "mean of parts": lambda x, r, p, c: c.mean(),
    "max": lambda x, r, p, c: x.max(),
    "amax": lambda x, r, p, c: x.amax(0),
    "var": lambda x, r, p, c: x.var(0),
    "argmax": lambda x, r, p, c: x.argmax(1),
    "softmax": lambda x, r, p, c: x.softmax(1),
    "softmax across": lambda x, r, p, c: x.softmax(0),
    "first": lambda x, r, p, c: x[0],
    "column": lambda x, r, p, c: x[:, 1],
    "rows": lambda x, r, p, c: x[1:3],
    "divided": lambda x, r, p, c: x.view(5, 2, 2),
    "divided columns": lambda x, r, p, c: c.view(5, 2, 2),
    "unsqueezed": lambda x, r, p, c: x.unsqueeze(0),
    "expanded": lambda x, r, p, c: x.expand(3, 5, 4),
    "joined": lambda x, r, p, c: torch.cat([x, x]),
    "joined beside": lambda x, r, p, c: torch.cat([x, x], 1),
    "stacked": lambda x, r, p, c: torch.stack([x, x]),
    "split": lambda x, r, p, c: x.split(2, 1)[0],
    "cumsum": lambda x, r, p, c: x.cumsum(1),
    "compared": lambda x, r, p, c: x > 1,
    "chosen": lambda x, r, p, c: torch.where(x > 1, x, 0),
    "norm": lambda x, r, p, c: F.layer_norm(x, (4,)),
    "loss": lambda x, r, p, c: F.mse_loss(x, x + 1, reduction="sum"),
    "redistributed": lambda x, r, p, c: x.redistribute(placements=[Shard(1)]),
    "summed": lambda x, r, p, c: p.redistribute(placements=[Shard(0)]),
}


def answers() -> str:
    """Placements, shape, and what this rank has, of each result."""
    mesh = init_device_mesh("cpu", (2,))
    x, r, c = (distribute_tensor(X, mesh, [way]) for way in (Shard(0), Replicate(), Shard(1)))
    p = DTensor.from_local(X * (mesh.get_rank() + 1), mesh, [Partial()])
    found = {}
    for name, program in PROGRAMS.items():
        result = program(x, r, p, c)
        local = [round(float(value), 4) for value in result.to_local().flatten().tolist()]
        found[name] = [str(result.placements), list(result.shape), list(result.to_local().shape), local]
    return json.dumps(found)
