"""Search by meaning: the functions whose documentation is nearest to a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from corpus import Entry
from encoder import embed
from transformers import BertModel, PreTrainedTokenizerBase


class Match(NamedTuple):
    """An entry and the cosine of the angle between its embedding and the question's."""

    entry: Entry
    score: float


@dataclass
class Index:
    """Entries and their embeddings of unit length, of shape (entries, features)."""

    entries: Sequence[Entry]
    embeddings: torch.Tensor

    def search(self, question: torch.Tensor, matches: int = 5) -> list[Match]:
        """The best matches for an embedded question of shape (features,), best first."""
        scores, positions = torch.topk(self.embeddings @ question, matches)
        return [Match(self.entries[at], score) for score, at in zip(scores.tolist(), positions.tolist())]


def build_index(encoder: BertModel, tokenizer: PreTrainedTokenizerBase, entries: Sequence[Entry]) -> Index:
    """Embed every entry: its name, which says what the docstring leaves out, and its docstring."""
    texts = [f"{entry.name}: {entry.docstring}" for entry in entries]
    return Index(entries, embed(encoder, tokenizer, texts))
