"""TorchScript of the recurrent modules of ``torch.nn``, on tensors and on packed sequences, and of what packs these."""

from __future__ import annotations

from typing import Any

import mt_nn as nn

__all__ = ["PACKED", "PACKING", "RECURRENT", "on_packed"]

_PAIR = "Tuple[Tensor, Tensor]"
_OWNER = "__torch__.torch.nn.utils.rnn"
#: The full name of the class of packed sequences, and its definition.
PACKED = (
    f"{_OWNER}.PackedSequence",
    ["class PackedSequence(NamedTuple):", "  data : Tensor", "  batch_sizes : Tensor",
     "  sorted_indices : Optional[Tensor]", "  unsorted_indices : Optional[Tensor]"],
)  # fmt: skip
_PACK = f"""
def pack_padded_sequence(
    input: Tensor, lengths: Tensor, batch_first: bool=False, enforce_sorted: bool=True) -> {PACKED[0]}:
  x, sizes = input, torch.to(lengths, 4)
  order, inverse = annotate(Optional[Tensor], None), annotate(Optional[Tensor], None)
  if torch.__not__(enforce_sorted):
    sizes, by = torch.sort(sizes, -1, True)
    by = torch.to(by, device=ops.prim.device(input))
    if batch_first:
      x = torch.index_select(input, 0, by)
    else:
      x = torch.index_select(input, 1, by)
    order, inverse = by, torch.argsort(by)
  data, batch_sizes = torch._pack_padded_sequence(x, sizes, batch_first)
  return {PACKED[0]}(data, batch_sizes, order, inverse)
"""
_TOO_SHORT = (
    "Expected total_length to be at least the length of the longest sequence in input, but got total_length={} and "
    "max sequence length being {}"
)
_UNPACK = f"""
def pad_packed_sequence(
    sequence: {PACKED[0]}, batch_first: bool=False, padding_value: float=0.0,
    total_length: Optional[int]=None) -> Tuple[Tensor, Tensor]:
  data, batch_sizes, order, inverse = sequence
  longest = torch.size(batch_sizes, 0)
  length = longest
  if total_length is not None:
    if total_length < longest:
      ops.prim.RaiseException(torch.format("{_TOO_SHORT}", total_length, longest), "builtins.ValueError")
    length = total_length
  padded, lengths = torch._pad_packed_sequence(data, batch_sizes, batch_first, padding_value, length)
  if inverse is not None:
    if batch_first:
      padded = torch.index_select(padded, 0, inverse)
    else:
      padded = torch.index_select(padded, 1, inverse)
    lengths = torch.index_select(lengths, 0, torch.to(inverse, device=ops.prim.device(lengths)))
  return (padded, lengths)
"""
#: Function of ``torch.nn.utils.rnn`` -> its full name in an archive, and its definition.
PACKING = {
    name: (f"{_OWNER}.{name}", text)
    for name, text in (("pack_padded_sequence", _PACK), ("pad_packed_sequence", _UNPACK))
}


def _raise(message: str, *values: str, error: str = "RuntimeError") -> str:
    text = f'torch.format("{message}", {", ".join(values)})' if values else f'"{message}"'
    return f'ops.prim.RaiseException({text}, "builtins.{error}")'


class _Parts:
    """What the definitions of one network have in common."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.paired = module.mode == "LSTM"
        self.state = _PAIR if self.paired else "Tensor"
        self.states = ("h", "c") if self.paired else ("h",)
        self.layers = module.num_layers * (2 if module.bidirectional else 1)
        self.sizes = dict(zip(self.states, (module.proj_size or module.hidden_size, module.hidden_size), strict=False))

    def zeros(self, x: str, count: str) -> list[str]:
        """First states, of `count` sequences."""
        return [
            f"{s} = torch.zeros({self._shape(s, count)}, dtype=ops.prim.dtype({x}), layout=None, "
            f"device=ops.prim.device({x}))"
            for s in self.states
        ]

    def given(self) -> str:
        return "given_h, given_c, = hx" if self.paired else "given_h = hx"

    def _shape(self, state: str, count: str) -> str:
        return f"[{self.layers}, {count}, {self.sizes[state]}]"

    def checked(self, x: str, count: str) -> list[str]:
        """Raise unless the sizes of the input and of the states are right."""
        size = self.module.input_size
        message = "input.size(-1) must be equal to input_size. Expected {}, got {}"
        lines = [f"if torch.ne({size}, torch.size({x}, -1)):"]
        lines += ["  " + _raise(message, str(size), f"torch.size({x}, -1)")]
        for place, s in enumerate(self.states):
            what = f"hidden[{place}] size" if self.paired else "hidden size"
            shape = self._shape(s, count)
            wrong = _raise(f"Expected {what} {{}}, got {{}}", f"({shape[1:-1]})", f"torch.list(torch.size({s}))")
            lines += [f"if torch.ne(torch.size({s}), {shape}):", f"  {wrong}"]
        return lines

    def call(self, x: str, more: str = "") -> str:
        """The call of the operator."""
        module = self.module
        weights = ", ".join(f"self.{weight}" for weight in module._flat_weights_names)
        given = "[h, c]" if self.paired else "h"
        return (
            f"y, {', '.join(self.states)}, = torch.{module.mode.lower()}({x}, {given}, [{weights}], {module.bias}, "
            f"{module.num_layers}, {module.dropout!r}, self.training, {module.bidirectional}{more})"
        )

    def returned(self, output: str) -> str:
        return f"return ({output}, (h, c))" if self.paired else f"return ({output}, h)"


def _network(module: Any) -> list[str]:
    """``RNN``, ``LSTM`` and ``GRU``."""
    parts = _Parts(module)
    name = "RNN" if module.mode.startswith("RNN") else module.mode
    batch = 0 if module.batch_first else 1
    count = f"torch.size(x, {batch})"
    got = "got {}D tensor instead" if name == "RNN" else "got {}D instead"
    lines = [
        f"def forward(self, input: Tensor, hx: Optional[{parts.state}]=None) -> Tuple[Tensor, {parts.state}]:",
        "  dims = torch.dim(input)",
        "  batched = torch.eq(dims, 3)",
        "  if torch.__not__(torch.__contains__([2, 3], dims)):",
        "    " + _raise(f"{name}: Expected input to be 2D or 3D, {got}", "dims", error="ValueError"),
        "  if batched:",
        "    x = input",
        "  else:",
        f"    x = torch.unsqueeze(input, {batch})",
        "  if hx is None:",
        *(f"    {line}" for line in parts.zeros("x", count)),
        "  else:",
        f"    {parts.given()}",
    ]
    others = " or ".join(f"torch.ne(torch.dim(given_{s}), dims)" for s in parts.states)
    found = [f"torch.dim(given_{s})" for s in parts.states]
    for kind, dims in (("batched", 3), ("unbatched", 2)):
        said = "hx and cx should also be {0}-D but got ({{}}-D, {{}}-D) tensors" if parts.paired else (
            "hx should also be {0}-D but got {{}}-D tensor"
        )  # fmt: skip
        message = f"For {kind} {dims}-D input, " + said.format(dims)
        lines += ["    if batched:"] if dims == 3 else ["    else:"]
        lines += [f"      if {others}:", "        " + _raise(message, *found)]
        values = {s: f"given_{s}" if dims == 3 else f"torch.unsqueeze(given_{s}, 1)" for s in parts.states}
        lines += [f"      {s} = {value}" for s, value in values.items()]
    return [
        *lines,
        *(f"  {line}" for line in parts.checked("x", count)),
        "  " + parts.call("x", f", {module.batch_first}"),
        "  if torch.__not__(batched):",
        f"    y = torch.squeeze(y, {batch})",
        *(f"    {s} = torch.squeeze({s}, 1)" for s in parts.states),
        "  " + parts.returned("y"),
    ]


def on_packed(module: Any) -> list[str]:
    """``forward__1`` of ``RNN``, ``LSTM`` and ``GRU``, which takes a packed sequence."""
    parts, packed = _Parts(module), PACKED[0]
    message = "input must have 2 dimensions, got {}"
    ordered = [f"    {s} = torch.index_select({s}, 1, {{}})" for s in parts.states]
    return [
        f"def forward__1(self, input: {packed}, hx: Optional[{parts.state}]=None) -> Tuple[{packed}, {parts.state}]:",
        "  x, batch_sizes, order, inverse, = input",
        "  count = int(torch.select(batch_sizes, 0, 0))",
        "  if hx is None:",
        *(f"    {line}" for line in parts.zeros("x", "count")),
        "  else:",
        f"    {parts.given()}",
        *(f"    {s} = given_{s}" for s in parts.states),
        "    if order is not None:",
        *(f"  {line}".format("order") for line in ordered),
        "  if torch.ne(torch.dim(x), 2):",
        "    " + _raise(message, "torch.dim(x)"),
        *(f"  {line}" for line in parts.checked("x", "count")),
        "  " + parts.call("x").replace("(x, ", "(x, batch_sizes, ", 1),
        "  if inverse is not None:",
        *(line.format("inverse") for line in ordered),
        "  " + parts.returned(f"{packed}(y, batch_sizes, order, inverse)"),
    ]


def _cell(module: Any) -> list[str]:
    """``RNNCell``, ``LSTMCell`` and ``GRUCell``."""
    paired = isinstance(module, nn.LSTMCell)
    name = "LSTMCell" if paired else "GRUCell" if isinstance(module, nn.GRUCell) else "RNNCell"
    kind = "lstm" if paired else "gru" if isinstance(module, nn.GRUCell) else f"rnn_{module.nonlinearity}"
    state, states = (_PAIR, ("h", "c")) if paired else ("Tensor", ("h",))

    def checked(tensor: str, what: str) -> list[str]:
        wrong = _raise(f"{name}: Expected {what} to be 1D or 2D, got {{}}D instead", f"torch.dim({tensor})",
                       error="ValueError")  # fmt: skip
        return [f"if torch.__not__(torch.__contains__([1, 2], torch.dim({tensor}))):", f"  {wrong}"]

    zeros = (
        f"torch.zeros([torch.size(x, 0), {module.hidden_size}], dtype=ops.prim.dtype(x), layout=None, "
        "device=ops.prim.device(x))"
    )
    lines = [f"def forward(self, input: Tensor, hx: Optional[{state}]=None) -> {state}:"]
    lines += [f"  {line}" for line in checked("input", "input")]
    lines += ["  batched = torch.eq(torch.dim(input), 2)"]
    lines += ["  if batched:", "    x = input", "  else:", "    x = torch.unsqueeze(input, 0)"]
    lines += ["  if hx is None:", *(f"    {s} = {zeros}" for s in states), "  else:"]
    lines += ["    given_h, given_c, = hx"] if paired else ["    given_h = hx"]
    for place, s in enumerate(states):
        lines += [f"    {line}" for line in checked(f"given_{s}", f"hx[{place}]" if paired else "hidden")]
    lines += ["    if batched:", *(f"      {s} = given_{s}" for s in states)]
    lines += ["    else:", *(f"      {s} = torch.unsqueeze(given_{s}, 0)" for s in states)]
    weights = ", ".join(
        "None" if getattr(module, weight) is None else f"self.{weight}"
        for weight in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    given = "[h, c]" if paired else "h"
    gives = "h, c," if paired else "h"
    return [
        *lines,
        f"  {gives} = torch.{kind}_cell(x, {given}, {weights})",
        "  if torch.__not__(batched):",
        *(f"    {s} = torch.squeeze({s}, 0)" for s in states),
        "  return (h, c)" if paired else "  return h",
    ]


#: Class -> how its ``forward`` is written.
RECURRENT = {nn.RNNBase: _network, nn.RNNCellBase: _cell}
