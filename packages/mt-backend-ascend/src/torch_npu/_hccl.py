"""The backend ``hccl`` of ``torch.distributed``: process groups by MindSpore's communication on Ascend.

The functions are those of ``mindspore.mint.distributed`` (2.10), which write into the tensors that they are given.
Nothing here has run on Ascend: calls have been recorded, and compared with the signatures of the wheel.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import mindtorch as torch
from mt_backend_ascend.plugin import why_no_ascend
from mt_distributed.process_group import ProcessGroup
from mt_distributed.work import Work
from mt_mindspore import require_mindspore, why_unavailable

__all__ = ["ProcessGroupHCCL", "register"]

_distributed = torch.distributed
#: Reductions of HCCL's, by PyTorch's name; averages are sums that are divided.
_REDUCTIONS = {"SUM": "sum", "AVG": "sum", "PRODUCT": "prod", "MIN": "min", "MAX": "max"}


class _Work(Work):
    """Operations that the device was given; waiting lets the current stream wait, not the host."""

    def __init__(
        self, handles: Sequence[Any], tensors: Sequence[Any], finish: Callable[[], None] | None = None
    ) -> None:
        super().__init__()
        self._handles, self._tensors, self._finish = list(handles), list(tensors), finish

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:
        handles, self._handles = self._handles, []
        for handle in handles:
            if handle is not None:
                handle.wait()
        finish, self._finish = self._finish, None
        if finish is not None:
            finish()
        return True

    def is_completed(self) -> bool:
        """Whether it was waited for: MindSpore's handles tell no more."""
        return not self._handles and self._finish is None

    def result(self) -> list[Any]:
        return self._tensors

    def get_future(self) -> Any:
        self.wait()
        future = torch.futures.Future()
        future.set_result(self._tensors)
        return future


class ProcessGroupHCCL(ProcessGroup):
    """Ranks with an Ascend device each. Tensors lie row by row.

    Parameters
    ----------
    functions
        ``mindspore.mint.distributed``.
    group
        MindSpore's name of the group; None for all ranks.
    ranks
        The ranks of the world in the group, in its order.
    rank
        This process's place among them.
    export
        What gives MindSpore's tensor on a tensor's memory.
    """

    def __init__(
        self, functions: Any, group: str | None, ranks: Sequence[int], rank: int, name: str,
        export: Callable[[Any], Any] = torch.Tensor.to_mindspore,
    ) -> None:  # fmt: skip
        self._functions, self._group, self._world_ranks, self._rank = functions, group, list(ranks), rank
        self._export, self._shown = export, name

    def rank(self) -> int:
        return self._rank

    def size(self) -> int:
        return len(self._world_ranks)

    def name(self) -> str:
        return "hccl"

    @property
    def group_name(self) -> str:
        return self._shown

    def _get_backend_name(self) -> str:
        return "hccl"

    # Arguments

    def _theirs(self, tensor: Any) -> Any:
        if not tensor.is_contiguous():
            raise ValueError("Tensors must be contiguous")
        return self._export(tensor)

    def _root(self, opts: Any) -> int:
        return self._world_ranks[opts if isinstance(opts, int) else getattr(opts, "rootRank", 0) or 0]

    def _named(self, opts: Any) -> tuple[str, bool]:
        """(HCCL's name of a reduction, whether the sum is divided).

        Raises
        ------
        RuntimeError
            For those that HCCL lacks.
        """
        op = getattr(opts, "reduceOp", None)
        name = "SUM" if op is None else getattr(op, "name", None) or getattr(getattr(op, "op", None), "name", str(op))
        if name not in _REDUCTIONS:
            raise RuntimeError(f"Cannot use ReduceOp.{name} with HCCL")
        return _REDUCTIONS[name], name == "AVG"

    def _averaged(self, tensors: Sequence[Any], divided: bool) -> Callable[[], None] | None:
        if not divided:
            return None

        def divide() -> None:
            with torch.no_grad():
                for tensor in tensors:
                    tensor.div_(self.size())

        return divide

    # Operations

    def allreduce(self, tensors: Any, opts: Any = None, timeout: Any = None) -> _Work:
        """Reduce in place, on all ranks."""
        op, divided = self._named(opts)
        call = self._functions.all_reduce
        handles = [call(self._theirs(t), op=op, group=self._group, async_op=True) for t in tensors]
        return _Work(handles, tensors, self._averaged(tensors, divided))

    def allreduce_coalesced(self, tensors: Any, opts: Any = None) -> _Work:
        """`allreduce` of several tensors."""
        return self.allreduce(tensors, opts)

    def reduce(self, tensors: Any, opts: Any = None, op: Any = None) -> _Work:
        """Reduce in place on the root; `opts` are options, or the root of a reduction `op`."""
        name, divided = self._named(opts if op is None else SimpleNamespace(reduceOp=op))
        root = self._root(opts)
        call = self._functions.reduce
        handles = [call(self._theirs(t), root, op=name, group=self._group, async_op=True) for t in tensors]
        is_root = self._world_ranks[self._rank] == root
        return _Work(handles, tensors, self._averaged(tensors, divided and is_root))

    def broadcast(self, tensors: Any, opts: Any = None, timeout: Any = None) -> _Work:
        """Give all ranks what the root has."""
        root, call = self._root(opts), self._functions.broadcast
        return _Work([call(self._theirs(t), root, group=self._group, async_op=True) for t in tensors], tensors)

    def _allgather_base(self, output: Any, tensor: Any, opts: Any = None) -> _Work:
        """Every rank's tensor, one behind the other."""
        call = self._functions.all_gather_into_tensor
        handle = call(self._theirs(output), self._theirs(tensor), group=self._group, async_op=True)
        return _Work([handle], [output])

    def allgather(self, output_tensors: Any, input_tensors: Any, opts: Any = None) -> _Work:
        """Every rank's tensor, into a list."""
        handles: list[Any] = []
        finishes = []
        for outputs, tensor in zip(output_tensors, input_tensors, strict=True):
            whole = tensor.new_empty((self.size(), *tensor.shape))
            handles += self._allgather_base(whole, tensor)._handles
            finishes.append((outputs, whole))

        def spread() -> None:
            with torch.no_grad():
                for outputs, whole in finishes:
                    for output, part in zip(outputs, whole, strict=True):
                        output.copy_(part)

        return _Work(handles, [t for outputs in output_tensors for t in outputs], spread)

    def _reduce_scatter_base(self, output: Any, tensor: Any, opts: Any = None) -> _Work:
        """Reduce a tensor of as many parts as there are ranks, and give each rank its part."""
        op, divided = self._named(opts)
        call = self._functions.reduce_scatter_tensor
        handle = call(self._theirs(output), self._theirs(tensor), op=op, group=self._group, async_op=True)
        return _Work([handle], [output], self._averaged([output], divided))

    def reduce_scatter(self, output_tensors: Any, input_tensors: Any, opts: Any = None) -> _Work:
        """`_reduce_scatter_base` of lists of parts."""
        made = [
            self._reduce_scatter_base(output, torch.stack(list(parts)), opts)
            for output, parts in zip(output_tensors, input_tensors, strict=True)
        ]

        def finish() -> None:
            for work in made:
                work.wait()

        return _Work([], list(output_tensors), finish)

    def alltoall_base(
        self, output: Any, tensor: Any, output_split_sizes: Any = None, input_split_sizes: Any = None, opts: Any = None
    ) -> _Work:
        """Give each rank a part of the first dimension, and get one from each."""
        handle = self._functions.all_to_all_single(
            self._theirs(output), self._theirs(tensor), output_split_sizes=list(output_split_sizes or ()) or None,
            input_split_sizes=list(input_split_sizes or ()) or None, group=self._group, async_op=True,
        )  # fmt: skip
        return _Work([handle], [output])

    def send(self, tensors: Any, dst: int, tag: int = 0) -> _Work:
        """Send to one rank."""
        self._refuse_tag(tag)
        to = self._world_ranks[dst]
        return _Work([self._functions.isend(self._theirs(t), to, group=self._group) for t in tensors], tensors)

    def recv(self, tensors: Any, src: int, tag: int = 0) -> _Work:
        """Receive from one rank."""
        self._refuse_tag(tag)
        source = self._world_ranks[src]
        return _Work([self._functions.irecv(self._theirs(t), source, group=self._group) for t in tensors], tensors)

    def _refuse_tag(self, tag: int) -> None:
        if tag:
            raise RuntimeError(f"HCCL has no tags, and tag={tag} was given")

    def recv_anysource(self, tensors: Any, tag: int = 0) -> _Work:
        raise RuntimeError("ProcessGroupHCCL does not support recvAnysource: HCCL receives from a rank that is named")

    def barrier(self, opts: Any = None) -> _Work:
        """Done when all ranks have begun it."""
        return _Work([self._functions.barrier(group=self._group, async_op=True)], [])

    def shutdown(self) -> None:
        """Leave the group."""
        self._functions.destroy_process_group(self._group)


def _address(store: Any, rank: int) -> str:
    """Where the ranks meet: a free port of the first rank's."""
    if rank == 0:
        with socket.socket() as free:
            free.bind(("", 0))
            store.set("hccl", f"{socket.gethostname()}:{free.getsockname()[1]}")
    told: str = store.get("hccl").decode()
    return told


def _made(options: Any, _: Any) -> ProcessGroupHCCL:
    """A process group.

    Raises
    ------
    DistBackendError
        Where MindSpore, CANN or a device is missing; with the reason.
    """
    reason = why_unavailable() or why_no_ascend()
    if reason is not None:
        raise _distributed.DistBackendError(f"a group over HCCL cannot be made: {reason}")
    functions = require_mindspore().mint.distributed
    ranks = list(options.global_ranks_in_group) or list(range(options.group_size))
    if not functions.is_initialized():
        functions.init_process_group(
            backend="hccl", init_method=f"tcp://{_address(options.store, options.group_rank)}",
            world_size=options.group_size, rank=options.group_rank,
        )  # fmt: skip
        return ProcessGroupHCCL(functions, None, ranks, options.group_rank, options.group_id)
    return ProcessGroupHCCL(functions, functions.new_group(ranks), ranks, options.group_rank, options.group_id)


def register() -> None:
    """Enter the backend, for tensors of the device ``npu``."""
    _distributed.Backend.register_backend("hccl", _made, extended_api=True, devices=["npu"])
