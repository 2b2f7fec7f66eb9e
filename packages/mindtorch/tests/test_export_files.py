"""Files of exported programs: PyTorch's are read, ours say the same, and damaged ones are refused and run nothing."""

from __future__ import annotations

import collections
import copy
import dataclasses
import io
import json
import os
import random
import sys
import warnings
import zipfile
from pathlib import Path

import pytest

import mindtorch as torch
from mindtorch.export import pt2_archive
from mindtorch.utils._pytree import tree_leaves

SNAPSHOTS = Path(__file__).with_name("snapshots")
sys.path.insert(0, str(SNAPSHOTS))

from saved_programs import PROGRAMS  # noqa: E402

FILES = SNAPSHOTS / "exported_files"
RESULTS = json.loads((FILES / "results.json").read_text())
CHANGING = ("metadata", "torch_version", "module_call_graph")


def shown(value):
    if not isinstance(value, torch.Tensor):
        return value
    numbers = torch.view_as_real(value.resolve_conj()) if value.is_complex() else value
    return [str(value.dtype).replace("mindtorch", "torch"), list(value.shape), list(value.stride()), numbers.tolist()]


def check_results(found, recorded):
    found = [shown(leaf) for leaf in tree_leaves(found)]
    assert len(found) == len(recorded)
    for one, other in zip(found, recorded, strict=True):
        if not isinstance(other, list):
            assert one == other
            continue
        assert one[:3] == other[:3]
        numbers = eval(other[3], {"inf": float("inf"), "nan": float("nan")})  # noqa: S307 - the text of our own snapshot
        tolerance = 2e-2 if "float16" in other[0] else 2e-5
        torch.testing.assert_close(torch.tensor(one[3]), torch.tensor(numbers), rtol=tolerance, atol=tolerance)


def saved(program, **options):
    buffer = io.BytesIO()
    torch.export.save(program, buffer, **options)
    return buffer.getvalue()


def loaded(data, **options):
    return torch.export.load(io.BytesIO(data), **options)


def records(data):
    archive = zipfile.ZipFile(io.BytesIO(data))
    return {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}


def packed(contents):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in contents.items():
            archive.writestr(f"archive/{name}", data)
    return buffer.getvalue()


def described(data):
    model = json.loads(records(data)["models/model.json"])

    def without(value):
        if isinstance(value, dict):
            return {key: without(item) for key, item in value.items() if key not in CHANGING}
        return [without(item) for item in value] if isinstance(value, list) else value

    return without(model), model["graph_module"]["module_call_graph"][0]


@pytest.fixture(scope="module", params=PROGRAMS)
def recorded(request):
    return request.param, (FILES / f"{request.param}.pt2").read_bytes()


def test_files_of_pytorch_are_read_and_written_again(recorded):
    name, data = recorded
    extra = {"other": "kept"}
    program = loaded(data, extra_files=extra)
    assert extra == {"other": "kept", "note": name}
    ours = saved(program)
    _, args, kwargs = PROGRAMS[name](torch)
    check_results(program.module()(*args, **kwargs), RESULTS[name])
    assert len(tree_leaves(program.example_inputs)) == len(tree_leaves((args, kwargs)))
    assert described(ours) == described(data)
    weights = [name for name in records(data) if name.startswith(("data/weights", "data/constants"))]
    assert {name: json.loads(records(ours)[name]) for name in weights if name.endswith("json")} == {
        name: json.loads(records(data)[name]) for name in weights if name.endswith("json")
    }
    assert all(records(ours)[name] == records(data)[name] for name in weights if not name.endswith("json"))


def test_programs_come_back(recorded):
    name, data = recorded
    module, args, kwargs = PROGRAMS[name](torch)
    made = saved(torch.export.export(module, args, kwargs))
    program = loaded(made)
    assert described(saved(program)) == described(made)
    inputs, expected = (
        [str(spec) for spec in read.graph_signature.input_specs if name != "writes" or "lifted" not in str(spec)]
        for read in (program, loaded(data))
    )  # PyTorch lifts the numbers that are written into tensors
    assert inputs == expected
    again = copy.deepcopy((args, kwargs))
    taken_apart = loaded(saved(program.run_decompositions()))
    assert (program.dialect, taken_apart.dialect) == ("TRAINING", "ATEN")
    check_results(program.module()(*args, **kwargs), RESULTS[name])
    found = tree_leaves(taken_apart.module()(*again[0], **again[1]))
    assert [leaf.shape for leaf in found if isinstance(leaf, torch.Tensor)] == [
        torch.Size(leaf[1]) for leaf in RESULTS[name] if isinstance(leaf, list)
    ]


def small():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(3, 2)
            self.offset = torch.ones(2)

        def forward(self, x):
            return {"a": torch.split(self.linear(x), 1), "b": x.sum() + self.offset}

    return torch.export.export(Net(), (torch.ones(2, 3),))


def test_weights_share_memory_again():
    program = loaded((FILES / "held_tensors.pt2").read_bytes())
    weight, tied, window = (program.state_dict[name] for name in ("weight", "tied", "window"))
    weight.data[0, 1] = 99
    assert tied[0, 1] == window[0, 0] == 99
    assert isinstance(weight, torch.nn.Parameter)
    assert weight.requires_grad
    assert not window.requires_grad


def test_lazy_conjugation_is_carried_out():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("conjugate", torch.tensor([1 + 2j]).conj())

        def forward(self, x):
            return self.conjugate + x

    assert loaded(saved(torch.export.export(Net(), (torch.ones(1),)))).module()(torch.ones(1)).tolist() == [2 - 2j]


@dataclasses.dataclass
class Pair:
    first: torch.Tensor
    second: object = None


torch.export.register_dataclass(Pair, serialized_type_name="test_export_files.Pair")


def test_containers():
    class Net(torch.nn.Module):
        def forward(self, pair, table):
            return Pair(pair.first + table["k"]), collections.OrderedDict(z=pair.first)

    args = (Pair(torch.ones(2)), collections.OrderedDict(k=torch.ones(2)))
    program = torch.export.export(Net(), args)
    back = loaded(saved(program))
    assert back.call_spec.in_spec == program.call_spec.in_spec
    pair, table = back.module()(*args)
    assert type(pair) is Pair
    assert pair.first.tolist() == [2, 2]
    assert list(table) == ["z"]
    assert type(back.example_inputs[0][0]) is Pair


def test_packages_hold_several_programs(tmp_path):
    path = tmp_path / "two.pt2"
    assert pt2_archive.package_pt2(path, exported_programs={"one": small(), "two": small()}) == path
    contents = pt2_archive.load_pt2(path)
    assert list(contents.exported_programs) == ["one", "two"]
    assert pt2_archive.is_pt2_package(str(path))
    assert not pt2_archive.is_pt2_package(b"no archive")
    with pytest.raises(RuntimeError, match="models/model.json"):
        torch.export.load(path)


# What is refused

HOSTILE = {
    "target": ("os.system", "no operator here"),
    "ops": ("torch.ops.__class__.x.y", "no operator here"),
    "method": ("torch.ops.aten.add.__init__", "no operator here"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_targets_are_operators(case):
    contents = records(saved(small()))
    model = json.loads(contents["models/model.json"])
    model["graph_module"]["graph"]["nodes"][0]["target"] = HOSTILE[case][0]
    with pytest.raises(RuntimeError, match=HOSTILE[case][1]):
        loaded(packed(contents | {"models/model.json": json.dumps(model)}))


@pytest.mark.parametrize("text", ["x): import os #", "class", "a b", 'a"', "__import__('os')"])
def test_names_run_nothing(text):
    contents = records(saved(small()))
    replaced = contents["models/model.json"].decode().replace('"x"', json.dumps(text))
    with pytest.raises(RuntimeError, match="should be a name"):
        loaded(packed(contents | {"models/model.json": replaced}))
    weights = contents["data/weights/model_weights_config.json"].decode()
    renamed = {
        name: data.decode().replace('"linear.weight"', json.dumps('linear." + evil() + "'))
        for name, data in contents.items()
        if name.endswith(".json")
    }
    assert weights != renamed["data/weights/model_weights_config.json"]
    with pytest.raises(RuntimeError, match="which no attribute can have"):
        loaded(packed(contents | renamed))


def test_factories_of_defaultdicts_are_plain():
    class Net(torch.nn.Module):
        def forward(self, table):
            return table["k"] + 1

    program = torch.export.export(Net(), (collections.defaultdict(int, k=torch.ones(1)),))
    program.example_inputs = None
    contents = records(saved(program))
    assert loaded(packed(contents)).call_spec.in_spec == program.call_spec.in_spec
    model = contents["models/model.json"].decode()
    model = model.replace('\\"builtins\\"', '\\"os\\"').replace('\\"int\\"', '\\"getcwd\\"')
    with pytest.raises(RuntimeError, match="makes its defaults with os.getcwd"):
        loaded(packed(contents | {"models/model.json": model}))


class Armed:
    def __reduce__(self):
        return os.mkdir, ("armed",)


def test_pickles_run_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    contents = records(saved(small()))
    buffer = io.BytesIO()
    torch.save(((Armed(),), {}), buffer)
    with pytest.warns(UserWarning, match="data/sample_inputs/model.pt: the example inputs are left out"):
        assert loaded(packed(contents | {"data/sample_inputs/model.pt": buffer.getvalue()})).example_inputs is None
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize(
    ("record", "data", "kind", "text"),
    [
        ("archive_format", b"other", RuntimeError, "archive_format"),
        ("archive_version", b"9", ValueError, "Saved archive version 9 does not match our current archive version 0."),
        ("models/model.json", b"{", RuntimeError, "models/model.json is no JSON"),
        ("models/model.json", b"[" * 100000, RuntimeError, "models/model.json is no JSON"),
        ("data/weights/weight_0", b"1234", RuntimeError, "describes 24 bytes, and there are 4"),
        ("data/weights/weight_0", None, RuntimeError, "data/weights/weight_0"),
        ("data/weights/model_weights_config.json", None, RuntimeError, "data/weights/model_weights_config.json"),
        ("data/sample_inputs/model.pt", None, RuntimeError, "data/sample_inputs/model.pt"),
        ("archive_version", None, RuntimeError, "archive_version"),
    ],
)
def test_damaged_records_are_named(record, data, kind, text):
    contents = records(saved(small()))
    contents = {name: held for name, held in contents.items() if name != record} | ({record: data} if data else {})
    with pytest.raises(kind, match=text):
        loaded(packed(contents))


def test_other_versions_of_the_schema():
    contents = records(saved(small()))
    model = json.loads(contents["models/model.json"])
    model["schema_version"]["major"] = 7
    with pytest.raises(RuntimeError, match=r"schema version \(7, 20\), which does not match our current"):
        loaded(packed(contents | {"models/model.json": json.dumps(model)}))


VALUES = (None, True, -1, 2**70, 1e300, "", "x", "Infinity", [], {}, [1], {"as_int": -5}, {"as_tensor": {"name": "x"}})


def mutated(value, random):
    """The value with one part of it replaced."""
    if isinstance(value, (dict, list)) and value and random.random() < 0.92:
        key = random.choice(list(value) if isinstance(value, dict) else range(len(value)))
        part = copy.copy(value)
        if random.random() < 0.05:
            del part[key]
        else:
            part[key] = mutated(value[key], random)
        return part
    return random.choice(VALUES)


def test_any_damage_is_an_error_or_a_program():
    contents = records(saved(small()))
    draw = random.Random(5)
    refused = 0
    for _ in range(120):
        record = draw.choice(["models/model.json"] * 4 + ["data/weights/model_weights_config.json"])
        damaged = json.dumps(mutated(json.loads(contents[record]), draw))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                loaded(packed(contents | {record: damaged})).module()
            except (RuntimeError, NotImplementedError, torch._export.verifier.SpecViolationError):
                refused += 1
    assert refused > 50


def test_cut_files():
    data = saved(small())
    for end in range(0, len(data), 997):
        with pytest.raises(RuntimeError):
            loaded(data[:end])


def test_what_cannot_be_saved(tmp_path):
    with pytest.raises(TypeError, match="The 'ep' parameter must be an instance of 'ExportedProgram', got 'int'"):
        torch.export.save(3, tmp_path / "x.pt2")
    program = small()
    program.state_dict["linear.weight"] = torch.empty(2, 3, device="meta")
    with pytest.raises(NotImplementedError, match=r"linear.weight, which has no memory"):
        saved(program)
    with pytest.raises(AssertionError, match="Expected string but got <class 'bytes'>"):
        saved(small(), extra_files={"a": b"x"})
