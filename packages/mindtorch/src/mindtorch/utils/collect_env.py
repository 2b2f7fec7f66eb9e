"""``torch.utils.collect_env``: what to tell when something goes wrong."""

from __future__ import annotations

from ..doctor import examine, versions

__all__ = ["get_pretty_env_info", "main"]


def get_pretty_env_info() -> str:
    """Versions, and the report of ``mindtorch doctor``."""
    lines = [f"{name}: {version}" for name, version in versions().items()]
    return "\n".join([*lines, "", examine().text])


def main() -> None:
    """Print it."""
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
