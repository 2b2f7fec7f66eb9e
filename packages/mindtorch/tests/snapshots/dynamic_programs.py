"""Modules that are exported with sizes that vary: by mindtorch, and by PyTorch for the snapshot.

Name -> function of ``torch`` to (module, arguments, named arguments, dynamic_shapes, lists of sizes to call it with).
"""

from __future__ import annotations

from typing import Any

PROGRAMS: dict[str, Any] = {}
#: The same, of what is refused: the text of the error is PyTorch's.
REFUSED: dict[str, Any] = {}


def module_of(torch: Any, function: Any) -> Any:
    return type("Program", (torch.nn.Module,), {"forward": function})()


def of(function: Any) -> Any:
    PROGRAMS[function.__name__] = function
    return function


def refused(function: Any) -> Any:
    REFUSED[function.__name__] = function
    return function


@of
def linear(torch: Any) -> Any:
    batch = torch.export.Dim("batch")
    return torch.nn.Linear(3, 2), (torch.ones(4, 3),), {}, {"input": {0: batch}}, [[(5, 3)], [(1, 3)], [(4, 4)]]


@of
def convolutions(torch: Any) -> Any:
    nn = torch.nn
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(18, 3))
    return net, (torch.ones(4, 1, 8, 8),), {}, ({0: torch.export.Dim("batch")},), [[(2, 1, 8, 8)], [(1, 1, 8, 8)]]


@of
def embedding(torch: Any) -> Any:
    batch, length = torch.export.dims("batch", "length")
    net = torch.nn.Sequential(torch.nn.Embedding(10, 4), torch.nn.Linear(4, 2), torch.nn.Softmax(-1))
    return net, (torch.zeros(2, 5, dtype=torch.long),), {}, ({0: batch, 1: length},), []


@of
def attention(torch: Any) -> Any:
    batch, length, keys = torch.export.dims("batch", "length", "keys")
    spec = ({0: batch, 2: length}, {0: batch, 2: keys}, [batch, None, keys, None])
    args = torch.ones(2, 4, 6, 8), torch.ones(2, 4, 5, 8), torch.ones(2, 4, 5, 8)
    call = [(3, 4, 7, 8), (3, 4, 2, 8), (3, 4, 2, 8)]

    def forward(self: Any, q: Any, k: Any, v: Any) -> Any:
        return torch.nn.functional.scaled_dot_product_attention(q, k, v)

    return module_of(torch, forward), args, {}, spec, [call, [*call[:2], (3, 4, 3, 8)], [*call[:2], (2, 4, 2, 8)]]


@of
def heads(torch: Any) -> Any:
    batch, length = torch.export.dims("batch", "length", min=2, max=64)

    def forward(self: Any, x: Any) -> Any:
        rows, columns, width = x.shape
        q, k = (part.view(rows, columns, 2, -1).transpose(1, 2) for part in x.split(width // 2, 2))
        return (q @ k.transpose(-2, -1) * 0.5).softmax(-1), rows

    return module_of(torch, forward), (torch.ones(2, 5, 8),), {}, ({0: batch, 1: length},), [[(3, 9, 8)], [(3, 65, 8)]]


@of
def recurrent(torch: Any) -> Any:
    batch = torch.export.Dim("batch")
    lstm = torch.nn.GRUCell(3, 4)
    return lstm, (torch.ones(2, 3), torch.ones(2, 4)), {}, {"input": {0: batch}, "hx": {0: batch}}, [[(5, 3), (5, 4)]]


@of
def concatenated(torch: Any) -> Any:
    first, second = torch.export.dims("first", "second", min=3)

    def forward(self: Any, x: Any, y: Any) -> Any:
        return torch.cat([x, y]), torch.cat([x, x]).shape[0]

    args = torch.ones(4, 6), torch.ones(5, 6)
    return module_of(torch, forward), args, {}, ({0: first}, {0: second}), [[(9, 6), (3, 6)], [(2, 6), (3, 6)]]


@of
def reshaped(torch: Any) -> Any:
    def forward(self: Any, x: Any) -> Any:
        return x.view(x.shape[0] * 2, -1) + x.size(0), x.flatten(), x.reshape(-1, 2, 3), (x.shape[0] * 2 + 1) // 3

    return module_of(torch, forward), (torch.ones(4, 6),), {}, ({0: torch.export.Dim("n")},), [[(7, 6)], [(1, 6)]]


@of
def slices(torch: Any) -> Any:
    def forward(self: Any, x: Any) -> Any:
        return x[:, :2], x[..., -1:], x.narrow(1, 1, 2), x.select(1, 0), x[1:]

    n = torch.export.Dim("n", min=4, max=32)
    return module_of(torch, forward), (torch.ones(5, 6),), {}, ({0: n},), [[(9, 6)], [(3, 6)], [(33, 6)]]


@of
def means(torch: Any) -> Any:
    def forward(self: Any, x: Any) -> Any:
        return x.mean(0), x.sum(1), x / x.shape[0], x * x.shape[1] ** 0.5, x.max(1)[0]

    rows, columns = torch.export.dims("rows", "columns")
    return module_of(torch, forward), (torch.ones(8, 6),), {}, {"x": {0: rows, 1: columns}}, [[(3, 2)], [(1, 1)]]


@of
def shared(torch: Any) -> Any:
    n = torch.export.Dim("n")
    spec = {"x": {0: n}, "y": [n, None]}
    calls = [[(5, 6), (5, 6)], [(5, 6), (4, 6)], [(1, 6), (1, 6)], [(5, 6), (1, 6)]]
    return module_of(torch, lambda self, x, y: x + y), (torch.ones(4, 6), torch.ones(4, 6)), {}, spec, calls


@of
def equal_by_declaration_alone(torch: Any) -> Any:
    n = torch.export.Dim("n")
    args = torch.ones(4, 6), torch.ones(4, 6)

    def forward(self: Any, x: Any, y: Any) -> Any:
        return x + 1, y + 1, x.shape[0], y.shape[0]

    return module_of(torch, forward), args, {}, ({0: n}, {0: n}), [[(5, 6), (4, 6)], [(5, 6), (5, 6)]]


@of
def one_more(torch: Any) -> Any:
    n = torch.export.Dim("n")
    args = torch.ones(5, 6), torch.ones(4, 6)

    def forward(self: Any, x: Any, y: Any) -> Any:
        return x + 1, y + 1

    return module_of(torch, forward), args, {}, ({0: n + 1}, {0: n}), [[(8, 6), (7, 6)], [(8, 6), (8, 6)]]


@of
def found_out(torch: Any) -> Any:
    auto = torch.export.Dim.AUTO
    spec = {"x": {0: auto, 1: auto}, "y": [auto, None]}
    calls = [[(5, 6), (5, 6)], [(5, 6), (4, 6)], [(5, 7), (5, 6)]]
    return module_of(torch, lambda self, x, y: x + y), (torch.ones(4, 6), torch.ones(4, 6)), {}, spec, calls


@of
def branches(torch: Any) -> Any:
    def forward(self: Any, x: Any) -> Any:
        return x + 1 if x.shape[0] > 5 else x

    return module_of(torch, forward), (torch.ones(8, 6),), {}, ({0: torch.export.Dim.AUTO},), [[(6, 6)], [(5, 6)]]


@of
def fixed_silently(torch: Any) -> Any:
    auto = torch.export.Dim.AUTO
    return module_of(torch, lambda self, x: x.view(8, 6)), (torch.ones(8, 6),), {}, ({0: auto},), [[(8, 6)]]


@of
def divisible(torch: Any) -> Any:
    auto = torch.export.Dim.AUTO
    return module_of(torch, lambda self, x: x.view(-1, 4)), (torch.ones(8, 6),), {}, ({0: auto},), [[(4, 6)]]


@of
def in_containers(torch: Any) -> Any:
    a, b = torch.export.dims("a", "b", max=9)

    def forward(self: Any, x: Any, n: Any, parts: Any, *, last: Any) -> Any:
        return parts["one"][0] + x.sum() + n, last @ last.t()

    args = torch.ones(4, 6), 3, {"one": [torch.ones(3), torch.ones(2)], "none": None}
    spec = {"x": None, "n": None, "parts": {"one": [{0: a}, (b,)], "none": None}, "last": {1: torch.export.Dim.DYNAMIC}}
    return module_of(torch, forward), args, {"last": torch.ones(2, 3)}, spec, []


@refused
def fixed(torch: Any) -> Any:
    n = torch.export.Dim("n")
    return module_of(torch, lambda self, x: x.view(8, 6)), (torch.ones(8, 6),), {}, ({0: n},)


@refused
def fixed_though_dynamic(torch: Any) -> Any:
    return module_of(torch, lambda self, x: x.view(8, 6)), (torch.ones(8, 6),), {}, ({0: torch.export.Dim.DYNAMIC},)


@refused
def one_in_the_example(torch: Any) -> Any:
    return module_of(torch, lambda self, x: x + 1), (torch.ones(1, 6),), {}, ({0: torch.export.Dim("n")},)


@refused
def one_in_the_example_though_dynamic(torch: Any) -> Any:
    return module_of(torch, lambda self, x: x + 1), (torch.ones(1, 6),), {}, ({0: torch.export.Dim.DYNAMIC},)


@refused
def always_equal(torch: Any) -> Any:
    n, m = torch.export.dims("n", "m")
    args = torch.ones(4, 6), torch.ones(4, 6)
    return module_of(torch, lambda self, x, y: x + y), args, {}, ({0: n}, {0: m})


@refused
def always_related(torch: Any) -> Any:
    n, m = torch.export.Dim("n", min=5), torch.export.Dim("m", min=4)
    args = torch.ones(5, 6), torch.ones(4, 6)
    return module_of(torch, lambda self, x, y: x[1:] + y), args, {}, ({0: n}, {0: m})


@refused
def narrowed(torch: Any) -> Any:
    def forward(self: Any, x: Any) -> Any:
        return x + 1 if x.shape[0] > 5 else x

    return module_of(torch, forward), (torch.ones(8, 6),), {}, ({0: torch.export.Dim("n")},)


@refused
def out_of_range(torch: Any) -> Any:
    return torch.nn.Linear(3, 2), (torch.ones(9, 3),), {}, ({0: torch.export.Dim("n", max=8)},)


@refused
def other_number(torch: Any) -> Any:
    return torch.nn.Linear(3, 2), (torch.ones(9, 3),), {}, ({0: 8},)


@refused
def no_dimension(torch: Any) -> Any:
    return torch.nn.Linear(3, 2), (torch.ones(9, 3),), {}, ({0: "n"},)


@refused
def other_names(torch: Any) -> Any:
    return torch.nn.Linear(3, 2), (torch.ones(9, 3),), {}, {"x": {0: torch.export.Dim("n")}}


@refused
def other_length(torch: Any) -> Any:
    return torch.nn.Linear(3, 2), (torch.ones(9, 3),), {}, ([torch.export.Dim("n")],)


@refused
def other_count(torch: Any) -> Any:
    return torch.nn.Linear(3, 2), (torch.ones(9, 3),), {}, ({0: torch.export.Dim("n")}, None)


@refused
def other_keys(torch: Any) -> Any:
    args = ({"a": torch.ones(3)},)
    return module_of(torch, lambda self, x: x["a"] + 1), args, {}, ({"b": {0: torch.export.Dim("n")}},)


@refused
def other_elements(torch: Any) -> Any:
    args = ([torch.ones(3), torch.ones(2)],)
    return module_of(torch, lambda self, x: x[0] + 1), args, {}, ([{0: torch.export.Dim("n")}],)


@refused
def two_definitions(torch: Any) -> Any:
    spec = ({0: torch.export.Dim("n"), 1: torch.export.Dim("n", max=7)},)
    return module_of(torch, lambda self, x: x + 1), (torch.ones(4, 6),), {}, spec
