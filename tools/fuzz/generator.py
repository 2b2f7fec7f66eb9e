"""Grows a random program against a running torch-like module, so that most of its lines mean something.

Each line is run as it is written, and what follows knows shapes and dtypes; some arguments are drawn without looking,
since errors are behaviour too. Everything follows from the seed and the catalogue.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from .choices import COMPLEX, FLOATS, Choices
from .machine import Machine, Notes
from .phrases import PHRASES, WEIGHTS
from .sights import Sight
from .undetermined import ends_undetermined, forgets, reads_what_it_writes, wants_row_major, writes_what_it_saves

__all__ = ["Generator", "Program"]

_SLOT = re.compile(r"\{([^{}]*)\}")
#: Larger tensors are forgotten: programs are to be short, not slow.
_LARGEST = 2000
#: No inference tensor that requires grad is made: what is recorded of it depends on the parts of PyTorch's operators.
_INFERENCE = "torch.inference_mode()"
#: How often a line runs in another mode.
_MODES = {"torch.no_grad()": 0.05, _INFERENCE: 0.012, "torch.enable_grad()": 0.005}


class Program:
    """Lines, of each what kind it is, and what was seen after each and at the end."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.kinds: list[str] = []
        self.notes: list[Notes] = []


class Generator:
    """Writes one program; `calls` are the calls of the catalogue that it begins with, one by one."""

    def __init__(self, torch: Any, seed: int, calls: list[dict[str, Any]], limit: float = 0) -> None:
        self.torch = torch
        self.machine = Machine(torch, seed, limit)
        self.choose = Choices(seed)
        self.random = self.choose.random
        self.calls = list(calls)
        self.program = Program()
        self.count = 0
        #: How each variable was last seen; whether what the rest of a program would show is not determined.
        self.seen: dict[str, Sight] = {}
        self.over = False
        #: Whether the operator that is called reads or writes memory as if it had no gaps.
        self.row_major = False

    def write(self, length: int) -> Program:
        """A program of about this many lines, with all of its calls."""
        self.phrase("creation", "{fresh}")
        topics, weights = list(WEIGHTS), list(WEIGHTS.values())
        while not self.over and (len(self.program.lines) < length or self.calls):
            topic = self.random.choices(topics, weights)[0] if len(self.program.lines) < length else "samples"
            self.step(topic if self.tensors() else "creation")
        self.program.notes.append(self.machine.end())
        return self.program

    def step(self, topic: str) -> None:
        if topic == "samples":
            if self.calls:
                self.sample(self.calls.pop(0))
        elif topic == "cycles":
            self.random.choice([self.mutated_view, self.mutated_copy, self.mutated_saved, self.twice_differentiated])()
        else:
            self.phrase(topic, self.random.choice(PHRASES[topic].strip().split("\n")))

    # Lines

    def add(self, kind: str, line: str) -> None:
        """Write a line and run it; one whose outcome is not determined is left out."""
        if self.over or reads_what_it_writes(line, self.machine.names) and self.choose.chance(0.95):
            return
        for mode, probability in _MODES.items():
            in_inference = mode == _INFERENCE and ("requires_grad" in line or kind == "argument")
            if self.choose.chance(probability) and not in_inference:
                line = f"with {mode}: {line}"
                break
        random_state = self.torch.get_rng_state()
        notes = self.machine.run(line)
        if ends_undetermined(line, notes, self.seen):
            self.over = len(notes) > 1  # it may have written
            self.torch.set_rng_state(random_state)
            return
        self.seen.update(notes)
        self.program.kinds.append(kind)
        self.program.lines.append(line)
        self.program.notes.append(notes)

    def new_name(self, letter: str = "v") -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def let(self, kind: str, expression: str, letter: str = "v") -> str:
        """Assign to a new variable; of several tensors one gets a name of its own. Returns the variable's name."""
        name = self.new_name(letter)
        self.add(kind, f"{name} = {expression}")
        value = self.machine.names.get(name)
        if isinstance(value, self.torch.Tensor) and (value.numel() > _LARGEST or forgets(expression)):
            self.add("forgotten", f"del {name}")
        elif letter == "v" and isinstance(value, (tuple, list)) and value and self._is_tensor(value[-1]):
            item = self.random.randrange(len(value))
            if self._is_tensor(value[item]):
                self.add(kind, f"{self.new_name()} = {name}[{item}]")
        return name

    def _is_tensor(self, value: Any) -> bool:
        return isinstance(value, self.torch.Tensor)

    def phrase(self, topic: str, text: str) -> None:
        """Fill a phrase and run it."""
        kind, line = self.filled(text.lstrip("!"))
        if text.startswith("!"):
            self.add(f"{topic}: {kind}", line)
        else:
            self.let(f"{topic}: {kind}", line)

    # Variables

    def tensors(self, test: Callable[[Any], bool] | None = None) -> list[str]:
        names = self.machine.tensors()
        return names if test is None else [n for n in names if test(self.machine.names[n])]

    def pick(self, test: Callable[[Any], bool] | None = None) -> str:
        """A variable, mostly one that passes the test, and often the last."""
        found = self.tensors(test)
        if not found or self.choose.chance(0.03):
            found = self.tensors()
        return found[-1] if self.choose.chance(0.4) else self.random.choice(found)

    def apart(self, name: str) -> str:
        """A variable in other memory than `name`, a new one where there is none, and seldom any."""
        if self.choose.chance(0.05):
            return self.pick()
        memory = self.machine.names[name].untyped_storage().data_ptr()
        found = self.tensors(lambda t: t.untyped_storage().data_ptr() != memory)
        if found:
            return self.random.choice(found)
        return self.let("argument", f"torch.zeros([0], dtype=torch.{self._dtype_of(self.machine.names[name])})")

    def like(self, shape: list[int], dtype: str) -> str | None:
        """A variable of this shape and dtype."""
        found = self.tensors(lambda t: list(t.shape) == shape and str(t.dtype) == dtype)
        return self.random.choice(found) if found else None

    # Slots

    def filled(self, text: str) -> tuple[str, str]:
        """(the phrase with its words chosen, the line)."""
        kind = _SLOT.sub(self._chosen_word, text)
        memory: dict[str, str] = {"v": self.pick() if self.tensors() else ""}
        return kind, _SLOT.sub(lambda slot: self._filled_slot(slot[1], memory), kind)

    def _chosen_word(self, slot: re.Match[str]) -> str:
        words = slot[1].split("|")
        named = [w for w in words if w in SLOTS]
        return slot[0] if named or not slot[1] else self.random.choice(words)

    def _filled_slot(self, text: str, memory: dict[str, str]) -> str:
        if not text:
            return "{}"
        word = self.random.choice(text.split("|"))
        if word in memory:
            return memory[word]
        if word not in SLOTS:
            return word
        value = self.machine.names.get(memory["v"])
        made = SLOTS[word](self, value, memory)
        if word in ("o", "D", "grown", "leaf"):
            memory[word] = made
        return made

    def partner(self, value: Any) -> str:
        """Something that broadcasts with a tensor, mostly of its dtype."""

        def fits(other: Any) -> bool:
            try:
                self.torch.broadcast_shapes(value.shape, other.shape)
            except RuntimeError:
                return False
            return True

        if self.choose.chance(0.45) and (found := self.tensors(fits)):
            return self.random.choice(found)
        if self.choose.chance(0.06):
            return self.pick()
        shape = [1 if self.choose.chance(0.25) else size for size in value.shape]
        shape = shape[self.random.randrange(len(shape)) :] if shape and self.choose.chance(0.3) else shape
        return self.choose.tensor(shape, self._dtype_of(value) if self.choose.chance(0.6) else None)

    def _dtype_of(self, value: Any) -> str:
        return str(value.dtype).removeprefix("torch.")

    def dim_of(self, value: Any, memory: dict[str, str]) -> int:
        """The dimension that a line speaks of, counted from the front; the first where it has none."""
        dim = int(memory.setdefault("D", str(self.choose.dim(value.dim()))))
        return dim % value.dim() if value.dim() and -value.dim() <= dim < value.dim() else 0

    def size_of(self, value: Any, memory: dict[str, str]) -> int:
        """The size of that dimension."""
        return value.shape[self.dim_of(value, memory)] if value.dim() else 1

    def slice(self, size: int) -> str:
        start, stop = (("" if self.choose.chance(0.4) else str(self.random.randint(-size - 1, size + 1))) for _ in "ab")
        step = "" if self.choose.chance(0.6) else f":{self.random.choice([1, 2, 2, 3])}"
        return f"{start}:{stop}{step}"

    def basic(self, value: Any) -> str:
        """A subscript of numbers, slices, None and an ellipsis."""
        parts = [self._basic_part(size) for size in value.shape[: self.random.randint(0, value.dim())]]
        if self.choose.chance(0.2):
            parts.insert(self.random.randint(0, len(parts)), "...")
        return ", ".join(parts) or "..."

    def _basic_part(self, size: int) -> str:
        way = self.random.random()
        if way < 0.35:
            return str(self.choose.index(size))
        return self.slice(size) if way < 0.85 else self.random.choice(["None", ":"])

    def subscript(self, value: Any) -> str:
        """Anything between square brackets: also index tensors, lists and masks."""
        if self.choose.chance(0.3):
            return self.basic(value)
        length, parts, at, rank = self.random.choice([1, 2, 2, 3]), [], 0, self.random.randint(0, value.dim())
        while at < rank:
            part, taken = self._part(list(value.shape[at:]), length)
            parts.append(part)
            at += taken
        if self.choose.chance(0.15):
            parts.insert(self.random.randint(0, len(parts)), "...")
        return ", ".join(parts) or "..."

    def _part(self, sizes: list[int], length: int) -> tuple[str, int]:
        """One part of a subscript, and how many dimensions it takes."""
        way, size = self.random.random(), sizes[0]
        if way < 0.38:
            return self._basic_part(size).replace("None", ":"), 1
        if way < 0.62:
            shape = self.random.choice([[length], [length], [1], [2, length], []])
            of = self.random.choice(["int64", "int64", "int64", "int32", "int16", "uint8"])
            return f"torch.tensor({self._indices(shape, size)}, dtype=torch.{of})", 1
        if way < 0.7:
            return self._indices([length], size), 1
        if way < 0.84 and 0 not in sizes[:2]:
            taken = self.random.randint(1, min(2, len(sizes)))
            shape = [s + (1 if self.choose.chance(0.03) else 0) for s in sizes[:taken]]
            return f"torch.tensor({self.choose.nested(shape, 'bool')})", taken
        if way < 0.92:
            return self.random.choice(["None", "None", "True", "False", "torch.tensor(True)"]), 0
        return ":", 1

    def _indices(self, shape: list[int], size: int) -> str:
        if not shape:
            return str(self.choose.index(size))
        return f"[{', '.join(self._indices(shape[1:], size) for _ in range(shape[0]))}]"

    def index_tensor(self, value: Any, memory: dict[str, str]) -> str:
        """A list of indices along the line's dimension, the same all over a line."""
        if "indices" not in memory:
            size = self.size_of(value, memory)
            most = 3 if size or self.choose.chance(0.02) else 0  # PyTorch fails inside where it indexes nothing
            found = [max(self.choose.index(size), 0) for _ in range(self.random.randint(0, most))]
            of = "int32" if self.choose.chance(0.05) else "int64"
            memory["indices"] = f"torch.tensor({found}, dtype=torch.{of})"
        return memory["indices"]

    def source(self, value: Any, memory: dict[str, str]) -> str:
        """A tensor as `indices` selects it."""
        count = len(re.findall(r"\d+", self.index_tensor(value, memory).split("]")[0]))
        shape = list(value.shape)
        if shape:
            shape[self.dim_of(value, memory)] = count
        return self.choose.tensor(shape, self._dtype_of(value) if self.choose.chance(0.95) else None)

    def gathered(self, value: Any, memory: dict[str, str]) -> str:
        """Indices along the line's dimension, of v's rank, no larger than v."""
        shape = [self.random.randint(1, max(size, 1)) for size in value.shape]
        most = max(self.size_of(value, memory) - 1, 0)
        flat = [self.random.randint(0, most) for _ in range(math.prod(shape))]
        return f"torch.tensor({flat}).reshape({shape})"

    def selected(self, value: Any, text: str) -> str:
        """Something that fits what the subscript of a line selects."""
        try:
            part = eval(f"value[{text}]", {**self.machine.names, "value": value.detach()})  # noqa: S307 - own text
        except Exception:  # noqa: BLE001 - the line will be refused in the same way, which is what is compared
            return self.pick()
        return self.partner(part)

    def form(self, value: Any) -> str:
        """A shape for v's elements, mostly."""
        size = value.numel()
        divisor = self.random.choice([k for k in range(1, 9) if size and size % k == 0] or [0, 1])
        forms = [[divisor, -1], [-1, divisor], [size], [-1], [1, size, 1]]
        forms.append([divisor, size // divisor] if divisor else [0, 2])
        return str(self.random.choice(forms) if self.choose.chance(0.95) else self.choose.shape(3))

    def expanded(self, value: Any) -> str:
        sizes = [self.random.choice([1, 2, 3, -1]) if s == 1 else self.random.choice([s, -1]) for s in value.shape]
        return str(([self.random.choice([1, 2])] if self.choose.chance(0.3) else []) + sizes)

    def short_shape(self) -> str:
        return str([self.random.randint(1, 3) for _ in range(self.random.randint(0, 3))])

    def viewed(self, name: str) -> str:
        """An expression of a view of a variable."""
        text = self.random.choice(PHRASES["views"].strip().split("\n"))
        memory = {"v": name}
        return _SLOT.sub(lambda slot: self._filled_slot(slot[1], memory), text)

    # Samples

    def sample(self, call: dict[str, Any]) -> None:
        """Call an operator of the catalogue, in one of its forms."""
        kind = f"sample: {call['operator']}"
        self.row_major = wants_row_major(call["name"], call["form"])
        method = call["form"] == "method" or call["method"] and call["form"] != "out" and self.choose.chance(0.3)
        positional = [self.argument(value) for value in call["positional"]]
        named = [f"{key}={self.argument(value)}" for key, value in call["named"].items()]
        if call["form"] == "out":
            self.call_with_out(call, positional + named)
        elif method and call["positional"] and "tensor" in call["positional"][0]:
            self.call_method(call, kind, positional, named)
        else:
            self.called(call, kind, f"{call['name']}({', '.join(positional + named)})")

    def call_method(self, call: dict[str, Any], kind: str, positional: list[str], named: list[str]) -> None:
        name = call["name"].rpartition(".")[2]
        first = positional[0]
        if not first.startswith("v"):
            first = self.let("argument", first)
        text = f"{first}.{name}({', '.join(positional[1:] + named)})"
        if name.endswith("_") and not name.endswith("__") and self.choose.chance(0.7):
            self.add(kind, text)
        else:
            self.called(call, kind, text)

    def called(self, call: dict[str, Any], kind: str, text: str) -> str:
        name = self.let(kind, text, "v" if call["elements"] else "w")
        value = self.machine.names.get(name)
        wanted = self._is_tensor(value) and value.requires_grad and name[0] == "v" and self.choose.chance(0.3)
        if wanted and not writes_what_it_saves(call["name"]):
            self.add("gradients of " + kind, f"{name}.sum().backward()")
        return name

    def call_with_out(self, call: dict[str, Any], arguments: list[str]) -> None:
        """What an operator gives, then the same into tensors like it, seldom of another dtype or size."""
        kind = f"sample: {call['out']}"
        text = ", ".join(arguments)
        with_mode = f"{call['name']}({text})"
        name = self.called(call, f"functional of {kind}", with_mode)
        value = self.machine.names.get(name)
        results = list(value) if isinstance(value, (tuple, list)) else [value]
        if len(results) != call["outs"] or not all(self._is_tensor(r) for r in results):
            return
        outs = [self.let("argument", self.target(result), name[0]) for result in results]
        into = outs[0] if len(outs) == 1 else f"({', '.join(outs)})"
        self.add(kind, f"{name} = {call['name']}({text}{', ' if text else ''}out={into})")

    def target(self, result: Any) -> str:
        shape, of = list(result.shape), result.dtype
        way = self.random.random()
        if self.row_major:
            return f"torch.zeros({shape}, dtype={of})"
        if way < 0.06:
            return f"torch.zeros({shape}, dtype=torch.{self.choose.dtype()})"
        if way < 0.16:
            return f"torch.zeros({self.random.choice([[0], [0], [2, *shape]])}, dtype={of})"
        if way < 0.26 and shape:
            return f"torch.zeros({[*shape[:-1], 2 * shape[-1]]}, dtype={of})[..., ::2]"
        if way < 0.3 and len(shape) > 1:
            return f"torch.zeros({shape[::-1]}, dtype={of}).permute({list(range(len(shape)))[::-1]})"
        return f"torch.zeros({shape}, dtype={of})"

    def argument(self, value: dict[str, Any]) -> str:
        """An argument's text: mostly the sample's, in another layout, as a variable, requiring grad, or altered."""
        if "items" in value:
            return f"[{', '.join(self.argument(item) for item in value['items'])}]"
        if "tensor" not in value:
            return self.choose.number() if self.choose.chance(0.01) else value["text"]
        if self.choose.chance(0.02):
            return self.pick() if self.tensors() else value["tensor"]
        if self.choose.chance(0.25) and (name := self.like(value["shape"], value["dtype"])):
            return name
        text = self.dressed(value)
        return self.let("argument", text) if self.choose.chance(0.35) else text

    def dressed(self, value: dict[str, Any]) -> str:
        """A sample's tensor in another layout, of another dtype, or requiring grad."""
        text, way, rank = value["tensor"], self.random.random(), len(value["shape"])
        if way < 0.14 and self.row_major:
            return text
        if way < 0.08 and rank > 1:
            text = f"{text}.transpose(0, -1).contiguous().transpose(0, -1)"
        elif way < 0.14 and rank:
            text = f"torch.stack([{text}, {text}], -1)[..., 0]"
        elif way < 0.16:
            text = f"torch.cat([{text}.reshape(-1)[:1], {text}.reshape(-1)])[1:].reshape({value['shape']})"
        elif way < 0.19:
            text = f"{text}.to(torch.{self.choose.dtype()})"
        name = value["dtype"].removeprefix("torch.")
        can = name in FLOATS or name in COMPLEX
        return f"{text}.requires_grad_()" if can and way >= 0.19 and self.choose.chance(0.35) else text

    # Lines that go together

    def mutated_view(self) -> None:
        """A view is written, and what it is of is read."""
        name = self.pick()
        view = self.let("cycle: view", self.viewed(name))
        if self._is_tensor(self.machine.names.get(view)):
            how = self.random.choice(["mul_(2)", "add_(1)", "zero_()", f"copy_({view} * 3)", "exp_()", "neg_()"])
            self.add("cycle: write a view", f"{view}.{how}")
            self.let("cycle: read its base", f"{name} * {self.random.choice(['2', name])}")

    def mutated_copy(self) -> None:
        """A view of a copy is written with what may require grad, and differentiated."""
        copy = self.let("cycle: copy", f"{self.pick()}.clone()")
        if not self._is_tensor(self.machine.names.get(copy)):
            return
        view = self.let("cycle: view", self.viewed(copy))
        if self._is_tensor(value := self.machine.names.get(view)):
            how = self.random.choice(["mul_", "add_", "copy_", "sub_", "div_"])
            self.add("cycle: write a view", f"{view}.{how}({self.partner(value)})")
            self.add("cycle: backward", f"{copy}.sum().backward()")

    def mutated_saved(self) -> None:
        """What a node may have saved is written before the backward pass."""
        name = self.pick()
        operator = self.random.choice(["*", "+", "/"])
        first = self.let("cycle: make", f"{name} {operator} {self.partner(self.machine.names[name])}")
        if not self._is_tensor(self.machine.names.get(first)):
            return
        how = self.random.choice(["exp", "sin", "square", "sigmoid", "sum", "relu", "tanh", "sqrt", "abs"])
        second = self.let("cycle: save", f"{first}.{how}()")
        what = self.random.choice([first, first, second])
        self.add("cycle: write", f"{what}.{self.random.choice(['add_(1)', 'mul_(2)', 'zero_()', 'detach_()'])}")
        self.add("cycle: backward", f"{second}.sum().backward()")

    def twice_differentiated(self) -> None:
        """A gradient of a gradient."""
        leaf = self.pick(lambda t: t.requires_grad and t.is_floating_point())
        how = self.random.choice(["** 3", ".sin()", ".exp()", ".softmax(-1)", ".norm()", ".cumsum(-1) ** 2", ".tanh()"])
        first = self.let("cycle: gradient", f"torch.autograd.grad(({leaf} {how}).sum(), {leaf}, create_graph=True)[0]")
        if self._is_tensor(self.machine.names.get(first)):
            text = f"torch.autograd.grad(({first} * 2).sum(), {leaf}, allow_unused=True)"
            self.let("cycle: second gradient", text)


#: Slot -> what fills it, from (generator, the tensor v, what the line has said).
Slot = Callable[[Generator, Any, dict[str, str]], str]
SLOTS: dict[str, Slot] = {
    "v": lambda g, v, m: m["v"],
    "o": lambda g, v, m: g.pick(),
    "apart": lambda g, v, m: g.apart(m["v"]),
    "p": lambda g, v, m: g.partner(v),
    "s": lambda g, v, m: g.choose.number(),
    "d": lambda g, v, m: str(g.choose.dim(v.dim())),
    "D": lambda g, v, m: str(g.choose.dim(v.dim())),
    "dim_named": lambda g, v, m: f"dim={g.choose.dim(v.dim())}",
    "dims": lambda g, v, m: str(tuple(g.random.sample(range(-v.dim(), 0), g.random.randint(0, v.dim())))),
    "float": lambda g, v, m: g.choose.element("float32"),
    "small": lambda g, v, m: str(g.random.randint(0, 6)),
    "dtype": lambda g, v, m: f"torch.{g.choose.dtype()}",
    "shape": lambda g, v, m: str(g.choose.shape()),
    "short shape": lambda g, v, m: m.setdefault("_shape", g.short_shape()),
    "short strides": lambda g, v, m: str([g.random.choice([0, 1, 1, 2, 3]) for _ in eval(m["_shape"])]),  # noqa: S307
    "fresh": lambda g, v, m: g.choose.tensor(),
    "pitted": lambda g, v, m: g.choose.pitted(),
    "same": lambda g, v, m: g.choose.tensor(list(v.shape), g._dtype_of(v)),
    "learned": lambda g, v, m: g.choose.tensor(g.choose.shape(2), "float32", False),
    "mask": lambda g, v, m: f"({g.partner(v)} {g.random.choice(['> 0', '<= 0.5', '== 1'])})",
    "form": lambda g, v, m: g.form(v),
    "permutation": lambda g, v, m: str(g.random.sample(range(v.dim()), v.dim())),
    "expanded": lambda g, v, m: g.expanded(v),
    "start": lambda g, v, m: str(g.random.randint(0, g.size_of(v, m))),
    "length": lambda g, v, m: str(g.random.randint(0, max(g.size_of(v, m) // 2, 1))),
    "index": lambda g, v, m: str(g.choose.index(g.size_of(v, m))),
    "basic": lambda g, v, m: g.basic(v),
    "subscript": lambda g, v, m: m.setdefault("_subscript", g.subscript(v)),
    "selected": lambda g, v, m: g.selected(v, m["_subscript"]),
    "indices": lambda g, v, m: g.index_tensor(v, m),
    "source": lambda g, v, m: g.source(v, m),
    "gathered": lambda g, v, m: g.gathered(v, m),
    "flat indices": lambda g, v, m: f"torch.tensor({g._indices([g.random.randint(1, 3)], v.numel())})",
    "repeats": lambda g, v, m: str([g.random.randint(1, 2) for _ in range(v.dim() + g.random.choice([0, 0, 1]))]),
    "right": lambda g, v, m: g.choose.tensor([v.shape[-1] if v.dim() else 2, g.random.randint(1, 3)], g._dtype_of(v)),
    "column": lambda g, v, m: g.choose.tensor([v.shape[-1] if v.dim() else 2], g._dtype_of(v)),
    "written": lambda g, v, m: g.viewed(m["v"]) if g.choose.chance(0.3) else m["v"],
    "grown": lambda g, v, m: g.pick(lambda t: t.requires_grad and not t.is_leaf),
    "leaf": lambda g, v, m: g.pick(lambda t: t.requires_grad),
}  # fmt: skip
