"""`import torch` means mindtorch: everything that programs ask about the package `torch` agrees."""

from __future__ import annotations

import subprocess
import sys


def test_every_way_of_asking_agrees(run_python):
    run_python("""
        import mindtorch
        mindtorch.install_as_torch()

        import importlib.metadata, importlib.util
        assert importlib.util.find_spec("torch") is not None
        import torch

        assert torch is mindtorch
        assert torch.__version__ == "2.13.0+mindtorch" == importlib.metadata.version("torch")
        assert importlib.util.find_spec("torch").origin == torch.__file__
        assert importlib.metadata.packages_distributions()["torch"] == ["torch"]
        assert torch.__spec__.name == "mindtorch"
    """)


def test_submodules_are_the_same_objects_under_every_name(run_python):
    run_python("""
        import mindtorch
        mindtorch.install_as_torch()

        import torch.utils.checkpoint, torch.autograd.function, torch.random
        import mindtorch.random, mt_core.random, mt_autograd.checkpoint, mt_autograd.function
        from torch.cuda.amp import GradScaler
        import torch.cuda.amp as amp

        assert torch.utils.checkpoint is mindtorch.utils.checkpoint is mt_autograd.checkpoint
        assert torch.autograd.function is mt_autograd.function
        assert torch.random is mindtorch.random is mt_core.random
        assert mt_core.random.__spec__.name == mt_core.random.__name__ == "mt_core.random"
        assert amp is mindtorch.cuda.amp and amp.GradScaler is GradScaler
    """)


def test_neural_network_modules_are_the_same_objects_under_every_name(run_python):
    run_python("""
        import mindtorch
        mindtorch.install_as_torch()

        import torch.nn.functional as F
        from torch import nn
        from torch.nn.modules.linear import Linear
        from torch.utils.data import DataLoader
        import mindtorch.nn.functional, mt_nn.functional, mt_nn.data

        assert F is mindtorch.nn.functional is mt_nn.functional
        assert nn.Linear is Linear
        assert DataLoader is mt_nn.data.DataLoader
    """)


def test_import_and_attribute_give_the_same_module(run_python):
    run_python("""
        import mindtorch as torch
        by_attribute = torch.backends.cudnn
        import mindtorch.backends.cudnn
        assert by_attribute is mindtorch.backends.cudnn
    """)


def test_modules_that_do_not_exist_are_not_found(run_python):
    run_python("""
        import importlib, importlib.util
        import mindtorch
        mindtorch.install_as_torch()

        for name in "torch.nonsense", "torch.cuda.nonsense", "torch.random.nonsense", "mindtorch.nonsense":
            assert importlib.util.find_spec(name) is None, name
            try:
                importlib.import_module(name)
            except ModuleNotFoundError as error:
                assert name in str(error), error
            else:
                raise AssertionError(name)
    """)


def test_names_below_torch_are_left_alone_unless_torch_is_mindtorch(run_python, tmp_path):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("")
    (tmp_path / "torch" / "random.py").write_text("mark = 'not mindtorch'")
    run_python("""
        import mindtorch, torch.random
        assert torch is not mindtorch
        assert torch.random.mark == "not mindtorch"
    """)


def test_pytorch_imported_before_is_an_error(run_python, tmp_path):
    (tmp_path / "torch.py").write_text("")
    run_python("""
        import torch, mindtorch
        try:
            mindtorch.install_as_torch()
        except RuntimeError as error:
            assert "already imported" in str(error) and "torch.py" in str(error), error
        else:
            raise AssertionError("no error")
        import sys
        assert sys.modules["torch"] is torch
    """)


def test_another_torch_on_the_path_is_passed_over(run_python, tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('this is the other one')")
    run_python("""
        import mindtorch
        mindtorch.install_as_torch()
        import torch
        assert torch is mindtorch
    """)


def test_installing_twice_changes_nothing(run_python):
    run_python("""
        import os, sys, mindtorch
        mindtorch.install_as_torch()
        path, variable = list(sys.path), os.environ["PYTHONPATH"]
        mindtorch.install_as_torch()
        assert (sys.path, os.environ["PYTHONPATH"]) == (path, variable)
    """)


def test_other_entries_of_the_python_path_are_kept(run_python):
    run_python("""
        import os
        os.environ["PYTHONPATH"] = os.pathsep.join(["first", "second"])
        import mindtorch
        from mindtorch.stand_in import DIRECTORY
        mindtorch.install_as_torch()
        assert os.environ["PYTHONPATH"].split(os.pathsep) == [str(DIRECTORY), "first", "second"]
    """)


def test_processes_that_are_started_see_it_too(run_python):
    printed = run_python("""
        import subprocess, sys, mindtorch
        mindtorch.install_as_torch()
        program = "import torch.cuda; print(torch.__name__, torch.__version__)"
        subprocess.run([sys.executable, "-c", program], check=True)
    """)
    assert printed.split() == ["torch", "2.13.0+mindtorch"]


def test_spawned_workers_see_it_too(run_mindtorch, tmp_path):
    (tmp_path / "program.py").write_text("""
import multiprocessing
import torch

def version(_):
    return torch.__version__

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(*pool.map(version, [0]))
""")
    result = run_mindtorch("run", "program.py")
    assert result.stdout.strip() == "2.13.0+mindtorch", result.stderr


def test_import_is_light(run_python):
    run_python("""
        import sys
        import numpy
        before = set(sys.modules)
        import mindtorch
        heavy = {"mt_nn", "mt_library", "mt_backend_cpu", "multiprocessing", "unittest", "ml_dtypes"}
        assert not heavy & (set(sys.modules) - before), heavy & set(sys.modules)
    """)


def test_functions_are_not_replaced_by_the_modules_of_their_names(run_python):
    run_python("""
        import mindtorch
        mindtorch.install_as_torch()
        import torch, torch.autograd, torch.nn.utils, torch.nn.parallel
        from torch.autograd.gradcheck import gradgradcheck
        from torch.nn.parallel.data_parallel import DataParallel
        from torch.nn.utils.spectral_norm import SpectralNorm
        from torch.nn.utils.weight_norm import WeightNorm
        import torch.autograd.gradcheck, torch.nn.parallel.data_parallel
        import torch.nn.utils.spectral_norm, torch.nn.utils.weight_norm

        for found in (torch.autograd.gradcheck, torch.nn.parallel.data_parallel, torch.nn.utils.spectral_norm,
                      torch.nn.utils.weight_norm):
            assert callable(found), found
        from torch.autograd import gradcheck
        assert gradcheck is torch.autograd.gradcheck and callable(gradcheck)
    """)


def test_a_program_may_forbid_the_name_torch() -> None:
    program = """
import sys
class Forbidding:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise ModuleNotFoundError("off limits", name=name)
sys.meta_path.insert(0, Forbidding())
import mindtorch
print(mindtorch.ones(2).sum().item())
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert result.stdout == "2.0\n", result.stderr
