"""Dynamic quantization: linear layers get integer weights, and quantize their inputs as they come."""

from __future__ import annotations

import copy
from typing import Any

import mt_core as mt
from mt_nn import modules

from ..nn.quantized.dynamic import Linear
from .qconfig import default_dynamic_qconfig, float16_dynamic_qconfig

__all__ = ["quantize_dynamic"]

_DEFAULTS = {mt.qint8: default_dynamic_qconfig, mt.float16: float16_dynamic_qconfig}
#: PyTorch quantizes these too, unless it is told which; here they would stay as they are without a word.
_NOT_HERE = (
    modules.LSTM, modules.GRU, modules.LSTMCell, modules.GRUCell, modules.RNNCell, modules.EmbeddingBag,
    modules.Embedding,
)  # fmt: skip


def quantize_dynamic(
    model: Any, qconfig_spec: Any = None, dtype: mt.dtype = mt.qint8, mapping: Any = None, inplace: bool = False
) -> Any:
    """The model with dynamically quantized layers in place of its linear ones, for inference.

    Parameters
    ----------
    qconfig_spec
        Which layers: a set of classes and of names of submodules, or a dict of these with a `QConfig` for each. Without
        it, all linear layers.
    dtype
        ``torch.qint8`` or ``torch.float16``, where `qconfig_spec` has no configurations.
    mapping
        Not supported: there is one quantized layer.
    inplace
        Change the model itself, not a copy.

    Raises
    ------
    ValueError
        For a dtype without defaults.
    NotImplementedError
        For recurrent layers and embeddings, and other mappings.
    """
    if mapping is not None:
        raise NotImplementedError("quantize_dynamic(mapping=...) is not supported: linear layers are quantized")
    chosen = _configurations(qconfig_spec, dtype)
    if not inplace:
        model = copy.deepcopy(model)
    model.eval()
    _convert_children(model, "", None, chosen, qconfig_spec is None)
    return model


def _configurations(spec: Any, dtype: mt.dtype) -> dict[Any, Any]:
    if isinstance(spec, dict):
        return spec
    if dtype not in _DEFAULTS:
        raise ValueError(f"Don't know how to quantize with default settings for {dtype}. Provide full qconfig please")
    return dict.fromkeys({modules.Linear} if spec is None else spec, _DEFAULTS[dtype])


def _convert_children(module: Any, name: str, inherited: Any, chosen: dict[Any, Any], by_default: bool) -> None:
    """Replace the linear layers below a module; a name counts more than a class, a class more than what is around."""
    config = chosen.get(name, chosen.get(type(module), inherited))
    for key, child in module.named_children():
        path = f"{name}.{key}" if name else key
        own = chosen.get(path, chosen.get(type(child), config))
        if type(child) in _NOT_HERE and (own is not None or by_default):
            raise NotImplementedError(
                f"quantize_dynamic of {type(child).__name__} ({path}) is not supported: name the linear layers in "
                "qconfig_spec, as {torch.nn.Linear}"
            )
        if type(child) is modules.Linear and own is not None:
            setattr(module, key, _quantized(child, own))
        else:
            _convert_children(child, path, config, chosen, by_default)


def _quantized(module: Any, config: Any) -> Linear:
    module.qconfig = config
    made = Linear.from_float(module)
    made.training = module.training
    for registry in ("_forward_pre_hooks", "_forward_hooks"):
        getattr(made, registry).update(getattr(module, registry))
    return made
