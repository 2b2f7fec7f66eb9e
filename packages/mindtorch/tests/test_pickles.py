"""Python's own pickles: PyTorch's open here, and ours name what PyTorch's name, so that they open there."""

from __future__ import annotations

from pathlib import Path

import pytest

SNAPSHOTS = Path(__file__).parent / "snapshots"

IMPORTS = {
    "by its own name": "import mindtorch as torch, mindtorch.optim.lr_scheduler",
    "stood in for": "import mindtorch; mindtorch.install_as_torch(); import torch, torch.optim.lr_scheduler",
}

PROGRAM = f"""
import base64, json, pickle, sys, warnings
sys.path.insert(0, {str(SNAPSHOTS)!r})
warnings.simplefilter("ignore")
IMPORT
from pickled_objects import OBJECTS, made, named, pickled, shown

answers = json.load(open({str(SNAPSHOTS / "pickles.json")!r}))
for name, expression in OBJECTS.items():
    expected = answers[name]
    theirs = pickle.loads(base64.b64decode(expected["pickle"]))
    assert shown(torch, theirs) == expected["shown"], (name, shown(torch, theirs), expected["shown"])
    ours = pickled(torch, expression)
    assert named(ours) == expected["named"], (name, named(ours), expected["named"])
    for protocol in (2, 3, 4, 5):
        back = pickle.loads(pickle.dumps(made(torch, expression), protocol))
        assert shown(torch, back) == expected["shown"], (name, protocol, shown(torch, back))
"""


@pytest.mark.parametrize("imported", IMPORTS)
def test_pickles_name_what_those_of_pytorch_name_and_open_as_theirs(run_python, imported: str) -> None:
    run_python(PROGRAM.replace("IMPORT", IMPORTS[imported]))


@pytest.mark.parametrize("imported", IMPORTS)
def test_what_pytorchs_pickles_call_is_found(run_python, imported: str) -> None:
    run_python(f"""
        {IMPORTS[imported]}
        import importlib, pickle
        from mt_core import torch_names as names
        names.resolve("torch.nn", "Linear")
        called = [name for name in names._own_of if name[0] == "torch._utils"]
        assert len(called) > 10
        for module, name in called:
            assert getattr(importlib.import_module(module), name) is names.resolve(module, name), name
            assert pickle.loads(f"c{{module}}\\n{{name}}\\n.".encode()) is names.resolve(module, name)
        named = b"\\x80\\x04\\x8c\\x0ctorch._utils\\x8c\\x13torch.channels_last\\x93."
        assert pickle.loads(named) is torch.channels_last
        add = pickle.loads(b"c__builtin__\\ngetattr\\n(ctorch._C\\n_VariableFunctionsClass\\nVadd\\ntR.")
        assert add is torch.add
    """)


def test_what_shares_memory_shares_it_when_it_comes_back(run_python) -> None:
    run_python("""
        import pickle
        import mindtorch as torch

        base = torch.arange(4.)
        storage = base.untyped_storage()
        for protocol in (2, 5):
            first, tail, bytes_ = pickle.loads(pickle.dumps((base, base[1:], storage), protocol))
            tail[0] = 10
            assert first[1] == 10 and bytes_.data_ptr() == first.data_ptr() and type(bytes_) is torch.UntypedStorage
        eighth = torch.tensor([1., 2.]).to(torch.float8_e4m3fn)
        assert pickle.loads(pickle.dumps(eighth)).tolist() == [1, 2]
    """)


def test_beside_pytorch_pickles_by_mindtorchs_own_name_name_mindtorch(run_python, tmp_path) -> None:
    """Where PyTorch is installed and not stood in for, ``torch`` means PyTorch, and stays unimported."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise AssertionError('imported')")
    run_python("""
        import pickle, pickletools, sys
        import mindtorch as torch, mindtorch.nn

        data = pickle.dumps([torch.ones(2), torch.nn.Linear(1, 1), torch.float32])
        back = pickle.loads(data)
        assert back[0].tolist() == [1, 1] and type(back[1]) is torch.nn.Linear and back[2] is torch.float32
        assert "torch" not in sys.modules and torch.nn.Linear.__module__ == "mt_nn.modules.linear"
    """)


def test_a_worker_that_is_started_opens_them(tmp_path, run_python) -> None:
    """A fresh interpreter below the stand-in has neither imported torch nor mindtorch when it reads."""
    run_python("""
        import mindtorch
        mindtorch.install_as_torch()
        import pickle, subprocess, sys
        import torch

        data = pickle.dumps(torch.nn.Linear(1, 1))
        program = "import pickle, sys; m = pickle.load(sys.stdin.buffer); print(type(m), sys.modules['torch'].__name__)"
        told = subprocess.run([sys.executable, "-c", program], input=data, capture_output=True, check=True).stdout
        assert told.decode().split() == ["<class", "'torch.nn.modules.linear.Linear'>", "torch"], told
    """)
