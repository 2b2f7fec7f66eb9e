"""Losses of sequences: declarations. `reduction` is 0 for none, 1 for mean, 2 for sum."""

from __future__ import annotations

from typing import Any

from ._declare import Family

family = Family("loss")

_HEAD = "Tensor log_probs, Tensor targets"
_TAIL = "int blank=0, int reduction=Mean, bool zero_infinity=False) -> Tensor"
_OPTIONS: dict[str, Any] = {
    "variants": "function",
    "doc": "Connectionist temporal classification (Graves et al. 2006): log probabilities (t, n, c), targets (n, s) or "
    "one after another.",
}

family.composite(f"ctc_loss.IntList({_HEAD}, int[] input_lengths, int[] target_lengths, {_TAIL}", **_OPTIONS)
family.composite(f"ctc_loss.Tensor({_HEAD}, Tensor input_lengths, Tensor target_lengths, {_TAIL}", **_OPTIONS)
