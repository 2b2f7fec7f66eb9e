"""Random programs that are run twice, once inside of a pipeline, and must not be able to tell.

A program is grown while it runs: what it does next depends on a seed and on what can be seen of its tensors (shapes,
dtypes, places in the graph), never on elements. All that is seen is written down, and at the end all elements.

``python pipeline_programs.py 0 5000`` runs the programs of these seeds and prints those that differ.
"""

from __future__ import annotations

import contextlib
import copy
import random
import sys
from collections.abc import Callable
from typing import Any

import mindtorch as torch

#: Texts of errors that were raised by calls that had been put off end with a note from here on.
NOTE = "\n(raised by "
SHAPES = [(), (1,), (3,), (2, 3), (3, 2), (3, 3), (2, 1, 3), (0, 3)]
LENGTH = 25


class Program:
    """One run of the program of a seed; `seen` is what it saw."""

    def __init__(self, seed: int, length: int = LENGTH) -> None:
        self.random = random.Random(seed)
        self.length = length
        self.tensors: list[Any] = []
        self.arrays: list[Any] = []
        self.seen: list[Any] = []

    def run(self) -> list[Any]:
        torch.manual_seed(7)
        for _ in range(3):
            self.tensors.append(self.leaf())
        for _ in range(self.length):
            step = self.random.choice(STEPS)
            try:
                with self.mode():
                    made = step(self)
            except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError) as error:
                self.seen.append((step.__name__, type(error).__name__, str(error).partition(NOTE)[0]))
                made = None
            self.keep(made)
            self.seen.append((step.__name__, [sight(t) for t in self.tensors]))
        return self.seen

    def finish(self) -> list[Any]:
        """What was seen, and all elements, gradients and names of nodes."""
        values = [elements(t) for t in self.tensors]
        grads = [elements(g) for t in self.tensors if sight(t)[5] is True and (g := t.grad) is not None]
        nodes = [node_of(t) for t in self.tensors]
        arrays = [array.tobytes() for array in self.arrays]
        return [*self.seen, ("end", values, grads, nodes, arrays, torch.get_rng_state().numpy().tobytes())]

    def keep(self, made: Any) -> None:
        if isinstance(made, (tuple, list)):
            for item in made:
                self.keep(item)
        elif isinstance(made, torch.Tensor) and not any(made is t for t in self.tensors):
            self.tensors.append(made)
        while len(self.tensors) > 9:
            del self.tensors[self.random.randrange(len(self.tensors))]

    def mode(self) -> Any:
        return self.random.choices(
            [contextlib.nullcontext, torch.no_grad, torch.enable_grad, torch.inference_mode, autocast],
            [20, 4, 1, 0.5, 1],
        )[0]()

    # Choices

    def leaf(self) -> Any:
        shape = self.random.choice(SHAPES)
        kind = self.random.randrange(7)
        if kind == 0:
            return torch.arange(6).reshape(2, 3)
        if kind == 1:
            return torch.zeros(shape) + 1
        if kind == 2:
            return torch.randn(shape, dtype=torch.complex64)
        if kind == 3:
            return torch.randn(shape, dtype=torch.float64)
        return torch.randn(shape, requires_grad=self.random.random() < 0.6)

    def any(self, accepts: Callable[[Any], bool] = lambda t: True) -> Any:
        found = [t for t in self.tensors if accepts(t)]
        return self.random.choice(found) if found else torch.ones(2, 3)

    def floating(self) -> Any:
        return self.any(lambda t: t.is_floating_point())

    def number(self) -> Any:
        return self.random.choice([0.5, 2, -1, 3.0, True])

    def dim(self, tensor: Any) -> int:
        return self.random.randrange(-tensor.dim(), tensor.dim()) if tensor.dim() else 0

    def second(self, tensor: Any) -> Any:
        """Another operand, of a shape that broadcasts, most of the time."""
        same = [t for t in self.tensors if t.shape == tensor.shape or t.dim() == 0]
        return self.random.choice(same) if same and self.random.random() < 0.8 else self.any()


@contextlib.contextmanager
def autocast() -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        yield


def sight(tensor: Any) -> Any:
    """What can be seen of a tensor without its elements."""
    version = None if tensor.is_inference() else tensor._version
    strides = [step for size, step in zip(tensor.shape, tensor.stride(), strict=True) if size > 1 and tensor.numel()]
    try:
        is_leaf = tensor.is_leaf
    except RuntimeError as error:
        is_leaf = str(error)
    return (
        tuple(tensor.shape), strides, str(tensor.dtype), str(tensor.device), tensor.requires_grad,
        is_leaf, version, tensor.numel() and tensor.storage_offset(), tensor.is_conj(), tensor.is_neg(),
        type(tensor).__name__,
    )  # fmt: skip


def node_of(tensor: Any) -> str:
    try:
        return "" if tensor.grad_fn is None else tensor.grad_fn.name()
    except RuntimeError as error:
        return str(error)


def elements(tensor: Any) -> Any:
    plain = tensor.detach().resolve_conj().resolve_neg()
    return plain.to(torch.float32).numpy().tobytes() if plain.dtype == torch.bfloat16 else plain.numpy().tobytes()


# Steps


def make(p: Program) -> Any:
    return p.leaf()


def binary(p: Program) -> Any:
    x = p.any()
    name = p.random.choice("add sub mul div maximum eq where atan2 add_number rsub pow".split())
    y = p.second(x)
    if name == "where":
        return torch.where(x.abs() > 0.5, x, y)
    if name == "add_number":
        return x + p.number()
    if name == "rsub":
        return p.number() - x
    if name == "pow":
        return x.abs() ** 2
    return getattr(torch, name)(x, y)


def unary(p: Program) -> Any:
    return getattr(p.any(), p.random.choice("exp sin neg abs sqrt tanh sigmoid clone square sign isnan".split()))()


def reduce(p: Program) -> Any:
    x = p.any()
    name = p.random.choice("sum mean amax cumsum softmax logsumexp std max sort topk".split())
    if name == "topk":
        return x.topk(1, p.dim(x))
    if name in ("cumsum", "softmax", "sort", "amax", "logsumexp", "max") or p.random.random() < 0.5:
        return getattr(x, name)(p.dim(x))
    return getattr(x, name)()


def combine(p: Program) -> Any:
    x = p.any()
    kind = p.random.randrange(5)
    if kind == 0:
        return torch.cat([x, p.second(x)], p.dim(x))
    if kind == 1:
        return torch.stack([x, p.second(x)])
    if kind == 2:
        return torch.nn.functional.linear(p.floating(), torch.randn(4, 3), torch.ones(4))
    if kind == 3:
        return x @ p.second(x).transpose(-1, -2)
    return torch.nn.functional.layer_norm(x, x.shape[-1:])


def view(p: Program) -> Any:
    x = p.any()
    views: list[Callable[[], Any]] = [
        lambda: x.view(-1), lambda: x.reshape(-1), lambda: x.transpose(0, -1), lambda: x[0], lambda: x[..., 1:],
        lambda: x.unsqueeze(p.dim(x)), lambda: x.expand(2, *x.shape), lambda: x.chunk(2, p.dim(x)), lambda: x.unbind(0),
        lambda: x.detach(), lambda: x.conj(), lambda: torch.view_as_real(x), lambda: x.real, lambda: x.imag,
        lambda: x.diagonal(), lambda: x.as_strided((2,), (1,)), lambda: x.squeeze(), lambda: x.contiguous(),
        lambda: x.flatten(), lambda: x.data, lambda: x[::2], lambda: x.to(x.dtype), lambda: x[None, ..., 0],
        lambda: x.permute(*range(x.dim())[::-1]), lambda: x.T, lambda: x.narrow(0, 0, 1), lambda: x.view_as(x),
    ]  # fmt: skip
    return p.random.choice(views)()


def inplace(p: Program) -> Any:
    x = p.any()
    writes: list[Callable[[], Any]] = [
        lambda: x.add_(p.second(x)), lambda: x.mul_(p.number()), lambda: x.relu_(), lambda: x.zero_(),
        lambda: x.copy_(p.second(x)), lambda: x.fill_(2), lambda: x.masked_fill_(x.abs() > 1, 0.5),
        lambda: x.clamp_(-1, 1), lambda: x.uniform_(), lambda: x.normal_(), lambda: x.bernoulli_(0.5),
        lambda: x.__setitem__(0, p.number()), lambda: x.__setitem__((..., 0), p.second(x)), lambda: x.sub_(x),
        lambda: x.addcmul_(x, x, value=0.1), lambda: x.lerp_(x, 0.5), lambda: x.t_(), lambda: x.unsqueeze_(0),
        lambda: x.squeeze_(), lambda: x.numel() and x.index_fill_(0, torch.tensor([0]), 1),
        lambda: x[x.abs() < 9].sum(),
        lambda: x.neg_(), lambda: x.detach().mul_(2), lambda: x.data.add_(1), lambda: x.exponential_(),
        lambda: torch._foreach_add_([x, p.second(x)], 1), lambda: torch._foreach_mul([x, p.any()], 2),
        lambda: x.index_put_((torch.tensor([0]),), torch.ones(())), lambda: x.conj_physical_(),
    ]  # fmt: skip
    return p.random.choice(writes)()


def with_out(p: Program) -> Any:
    x, out = p.any(), p.any()
    return p.random.choice([torch.add, torch.mul])(x, 2, out=out) if p.random.random() < 0.7 else torch.exp(x, out=out)


def draw(p: Program) -> Any:
    x = p.floating()
    kind = p.random.randrange(7)
    if kind == 0:
        return torch.nn.functional.dropout(x, 0.5)
    if kind == 1:
        return torch.bernoulli(x.detach().sigmoid().nan_to_num())
    if kind == 2:
        return torch.randn_like(x)
    if kind == 3:
        return torch.randperm(4)
    if kind == 4:
        return torch.rand(3, generator=torch.Generator().manual_seed(3))
    if kind == 5:
        return torch.randint(0, 9, (3,))
    return torch.multinomial(torch.rand(4), 2)


def drop(p: Program) -> Any:
    if len(p.tensors) > 2:
        del p.tensors[p.random.randrange(len(p.tensors))]


def read(p: Program) -> Any:
    x = p.any()
    reads: list[Callable[[], Any]] = [
        lambda: x.sum().item(), lambda: x.tolist(), lambda: bool(x.sum() > 0), lambda: repr(x),
        lambda: x.numel(), lambda: x.data_ptr() != 0, lambda: str(x.grad_fn and x.grad_fn.name()), lambda: x._is_view(),
        lambda: torch.equal(x, x), lambda: torch.allclose(x, x), lambda: float(x.abs().sum()), lambda: len(x),
        lambda: [t.tolist() for t in x], lambda: x.untyped_storage().nbytes(), lambda: x in [x],
        lambda: x._base is None, lambda: x.is_contiguous(), lambda: x.nonzero().tolist(),
        lambda: torch.get_rng_state().sum().item(), lambda: x.device.type, lambda: x.is_shared(),
        lambda: x.storage_offset(), lambda: x.element_size(), lambda: x.retains_grad, lambda: x.output_nr,
    ]  # fmt: skip
    p.seen.append(str(p.random.choice(reads)()))


def select(p: Program) -> Any:
    x = p.any()
    selections: list[Callable[[], Any]] = [
        lambda: x[torch.tensor([0, 0])], lambda: x[x.abs() > 0.5],
        lambda: x.index_select(0, torch.arange(x.numel() > 0)),
        lambda: x.gather(0, torch.zeros_like(x, dtype=torch.int64)), lambda: torch.unique(x), lambda: x.nonzero(),
        lambda: torch.masked_select(x, x.abs() > 0.2), lambda: x.flip(0), lambda: x.roll(1), lambda: x.repeat(2, 1),
        lambda: torch.nn.functional.one_hot(torch.tensor([0, 2])), lambda: x.take(torch.tensor([0])),
    ]  # fmt: skip
    return p.random.choice(selections)()


def convert(p: Program) -> Any:
    x = p.any()
    conversions: list[Callable[[], Any]] = [
        lambda: x.double(), lambda: x.to(torch.float32), lambda: x.bfloat16(), lambda: x.int(), lambda: x.bool(),
        lambda: x.type_as(p.any()), lambda: x.cpu(), lambda: x.to("meta"), lambda: copy.deepcopy(x.detach()),
        lambda: torch.as_tensor(x), lambda: torch.tensor(x.tolist()), lambda: x.to(torch.complex64),
    ]  # fmt: skip
    made = p.random.choice(conversions)()
    return None if made.is_meta else made


def exchange(p: Program) -> Any:
    """Memory that an array shares, and that is written to through the array."""
    x = p.any(lambda t: not t.requires_grad and not t.is_conj() and not t.is_neg() and t.dtype != torch.bfloat16)
    array = x.numpy()
    p.arrays.append(array)
    if p.random.random() < 0.5 and array.size and array.flags.writeable:
        array[...] = 1
    return torch.from_numpy(array) if p.random.random() < 0.5 else None


def differentiate(p: Program) -> Any:
    x = p.any(lambda t: t.requires_grad and t.is_floating_point())
    kind = p.random.randrange(4)
    if kind == 0:
        x.sum().backward(retain_graph=True)
        return None
    if kind == 1:
        leaf = p.any(lambda t: t.is_leaf and t.requires_grad)
        return torch.autograd.grad((x * x).sum(), leaf, allow_unused=True, create_graph=p.random.random() < 0.5)
    if kind == 2:
        (x * 2).mean().backward()
        return None
    return torch.func.grad(lambda t: (t * t).sum())(x.detach())


def switch(p: Program) -> Any:
    x = p.any()
    switches: list[Callable[[], Any]] = [
        lambda: x.requires_grad_(), lambda: x.detach_(), lambda: x.retain_grad(), lambda: setattr(x, "grad", None),
        lambda: x.register_hook(lambda g: g * 2) and None, lambda: torch.manual_seed(3) and None,
        lambda: x.requires_grad_(False), lambda: setattr(x, "data", x.detach() * 2), lambda: torch.nn.Parameter(x),
        lambda: x.set_(x.detach().clone()), lambda: x.numel() and x.resize_(1), lambda: x.share_memory_(),
        lambda: x.grad,
        lambda: torch.vmap(torch.sin)(x), lambda: torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=False),
        lambda: Doubled.apply(x), lambda: with_default_dtype(), lambda: torch.func.jvp(torch.sin, (x,), (x,)),
    ]  # fmt: skip
    return p.random.choice(switches)()


def with_default_dtype() -> Any:
    torch.set_default_dtype(torch.float64)
    try:
        return torch.ones(2) / 3
    finally:
        torch.set_default_dtype(torch.float32)


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 2 + ctx.saved_tensors[0] * 0


STEPS = (
    [make] * 2 + [binary] * 8 + [unary] * 5 + [reduce] * 3 + [combine] * 2 + [view] * 9 + [inplace] * 9 + [draw] * 2
    + [with_out] + [drop] * 3 + [read] * 2 + [select] * 2 + [convert] * 2 + [exchange] + [differentiate] * 2 + [switch]
)  # fmt: skip


def outcome(seed: int, pipelined: bool, debug: bool = False) -> tuple[list[Any], Any]:
    """What the program of a seed sees, and the pipeline it ran in."""
    program = Program(seed)
    if not pipelined:
        program.run()
        return program.finish(), None
    with torch.pipeline(debug=debug) as pipeline:
        program.run()
        if seed % 2:
            return program.finish(), pipeline
    return program.finish(), pipeline


def difference(seed: int) -> str:
    """Where a program can tell that it runs inside of a pipeline; empty where it cannot."""
    expected, _ = outcome(seed, pipelined=False)
    try:
        found, _ = outcome(seed, pipelined=True)
    except Exception as error:  # noqa: BLE001 - what it raises is what differs
        if NOTE in str(error) and str(error).partition(NOTE)[0] in [sight[-1] for sight in expected]:
            return ""  # what depends on elements is refused at the flush
        return f"{seed}: {type(error).__name__}: {str(error)[:300]}"
    for at, (one, other) in enumerate(zip(expected, found, strict=False)):
        if one != other:
            return f"{seed}: at {at} of {len(expected)}: {shortened(one, other)}"
    return "" if len(expected) == len(found) else f"{seed}: {len(found)} sights in place of {len(expected)}"


def shortened(one: Any, other: Any) -> str:
    """The first parts of two sights that differ."""
    if isinstance(one, (tuple, list)) and isinstance(other, (tuple, list)) and len(one) == len(other):
        at = next(i for i, (a, b) in enumerate(zip(one, other, strict=True)) if a != b)
        head = f"{one[0]} " if isinstance(one[0], str) and at else ""
        return f"{head}[{at}] {shortened(one[at], other[at])}"
    return f"{str(one)[:250]} != {str(other)[:250]}"


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    differing = 0
    for number in range(int(sys.argv[1]), int(sys.argv[2])):
        text = difference(number)
        if text:
            differing += 1
            print(text, flush=True)
    print(f"{differing} programs differ")
