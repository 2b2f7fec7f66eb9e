"""``torch.export._draft_export``: what an export reports of what stands in its way."""

from __future__ import annotations

import dataclasses
from typing import Any

__all__ = ["DraftExportReport"]


@dataclasses.dataclass(repr=False)
class DraftExportReport:
    """What was found while a program was exported, and would have to be mended.

    Attributes
    ----------
    failures
        None of any program here: one that has some is refused.
    """

    failures: list[Any] = dataclasses.field(default_factory=list)
    str_to_filename: dict[int, str] = dataclasses.field(default_factory=dict)
    expressions_created: dict[int, dict[str, Any]] = dataclasses.field(default_factory=dict)
    op_profiles: dict[str, set[Any]] = dataclasses.field(default_factory=dict)

    def successful(self) -> bool:
        """Whether nothing stands in the way of `torch.export.export`."""
        return not self.failures

    def __repr__(self) -> str:
        return f"DraftExportReport({self.failures})"

    def __str__(self) -> str:
        bar = "#" * 94
        return (
            f"\033[92m\n{bar}\nCongratulations: No issues are found during export, and it was able to soundly produce "
            f"a graph.\nYou can now change back to torch.export.export()\n{bar}\n\033[0m"
        )
