"""How an expression of `expressions.txt` is evaluated, on PyTorch and on mindtorch alike."""

from __future__ import annotations

import json
import re
import warnings
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def expressions() -> list[str]:
    lines = (HERE / "expressions.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def names(nn: Any, tensors: Any) -> dict[str, Any]:
    """What expressions may use: `nn`, and a namespace with the tensor functions."""

    def parameter(*shape: int) -> Any:
        return nn.Parameter(tensors.ones(*shape))

    def with_grad(values: list[float]) -> Any:
        given = nn.Parameter(tensors.zeros(len(values)))
        given.grad = tensors.tensor(values)
        return given

    def attend(**changes: Any) -> Any:
        """A small call of `multi_head_attention_forward`."""
        zeros = tensors.zeros
        arguments = {
            "query": zeros(2, 1, 4), "key": zeros(3, 1, 4), "value": zeros(3, 1, 4), "embed_dim_to_check": 4,
            "num_heads": 2,
            "in_proj_weight": zeros(12, 4), "in_proj_bias": zeros(12), "bias_k": None, "bias_v": None,
            "add_zero_attn": False,
            "dropout_p": 0.0, "out_proj_weight": zeros(4, 4), "out_proj_bias": zeros(4),
        }  # fmt: skip
        return nn.functional.multi_head_attention_forward(**{**arguments, **changes})

    return {
        "nn": nn,
        "F": nn.functional,
        "init": nn.init,
        "utils": nn.utils,
        "rnn": nn.utils.rnn,
        "zeros": tensors.zeros,
        "ones": tensors.ones,
        "tensor": tensors.tensor,
        "dtypes": tensors,
        "ordered": OrderedDict,
        "parameter": parameter,
        "with_grad": with_grad,
        "attend": attend,
    }


def outcome(evaluate: Callable[[], Any]) -> dict[str, Any]:
    """The text of a value or of an error, and the warnings on the way."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = repr(evaluate())
        except Exception as error:  # noqa: BLE001 - whatever is raised is the outcome
            result = f"{type(error).__name__}: {error}"
    return {
        "result": _plain(result),
        "warnings": [f"{entry.category.__name__}: {_plain(str(entry.message))}" for entry in caught],
    }


def _plain(text: str) -> str:
    """Text without addresses, and with PyTorch's names of modules."""
    text = re.sub(r"0x[0-9a-f]+", "0x", text)
    return text.replace("mt_nn.", "torch.nn.").replace("mt_core.tensor.Tensor", "torch.Tensor")


def recorded() -> dict[str, dict[str, Any]]:
    return json.loads((HERE / "expressions.json").read_text())
