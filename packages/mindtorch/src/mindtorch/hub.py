"""``torch.hub``: weights from a URL. Programs from a repository are not fetched and run."""

import hashlib
import os
import re
import shutil
import tempfile
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

from ._unsupported import unsupported_function

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

_REMEDY = "Clone the repository, look at what it does, and import it."
_HASH = re.compile(r"-([a-f0-9]*)\.")
_CHUNK = 1 << 20

help = unsupported_function("torch.hub.help", _REMEDY)
list = unsupported_function("torch.hub.list", _REMEDY)
load = unsupported_function("torch.hub.load", _REMEDY)

_directory: str | None = None


def get_dir() -> str:
    """The folder for what is fetched: as `set_dir` says, else ``$TORCH_HOME/hub``, else ``~/.cache/torch/hub``."""
    if _directory is not None:
        return _directory
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    home = os.environ.get("TORCH_HOME", os.path.join(cache, "torch"))
    return os.path.join(os.path.expanduser(home), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Choose the folder for what is fetched."""
    global _directory
    _directory = os.path.expanduser(d)


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Fetch a URL into a file, which appears there only when it is complete.

    Parameters
    ----------
    hash_prefix
        How the SHA-256 of the file must begin.
    progress
        For PyTorch's sake; nothing is printed.

    Raises
    ------
    RuntimeError
        When the SHA-256 begins otherwise.
    """
    target = Path(dst).expanduser()
    digest = hashlib.sha256()
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=target.name + ".", delete=False) as part:
        try:
            with urllib.request.urlopen(url) as answer:
                while chunk := answer.read(_CHUNK):
                    digest.update(chunk)
                    part.write(chunk)
            if hash_prefix is not None and not digest.hexdigest().startswith(hash_prefix):
                raise RuntimeError(
                    f'invalid hash value (expected "{hash_prefix}", got "{digest.hexdigest()[: len(hash_prefix)]}")'
                )
            part.close()
            shutil.move(part.name, target)
        finally:
            Path(part.name).unlink(missing_ok=True)


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = True,
) -> Any:
    """``torch.load`` of a file that is fetched from a URL unless it was before.

    Parameters
    ----------
    model_dir
        The folder of fetched files, ``get_dir()/checkpoints`` unless given.
    check_hash
        Whether the name of the file ends in the beginning of its SHA-256, to be checked: ``resnet18-5c106cde.pth``.
    """
    from mt_core.serialization import load as load_file  # lazy: files come late

    folder = Path(model_dir) if model_dir is not None else Path(get_dir()) / "checkpoints"
    folder.mkdir(parents=True, exist_ok=True)
    name = file_name or os.path.basename(urllib.parse.urlparse(url).path)
    target = folder / name
    if not target.exists():
        found = _HASH.search(name) if check_hash else None
        download_url_to_file(url, str(target), found[1] if found else None, progress)
    return load_file(target, map_location=map_location, weights_only=weights_only)
