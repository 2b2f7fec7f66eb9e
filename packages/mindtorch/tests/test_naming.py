"""While mindtorch stands in for PyTorch, classes and functions say that they are from PyTorch's modules."""

from __future__ import annotations

import pytest

#: What -> the module that PyTorch 2.13 names for it.
MODULES = {
    "torch.add": "torch", "torch.Tensor": "torch", "torch.device": "torch", "torch.dtype": "torch",
    "torch.Size": "torch", "torch.tensor": "torch", "torch.is_tensor": "torch", "torch.finfo": "torch",
    "torch.set_default_dtype": "torch", "torch.compile": "torch", "torch.einsum": "torch.functional",
    "torch.split": "torch.functional", "torch.norm": "torch.functional",
    "torch.stft": "torch.functional", "torch.linalg.norm": "torch._C._linalg",
    "torch.fft.fft": "torch._C._fft", "torch.special.expit": "torch._C._special", "torch.Generator": "torch._C",
    "torch.no_grad": "torch.autograd.grad_mode", "torch.autograd.Function": "torch.autograd.function",
    "torch.autograd.grad": "torch.autograd", "torch.save": "torch.serialization", "torch.load": "torch.serialization",
    "torch.manual_seed": "torch.random", "torch.nn.Linear": "torch.nn.modules.linear",
    "torch.nn.Linear.forward": "torch.nn.modules.linear", "torch.nn.Module": "torch.nn.modules.module",
    "torch.nn.Parameter": "torch.nn.parameter", "torch.nn.functional.relu": "torch.nn.functional",
    "torch.nn.functional.gelu": "torch._C._nn", "torch.nn.init.zeros_": "torch.nn.init",
    "torch.optim.SGD": "torch.optim.sgd", "torch.utils.data.DataLoader": "torch.utils.data.dataloader",
    "torch.utils.checkpoint.checkpoint": "torch.utils.checkpoint", "torch.Tensor.backward": "torch._tensor",
    "torch.overrides.TorchFunctionMode": "torch.overrides", "torch.UntypedStorage": "torch.storage",
    "torch.max(torch.ones(1, 1), 0).__class__": "torch.return_types", "torch.Tensor.add": "torch._C",
    "torch.Tensor.numpy": "torch._C", "torch.Tensor.__rsub__": "torch._tensor",
    "torch.library.custom_op": "torch.library", "torch.multiprocessing.spawn": "torch.multiprocessing.spawn",
}  # fmt: skip


@pytest.mark.parametrize("first", ["mindtorch", "mindtorch.nn, mindtorch.optim, mindtorch.utils.data"])
def test_modules_are_those_of_pytorch(run_python, first: str) -> None:
    """Of what was loaded before the stand-in was installed, and of what is loaded later."""
    run_python(f"""
        import {first}
        import mindtorch
        mindtorch.install_as_torch()
        import pickle
        import torch, torch.nn, torch.optim, torch.utils.data, torch.utils.checkpoint, torch.overrides

        assert torch.__name__ == "torch" and torch.Tensor.backward.__qualname__ == "Tensor.backward"
        for path, module in {MODULES!r}.items():
            found = eval(path)
            assert found.__module__ == module, (path, found.__module__)
            if "(" not in path:
                assert pickle.loads(pickle.dumps(found)) is found, path
    """)


def test_renamed_classes_and_functions_are_where_they_say(run_python) -> None:
    run_python("""
        import mindtorch
        mindtorch.install_as_torch()
        import importlib, pkgutil, sys, types, warnings

        warnings.simplefilter("ignore")
        OURS = "mindtorch mt_core mt_autograd mt_nn mt_library".split()
        for top in OURS:
            package = importlib.import_module(top)
            for found in pkgutil.walk_packages(package.__path__, top + "."):
                if not any(part in found.name for part in ("_stand_in", "testing", "__main__", "tensorboard")):
                    importlib.import_module(found.name)

        def lies(value):
            try:
                found = importlib.import_module(value.__module__)
                for part in value.__qualname__.split("."):
                    found = getattr(found, part)
            except (ImportError, AttributeError):
                return True
            return False

        def is_told(value):
            if not isinstance(value, (type, types.FunctionType)) or not (value.__module__ or "").startswith("torch."):
                return False
            # Classes that only lend their methods, and those of results, are reached through what has them.
            borrowed = value.__qualname__.endswith(("Members", "Pickler")) or value.__module__ == "torch.return_types"
            return "<" not in value.__qualname__ and not borrowed

        modules = [m for name, m in list(sys.modules.items()) if name.partition(".")[0] in OURS]
        renamed = {value for module in modules for value in vars(module).values() if is_told(value)}
        assert len(renamed) > 1000, len(renamed)
        lying = sorted(f"{v.__module__}.{v.__qualname__}" for v in renamed if lies(v))
        assert lying == [], lying
    """)


def test_without_the_stand_in_names_can_be_imported(run_python) -> None:
    run_python("""
        import pickle
        import mindtorch as torch, mindtorch.nn

        assert torch.__name__ == "mindtorch"
        for found in (torch.add, torch.Tensor, torch.nn.Linear, torch.nn.functional.gelu, torch.einsum):
            assert pickle.loads(pickle.dumps(found)) is found
    """)


def test_files_and_their_names_stay_as_they_are(run_python, tmp_path) -> None:
    run_python(f"""
        import mindtorch
        mindtorch.install_as_torch()
        import torch, torch.nn as nn

        path = {str(tmp_path / "model.pt")!r}
        model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        torch.save(model, path)
        back = torch.load(path, weights_only=False)
        assert type(back[0]) is nn.Linear and torch.equal(back[0].weight, model[0].weight)
        torch.save(model.state_dict(), path)
        assert torch.equal(torch.load(path, weights_only=True)["0.weight"], model[0].weight)
    """)


def test_annotations_of_modules_can_be_resolved(run_python) -> None:
    """As libraries do with subclasses of ``torch.nn.Module``, without importing where it says it is."""
    run_python("""
        import mindtorch
        mindtorch.install_as_torch()
        import typing
        import torch

        class Model(torch.nn.Linear):
            config: int

        assert typing.get_type_hints(Model)["config"] is int
        import torch.nn.modules.module as module
        assert module.Module is torch.nn.Module
    """)
