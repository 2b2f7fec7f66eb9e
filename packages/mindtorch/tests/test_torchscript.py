"""Archives that PyTorch wrote: what they compute, what their modules are to users, and what hostile ones do."""

import copy
import doctest
import io
import json
import math
import pickle
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

import mindtorch as torch

FOLDER = Path(__file__).parent / "snapshots" / "torchscript_files"
sys.path.append(str(FOLDER.parent))
from torchscript_values import described, restored  # noqa: E402 (it lies beside the snapshots)

RESULTS = json.loads((FOLDER / "results.json").read_text())
ARCHIVES = sorted({result["archive"] for result in RESULTS})
#: Messages that PyTorch's C++ library words.
WORDED_BY_CPP = ("stoll", "basic_string", "Cast error details")


def loaded(name):
    return torch.jit.load(FOLDER / f"{name}.pt")


def alike(a, b):
    """Whether two described values are the same, floating-point numbers nearly."""
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=2e-5, abs_tol=2e-6)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(alike(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(alike, a, b))
    return type(a) is type(b) and a == b


def check(module, result):
    torch.manual_seed(1)
    args = restored(torch, result["args"])
    if "error" in result:
        kind, message = result["error"]
        with pytest.raises(torch.jit.Error if kind == "Error" else RuntimeError) as told:
            getattr(module, result["method"])(*args)
        assert type(told.value).__name__ == kind
        if not any(word in message for word in WORDED_BY_CPP):
            assert str(told.value).strip().splitlines()[-1] == message
        return
    got = described(torch, getattr(module, result["method"])(*args))
    assert alike(json.loads(json.dumps(got)), result["result"])


@pytest.mark.parametrize("name", ARCHIVES)
def test_archives_compute_what_they_do_in_pytorch(name, capfd):
    module = loaded(name)
    again = io.BytesIO()
    torch.jit.save(module, again)
    written = torch.jit.load(io.BytesIO(again.getvalue()))
    for result in (r for r in RESULTS if r["archive"] == name):
        check(module, result)
        check(written, result)


def test_what_programs_print(capfd):
    loaded("everything")(torch.ones(3, 4))
    assert capfd.readouterr().out == "hi 6 3\n"


# What modules are to users


def test_a_module_is_one_of_pytorchs_class():
    module = loaded("everything")
    assert type(module).__name__ == "RecursiveScriptModule"
    assert isinstance(module, torch.jit.ScriptModule)
    assert repr(module.impl) == (
        "RecursiveScriptModule(\n  original_name=Sub\n  (lin): RecursiveScriptModule(original_name=Linear)\n)"
    )
    assert list(module.state_dict())[:4] == ["step", "np_", "layers.0.lin.weight", "layers.0.lin.bias"]
    assert [name for name, _ in module.named_modules()][:4] == ["", "layers", "layers.0", "layers.0.lin"]
    assert (len(module.layers), "a" in module.d, module.original_name) == (2, True, "Everything")
    assert all(parameter.requires_grad for parameter in module.parameters())
    assert module.scale == 2.5  # a constant of its class
    assert module.forward.schema.startswith(
        "forward(__torch__.torchscript_programs.Everything self, Tensor x, Tensor? y="
    )
    assert module.other.code.startswith("def other(self,\n    x: Tensor,\n    n: int=4,\n    s: str=")
    with pytest.raises(AttributeError, match="'RecursiveScriptModule' object has no attribute 'nothing'"):
        module.nothing  # noqa: B018
    with pytest.raises(RuntimeError, match="Tried to serialize object __torch__.torchscript_programs.Everything which"):
        pickle.dumps(module)


def test_attributes_have_the_types_that_are_declared():
    module = loaded("everything")
    module.names.append("lost")  # it is a copy, as in PyTorch
    assert module.names == ["x", "y"]
    module.names = ["q"]
    assert module.names == ["q"]
    with pytest.raises(RuntimeError, match=r"Could not cast attribute 'names' to type List\[str\]"):
        module.names = 3
    with pytest.raises(RuntimeError, match="Can't add a new parameter after ScriptModule construction"):
        module.register_parameter("new", torch.nn.Parameter(torch.ones(1)))
    with pytest.raises(RuntimeError, match="Cannot re-assign modules in a ScriptModule with non-scripted module"):
        module.impl = torch.nn.Tanh()


def test_modes_dtypes_devices_and_copies():
    module = loaded("training")
    assert not module.eval().training and not module.conv.training
    x = torch.randn(2, 3, 8, 8)
    assert torch.equal(module(x), module(x))  # no dropout
    assert module.train().training
    assert not torch.equal(module(x), module(x))
    assert module.double().eval()(x.double()).dtype == torch.float64
    assert {p.device.type for p in torch.jit.load(FOLDER / "training.pt", map_location="meta").parameters()} == {"meta"}
    other = copy.deepcopy(module)
    dict(other.named_parameters())["conv.0.weight"].data.zero_()
    assert dict(module.named_parameters())["conv.0.weight"].abs().sum() > 0


def test_gradients_are_those_of_the_operators():
    module = loaded("sizes")
    x, y = torch.ones(2, 2, 3, requires_grad=True), torch.ones(4, requires_grad=True)
    module(x, y).sum().backward()
    assert torch.allclose(x.grad, torch.full_like(x, 2**-0.5))
    assert torch.allclose(y.grad, torch.full_like(y, 12 * 12 / 4))
    weights = loaded("training").train()
    weights(torch.randn(2, 3, 8, 8)).square().sum().backward()
    assert all(parameter.grad is not None for parameter in weights.parameters())


def test_training_a_loaded_module():
    module = loaded("recurrent")
    optimizer = torch.optim.SGD(module.parameters(), lr=0.05)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = module(torch.arange(8).reshape(2, 4))[2].square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[0] > losses[1] > losses[2]


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
def test_frozen_modules_compute_the_same():
    module = loaded("traced").eval()
    x = torch.randn(2, 3, 8, 8)
    frozen = torch.jit.freeze(module)
    assert list(frozen.parameters()) == []
    assert torch.equal(frozen(x), module(x))
    assert torch.equal(torch.jit.optimize_for_inference(module)(x), module(x))


def test_extra_files(tmp_path):
    module, path = loaded("sizes"), tmp_path / "sizes.pt"
    module.save(path, _extra_files={"notes.txt": "text", "data": b"\x00\x01"})
    found = {"notes.txt": None, "data": None, "absent": None}
    torch.jit.load(path, _extra_files=found)
    assert found == {"notes.txt": b"text", "data": b"\x00\x01", "absent": b""}


def test_changes_are_saved():
    module = loaded("everything")
    module.names = []
    module.impl.lin.bias.data.fill_(3.0)
    module.table = {"z": 2**40}
    again = torch.jit.load(io.BytesIO(module.save_to_buffer()))
    assert (again.names, again.table) == ([], {"z": 2**40})
    assert again.impl.lin.bias.tolist() == [3.0] * 4


def test_torch_load_of_an_archive():
    path = FOLDER / "sizes.pt"
    with pytest.raises(RuntimeError, match="Cannot use ``weights_only=True`` with TorchScript archives"):
        torch.load(path)
    with pytest.warns(UserWarning, match="dispatching to 'torch.jit.load'"):
        module = torch.load(path, weights_only=False)
    assert isinstance(module, torch.jit.ScriptModule)


def test_arguments_are_checked():
    module = loaded("everything")
    for args, kwargs, message in (
        ((1,), {}, "Expected a value of type 'Tensor' for argument 'x' but instead found type 'int'"),
        ((), {}, "forward.. is missing value for argument 'x'"),
        ((torch.ones(1),), {"z": 3}, "Unknown keyword argument 'z' for operator 'forward'"),
        ((torch.ones(1), None, None, 3), {}, r"forward.. expected at most 4 argument.s. but received 5"),
    ):
        with pytest.raises(RuntimeError, match=message):
            module(*args, **kwargs)


def test_paths_without_archives(tmp_path):
    with pytest.raises(ValueError, match="The provided filename .*absent.pt does not exist"):
        torch.jit.load(tmp_path / "absent.pt")
    with pytest.raises(ValueError, match="is a directory"):
        torch.jit.load(tmp_path)
    torch.save({"a": 1}, tmp_path / "state.pt")
    with pytest.raises(RuntimeError, match="failed locating file constants.pkl"):
        torch.jit.load(tmp_path / "state.pt")


# Code from elsewhere


def archive_of(code, kept="sizes", records=None):
    """An archive whose code is replaced."""
    made = io.BytesIO()
    with zipfile.ZipFile(FOLDER / f"{kept}.pt") as source, zipfile.ZipFile(made, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            if name.endswith("code/__torch__.py"):
                data = code if isinstance(code, bytes) else code.encode()
            elif records is not None:
                data = records(name, data)
            target.writestr(name, data)
    made.seek(0)
    return made


def program(body, returns="Tensor", parameters="x: Tensor, y: Tensor"):
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return (
        "class PlaceholderModule(Module):\n  __parameters__ = []\n  __buffers__ = []\n  training : bool\n"
        f"  def forward(self: __torch__.PlaceholderModule, {parameters}) -> {returns}:\n{lines}\n"
    )


def run(body, *args, **how):
    return torch.jit.load(archive_of(program(body, **how)))(*(args or (torch.ones(2), torch.ones(2))))


def test_code_of_our_own_runs():
    body = "z = x\nfor i in range(3):\n  z += y * i\nreturn z[:, None].sum(1) if bool(z.sum() > 0) else -z"
    assert run(body).tolist() == [4.0, 4.0]


@pytest.mark.parametrize(
    "body",
    [
        "return x.__class__",
        "return x.numpy()",
        "return x._array",
        "return (x).__reduce__()",
        "return self.__dict__",
        "return self.forward.__globals__",
        "return getattr(self, '__class__')",
        "return getattr(x, 'save')",
        "return __import__('os')",
        "return eval('1')",
        "return open('/etc/passwd')",
        "return torch.save(x, 'file')",
        "return torch.from_file('file')",
        "return torch.jit.load('file')",
        "return torch.ops.load_library('file')",
        "return ops.load_library.x('file')",
        "return ops.aten.__class__(x)",
        "return __torch__.os.system('true')",
        "import os\nreturn x",
        "y = lambda: x\nreturn y",
        "return [z for z in ().__class__.__bases__]",
        "return (yield x)",
        "return f'{x.__class__}'",
        "return f'{x!r:{y}}'",
        "try:\n  return x\nexcept Exception:\n  return y",
        "global x\nreturn x",
        "class A: pass\nreturn A",
        "return x if (z := y) else z",
        "return torch.relu(*[x])",
        "return __builtins__",
        "return c0",
        "return v_x",
        "return CONSTANTS.c7",
        "return self.forward(x, y)",
        "return 99999999999999999999999",
        "return torch.nothing(x)",
        "return ops.prim.nothing(x)",
        "return undefined",
    ],
)
def test_code_reaches_nothing_but_operators(body):
    with pytest.raises(RuntimeError, match="code/__torch__.py"):
        torch.jit.load(archive_of(program(body)))


@pytest.mark.parametrize("method", ["__class__", "__del__", "__getattr__", "__reduce_ex__", "state_dict", "_modules"])
def test_names_of_methods_replace_nothing_of_pythons(method):
    code = program("return x") + f"  def {method}(self: __torch__.PlaceholderModule) -> int:\n    return 7\n"
    module = torch.jit.load(archive_of(code))
    assert module.state_dict() == {} and module._modules == {} and isinstance(module, torch.jit.ScriptModule)
    assert getattr(module, method) != 7


@pytest.mark.parametrize(
    "body",
    [
        "while True:\n  pass\nreturn x",
        "i = 0\nwhile True:\n  i = torch.add(i, 1)\nreturn x",
        "for i in range(1000000000):\n  for j in range(1000000000):\n    pass\nreturn x",
        "l = [1]\nfor i in l:\n  l.append(i)\nz = [a for a in range(1000000)]\nreturn x",
    ],
)
def test_loops_come_to_an_end(body):
    before = torch.jit.set_loop_limit(20_000)
    try:
        with pytest.raises(RuntimeError, match=r"steps, which is the limit|longer than"):
            run(body)
        assert run("for i in range(10000):\n  x = y\nreturn x").tolist() == [1.0, 1.0]
    finally:
        assert torch.jit.set_loop_limit(before) == 20_000
    with pytest.raises(ValueError, match="positive integer"):
        torch.jit.set_loop_limit(0)


def test_calls_that_multiply_come_to_an_end():
    code = program("return torch.add(x, __torch__.f0(y, ))")
    for level in range(60):
        called = f"__torch__.f{level + 1}(y, )"
        code += f"def f{level}(y: Tensor) -> Tensor:\n  return torch.add({called}, {called})\n"
    code += "def f60(y: Tensor) -> Tensor:\n  return y\n"
    module = torch.jit.load(archive_of(code))
    with pytest.raises(RuntimeError, match="takes more than 50000000 steps"):
        module(torch.ones(1), torch.ones(1))


@pytest.mark.parametrize(
    "body",
    [
        "s = 'aaaaaaaa'\nfor i in range(60):\n  s = torch.add(s, s)\nreturn x",
        "l = torch.mul([1], 1000000000000)\nreturn x",
        "s = torch.center('a', 1000000000000)\nreturn x",
        "s = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'\nfor i in range(60):\n  s = torch.replace(s, 'a', s)\nreturn x",
        "s = 'a'\nfor i in range(60):\n  s = torch.format('{}{}', s, s)\nreturn x",
    ],
)
def test_texts_and_lists_do_not_fill_the_memory(body):
    with pytest.raises(RuntimeError, match=r"longer than 67108864, which is the most here"):
        run(body)


def test_integers_have_64_bits():
    body = "i = 3\nfor k in range(1000):\n  i = torch.mul(i, i)\nreturn torch.add(x, torch.remainder(i, 1000))"
    want = pow(3, 2**1000, 2**64)
    want -= 2**64 if want >= 2**63 else 0
    assert run(body).tolist() == [want % 1000 + 1.0] * 2


@pytest.mark.parametrize(
    "code", [b"\x00", b"class", b"(" * 150 + b")" * 150, b"x" + b".a" * 20000, b"- " * 50000 + b"1"]
)
def test_code_that_cannot_be_parsed(code):
    with pytest.raises(RuntimeError, match=r"record (code/__torch__.py|data.pkl)"):
        torch.jit.load(archive_of(code))


def test_functions_that_call_themselves():
    code = program("return __torch__.f(x, )") + "def f(x: Tensor) -> Tensor:\n  return __torch__.f(x, )\n"
    with pytest.raises(RuntimeError, match="function 'f' is called recursively"):
        torch.jit.load(archive_of(code))


def test_truncated_archives_are_refused_at_once():
    data = (FOLDER / "everything.pt").read_bytes()
    start = time.perf_counter()
    for length in range(0, len(data), 997):
        with pytest.raises(RuntimeError):
            torch.jit.load(io.BytesIO(data[:length]))
    assert time.perf_counter() - start < 10


@pytest.mark.parametrize("record", ["data.pkl", "constants.pkl", "version"])
def test_damaged_records_are_named(record):
    def damaged(name, data):
        return b"\x80\x02K" if name.endswith("/" + record) else data

    with pytest.raises((RuntimeError), match=f"record {record}"):
        torch.jit.load(archive_of(program("return x"), records=damaged))


def test_operators_of_old_archives():
    def old(name, data):
        return b"3\n" if name.endswith("/version") else data

    code = program("return torch.div(x, y)")
    args = torch.tensor([7, -7]), torch.tensor([2, 2])
    assert torch.jit.load(archive_of(code, records=old))(*args).tolist() == [3, -3]
    new = torch.jit.load(archive_of(code, records=lambda n, d: b"10\n" if n.endswith("/version") else d))
    assert new(*args).tolist() == [3.5, -3.5]


def test_nothing_is_imported_before_an_archive_is_used():
    code = "import sys, mindtorch, mindtorch.jit; print([m for m in sys.modules if 'torchscript' in m])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


class Traced(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 3, padding=1), torch.nn.BatchNorm2d(3), torch.nn.ReLU())
        self.shift = torch.nn.Parameter(torch.tensor([0.5]))

    def forward(self, x, pair):
        y = self.parts(x).mean((2, 3))
        y[:, 0] = 1
        a, b = y.view(x.size(0), -1).split([1, 2], 1)
        values, places = (b + self.shift).max(1)
        return torch.cat([a, b], 1) / x.shape[1] ** 0.5 + pair[0] * torch.tensor([2.0]), (
            values,
            places,
            pair[1].float(),
        )


@pytest.mark.parametrize(
    "function",
    [
        lambda x: 1.5 * x.size(0) + x,
        lambda x: x * (2.5 - x.shape[1]) + 3.0 / x.size(0),
        lambda x: x * (2.0 ** x.size(1)) + 7.5 // x.size(0) + 7.5 % x.size(1),
    ],
)
def test_a_saved_trace_follows_sizes_behind_a_float(function):
    traced = torch.jit.trace(function, torch.ones(2, 3))
    torch.jit.save(traced, file := io.BytesIO())
    file.seek(0)
    x = torch.rand(4, 5)
    assert torch.equal(torch.jit.load(file)(x), function(x))


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::mindtorch.jit.TracerWarning")
def test_traces_are_written():
    def arguments(count):
        return torch.randn(count, 2, 4, 4), (torch.randn(count, 1), torch.arange(count))

    module = Traced().eval()
    traced = torch.jit.trace(module, arguments(2))
    before = {name: value.clone() for name, value in traced.state_dict().items()}
    file = io.BytesIO()
    traced.save(file)
    assert all(torch.equal(before[name], value) for name, value in traced.state_dict().items())
    again = torch.jit.load(io.BytesIO(file.getvalue()))
    assert list(again.state_dict()) == list(module.state_dict())
    for args in (arguments(2), arguments(5)):
        assert alike(*(json.loads(json.dumps(described(torch, m(*args)))) for m in (again, module)))
    function = torch.jit.trace(
        lambda d: {"sum": d["a"] + d["b"].size(0)}, {"a": torch.ones(2), "b": torch.ones(3)}, strict=False
    )
    torch.jit.save(function, file := io.BytesIO())
    file.seek(0)
    assert torch.jit.load(file)({"a": torch.ones(1), "b": torch.ones(7)})["sum"].tolist() == [8.0]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_traces_that_cannot_be_written_say_which_step():
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    traced = torch.jit.trace(lambda x: Doubled.apply(x), torch.ones(2))
    with pytest.raises(NotImplementedError, match="torch.jit.save of the step .*a call of an autograd function"):
        torch.jit.save(traced, io.BytesIO())
    sized = torch.jit.trace(lambda x: x.sum() + round(x.size(0) / 3) * 2, torch.ones(3), check_trace=False)
    with pytest.raises(NotImplementedError, match="which computes a number"):
        torch.jit.save(sized, io.BytesIO())


def test_the_page(monkeypatch):
    root = Path(__file__).parents[3]
    monkeypatch.chdir(root)
    results = doctest.testfile(
        str(root / "docs" / "torchscript.md"), module_relative=False, optionflags=doctest.ELLIPSIS
    )
    assert results.attempted > 5 and not results.failed
