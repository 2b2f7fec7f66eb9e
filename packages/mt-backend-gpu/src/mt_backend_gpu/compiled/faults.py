"""Indices outside their bounds, which kernels find on the device: kept in two words of the host's, read when it waits.

The words lie in page-locked memory, so that reading them after a synchronization costs no copy. As with PyTorch's
assertions on the device, the error comes from whatever waits next; unlike there, the device can be used afterwards, and
elements that were to be read from nowhere are zero.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

__all__ = ["GATHER_SITE", "INDEX_SITE", "LOSS_SITE", "ROWS_SITE", "SCATTER_SITE", "raise_if_any"]

#: Numbers under which faults are kept.
LOSS_SITE, ROWS_SITE, GATHER_SITE, SCATTER_SITE, INDEX_SITE = 1, 2, 3, 4, 5
#: What found an index wrong.
_SITES = {
    LOSS_SITE: "a class in nll_loss or cross_entropy",
    ROWS_SITE: "an index of rows (embedding, index_select or index_add)",
    GATHER_SITE: "an index of gather",
    SCATTER_SITE: "an index of scatter",
    INDEX_SITE: "an index tensor",
}


def raise_if_any(words: np.ndarray) -> None:
    """Raise for the first fault since the last call; the caller has waited for the device.

    words: (2,) of uint64, the site and the index, which are cleared.

    Raises
    ------
    RuntimeError
        In PyTorch's words, with the index and what used it.
    """
    if words[0]:
        site, index = int(words[0]), int(words[1:].view(np.int64)[0])
        words[:] = 0
        _refuse(site, index)


def _refuse(site: int, index: Any) -> NoReturn:
    raise RuntimeError(
        f"CUDA error: device-side assert triggered: {_SITES[site]} is {index}, which is out of bounds\n"
        "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be "
        "incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1"
    )
