"""Random programs that write to bases and views, against the same programs without any view or in-place operator.

The reference keeps the base as one vector and a view as a selection matrix: reading is ``S @ b``, and writing replaces
b by ``(1 - mask) * b + S^T @ new``. Values, first and second derivatives must agree.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

import mt_autograd
from mt_core.testing.namespace import namespace

torch = namespace(autograd=mt_autograd)

SIZE = 12


def tensor(array):
    return torch.tensor(np.asarray(array), dtype=torch.float64)


class Aliased:
    """The program as users write it: real views, real in-place operators."""

    def __init__(self, start):
        self.pool = [start.view(3, 4)]

    def view(self, source, geometry):
        self.pool.append(geometry(self.pool[source]))

    def read(self, which):
        return self.pool[which]

    def write(self, which, operation, operand):
        target = self.pool[which]
        if operation == "copy":
            target.copy_(operand)
        elif operation == "neg":
            target.neg_()
        elif operation == "exp":
            # exp_ would save its result, which later writes change: an error, rightly.
            target.copy_(torch.exp(target * 0.1))
        else:
            getattr(target, operation + "_")(operand)


class Reference:
    """The same program on one vector."""

    def __init__(self, start):
        self.vector = start.reshape(-1)
        self.positions = [np.arange(SIZE).reshape(3, 4)]

    def view(self, source, geometry):
        self.positions.append(geometry(torch.tensor(self.positions[source].copy())).numpy().copy())

    def selection(self, which):
        flat = self.positions[which].reshape(-1)
        matrix = np.zeros((flat.size, SIZE))
        matrix[np.arange(flat.size), flat] = 1
        return tensor(matrix)

    def read(self, which):
        return (self.selection(which) @ self.vector.unsqueeze(1)).reshape(self.positions[which].shape)

    def write(self, which, operation, operand):
        old = self.read(which)
        if operation == "copy":
            new = operand.expand(old.shape)
        elif operation == "neg":
            new = -old
        elif operation == "exp":
            new = torch.exp(old * 0.1)
        else:
            new = getattr(old, operation)(operand)
        chosen = self.selection(which)
        kept = tensor(1 - chosen.sum(0).numpy())
        self.vector = kept * self.vector + (chosen.t() @ new.reshape(-1, 1)).squeeze(1)


def random_geometry(rng, shape):
    """A view function that suits a shape, and writes no element twice."""
    kinds = ["same"]
    if shape:
        dim = rng.randrange(len(shape))
        if shape[dim] > 1:
            kinds += ["select", "slice"]
        kinds += ["unsqueeze", "flatten"]
    if len(shape) > 1:
        kinds += ["transpose", "transpose"]
    kind = rng.choice(kinds)
    if kind == "select":
        index = rng.randrange(shape[dim])
        return lambda t: t.select(dim, index)
    if kind == "slice":
        start = rng.randrange(shape[dim] - 1)
        step = rng.choice([1, 2])
        where = (slice(None),) * dim + (slice(start, None, step),)
        return lambda t: t[where]
    if kind == "transpose":
        a, b = rng.sample(range(len(shape)), 2)
        return lambda t: t.transpose(a, b)
    if kind == "unsqueeze":
        return lambda t: t.unsqueeze(dim)
    if kind == "flatten":
        return lambda t: t.diagonal() if t.dim() == 2 and 0 not in t.shape else t.unsqueeze(-1)
    return lambda t: t.view(t.shape)


def random_program(seed):
    """A list of instructions; every random choice is made here, so that both executions are the same."""
    rng = random.Random(seed)
    shapes = [(3, 4)]
    program = []
    for _ in range(rng.randrange(3, 10)):
        if rng.random() < 0.5 and len(shapes) < 6:
            source = rng.randrange(len(shapes))
            geometry = random_geometry(rng, shapes[source])
            program.append(("view", source, geometry))
            shapes.append(tuple(geometry(torch.zeros(shapes[source])).shape))
        else:
            target = rng.randrange(len(shapes))
            operation = rng.choice(["add", "sub", "mul", "mul", "div", "copy", "neg", "exp"])
            program.append(("write", target, operation, rng.choice(["x", "w", "number"])))
        if rng.random() < 0.4:
            program.append(("read", rng.randrange(len(shapes))))
    program.append(("read", rng.randrange(len(shapes))))
    program.append(("read", 0))
    return program


def execute(machine, program, x, w):
    total = 0.0
    for step, (kind, which, *rest) in enumerate(program):
        if kind == "view":
            machine.view(which, rest[0])
        elif kind == "read":
            value = machine.read(which)
            total = total + (value.clone() * value.clone() * (step + 1)).sum()
        else:
            operation, source = rest
            shape = tuple(machine.read(which).shape)
            count = int(np.prod(shape))
            operand = {"x": x, "w": w}.get(source)
            operand = (
                torch.full(shape, 1.5, dtype=torch.float64) if operand is None else operand[:count].reshape(shape) + 2
            )
            machine.write(which, operation, operand)
    return total


def derivatives(machine_class, program, requires_grad):
    generator = np.random.default_rng(3)
    x = tensor(generator.uniform(0.5, 1.5, SIZE)).requires_grad_()
    w = tensor(generator.uniform(0.5, 1.5, SIZE)).requires_grad_()
    start = x * 1.0 if requires_grad else tensor(np.linspace(0.5, 2, SIZE))
    total = execute(machine_class(start), program, x, w)
    if not isinstance(total, torch.Tensor) or not total.requires_grad:
        return [total]
    first = torch.autograd.grad(total, [x, w], create_graph=True, materialize_grads=True)
    penalty = (first[0] * first[0]).sum() + (first[1] * w).sum()
    if not penalty.requires_grad:
        return [total, *first]
    return [total, *first, *torch.autograd.grad(penalty, [x, w], materialize_grads=True)]


@pytest.mark.parametrize("seed", range(150))
@pytest.mark.parametrize("requires_grad", [True, False], ids=["base with history", "base without"])
def test_aliased_program_agrees_with_reference(seed, requires_grad):
    program = random_program(seed)
    found = derivatives(Aliased, program, requires_grad)
    expected = derivatives(Reference, program, requires_grad)
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-9, atol=1e-9)
