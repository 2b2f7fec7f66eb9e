"""What PyTorch says when the gradients that came are not those that were expected."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["graph_changed", "marked_twice", "not_finished"]

_STATIC = "_set_static_graph() as a workaround if "


def marked_twice(index: int, name: str) -> str:
    """A gradient came a second time before the reduction was over."""
    return (
        "Expected to mark a variable ready only once. This error is caused by one of the following reasons: "
        "1) Use of a module parameter outside the `forward` function. Please make sure model parameters are not "
        "shared across multiple concurrent forward-backward passes. or try to use "
        f"{_STATIC}this module graph does not change during training loop."
        "2) Reused parameters in multiple reentrant backward passes. For example, if you use multiple `checkpoint` "
        "functions to wrap the same part of your model, it would result in the same set of parameters been used by "
        "different reentrant backward passes multiple times, and hence marking a variable ready multiple times. DDP "
        "does not support such use cases in default. You can try to use "
        f"{_STATIC}your module graph does not change over iterations.\n"
        f"Parameter at index {index} with name {name} has been marked as ready twice. This means that multiple "
        "autograd engine  hooks have fired for this particular parameter during this iteration."
    )


def not_finished(rank: int, missing: Sequence[int], finds_unused: bool) -> str:
    """A forward began, and gradients of the backward before had not come."""
    remedy = (
        "Since `find_unused_parameters=True` is enabled, this likely  means that not all `forward` outputs "
        "participate in computing loss. You can fix this by "
        if finds_unused
        else "You can enable unused parameter detection by passing the keyword argument "
        "`find_unused_parameters=True` to `torch.nn.parallel.DistributedDataParallel`, and by \n"
    )
    indices = "".join(f" {index}" for index in missing)
    return (
        "Expected to have finished reduction in the prior iteration before starting a new one. This error indicates "
        f"that your module has parameters that were not used in producing loss. {remedy}making sure all `forward` "
        "function outputs participate in calculating loss. \nIf you already have done the above, then the distributed "
        "data parallel module wasn't able to locate the output tensors in the return value of your module's `forward` "
        "function. Please include the loss function and the structure of the return value of `forward` of your module "
        "when reporting this issue (e.g. list, dict, iterable).\n"
        f"Parameter indices which did not receive grad for rank {rank}:{indices}\n In addition, you can set the "
        "environment variable TORCH_DISTRIBUTED_DEBUG to either INFO or DETAIL to print out information about which "
        "particular parameters did not receive gradient on this rank as part of this error"
    )


graph_changed = (
    "Your training graph has changed in this iteration, e.g., one parameter is unused in first iteration, but then got "
    "used in the second iteration. this is not compatible with static_graph set to True."
)
