"""Layers and extensions of other distributions take effect when mindtorch is imported."""

from __future__ import annotations

import pytest

EXTENSION = """
    def register():
        import mindtorch as torch

        @torch.library.custom_op("toy::twice", mutates_args=())
        def twice(x: torch.Tensor) -> torch.Tensor:
            return x * 2
"""
UNDER_TORCH = EXTENSION.replace("import mindtorch as torch", "import torch")
TWICE = "print(torch.ops.toy.twice(torch.ones(2)).tolist())"
#: A layer at a key that nothing serves, which a thread's mode includes: it notes operators and hands them on.
LAYER = """
    from mt_core import keys
    from mt_core.dispatch.dispatcher import layer_for
    from mt_core.plugins.protocols import CONTRACT, FALLTHROUGH
    from mt_core.state import tls

    seen = []
    key = next(key for key in sorted(keys.NAMES, reverse=True)
               if not key & (keys.FLAGS | keys.BACKEND_MASK) and key < keys.AUTOGRAD and layer_for(key) is None)

    class Counting:
        contract = CONTRACT
        dispatch_key = keys.NAMES[key]

        def build(self, overload, call_keys, below):
            seen.append(overload.name)
            return FALLTHROUGH

        def fallback(self, overload, call_keys, below, composite):
            return FALLTHROUGH

    layer = Counting()

    def switch_on():
        tls.include |= key
        tls.refresh()
"""


def test_an_extension_takes_effect(make_distribution, run_python) -> None:
    make_distribution("toy", {"mindtorch.extensions": {"toy": "toy_plugin:register"}}, EXTENSION)
    assert run_python(f"import mindtorch as torch; {TWICE}").strip() == "[2.0, 2.0]"


def test_an_extension_may_import_torch_where_that_is_mindtorch(
    make_distribution, run_python, run_mindtorch, tmp_path
) -> None:
    make_distribution("toy", {"mindtorch.extensions": {"toy": "toy_plugin:register"}}, UNDER_TORCH)
    (tmp_path / "program.py").write_text(
        "import subprocess, sys, torch\n"
        f"{TWICE}\n"
        f"if len(sys.argv) == 1: subprocess.run([sys.executable, '-W', 'error', __file__, 'again'], check=True)\n"
    )
    result = run_mindtorch("run", "program.py")
    assert result.stdout.split("\n")[:2] == ["[2.0, 2.0]", "[2.0, 2.0]"], result.stderr
    assert "Warning" not in result.stderr


def test_a_layer_takes_effect_at_the_key_it_says(make_distribution, run_python) -> None:
    make_distribution("toy", {"mindtorch.layers": {"any name": "toy_plugin:layer"}}, LAYER)
    printed = run_python("""
        import mindtorch as torch
        import toy_plugin

        toy_plugin.switch_on()
        x = torch.ones(2, requires_grad=True)
        (x * 3).sum().backward()
        assert x.grad.tolist() == [3.0, 3.0]
        print("mul.Tensor" in toy_plugin.seen and "sum" in " ".join(toy_plugin.seen))
    """)
    assert printed.strip() == "True"


@pytest.mark.parametrize("broken", ["raise SystemExit(2)", "1 / 0", "def register(): raise SystemExit(2)", ""])
@pytest.mark.parametrize("group", ["mindtorch.extensions", "mindtorch.layers"])
def test_a_broken_one_is_named_and_the_others_work(make_distribution, run_python, broken: str, group: str) -> None:
    make_distribution("bad", {group: {"a": "bad_plugin:register"}}, broken)
    make_distribution("toy", {"mindtorch.extensions": {"toy": "toy_plugin:register"}}, EXTENSION)
    printed = run_python(f"""
        import warnings

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            import mindtorch as torch
        print(len(caught), "bad" in str(caught[0].message), torch.ones(2).sum().item())
        {TWICE}
    """)
    assert printed.split("\n")[:2] == ["1 True 2.0", "[2.0, 2.0]"]


def test_third_parties_can_be_switched_off(make_distribution, run_python, run_mindtorch, monkeypatch) -> None:
    make_distribution("bad", {"mindtorch.extensions": {"bad": "bad_plugin:register"}}, "raise OSError")
    monkeypatch.setenv("MINDTORCH_PLUGINS", "0")
    printed = run_python("""
        import sys, mindtorch as torch
        x = torch.ones(2, requires_grad=True)
        x.sum().backward()
        print(x.grad.tolist(), "bad_plugin" in sys.modules)
    """)
    assert printed.strip() == "[1.0, 1.0] False"
    result = run_mindtorch("doctor")
    assert result.returncode == 0 and "switched off by MINDTORCH_PLUGINS=0" in result.stdout
    assert "bad" not in result.stdout


def test_third_parties_rename_nothing_of_torch_in_files(make_distribution, run_python) -> None:
    """They add names of their own."""
    names = {"torch.nn": "toy_plugin", "torch.nn.modules.linear": "toy_plugin", "other": "mt_nn"}
    names["toynames"] = "toy_plugin"
    make_distribution("toy", {"mindtorch.torch_names": names}, "class Linear: pass\nLinear.__module__ = 'toy_plugin'")
    printed = run_python("""
        import warnings
        import mindtorch as torch
        from mt_core import torch_names as names

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            print(names.resolve("torch.nn.modules.linear", "Linear") is torch.nn.Linear)
            print(names.torch_name("mt_nn.modules.linear", "Linear"), names.torch_name("toy_plugin", "Linear"))
            print(names.resolve("toynames", "Linear").__module__)
        print(len(caught), all("toy: the entry point" in str(w.message) for w in caught))
    """)
    assert printed.split("\n")[:4] == [
        "True",
        "('torch.nn.modules.linear', 'Linear') ('toynames', 'Linear')",
        "toy_plugin",
        "3 True",
    ]
