"""What the entry points name: the compiler, which loads jax when a program is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mt_core.plugins.protocols import CONTRACT

__all__ = ["compiler"]

_OPTIONS = ("rng",)
_STREAMS = ("torch", "philox")


class XlaCompiler:
    """``torch.compile(program, backend="xla")``, and by PyTorch's name ``"openxla"``."""

    contract = CONTRACT

    def compile(
        self, function: Callable[..., Any], *, fullgraph: bool = False, dynamic: bool | None = None,
        mode: str | None = None, options: dict[str, Any] | None = None, recompile_limit: int | None = None,
    ) -> Callable[..., Any]:  # fmt: skip
        """What runs in the place of a program: it is captured as a graph, and the graph is compiled.

        Parameters
        ----------
        fullgraph
            Raise `torch._dynamo.exc.Unsupported` where the program is not one graph or has an operator that is not
            lowered; without, it runs as it is then.
        dynamic
            Whether sizes of arguments are taken to vary: all of them, only those that `torch._dynamo.mark_dynamic` has
            marked (False), or also those that have differed between calls (None). The program is captured once for all
            of them then. XLA compiles for each set of sizes that occurs.
        mode
            None or ``"default"``.
        options
            ``rng``: ``"torch"``, random numbers are those of eager execution (the default), or ``"philox"``, the
            program draws them itself; by `torch.manual_seed` as well, and others.
        recompile_limit
            How often it is compiled; ``torch._dynamo.config.recompile_limit`` by default.

        Raises
        ------
        RuntimeError
            For a mode or an option that is not known.
        ImportError
            Where jax cannot be imported.
        """
        if mode not in (None, "default"):
            raise RuntimeError(f"Unrecognized mode={mode}, should be one of: default")
        for name, value in (options or {}).items():
            if name not in _OPTIONS:
                raise RuntimeError(f"Unexpected optimization option {name}, known options are {list(_OPTIONS)}")
            if value not in _STREAMS:
                raise RuntimeError(f"Unexpected value of option {name}: {value!r}, should be one of: {_STREAMS}")
        try:
            import jax  # noqa: F401 - late: a second of import, for those who compile
        except ImportError as error:
            raise ImportError(f"torch.compile(backend='xla') needs jax ({error}): pip install jax") from error
        from .program import CompiledProgram

        return CompiledProgram(function, fullgraph, recompile_limit, dynamic, **(options or {}))

    def diagnose(self) -> list[tuple[str, str]]:
        """(what, state or remedy) lines for ``mindtorch doctor``: what jax sees."""
        from .diagnose import lines  # late: it loads jax where it is installed

        return lines()


compiler = XlaCompiler()
