"""``torch.utils.model_zoo``: the former name of ``torch.hub.load_state_dict_from_url``."""

from __future__ import annotations

from typing import Any

from ..hub import load_state_dict_from_url
from ..hub import tqdm as tqdm

__all__ = ["load_url"]


def load_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> Any:
    """What `load_state_dict_from_url` returns; here all pickles are read unless `weights_only`."""
    return load_state_dict_from_url(url, model_dir, map_location, progress, check_hash, file_name, weights_only)
