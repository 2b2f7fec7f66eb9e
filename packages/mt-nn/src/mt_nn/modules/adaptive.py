"""A softmax for many classes, most of them rare."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import mt_core as mt
from mt_core import Tensor

from ..functional import log_softmax
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(NamedTuple):
    """The log probability of each target, and the mean negative one."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """A softmax that divides classes, sorted from frequent to rare, into clusters (Grave et al. 2017).

    The head decides among the most frequent classes and the other clusters; each of these has a tail of its own, with
    fewer features the rarer its classes are.

    Parameters
    ----------
    in_features
        Size of the input's last dimension.
    n_classes
        Number of classes.
    cutoffs
        Where each cluster but the first starts.
    div_value
        By how much the features shrink from one cluster to the next.
    head_bias
        Whether the head has a bias.
    """

    in_features: int
    n_classes: int
    cutoffs: list[int]
    div_value: float
    head_bias: bool
    head: Linear
    tail: ModuleList

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: mt.device | None = None,
        dtype: mt.dtype | None = None,
    ) -> None:
        factory_kwargs: dict[str, Any] = {"device": device, "dtype": dtype}
        super().__init__()
        cutoffs = list(cutoffs)
        _check_cutoffs(cutoffs, n_classes)
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, **factory_kwargs)
        self.tail = ModuleList()
        for cluster in range(self.n_clusters):
            hidden = int(in_features // (div_value ** (cluster + 1)))
            size = self.cutoffs[cluster + 1] - self.cutoffs[cluster]
            self.tail.append(
                Sequential(
                    Linear(in_features, hidden, bias=False, **factory_kwargs),
                    Linear(hidden, size, bias=False, **factory_kwargs),
                )
            )

    def reset_parameters(self) -> None:
        """Draw new weights."""
        self.head.reset_parameters()
        for to_hidden, to_output in self.tail:  # type: ignore[attr-defined]
            to_hidden.reset_parameters()
            to_output.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        """The log probabilities of the targets, and their loss.

        Parameters
        ----------
        input_
            Shape (N, in_features) or (in_features,).
        target_
            Class indices, shape (N,) or ().
        """
        _check_target(input_, target_)
        batched = target_.dim() > 0
        input = input_ if batched else input_.unsqueeze(0)
        target = target_ if batched else target_.unsqueeze(0)
        if target.numel() and not (target.min() >= 0 and target.max() < self.n_classes):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range [{target.min().item()}, "
                f"{target.max().item()}] were found. "
            )
        gate = target.clone()
        tail_output = input.new_zeros(target.size(0))
        for cluster, (low, high) in enumerate(zip(self.cutoffs, self.cutoffs[1:], strict=False)):
            members = ((target >= low) & (target < high)).nonzero().squeeze(-1)
            if members.numel() == 0:
                continue
            log_probabilities = log_softmax(self.tail[cluster](input.index_select(0, members)), dim=1)
            within = (target.index_select(0, members) - low).unsqueeze(1)
            tail_output = tail_output.index_copy(0, members, log_probabilities.gather(1, within).squeeze(1))
            gate = gate.index_fill(0, members, self.shortlist_size + cluster)
        head_log_probabilities = log_softmax(self.head(input), dim=1)
        output = tail_output + head_log_probabilities.gather(1, gate.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def _get_full_log_prob(self, input: Tensor, head_output: Tensor) -> Tensor:
        """The log probabilities of all classes, given the output of the head."""
        out = input.new_empty((head_output.size(0), self.n_classes))
        head_log_probabilities = log_softmax(head_output, dim=1)
        out[:, : self.shortlist_size] = head_log_probabilities[:, : self.shortlist_size]
        for cluster, (start, stop) in enumerate(zip(self.cutoffs, self.cutoffs[1:], strict=False)):
            within = log_softmax(self.tail[cluster](input), dim=1)
            out[:, start:stop] = within + head_log_probabilities[:, self.shortlist_size + cluster].unsqueeze(1)
        return out

    def log_prob(self, input: Tensor) -> Tensor:
        """The log probabilities of all classes: (N, in_features) -> (N, n_classes)."""
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each sample: (N, in_features) -> (N,). Tails are computed where they matter."""
        head_output = self.head(input)
        output = mt.argmax(head_output, dim=1)
        in_tail = output >= self.shortlist_size
        if not in_tail.any():
            return output
        if in_tail.all():
            return mt.argmax(self._get_full_log_prob(input, head_output), dim=1)
        output[in_tail] = mt.argmax(self._get_full_log_prob(input[in_tail], head_output[in_tail]), dim=1)
        return output


def _check_cutoffs(cutoffs: list[int], n_classes: int) -> None:
    if len(cutoffs) == 0:
        raise ValueError("cutoffs should be a sequence of length larger than 0")
    rising = cutoffs == sorted(cutoffs) and len(set(cutoffs)) == len(cutoffs)
    if not rising or min(cutoffs) <= 0 or max(cutoffs) > n_classes - 1 or any(int(c) != c for c in cutoffs):
        raise ValueError(
            "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value "
            "is between 1 and n_classes-1"
        )


def _check_target(input: Tensor, target: Tensor) -> None:
    if target.dim() == 1:
        if input.size(0) != target.size(0):
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if input.dim() != 2:
            raise RuntimeError(f"1D target tensor expects 2D input tensors, but found inputs with size {input.size()}")
    elif target.dim() == 0:
        if input.dim() != 1:
            raise RuntimeError(f"0D target tensor expects 1D input tensors, but found inputs with size {input.size()}")
    else:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
