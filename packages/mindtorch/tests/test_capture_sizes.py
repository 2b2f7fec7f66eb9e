"""``torch.compile`` with a function as backend and sizes that vary: graphs, guards, marks, answers at other sizes."""

import pytest

import mindtorch as torch
from mindtorch._dynamo.testing import CompileCounter
from mindtorch.fx.experimental.symbolic_shapes import ConstraintViolationError

_SIZES = ((4, 6), (3, 4), (8, 2), (1, 4), (0, 4), (12, 6))


def _numbered(*shape):
    count = 1
    for size in shape:
        count *= size
    return torch.arange(count, dtype=torch.float32).reshape(shape) / 7


def _in_place(x):
    y = x.clone()
    y[: y.shape[0] // 2] += y.shape[1]
    return y.t()


def _branches(x):
    return x * 2 if x.shape[0] > 3 and x.shape[1] % 2 == 0 else x.sum(0)


def _counted(x):
    total = x.new_zeros(x.shape[1:])
    for i in range(x.shape[0]):
        total = total + x[i] * i
    return total


def _kinds(x):
    return x * 3 if isinstance(x.shape[0], int) and not isinstance(x.shape[0], float) else x


_PROGRAMS = {
    "elementwise": lambda x: x * 2 + 1,
    "sizes as numbers": lambda x: x * x.shape[0] + x.size(1),
    "answers": lambda x: (x * 2, x.shape[0], x.shape[1] + 1, x.shape, x.shape[0] / 2, x.shape[0] > 3, x.numel()),
    "views": lambda x: x.view(x.shape[1], -1).t().reshape(-1).view(x.shape),
    "flattened": lambda x: x.flatten().unfold(0, 1, 1) + x.flatten()[-1:].sum(),
    "factories": lambda x: torch.arange(x.shape[0]) + torch.zeros(x.shape[0], dtype=x.dtype),
    "joined": lambda x: torch.cat([x, x[: x.shape[0] // 2], x]).sum(0),
    "products": lambda x: x @ x.t() @ torch.ones(x.shape[0], 2),
    "means": lambda x: (x - x.mean(0)) / (x.var(0, unbiased=False) + 1).sqrt(),
    "split": lambda x: torch.stack([part.sum() for part in x.split(2)]),
    "padded": lambda x: torch.nn.functional.pad(x, (0, x.shape[0])),
    "in place": _in_place,
    "branches": _branches,
    "counted": _counted,
    "kinds": _kinds,
}


def _same(found, expected):
    if isinstance(expected, torch.Tensor):
        return torch.equal(found, expected) and found.dtype is expected.dtype and found.stride() == expected.stride()
    if isinstance(expected, (tuple, list)):
        return type(found) is type(expected) and all(map(_same, found, expected))
    return type(found) is type(expected) and found == expected


@pytest.mark.parametrize("dynamic", [True, None])
@pytest.mark.parametrize("name", _PROGRAMS)
def test_programs_give_what_they_give_at_any_size(name, dynamic):
    program = _PROGRAMS[name]
    compiled = torch.compile(program, backend=CompileCounter(), dynamic=dynamic, fullgraph=True, recompile_limit=100)
    for shape in _SIZES:
        x = _numbered(*shape)
        try:
            expected = program(x.clone())
        except RuntimeError:
            continue
        assert _same(compiled(x.clone()), expected), shape


def _graphs(program, *calls, **settings):
    found = []

    def backend(graph, inputs):
        found.append((graph.code.strip(), [i if isinstance(i, torch.SymInt) else tuple(i.shape) for i in inputs]))
        return graph.forward

    compiled = torch.compile(program, backend=backend, **settings)
    for args in calls:
        compiled(*args)
    return found


def test_a_graph_reads_as_pytorchs():
    (graph, inputs), *others = _graphs(
        lambda x: x.view(x.shape[0] * 2, -1).sin(), (torch.ones(4, 6),), (torch.ones(3, 4),), dynamic=True
    )
    assert not others
    assert [str(given) for given in inputs] == ["s77", "s27", "(4, 6)"]
    assert graph == (
        "def forward(self, s77 : torch.SymInt, s27 : torch.SymInt, L_x_ : torch.Tensor):\n"
        "    l_x_ = L_x_\n"
        "    mul = s77 * 2;  s77 = None\n"
        "    view = l_x_.view(mul, -1);  l_x_ = mul = None\n"
        "    sin = view.sin();  view = None\n"
        "    return (sin,)"
    )


def test_a_tensor_whose_sizes_alone_count_is_no_input():
    ((graph, inputs),) = _graphs(lambda x: torch.zeros(x.shape[0]), (torch.ones(4, 6),), dynamic=True)
    assert graph.splitlines()[0] == "def forward(self, s77 : torch.SymInt):"
    assert [str(given) for given in inputs] == ["s77"]


# How often PyTorch captures each.
@pytest.mark.parametrize(
    ("program", "shapes", "settings", "count"),
    [
        (lambda x: x * 2, [(4, 6), (5, 6), (7, 6), (7, 8), (9, 9)], {}, 3),
        (lambda x: x * 2, [(4, 6), (5, 6), (7, 6)], {"dynamic": False}, 3),
        (lambda x: x * 2, [(4, 6), (5, 6), (1, 6), (7, 1)], {"dynamic": True}, 3),
        (lambda x: x * (2 if x.shape[0] > 5 else 3), [(4, 6), (5, 6), (7, 6), (7, 8), (9, 9)], {"dynamic": True}, 2),
        (lambda x: sum(x[i] for i in range(x.shape[0])), [(4, 6), (3, 6), (3, 8)], {"dynamic": True}, 2),
    ],
)
def test_a_program_is_captured_as_often_as_guards_fail(program, shapes, settings, count):
    assert len(_graphs(program, *((torch.ones(shape),) for shape in shapes), **settings)) == count


def test_automatic_symbols_can_be_turned_off():
    config = torch._dynamo.config
    config.automatic_dynamic_shapes = False
    try:
        assert len(_graphs(lambda x: x * 2, *((torch.ones(n),) for n in range(3, 7)))) == 4
    finally:
        config.automatic_dynamic_shapes = True


def test_integers_are_symbols_where_all_sizes_are():
    def program(x, n, flag=True):
        return x * n if flag and isinstance(n, int) else x

    x = torch.ones(4)
    ((graph, _),) = _graphs(program, (x, 3), (x, 5), (torch.ones(5), 1), dynamic=True)
    assert graph.splitlines()[0] == "def forward(self, s77 : torch.SymInt, L_x_ : torch.Tensor, L_n_ : torch.SymInt):"
    compiled = torch.compile(program, backend=CompileCounter(), dynamic=True)
    for n in (3, -4, 0, 1, 0, 7, True):
        assert torch.equal(compiled(x, n), x * n)
    assert torch.equal(compiled(x, 3, False), x)


def test_arguments_in_containers_are_read_where_they_are():
    def program(xs, more):
        return torch.cat(xs) * more["n"] + more["y"].shape[0], more["y"].shape

    compiled = torch.compile(program, backend=CompileCounter(), dynamic=True, fullgraph=True)
    for rows, n in ((3, 2), (4, 5), (9, 4)):
        args = [_numbered(rows, 2), _numbered(rows + 1, 2)], {"y": torch.ones(n + 1, rows), "n": n}
        found, expected = compiled(*args), program(*args)
        assert torch.equal(found[0], expected[0])
        assert found[1] == expected[1]


def test_equal_sizes_are_told_apart_where_the_program_relies_on_them():
    compiled = torch.compile(lambda x, y: x + y, backend=CompileCounter(), dynamic=True)
    for a, b in (((4, 6), (4, 6)), ((3, 4), (3, 4)), ((3, 4), (1, 4)), ((5, 4), (4,)), ((6, 2), (6, 1))):
        x, y = _numbered(*a), _numbered(*b)
        assert torch.equal(compiled(x, y), x + y)


@pytest.mark.parametrize("dynamic", [True, False])
def test_layouts_are_told_apart(dynamic):
    compiled = torch.compile(lambda x: x.reshape(-1) * x.storage_offset(), backend=CompileCounter(), dynamic=dynamic)
    whole = _numbered(12, 12)
    for x in (whole, whole.t(), whole[1:], whole[:, 2:5], whole[3:9:2, 1], whole[2:]):
        assert torch.equal(compiled(x), x.reshape(-1) * x.storage_offset())


def test_memory_that_the_program_relies_on_is_guarded():
    def program(x):
        return x.as_strided((x.shape[0], 1), x.stride()) * 2

    compiled = torch.compile(program, backend=CompileCounter(), dynamic=True)
    for x in (_numbered(4, 7).t(), _numbered(5, 6).t(), _numbered(6, 7)[1:], _numbered(9, 9)[2:5, 1:4]):
        assert torch.equal(compiled(x), program(x))


_held = torch.ones(3)


@pytest.mark.parametrize("dynamic", [True, False])
def test_what_is_asked_of_a_tensor_that_is_no_input_is_guarded(dynamic):
    global _held
    _held = torch.ones(3)

    def program(x):
        return x * _held.shape[0] + (1 if _held.requires_grad else 0)

    x = torch.ones(2)
    compiled = torch.compile(program, backend=CompileCounter(), dynamic=dynamic, fullgraph=True)
    assert compiled(x).tolist() == [3, 3]
    _held.resize_(7)
    assert compiled(x).tolist() == [7, 7]
    _held.data = torch.ones(5)
    assert compiled(x).tolist() == [5, 5]
    _held.requires_grad_()
    assert compiled(x).tolist() == [6, 6]
    for asked in (lambda x: x * (2 if x._is_view() else 3), lambda x: x * (3 if x._base is None else 2)):
        compiled = torch.compile(asked, backend=CompileCounter(), dynamic=dynamic)
        assert compiled(x).tolist() == [3, 3]
        assert compiled(x[:2]).tolist() == [2, 2]


def _marked(mark, *shape, **options):
    x = _numbered(*shape)
    mark(x, 0, **options)
    return x


def test_marked_sizes_are_symbols():
    dynamo = torch._dynamo
    marked = _marked(dynamo.mark_dynamic, 4, 6)
    (graph, _), _ = _graphs(lambda x: x * 2, (marked,), (torch.ones(5, 6),), (torch.ones(5, 7),))
    assert graph.splitlines()[0] == "def forward(self, s77 : torch.SymInt, L_x_ : torch.Tensor):"
    # a mark that is made after a capture is heeded
    assert len(_graphs(lambda x: x * 2, (torch.ones(4, 6),), (marked,), (torch.ones(9, 6),))) == 2
    bounded = _marked(dynamo.mark_dynamic, 4, 6, min=3, max=10)
    assert len(_graphs(lambda x: x * 2, (bounded,), (torch.ones(9, 6),), (torch.ones(11, 6),))) == 2
    fixed = _marked(dynamo.mark_static, 4, 6)
    (graph, _), _ = _graphs(lambda x: x * 2, (fixed,), (torch.ones(5, 7),), (fixed,), dynamic=True)
    assert graph.splitlines()[0] == "def forward(self, s27 : torch.SymInt, L_x_ : torch.Tensor):"


def test_a_marked_size_that_may_not_vary_is_refused():
    compiled = torch.compile(lambda x: x.view(4, 6) * 2, backend=CompileCounter())
    with pytest.raises(ConstraintViolationError, match=r"You marked L\['x'\].size\(\)\[0\] as dynamic but"):
        compiled(_marked(torch._dynamo.mark_dynamic, 4, 6))
    compiled(_marked(torch._dynamo.maybe_mark_dynamic, 4, 6))
    inside = torch.compile(lambda x: torch._dynamo.mark_dynamic(x, 0), backend=CompileCounter(), fullgraph=True)
    with pytest.raises(torch._dynamo.exc.Unsupported, match="calls torch._dynamo.mark_dynamic"):
        inside(torch.ones(2))


def test_marks_are_kept_as_pytorch_keeps_them():
    x = torch.ones(4, 6)
    torch._dynamo.mark_dynamic(x, 0, min=3, max=10)
    torch._dynamo.maybe_mark_dynamic(x, (0, 1))
    torch._dynamo.mark_static(x)
    held = vars(x)
    assert held["_dynamo_dynamic_range"] == {(0, 3, 10)}
    assert held["_dynamo_dynamic_indices"] == {0}
    assert held["_dynamo_weak_dynamic_indices"] == held["_dynamo_static_indices"] == {0, 1}
    assert torch._dynamo.mark_static(torch.nn.Linear) is torch.nn.Linear
    for refused in ({"hint_override": 3}, {"specialize_on": [lambda n: n == 3]}):
        with pytest.raises(NotImplementedError, match="mark_dynamic"):
            torch._dynamo.mark_dynamic(x, 0, **refused)


def test_what_else_is_read_is_still_guarded():
    layer = torch.nn.Linear(3, 2)
    layer.scale = 2
    counter = CompileCounter()
    compiled = torch.compile(lambda x: layer(x) * layer.scale, backend=counter, dynamic=True)
    for rows in (2, 3, 4):
        assert torch.equal(compiled(_numbered(rows, 3)), layer(_numbered(rows, 3)) * 2)
    assert counter.frame_count == 1
    layer.scale = 5
    assert torch.equal(compiled(_numbered(7, 3)), layer(_numbered(7, 3)) * 5)
    with torch.no_grad():
        assert not compiled(_numbered(7, 3)).requires_grad
    assert compiled(_numbered(7, 3).double().float()).requires_grad
    assert counter.frame_count == 3


def test_a_training_step_is_one_graph_for_all_batches():
    def trained(compile_step):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def step(x):
            optimizer.zero_grad()
            loss = model(x).pow(2).mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        run = compile_step(step)
        return [run(_numbered(rows, 3)).item() for rows in (4, 5, 6, 3, 8, 9)]

    counter = CompileCounter()
    found = trained(lambda step: torch.compile(step, backend=counter, dynamic=True, fullgraph=True))
    assert found == trained(lambda step: step)
    assert counter.frame_count == 2  # the first step finds no gradients
