"""Random programs on complex tensors: views, lazy conjugation and negation, writes; for any torch-like module."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

PROGRAMS, STEPS = 250, 8

VIEWS: dict[str, Callable[[Any, Any], Any]] = {
    "conj": lambda torch, t: t.conj(),
    "neg_view": lambda torch, t: torch._neg_view(t),
    "real": lambda torch, t: t.real,
    "imag": lambda torch, t: t.imag if t.is_complex() else t,
    "transpose": lambda torch, t: t.transpose(0, -1) if t.dim() else t,
    "mH": lambda torch, t: t.mH if t.dim() > 1 else t.conj(),
    "select": lambda torch, t: t[-1] if t.dim() > 1 else t,
    "slice": lambda torch, t: t[..., 1:] if t.shape[-1] > 1 else t,
    "step": lambda torch, t: t[::2],
    "unsqueeze": lambda torch, t: t.unsqueeze(0) if t.dim() < 3 else t,
    "detach": lambda torch, t: t.detach(),
    "pairs": lambda torch, t: torch.view_as_real(t),
    "numbers": lambda torch, t: torch.view_as_complex(t),
    "same type": lambda torch, t: t.view(t.dtype),
    "contiguous": lambda torch, t: t.contiguous(),
    "unbind": lambda torch, t: t.unbind()[0] if t.dim() > 1 else t,
}
READS: dict[str, Callable[[Any, Any], Any]] = {
    "clone": lambda torch, t: t.clone(),
    "resolve": lambda torch, t: t.resolve_conj(),
    "resolve_neg": lambda torch, t: t.resolve_neg(),
    "physical": lambda torch, t: t.conj_physical(),
    "square": lambda torch, t: t * t,
    "sum": lambda torch, t: t.sum(0),
    "cat": lambda torch, t: torch.cat([t, t.conj()]),
    "index": lambda torch, t: t[[0]],
    "widened": lambda torch, t: t.to(torch.complex128),
    "product": lambda torch, t: t @ t.mH if t.dim() == 2 else t,
    "empty_like": lambda torch, t: torch.zeros_like(t),
}
WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "mul_": lambda torch, t: t.mul_(t.clone()),
    "add_": lambda torch, t: t.add_(1),
    "fill_": lambda torch, t: t.fill_(2.5),
    "zero_": lambda torch, t: t.zero_(),
    "neg_": lambda torch, t: t.neg_(),
    "physical_": lambda torch, t: t.conj_physical_(),
    "copy_": lambda torch, t: t.copy_(torch.arange(t.numel()).reshape(t.shape)),
    "copy_own": lambda torch, t: t.copy_(t.conj()),
    "copy_lazy": lambda torch, t: t.copy_((t.clone() * (1 + 2j if t.is_complex() else 3)).conj()),
    "set": lambda torch, t: t.__setitem__(0, 1.5),
    "put": lambda torch, t: t.index_put_((torch.tensor([0]),), t[0].clone()),
    "masked": lambda torch, t: t.masked_fill_(t.real > 1, 0.5),
    "out": lambda torch, t: torch.mul(t.clone(), 2, out=t),
    "transpose_": lambda torch, t: t.transpose_(0, -1),
    "cumsum_": lambda torch, t: t.cumsum_(0),
}
STEP_KINDS = (VIEWS, VIEWS, VIEWS, READS, WRITES, WRITES)


def run(torch: Any, seed: int) -> list[Any]:
    """One program: what every step gave, and every tensor at the end."""
    rng = random.Random(seed)
    numbers = [[complex(rng.randint(-4, 4), rng.randint(-4, 4)) / 2 for _ in range(3)] for _ in range(2)]
    pool, told = [torch.tensor(numbers, dtype=torch.complex64)], []
    for _ in range(STEPS):
        kind = rng.choice(STEP_KINDS)
        name, tensor = rng.choice(sorted(kind)), rng.choice(pool)
        try:
            made = kind[name](torch, tensor)
        except (RuntimeError, IndexError, NotImplementedError) as error:
            told.append([name, type(error).__name__])
            continue
        if made is not None:
            pool.append(made)
            told.append([name, made.is_conj(), made.is_neg(), made.storage_offset(), _from(made, pool)])
    return [told, [_shown(tensor) for tensor in pool]]


def _from(made: Any, pool: list[Any]) -> int | None:
    """Which tensor of the program a new one shares its storage with."""
    own = made.untyped_storage().data_ptr()
    return next((i for i, t in enumerate(pool) if t.untyped_storage().data_ptr() == own), None)


def _shown(tensor: Any) -> list[Any]:
    values = tensor.detach().resolve_conj().resolve_neg().reshape(-1).tolist()
    parts = [[round(complex(v).real, 3) + 0.0, round(complex(v).imag, 3) + 0.0] for v in values]
    return [list(tensor.shape), str(tensor.dtype), tensor.is_conj(), tensor.is_neg(), tensor._version, parts]
