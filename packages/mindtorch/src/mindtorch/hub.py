"""``torch.hub``: weights from a URL, models of a folder. Programs from a repository are not fetched and run."""

import hashlib
import importlib.util
import os
import re
import shutil
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlparse as urlparse

from ._unsupported import refusal, unsupported_function

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

try:
    from tqdm import tqdm as tqdm  # type: ignore[import-untyped]
except ImportError:
    from ._progress import tqdm as tqdm

_REMEDY = "Clone the repository, look at what it does, and import it."
#: How names of files end that tell the beginning of their SHA-256.
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
_CHUNK = 1 << 20

help = unsupported_function("torch.hub.help", _REMEDY)
list = unsupported_function("torch.hub.list", _REMEDY)

_directory: str | None = None


def load(
    repo_or_dir: str | os.PathLike[str],
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: bool | str | None = "check",
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """Call what a folder's ``hubconf.py`` defines, with `args` and `kwargs`; only ``source="local"`` is supported.

    Parameters
    ----------
    repo_or_dir
        The folder, which is on the path while its program is imported and called.
    model
        The name of the function.
    trust_repo, force_reload, verbose, skip_validation
        About programs that are fetched; they say nothing about a folder.

    Raises
    ------
    ValueError
        For other sources, and when `model` is no text.
    RuntimeError
        When there is no such function, or a module is missing that ``dependencies`` in ``hubconf.py`` names.
    NotImplementedError
        With ``source="github"``.
    """
    if source.lower() not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source.lower() == "github":
        raise refusal('torch.hub.load(source="github")', _REMEDY)
    with _on_path(os.path.expanduser(repo_or_dir)) as folder:
        return _entry(_hubconf(folder), model)(*args, **kwargs)


@contextmanager
def _on_path(folder: str) -> Iterator[str]:
    sys.path.insert(0, folder)
    try:
        yield folder
    finally:
        sys.path.remove(folder)


def _hubconf(folder: str) -> ModuleType:
    """The module that describes a folder's models; not kept among the modules of the program."""
    spec = importlib.util.spec_from_file_location("hubconf.py", os.path.join(folder, "hubconf.py"))
    assert spec is not None and spec.loader is not None  # its name ends in .py
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _entry(hubconf: ModuleType, model: str) -> Any:
    if not isinstance(model, str):
        raise ValueError("Invalid input: model should be a string of function name")
    missing = [name for name in getattr(hubconf, "dependencies", ()) if importlib.util.find_spec(name) is None]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    found = getattr(hubconf, model, None)
    if not callable(found):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return found


def get_dir() -> str:
    """The folder for what is fetched: as `set_dir` says, else ``$TORCH_HOME/hub``, else ``~/.cache/torch/hub``."""
    if _directory is not None:
        return _directory
    return os.path.join(_get_torch_home(), "hub")


def _get_torch_home() -> str:
    """The folder for what torch keeps: ``$TORCH_HOME``, else ``torch`` in ``$XDG_CACHE_HOME`` or ``~/.cache``."""
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.environ.get("TORCH_HOME", os.path.join(cache, "torch")))


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
        Whether to tell, on standard error, how much has come.

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
                size = answer.headers.get("Content-Length")
                with tqdm(
                    total=None if size is None else int(size), disable=not progress, unit="B", unit_scale=True
                ) as bar:
                    while chunk := answer.read(_CHUNK):
                        digest.update(chunk)
                        part.write(chunk)
                        bar.update(len(chunk))
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
    name = file_name or os.path.basename(urlparse(url).path)
    target = folder / name
    if not target.exists():
        found = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, str(target), found[1] if found else None, progress)
    return load_file(target, map_location=map_location, weights_only=weights_only)
